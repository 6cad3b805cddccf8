
-- The times of the permits, a list: time:number:cost, where number counts the permits up to and with these.
function rules.log(key, cost, limit, window)
    local function entry(i)
        return numbers(redis.call('LINDEX', key, i))
    end
    local count = redis.call('LLEN', key)
    local function first(is)
        local low, high = 0, count
        while low < high do
            local middle = math.floor((low + high) / 2)
            if is(entry(middle)) then
                high = middle
            else
                low = middle + 1
            end
        end
        return low
    end
    local time, newest, total = now, now, 0
    if count > 0 then
        newest, total = entry(count - 1)
        -- A time before that of the last permit counts as that.
        time = math.max(now, newest)
    end
    local live = first(function(stamp) return stamp + window > time end)
    local before = total
    if live < count then
        local _, number, own = entry(live)
        before = number - own
    end
    local room = limit - (total - before)
    -- When there was taken what has to come back for this cost.
    local oldest = now
    if cost > room and count > 0 then
        local wanted = math.min(before + cost - room, total)
        oldest = entry(first(function(_, number) return number >= wanted end))
    end
    local function take(permits)
        if live > 0 then
            redis.call('LTRIM', key, live, -1)
        end
        redis.call('RPUSH', key, text(time, total + permits, permits))
        redis.call('PEXPIRE', key, life(time + window - now))
    end
    return room, {room, newest - now, oldest - now}, take
end


-- Windows of the clock: begin:taken, in microseconds.
function rules.fixed(key, cost, limit, window)
    local begin, taken = now - math.fmod(now, window), 0
    local own, count = read(key)
    -- Time does not go back.
    if own and own >= begin then
        begin, taken = own, count
    end
    local left = begin + window - now
    local function take(permits)
        redis.call('SET', key, text(begin, taken + permits), 'PX', life(left))
    end
    return limit - taken, {taken, left}, take
end


-- Buckets: the time at which all that was taken will be back, micros:units.
-- units: in a microsecond. interval: units of a permit. capacity: units of a full bucket.
function rules.tat(key, cost, units, interval, capacity)
    local micros, part = read(key)
    local ahead = micros and math.max((micros - now) * units + part, 0) or 0
    local function take(permits)
        ahead = ahead + permits * interval
        local whole = math.floor(ahead / units)
        redis.call('SET', key, text(now + whole, ahead - whole * units), 'PX', life(whole))
    end
    return math.floor((capacity - ahead) / interval), {ahead}, take
end

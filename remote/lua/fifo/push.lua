-- Puts entries at the tail.
-- KEYS: the queue's state (next number, last time), its order (keys by number), its values (time:value by key).
-- ARGV: time, 1 to move what is there, then keys and values.
-- Of each key: 1 new, 0 there already, 2 moved; and its number.
local next, last = unpack(redis.call('HMGET', KEYS[1], 'next', 'last'))
local number, changed = tonumber(next or 0), false
-- Times do not go back.
now = string.format('%.0f', math.max(now, tonumber(last or 0)))
local answers = {}
for i = 3, #ARGV, 2 do
    local held = redis.call('ZSCORE', KEYS[2], ARGV[i])
    if held and ARGV[2] ~= '1' then
        answers[i - 2], answers[i - 1] = 0, tonumber(held)
    else
        local own = string.format('%.0f', number)
        redis.call('ZADD', KEYS[2], own, ARGV[i])
        redis.call('HSET', KEYS[3], ARGV[i], now .. ':' .. ARGV[i + 1])
        answers[i - 2], answers[i - 1] = held and 2 or 1, number
        number, changed = number + 1, true
    end
end
if changed then
    redis.call('HSET', KEYS[1], 'next', string.format('%.0f', number), 'last', now)
end
return answers

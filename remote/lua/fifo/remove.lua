-- Takes an entry out wherever it is.
-- KEYS: the queue's order, its values. ARGV: its key.
-- Its number, and time:value; nothing if it is not there.
local number = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not number then
    return {}
end
local held = redis.call('HGET', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return {tonumber(number), held}

-- Admits an id once per window of logical time: for tests and dry runs. The key does not expire.
-- KEYS[1]: the id's key. ARGV: time, window, both in milliseconds.
-- -1: new. Otherwise the time of the admission that it is a duplicate of.
local admitted = tonumber(redis.call('GET', KEYS[1]))
if admitted and tonumber(ARGV[1]) - admitted < tonumber(ARGV[2]) then
    return admitted
end
redis.call('SET', KEYS[1], ARGV[1])
return -1

-- A key's counts.
-- KEYS: its counts, by pane. ARGV: time in microseconds ('': the server's), a pane.
-- The number of the pane of now, and panes with their counts.
local now = tonumber(ARGV[1])
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local size = tonumber(ARGV[2])
return {(now - math.fmod(now, size)) / size, redis.call('HGETALL', KEYS[1])}

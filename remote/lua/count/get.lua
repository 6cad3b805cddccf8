-- A key's counts.
-- KEYS: its counts, by pane. ARGV: time, a pane.
-- The number of the pane of now, and panes with their counts.
local size = tonumber(ARGV[2])
return {(now - math.fmod(now, size)) / size, redis.call('HGETALL', KEYS[1])}

-- The time of a script. ARGV[1]: it, in microseconds ('': the server's).
local at = tonumber(ARGV[1])
local now = at
if not now then
    -- Once: in some servers it goes on during a script.
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end


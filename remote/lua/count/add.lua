-- Counts a key in the pane of now.
-- KEYS: the key's counts, by pane. ARGV: time, a pane, panes that are kept, how many.
local size, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local pane = (now - math.fmod(now, size)) / size
local count = redis.call('HINCRBY', KEYS[1], string.format('%.0f', pane), ARGV[4])
if count == tonumber(ARGV[4]) then
    -- The first of its pane: what is over goes, and all of it when the last pane is. (Of logical time: in an hour.)
    for _, old in ipairs(redis.call('HKEYS', KEYS[1])) do
        if tonumber(old) <= pane - kept then
            redis.call('HDEL', KEYS[1], old)
        end
    end
    local life = at and 3600000 or math.ceil(kept * size / 1000) + 1
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', life))
end
return count

-- Takes the oldest entries out.
-- KEYS: the queue's order, its values. ARGV: how many.
-- Of each entry its key, number, and time:value.
local answers = {}
local popped = redis.call('ZPOPMIN', KEYS[1], ARGV[1])
for i = 1, #popped, 2 do
    local key = popped[i]
    local held = redis.call('HGET', KEYS[2], key)
    redis.call('HDEL', KEYS[2], key)
    table.insert(answers, key)
    table.insert(answers, tonumber(popped[i + 1]))
    table.insert(answers, held)
end
return answers

-- A waiting room: lets in who is due, puts keys at the tail that were never seen, and tells where each stands.
-- KEYS: its state (when the next is due, next number, last time), its order (keys that wait, by number), all keys that were seen.
-- ARGV: time, microseconds from one to the next, milliseconds for which it is kept, then keys.
-- How many were seen, how many wait, and of each key how many are before it: -1 once it was let in.
local every = tonumber(ARGV[2])
local due, next, last = unpack(redis.call('HMGET', KEYS[1], 'due', 'next', 'last'))
-- Times do not go back.
now = math.max(now, tonumber(last or 0))
due = tonumber(due or now + every)
local number = tonumber(next or 0)
if due <= now then
    -- As many as fit between, this one included. If none waits, none is let in, and nothing is saved up.
    local many = (now - due - math.fmod(now - due, every)) / every + 1
    due = due + many * every
    many = math.min(many, redis.call('ZCARD', KEYS[2]))
    if many > 0 then
        redis.call('ZPOPMIN', KEYS[2], string.format('%.0f', many))
    end
end
local answers = {}
for i = 4, #ARGV do
    if redis.call('SADD', KEYS[3], ARGV[i]) == 1 then
        redis.call('ZADD', KEYS[2], string.format('%.0f', number), ARGV[i])
        number = number + 1
    end
    answers[i - 1] = redis.call('ZRANK', KEYS[2], ARGV[i]) or -1
end
-- A room that nobody has come to has no time yet.
if number > 0 then
    local words = {'due', due, 'next', number, 'last', now}
    for i = 2, 6, 2 do
        words[i] = string.format('%.0f', words[i])
    end
    redis.call('HSET', KEYS[1], unpack(words))
    for _, key in ipairs(KEYS) do
        redis.call('PEXPIRE', key, ARGV[3])
    end
end
answers[1], answers[2] = redis.call('SCARD', KEYS[3]), redis.call('ZCARD', KEYS[2])
return answers

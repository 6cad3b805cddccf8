-- Admits an id once per window, for servers whose SET does not take NX and GET together (before 7.0).
-- KEYS[1]: the id's key. ARGV: token, window in milliseconds.
-- 1: new, and now held by the token. 2: held by this token already. 0: held by another.
local held = redis.call('GET', KEYS[1])
if not held then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
end
return held == ARGV[1] and 2 or 0

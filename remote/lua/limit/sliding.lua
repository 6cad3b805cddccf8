
-- a * b / c, rounded up, for a below 2^27, b and c below 2^45: in digits of 7 bits, so that nothing goes beyond 2^53.
local function share(a, b, c)
    if a == 0 then
        return 0
    end
    local quotient, rest, digit = 0, 0, 2 ^ 42
    while digit >= 1 do
        local next = rest * 128 + a * math.fmod(math.floor(b / digit), 128)
        rest = math.fmod(next, c)
        quotient = quotient * 128 + (next - rest) / c
        digit = digit / 128
    end
    return rest > 0 and quotient + 1 or quotient
end

-- This window and what is left of the last one: begin:this:last.
function rules.sliding(key, cost, limit, window)
    local begin, this, last = now - math.fmod(now, window), 0, 0
    local own, own_this, own_last = read(key)
    if own and own >= begin then
        begin, this, last = own, own_this, own_last
    elseif own and own + window == begin then
        last = own_this
    end
    local since = now - begin
    local covered = share(last, window - math.max(since, 0), window)
    local function take(permits)
        redis.call('SET', key, text(begin, this + permits, last), 'PX', life(begin + 2 * window - now))
    end
    return limit - this - covered, {this, last, since}, take
end

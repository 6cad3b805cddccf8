-- Limits, charged together or not at all. All state of a limit is one key.
-- KEYS: one for each limit.
-- ARGV: time, 1 to look only, permits that are charged in any case, the least and the most permits that are taken;
-- then of each limit the algorithm and three numbers.
-- Answers the permits that were taken, and of each limit how it stood before.
-- All numbers are whole and below 2^53.
local rules = {}

-- Numbers as they are kept.
local function text(...)
    local words = {...}
    for i, word in ipairs(words) do
        words[i] = string.format('%.0f', word)
    end
    return table.concat(words, ':')
end

local function numbers(value)
    local a, b, c = string.match(value, '^(%d+):(%d+):?(%d*)$')
    if not a then
        error('WRONGTYPE no limit of this algorithm')
    end
    return tonumber(a), tonumber(b), tonumber(c)
end

local function read(key)
    local value = redis.call('GET', key)
    if value then
        return numbers(value)
    end
end

-- Milliseconds after which a key may go that makes no difference after so many microseconds. (Of logical time: an hour.)
local function life(micros)
    return at and '3600000' or text(math.max(math.ceil(micros / 1000), 0) + 1)
end

-- An algorithm: with the key, the permits that are asked for and its numbers, to how many there are, how it stands, and what takes some.

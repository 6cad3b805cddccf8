
local looks, charged, least, most = ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local answer, takers, room = {0}, {}, most
for i, key in ipairs(KEYS) do
    local word = 2 + 4 * i
    local rule = rules[ARGV[word]]
    local a, b, c = tonumber(ARGV[word + 1]), tonumber(ARGV[word + 2]), tonumber(ARGV[word + 3])
    local own, stands, take = rule(key, least, a, b, c)
    if charged > 0 then
        take(charged)
        own, stands, take = rule(key, least, a, b, c)
    end
    answer[i + 1], takers[i], room = stands, take, math.min(room, own)
end
if room >= least and room > 0 then
    answer[1] = room
    if not looks then
        for _, take in ipairs(takers) do
            take(room)
        end
    end
end
return answer

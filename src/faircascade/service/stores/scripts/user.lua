-- Returns rounds, sums, the number of impressions, and ids and bodies of the newest.
-- KEYS: user, shown. ARGV: how many of the newest, stem of impression keys.
local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
while oldest and redis.call('EXISTS', ARGV[2] .. oldest) == 0 do -- it expired
  redis.call('ZREM', KEYS[2], oldest)
  oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
end

local wanted = tonumber(ARGV[1])
local ids = wanted > 0 and redis.call('ZREVRANGE', KEYS[2], 0, wanted - 1) or {}
local bodies = {}
for at, id in ipairs(ids) do bodies[at] = redis.call('GET', ARGV[2] .. id) end
local user = redis.call('HMGET', KEYS[1], 'rounds', 'sums')
return {user[1], user[2], redis.call('ZCARD', KEYS[2]), ids, bodies}

-- Keeps one slate that is handed out, and counts it, once.
-- KEYS: impression, user, shown (the user's impressions by round), account, events, changes, open
-- (all impressions without an answer by time).
-- ARGV: body, id, round, milliseconds to live, event, stem of impression keys, change
-- (nothing if changes are not logged), time, slot, units, ...
if redis.call('EXISTS', KEYS[1]) == 1 then return end -- sent again: the first reply was lost

redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[4])
if tonumber(redis.call('HGET', KEYS[2], 'rounds') or 0) < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], 'rounds', ARGV[3]) -- the user was erased in between
end
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('ZADD', KEYS[7], ARGV[8], ARGV[2])
-- One comes, up to two that expired go: so the indexes cannot grow without bound.
for _, index in ipairs({KEYS[3], KEYS[7]}) do
  for _, oldest in ipairs(redis.call('ZRANGE', index, 0, 1)) do
    if redis.call('EXISTS', ARGV[6] .. oldest) == 0 then redis.call('ZREM', index, oldest) end
  end
end
for at = 9, #ARGV, 2 do redis.call('HINCRBY', KEYS[4], ARGV[at], ARGV[at + 1]) end
redis.call('XADD', KEYS[5], '*', 'e', ARGV[5])
if #ARGV[7] > 0 then
  redis.call('XADD', KEYS[6], '*', 'c', ARGV[7])
end

-- Forgets a user. KEYS: user, account, shown, changes, open.
-- ARGV: stem of impression keys, change (nothing if changes are not logged).
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 and #ARGV[2] > 0 then
  redis.call('XADD', KEYS[4], '*', 'c', ARGV[2])
end
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  redis.call('UNLINK', ARGV[1] .. id)
  redis.call('ZREM', KEYS[5], id)
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])

-- Forgets a user. KEYS: user, account, shown, open. ARGV: stem of impression keys.
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  redis.call('UNLINK', ARGV[1] .. id)
  redis.call('ZREM', KEYS[4], id)
end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])

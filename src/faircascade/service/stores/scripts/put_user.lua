-- Brings in a user, unless there is one already. KEYS: user, changes.
-- ARGV: rounds, sums, change (nothing if changes are not logged).
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'rounds', ARGV[1], 'sums', ARGV[2])
  if #ARGV[3] > 0 then redis.call('XADD', KEYS[2], '*', 'c', ARGV[3]) end
end

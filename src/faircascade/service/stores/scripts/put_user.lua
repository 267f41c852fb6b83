-- Brings in a user, unless there is one already. KEYS: user. ARGV: rounds, sums.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'rounds', ARGV[1], 'sums', ARGV[2])
end

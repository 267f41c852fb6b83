-- Puts other sums in the place of those of a user or a cohort, unless they have changed meanwhile;
-- returns whether it did. KEYS: user or cohort, changes, shape.
-- ARGV: sums as they were, new ones, change (nothing if changes are not logged).
if redis.call('HGET', KEYS[1], 'sums') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'sums', ARGV[2])
if #ARGV[3] > 0 then redis.call('XADD', KEYS[2], '*', 'c', ARGV[3]) end
return 1

-- Replaces a JSON text by another if it is as expected, 'null' if there is none.
-- KEYS: meta, shape. ARGV: name, the text before, the new one.
local found = redis.call('HGET', KEYS[1], ARGV[1]) or 'null'
if found ~= ARGV[2] and found ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1

-- Adds or replaces items; a removed one comes back in its slot.
-- KEYS: items, changed (ids by version), version. ARGV: id, body, id, body, ...
-- A value of `items` is the slot (4 bytes), whether it is removed (1 byte), and the body.
local version = redis.call('INCR', KEYS[3])
for at = 1, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[1], ARGV[at])
  local slot = known and string.sub(known, 1, 4)
    or struct.pack('<i4', redis.call('HLEN', KEYS[1])) -- removed items stay, so HLEN is new
  redis.call('HSET', KEYS[1], ARGV[at], slot .. '\0' .. ARGV[at + 1])
  redis.call('ZADD', KEYS[2], version, ARGV[at])
end

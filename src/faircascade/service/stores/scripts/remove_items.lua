-- Marks items as removed. KEYS: as for put_items. ARGV: ids.
local version
for _, id in ipairs(ARGV) do
  local known = redis.call('HGET', KEYS[1], id)
  if known and string.byte(known, 5) == 0 then
    version = version or redis.call('INCR', KEYS[3])
    redis.call('HSET', KEYS[1], id, string.sub(known, 1, 4) .. '\1' .. string.sub(known, 6))
    redis.call('ZADD', KEYS[2], version, id)
  end
end

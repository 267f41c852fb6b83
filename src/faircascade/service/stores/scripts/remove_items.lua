-- Marks items as removed, unless no other would be left. KEYS: as for put_items. ARGV: ids.
-- Returns 1, or 0 if nothing changed because no other would be left.
local removed, count = {}, 0
for _, id in ipairs(ARGV) do
  local known = redis.call('HGET', KEYS[1], id)
  if known and string.byte(known, 5) == 0 and not removed[id] then
    removed[id] = string.sub(known, 1, 4) .. '\1' .. string.sub(known, 6)
    count = count + 1
  end
end
if count == 0 then return 1 end
if count == tonumber(redis.call('GET', KEYS[4])) then return 0 end

local version = redis.call('INCR', KEYS[3])
redis.call('DECRBY', KEYS[4], count)
for id, item in pairs(removed) do
  redis.call('HSET', KEYS[1], id, item)
  redis.call('ZADD', KEYS[2], version, id)
end
return 1

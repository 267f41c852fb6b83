-- Keeps counts up to a cursor unless later ones are kept, and drops events that they cover.
-- KEYS: counts, events. ARGV: cursor, counts, milliseconds that others have to read an event.
local function parts(cursor)
  local time, number = string.match(cursor, '^(%d+)-(%d+)$')
  return tonumber(time) or 0, tonumber(number) or 0
end

local time, number = parts(ARGV[1])
local kept_time, kept_number = parts(redis.call('HGET', KEYS[1], 'cursor') or '')
if kept_time > time or (kept_time == time and kept_number > number) then return end

redis.call('HSET', KEYS[1], 'cursor', ARGV[1], 'counts', ARGV[2])
local now = redis.call('TIME')
local read = now[1] * 1000 - ARGV[3] -- the cursor of an event begins with its milliseconds
local first = read < time and string.format('%.0f-0', read) or ARGV[1]
if first ~= '' then redis.call('XTRIM', KEYS[2], 'MINID', '~', first) end

-- Applies one update: answer, sums, account and event change together, once.
-- KEYS: impression, user, events, changes, open, account, cohorts ..., shape.
-- ARGV: head of the answer (8 bytes), increments (doubles), event, tail of the answer, change
-- (nothing if changes are not logged), id, numbers of an item, milliseconds that a logged slate
-- lives less with an answer, slot, units to take from the account, ...
-- Returns the value of an `UpdateOutcome`.
local OPEN = string.rep('\255', 8)
local CHUNK = 128 -- numbers at a time: Lua's stack does not hold thousands

-- Adds to the first numbers; what only one of them has stays as it is.
local function add(old, new)
  local parts = {}
  local n = math.min(#old, #new) / 8
  for first = 0, n - 1, CHUNK do
    local count = math.min(CHUNK, n - first)
    local format = '<' .. string.rep('d', count)
    local total = {struct.unpack(format, old, first * 8 + 1)}
    local more = {struct.unpack(format, new, first * 8 + 1)}
    for i = 1, count do total[i] = total[i] + more[i] end
    parts[#parts + 1] = struct.pack(format, unpack(total, 1, count))
  end
  parts[#parts + 1] = string.sub(#old > #new and old or new, n * 8 + 1)
  return table.concat(parts)
end

local answer = redis.call('GETRANGE', KEYS[1], 0, 7)
if answer == '' then return 'unknown' end
if answer == ARGV[1] then
  local user, note, k = struct.unpack('<I4I4I4', redis.call('GETRANGE', KEYS[1], 24, 35))
  local tail = redis.call('GETRANGE', KEYS[1], 36 + user + note + k * (4 + 8 * ARGV[7]), -1)
  return tail == ARGV[4] and 'repeated' or 'conflict'
end
if answer ~= OPEN then return 'conflict' end

local function learn(key)
  local sums = redis.call('HGET', key, 'sums')
  redis.call('HSET', key, 'sums', sums and add(sums, ARGV[2]) or ARGV[2])
end

redis.call('SETRANGE', KEYS[1], 0, ARGV[1]) -- keeps the time to live
redis.call('APPEND', KEYS[1], ARGV[4])
learn(KEYS[2])
for at = 7, #KEYS - 1 do
  learn(KEYS[at])
  redis.call('HINCRBY', KEYS[at], 'slates', 1)
end
for at = 9, #ARGV, 2 do redis.call('HINCRBY', KEYS[6], ARGV[at], -ARGV[at + 1]) end
redis.call('XADD', KEYS[3], '*', 'e', ARGV[3])
if #ARGV[5] > 0 then
  redis.call('XADD', KEYS[4], '*', 'c', ARGV[5])
  local left = redis.call('PTTL', KEYS[1]) - ARGV[8]
  if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
end
redis.call('ZREM', KEYS[5], ARGV[6])
return 'learned'

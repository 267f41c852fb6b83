-- Adds items, or changes those that are there: what a patch leaves out stays as it was.
-- KEYS: items, changed (ids by version), version, live (how many items are not removed).
-- ARGV: bytes of the features, id, patch, id, patch, ...
-- A value of `items` is the slot (4 bytes), whether it is removed (1 byte), and a body: merit and
-- popularity (8 bytes each), features, labels. A patch is a body too: a number may be left out,
-- and a label may be empty, which removes it. Attributes are labels too, see packing.py.
local LEFT_OUT = '\0\0\0\0\0\0\248\127' -- a double that is not a number
local MERIT, POPULARITY = struct.pack('<d', 1), struct.pack('<d', 0) -- of a new item
local LABEL = '<I4c0I4c0' -- column and label, each after its length
local features_end = 16 + ARGV[1]

local function parts(body)
  return string.sub(body, 1, 8), string.sub(body, 9, 16), string.sub(body, features_end + 1)
end

local function chosen(new, old) return new == LEFT_OUT and old or new end

local function merged(old, patch)
  if patch == '' then return old end
  local labels, columns, found = {}, {}, {}
  for _, text in ipairs({old, patch}) do
    local at = 1
    while at <= #text do
      local column, label
      column, label, at = struct.unpack(LABEL, text, at)
      if not labels[column] then columns[#columns + 1] = column end
      labels[column] = label
    end
  end
  for _, column in ipairs(columns) do
    local label = labels[column]
    if label ~= '' then found[#found + 1] = struct.pack(LABEL, #column, column, #label, label) end
  end
  return table.concat(found)
end

local version = redis.call('INCR', KEYS[3])
local added = 0
for at = 2, #ARGV, 2 do
  local id, patch = ARGV[at], ARGV[at + 1]
  local known = redis.call('HGET', KEYS[1], id)
  local slot = known and string.sub(known, 1, 4)
    or struct.pack('<i4', redis.call('HLEN', KEYS[1])) -- removed items stay, so HLEN is new
  local merit, popularity, labels = MERIT, POPULARITY, ''
  if known and string.byte(known, 5) == 0 then
    merit, popularity, labels = parts(string.sub(known, 6))
  else
    added = added + 1
  end
  local new_merit, new_popularity, new_labels = parts(patch)
  redis.call('HSET', KEYS[1], id, table.concat({
    slot, '\0', chosen(new_merit, merit), chosen(new_popularity, popularity),
    string.sub(patch, 17, features_end), merged(labels, new_labels),
  }))
  redis.call('ZADD', KEYS[2], version, id)
end
redis.call('INCRBY', KEYS[4], added)

-- Lets the store have at least so many sums for each user. KEYS: shape. ARGV: how many.
local shape = cjson.decode(redis.call('GET', KEYS[1]))
if shape.sums < tonumber(ARGV[1]) then
  shape.sums = tonumber(ARGV[1])
  redis.call('SET', KEYS[1], cjson.encode(shape))
end

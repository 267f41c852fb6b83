-- Drops some of the impressions without an answer that were handed out before a time; returns how
-- many. KEYS: open (ids by time), changes. ARGV: time, how many at most, stem of impression keys.
local EXPIRED = '\3' -- see changes.py
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local body = redis.call('GET', ARGV[3] .. id)
  if body then
    redis.call('XADD', KEYS[2], '*', 'c', EXPIRED .. struct.pack('<I4c0', #id, id) .. body)
    redis.call('UNLINK', ARGV[3] .. id)
  end
  redis.call('ZREM', KEYS[1], id)
end
return #ids

-- Numbers ------------------------------------------------------------------------------------------------------------
-- A context `c` is what is known of the message while it is read: `tvb`, `stop` (one past the last byte), `seen`
-- (values that decide how others are read), `topics`, `errors`, `left` (how many items may still be shown).

local function fail(at, text, ...) error({ at = at, text = format(text, ...) }, 0) end

-- Return a context for bytes that are read for what they say, and not shown.
local function unshown(c, stop, seen)
  return { tvb = c.tvb, stop = stop, seen = seen, topics = {}, errors = {}, codes = {} }
end

local function need(c, p, size, label)
  if p + size > c.stop then fail(p, "%s needs %d bytes, %d are left", label, size, c.stop - p) end
end

local function uint16(s, p) local a, b = byte(s, p, p + 1) return a * 0x100 + b end
local function uint32(s, p) local a, b, c, d = byte(s, p, p + 3) return ((a * 0x100 + b) * 0x100 + c) * 0x100 + d end
local function int8(s, p)
  local a = byte(s, p)
  if a > 0x7f then return a - 0x100 end
  return a
end
local function int16(s, p)
  local a, b = byte(s, p, p + 1)
  if a > 0x7f then a = a - 0x100 end
  return a * 0x100 + b
end
local function int32(s, p)
  local a, b, c, d = byte(s, p, p + 3)
  if a > 0x7f then a = a - 0x100 end
  return ((a * 0x100 + b) * 0x100 + c) * 0x100 + d
end
local function int64(s, p)
  local a, b, c, d, e, f, g, h = byte(s, p, p + 7)
  if a > 0x7f then a = a - 0x100 end
  return (((a * 0x100 + b) * 0x100 + c) * 0x100 + d) * 0x100000000 + ((e * 0x100 + f) * 0x100 + g) * 0x100 + h
end

local FIXED = {
  int8 = { 1, int8 }, int16 = { 2, int16 }, int32 = { 4, int32 },
  int64 = { 8, int64 }, uint16 = { 2, uint16 }, uint32 = { 4, uint32 }, boolean = { 1, byte }, float64 = { 8, int64 },
}

-- Read a base-128 number; return its low and high 32 bits and where it ends.
local function groups(s, p, c, label, most)
  local low, high, shift = 0, 0, 1
  for i = 0, most - 1 do
    need(c, p + i, 1, label)
    local group = byte(s, p + i)
    local bits = group % 0x80
    if i < 4 then low = low + bits * shift
    elseif i == 4 then low, high = low + bits % 0x10 * 0x10000000, floor(bits / 0x10)
    else high = high + bits * 2 ^ (7 * i - 32) end
    shift = shift * 0x80
    if group < 0x80 then
      if high >= 0x100000000 or (most == 5 and high > 0) then break end
      return low, high, p + i + 1
    end
  end
  fail(p, "%s is too large for its type", label)
end

-- Most have one byte or two.
local function unsigned_varint(s, p, c, label)
  local first, second = byte(s, p, p + 1)
  if p < c.stop and first < 0x80 then return first, p + 1 end
  if p + 1 < c.stop and second < 0x80 then return first + second * 0x80 - 0x80, p + 2 end
  local low, _, at = groups(s, p, c, label, 5)
  return low, at
end

local function varint(s, p, c, label)
  local raw, at = unsigned_varint(s, p, c, label)
  if raw % 2 == 1 then return -(raw + 1) / 2, at end
  return raw / 2, at
end

-- Return a number where it is exact as one, else an Int64: to make one costs.
local function varlong(s, p, c, label)
  if p + 1 < c.stop and (byte(s, p) < 0x80 or byte(s, p + 1) < 0x80) then return varint(s, p, c, label) end
  local low, high, at = groups(s, p, c, label, 10)
  local odd = low % 2 == 1
  if high < 0x100000 then
    local value = floor((high * 0x100000000 + low) / 2)
    return odd and -value - 1 or value, at
  end
  low, high = floor(low / 2) + high % 2 * 0x80000000, floor(high / 2)
  if odd then low, high = 0xffffffff - low, 0xffffffff - high end
  return Int64.new(low, high), at
end

-- Return what reads a length or a count, of which -1 stands for null. Lengths of compact forms are one more.
local function length_reader(node, label)
  if node.length == "compact" then
    return function(s, p, c)
      local count, at = unsigned_varint(s, p, c, label)
      return count - 1, at
    end
  end
  local width, value_of = unpack(FIXED[node.length] or {})
  return function(s, p, c)
    local length, at
    if not width then length, at = varint(s, p, c, label)
    else
      at = p + width
      if at > c.stop then need(c, p, width, label) end
      length = value_of(s, p)
    end
    if length < -1 then fail(p, "%s has the length %d", label, length) end
    return length, at
  end
end

-- Meanings -----------------------------------------------------------------------------------------------------------

local last_time, last_text

local function time_of(milliseconds)
  if milliseconds == last_time then return last_text end
  if milliseconds < 0 or milliseconds > 253402300799999 then return "" end
  local seconds = floor(milliseconds / 1000)
  last_time = milliseconds
  last_text = format(" (%s.%03d UTC)", os.date("!%Y-%m-%d %H:%M:%S", seconds), milliseconds - seconds * 1000)
  return last_text
end

local function names_of_bits(value, names)
  local set, left = {}, value % 0x100000000
  for i = 0, 31 do
    if left % 2 == 1 and names[i] then set[#set + 1] = names[i] end
    left = floor(left / 2)
  end
  return #set > 0 and " (" .. table.concat(set, ", ") .. ")" or ""
end

local MEANINGS = {
  timestamp = function(value, names)
    return names and names[value] and format(" (%s)", names[value]) or time_of(value)
  end,
  bits = names_of_bits,
  names = function(value, names) return names[value] and " (" .. names[value] .. ")" or "" end,
}

local function note_error(value, p, tree, c)
  c.errors[#c.errors + 1] = ERRORS[value] or tostring(value)
  c.codes[#c.errors] = value
  if tree then
    set_generated(add(tree, F.error_code, range(c.tvb, p - 1, 2), value))
    set_generated(add(tree, F.error, range(c.tvb, p - 1, 2), c.errors[#c.errors]))
  end
end

local function note_topic(name, c)
  local topics = c.topics
  for i = 1, #topics do
    if topics[i] == name then return end
  end
  if #topics < 16 then topics[#topics + 1] = name end
end

-- Record sets ---------------------------------------------------------------------------------------------------------

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

-- The tables of a CRC, for the four bytes of a word: a call of `bit` costs more than to look a byte up.
local crc_tables = {}

local function crc_table(polynomial)
  local made = { {}, {}, {}, {} }
  for i = 0, 255 do
    local value = i
    for _ = 1, 8 do
      value = value % 2 == 1 and bxor(rshift(value, 1), polynomial) or rshift(value, 1)
    end
    made[1][i] = value
  end
  for k = 2, 4 do
    for i = 0, 255 do
      local value = made[k - 1][i]
      made[k][i] = bxor(made[1][band(value, 0xff)], rshift(value, 8))
    end
  end
  crc_tables[polynomial] = made
  return made
end

local function crc(s, from, to, polynomial)
  local steps = crc_tables[polynomial] or crc_table(polynomial)
  local first, second, third, fourth = steps[1], steps[2], steps[3], steps[4]
  local value = -1
  while from + 3 <= to do
    local a, b, c, d = byte(s, from, from + 3)
    value = bxor(value, a + b * 0x100 + c * 0x10000 + d * 0x1000000)
    a = value % 0x100
    local rest = (value - a) / 0x100
    b = rest % 0x100
    rest = (rest - b) / 0x100
    c = rest % 0x100
    value = bxor(fourth[a], third[b], second[c], first[(rest - c) / 0x100 % 0x100])
    from = from + 4
  end
  for i = from, to do value = bxor(first[band(bxor(value, byte(s, i)), 0xff)], rshift(value, 8)) end
  return bxor(value, -1) % 0x100000000
end

local function check_crc(s, at, from, to, polynomial, tree)
  if to - from >= largest_crc then return end
  local says, gives = uint32(s, at), crc(s, from, to, polynomial)
  if says ~= gives then
    tree:add_proto_expert_info(X.crc, format("CRC is 0x%08x, the bytes give 0x%08x", says, gives))
  end
end

local CODECS = { [0] = "none", "gzip", "snappy", "lz4", "zstd" }

local DECOMPRESSORS = {
  gzip = { "uncompress_zlib", "uncompress" }, zstd = { "uncompress_zstd" }, snappy = { "uncompress_snappy" }, lz4 = {},
}

-- Return decompressed bytes as a buffer, or nil and what hinders it.
local function decompressed(codec, bytes)
  local name = CODECS[codec]
  if not DECOMPRESSORS[name] then return nil, "unknown codec " .. codec end
  for _, method in ipairs(DECOMPRESSORS[name]) do
    local known, decompress = pcall(function() return bytes[method] end)
    if known and decompress then
      local ok, plain = pcall(decompress, bytes, name)
      if ok and plain then return plain:tvb() end
      return nil, format("%s data that Wireshark cannot decompress", name)
    end
  end
  return nil, format("%s data: the Lua of this version of Wireshark has no decompressor for it", name)
end

local function within(c, tvb, stop)
  return setmetatable({ tvb = tvb or c.tvb, stop = stop, seen = {} }, { __index = c })
end

-- Read the records of a batch.
local function read_records(s, p, stop, count, batch, tree, c)
  local inner = within(c, c.tvb, stop)
  inner.absolute = batch.absolute
  local reader, field = readers[DATA.record], fields[DATA.record_field]
  local list = add(tree, range(c.tvb, p - 1, stop - p), format("records: %d", count))
  for i = 0, count - 1 do
    if not shown(list, c, 6) then return end
    local length, at = varint(s, p, inner, "length of a record")
    need(inner, at, length < 0 and 1 / 0 or length, "record")
    local item = add(list, field, range(c.tvb, p - 1, at + length - p))
    inner.stop = at + length
    if reader(s, at, item, inner) ~= inner.stop then
      fail(at, "record %d does not fill its length of %d bytes", i, length)
    end
    if batch.control then
      local kind = inner.seen.key and #inner.seen.key >= 4 and int16(inner.seen.key, 3) or -1
      local name = DATA.control[kind] or format("UNKNOWN_%d", kind)
      add(item, F.control, range(c.tvb, p - 1, inner.stop - p), name):set_generated()
    end
    if batch.append_time then
      add(item, F.timestamp, range(c.tvb, p - 1, inner.stop - p), batch.append_time):set_generated()
        :append_text(time_of(batch.append_time:tonumber()))
    end
    p, inner.stop = inner.stop, stop
  end
  if p ~= stop then fail(p, "%d bytes after the last record", stop - p) end
end

local function read_batch(s, p, stop, tree, c)
  local header = readers[DATA.batch]
  local inner = within(c, c.tvb, stop)
  local at = header(s, p, tree, inner)
  check_crc(s, p + 17, p + 21, stop - 1, 0x82f63b78, tree)
  local attributes, count = inner.seen.attributes, inner.seen.records_count
  local batch = { control = band(attributes, 0x20) ~= 0 }
  batch.absolute = { offset_delta = { field = F.offset, base = range(c.tvb, p - 1, 8):int64() } }
  if band(attributes, 8) ~= 0 then batch.append_time = range(c.tvb, p + 34, 8):int64()
  else
    local base_timestamp = range(c.tvb, p + 26, 8):int64()
    batch.absolute.timestamp_delta = { field = F.timestamp, base = base_timestamp, meaning = time_of }
  end
  local codec = band(attributes, 7)
  if codec == 0 then return read_records(s, at, stop, count, batch, tree, c) end
  local item = add(tree, F.records, range(c.tvb, at - 1, stop - at))
  item:set_text(format("compressed_records: %d bytes (%s)", stop - at, CODECS[codec] or codec))
  local plain, why = decompressed(codec, range(c.tvb, at - 1, stop - at))
  if not plain then item:add_proto_expert_info(X.codec, why) return end
  local data = plain:raw()
  read_records(data, 1, #data + 1, count, batch, tree, within(c, plain, #data + 1))
end

local read_entries

local function read_message(magic, s, p, stop, tree, c, depth)
  local inner = within(c, c.tvb, stop)
  readers[DATA.front](s, p, tree, inner)
  local at = readers[DATA.messages[magic + 1]](s, p + 12, tree, inner)
  if at ~= stop then fail(at, "%d bytes after the last field of the message", stop - at) end
  check_crc(s, p + 12, p + 16, stop - 1, 0xedb88320, tree)
  local codec, length = band(inner.seen.attributes, 7), inner.seen.value and #inner.seen.value
  if codec == 0 or not length then return end
  if depth >= MAX_DEPTH then fail(p, "message sets are nested more than %d times", MAX_DEPTH) end
  local plain, why = decompressed(codec, range(c.tvb, stop - 1 - length, length))
  if not plain then tree:add_proto_expert_info(X.codec, why) return end
  local data = plain:raw()
  read_entries(data, 1, #data + 1, false, tree, within(c, plain, #data + 1), depth + 1)
end

function read_entries(s, p, stop, cut, tree, c, depth)
  local i = 0
  while p < stop do
    local length = p + 17 <= stop and int32(s, p + 8)
    local magic = length and byte(s, p + 16)
    if length and (magic > 2 or length < (magic < 2 and 14 or DATA.batch_size - 12) or (magic == 2 and depth > 0)) then
      local item = add(tree, F.bytes, range(c.tvb, p - 1, stop - p))
      item:add_proto_expert_info(X.malformed, "No record batch or message begins here")
      return
    end
    local ends = length and p + 12 + length
    if not ends or ends > stop then
      local item = add(tree, F.bytes, range(c.tvb, p - 1, stop - p))
      item:set_text(format("partial: %d bytes", stop - p))
      if not cut then item:add_proto_expert_info(X.malformed, "The record set ends inside this batch or message") end
      return
    end
    if not shown(tree, c, 2) then return end
    local item = add(tree, fields[magic == 2 and DATA.batch_field or DATA.message_field], range(c.tvb, p - 1, ends - p))
    set_text(item, indexed(magic == 2 and "batch" or "message", i))
    local ok, why
    if magic == 2 then ok, why = pcall(read_batch, s, p, ends, item, c)
    else ok, why = pcall(read_message, magic, s, p, ends, item, c, depth) end
    if not ok then item:add_proto_expert_info(X.malformed, type(why) == "table" and why.text or tostring(why)) end
    p, i = ends, i + 1
  end
end

function make.records(node)
  local field, label = fields[node[2]], labels[node[2]]
  return function(s, p, tree, c)
    local length, at = read_length(node, s, p, c, label)
    if length < 0 then
      if tree then add(tree, field, range(c.tvb, p - 1, at - p)):set_text(label .. ": null") end
      return at
    end
    local stop = math.min(at + length, c.stop)
    if tree then
      local item = add(tree, field, range(c.tvb, p - 1, stop - p))
      item:set_text(format("%s: %d bytes", label, length))
      c.secretive = DATA.secretive[c.seen.topic_id or ""] or DATA.secretive[c.seen.topic or ""]
      read_entries(s, at, stop, node.cut or stop < at + length, item, c, 0)
    end
    need(c, at, length, label)
    return at + length
  end
end

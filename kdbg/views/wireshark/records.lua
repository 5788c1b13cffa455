-- Record sets ---------------------------------------------------------------------------------------------------------

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

-- The tables of a CRC, for eight bytes at a time: a call of `bit` costs more than to look a byte up.
local crc_tables = {}

local function crc_table(polynomial)
  local made = { {}, {}, {}, {}, {}, {}, {}, {} }
  for i = 0, 255 do
    local value = i
    for _ = 1, 8 do
      value = value % 2 == 1 and bxor(rshift(value, 1), polynomial) or rshift(value, 1)
    end
    made[1][i] = value
  end
  for k = 2, 8 do
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
  local t1, t2, t3, t4, t5, t6, t7, t8 = steps[1], steps[2], steps[3], steps[4], steps[5], steps[6], steps[7], steps[8]
  local value = -1
  while from + 7 <= to do
    local a, b, c, d, e, f, g, h = byte(s, from, from + 7)
    value = bxor(value, a + b * 0x100 + c * 0x10000 + d * 0x1000000) % 0x100000000
    a = value % 0x100
    local rest = (value - a) / 0x100
    b = rest % 0x100
    rest = (rest - b) / 0x100
    c = rest % 0x100
    value = bxor(t8[a], t7[b], t6[c], t5[(rest - c) / 0x100], t4[e], t3[f], t2[g], t1[h])
    from = from + 8
  end
  for i = from, to do value = bxor(t1[band(bxor(value, byte(s, i)), 0xff)], rshift(value, 8)) end
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

-- Read the records of a batch.
local function read_records(s, p, stop, count, batch, tree, c)
  c.stop, c.absolute = stop, batch.absolute
  local reader, field, seen = readers[DATA.record], fields[DATA.record_field], c.seen
  local list = add(tree, range(c.tvb, p - 1, stop - p), format("records: %d", count))
  for i = 0, count - 1 do
    if not shown(list, c, 6) then return end
    local length, at = varint(s, p, c, "length of a record")
    need(c, at, length < 0 and 1 / 0 or length, "record")
    local ends = at + length
    local item = add(list, field, range(c.tvb, p - 1, ends - p))
    c.stop = ends
    if reader(s, at, item, c) ~= ends then
      fail(at, "record %d does not fill its length of %d bytes", i, length)
    end
    if batch.control then
      local kind = seen.key and #seen.key >= 4 and int16(seen.key, 3) or -1
      local name = DATA.control[kind] or format("UNKNOWN_%d", kind)
      set_generated(add(item, F.control, range(c.tvb, p - 1, ends - p), name))
    end
    if batch.append_time then
      local shown_time = set_generated(add(item, F.timestamp, range(c.tvb, p - 1, ends - p), batch.append_time))
      append_text(shown_time, time_of(batch.append_time:tonumber()))
    end
    p, c.stop = ends, stop
  end
  if p ~= stop then fail(p, "%d bytes after the last record", stop - p) end
end

-- Return a number of 64 bits: as an Int64 where a number of Lua may not be exact.
local function exact(s, p, c)
  local value = int64(s, p)
  if value > -2 ^ 52 and value < 2 ^ 52 then return value end
  return range(c.tvb, p - 1, 8):int64()
end

local function read_batch(s, p, stop, tree, c)
  local at = readers[DATA.batch](s, p, tree, c)
  check_crc(s, p + 17, p + 21, stop - 1, 0x82f63b78, tree)
  local attributes, count = c.seen.attributes, c.seen.records_count
  local batch = { control = band(attributes, 0x20) ~= 0 }
  batch.absolute = { offset_delta = { field = F.offset, base = exact(s, p, c) } }
  if band(attributes, 8) ~= 0 then batch.append_time = range(c.tvb, p + 34, 8):int64()
  else
    batch.absolute.timestamp_delta = { field = F.timestamp, base = exact(s, p + 27, c), meaning = time_of }
  end
  local codec = band(attributes, 7)
  if codec == 0 then return read_records(s, at, stop, count, batch, tree, c) end
  local item = add(tree, F.records, range(c.tvb, at - 1, stop - at))
  item:set_text(format("compressed_records: %d bytes (%s)", stop - at, CODECS[codec] or codec))
  local plain, why = decompressed(codec, range(c.tvb, at - 1, stop - at))
  if not plain then item:add_proto_expert_info(X.codec, why) return end
  local data = plain:raw()
  c.tvb = plain
  read_records(data, 1, #data + 1, count, batch, tree, c)
end

local read_entries

local function read_message(magic, s, p, stop, tree, c, depth)
  readers[DATA.front](s, p, tree, c)
  local at = readers[DATA.messages[magic + 1]](s, p + 12, tree, c)
  if at ~= stop then fail(at, "%d bytes after the last field of the message", stop - at) end
  check_crc(s, p + 12, p + 16, stop - 1, 0xedb88320, tree)
  local codec, length = band(c.seen.attributes, 7), c.seen.value and #c.seen.value
  if codec == 0 or not length then return end
  if depth >= MAX_DEPTH then fail(p, "message sets are nested more than %d times", MAX_DEPTH) end
  local plain, why = decompressed(codec, range(c.tvb, stop - 1 - length, length))
  if not plain then tree:add_proto_expert_info(X.codec, why) return end
  local data = plain:raw()
  c.tvb = plain
  read_entries(data, 1, #data + 1, false, tree, c, depth + 1)
end

-- Read batches and messages. Each has a context of its own: what it changes of `c` is put back after it.
function read_entries(s, p, stop, cut, tree, c, depth)
  local i, tvb, outer, seen = 0, c.tvb, c.stop, c.seen
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
    c.stop, c.seen = ends, {}
    local ok, why
    if magic == 2 then ok, why = pcall(read_batch, s, p, ends, item, c)
    else ok, why = pcall(read_message, magic, s, p, ends, item, c, depth) end
    c.tvb, c.stop, c.seen, c.absolute = tvb, outer, seen, nil
    if not ok then item:add_proto_expert_info(X.malformed, type(why) == "table" and why.text or tostring(why)) end
    p, i = ends, i + 1
  end
end

function make.records(node)
  local field, label = fields[node[2]], labels[node[2]]
  local read_length = length_reader(node, label)
  return function(s, p, tree, c)
    local length, at = read_length(s, p, c)
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

-- The interpreter of the tables above. It knows the types of Kafka's protocol, no API.

local byte, floor, format = string.byte, math.floor, string.format
local add, range, set_text, set_len = TreeItem.add, Tvb.range, TreeItem.set_text, TreeItem.set_len
local append_text, add_packet_field = TreeItem.append_text, TreeItem.add_packet_field
local referenced, length_in, bytes_in, remaining = TreeItem.referenced, Tvb.len, Tvb.raw, Tvb.reported_length_remaining
local NODES, APIS, PAYLOADS, NAMES, ERRORS = DATA.nodes, DATA.apis, DATA.payloads, DATA.names, DATA.errors
local MAX_SIZE, MAX_ITEMS, MAX_DEPTH, MAX_CLIENT_ID, NEAR, PEEK, TEXT = 0x40000000, 500000, 4, 1024, 1000, 2048, 100

local kdbg = Proto("kdbg", "Apache Kafka (kdbg)")

kdbg.prefs.ports = Pref.range("TCP ports", "9092",
  "TCP ports of brokers. Other ports are recognised by the first request.", 65535)
kdbg.prefs.secrets = Pref.bool("Show secrets", false,
  "Show passwords, tokens, keys and sensitive configuration values.")
kdbg.prefs.crc = Pref.uint("Largest batch to check", 65536,
  "Check the CRC of batches up to this size in bytes. 0 checks none.")

local secrets, largest_crc = false, 65536 -- the preferences; to ask for them at each field costs

local function text_field(abbrev, name, about)
  return ProtoField.string("kdbg." .. abbrev, name, base.UNICODE, about)
end

local F = {
  api = text_field("api", "api", "name of the API"),
  size = ProtoField.int32("kdbg.size", "size", base.DEC, nil, nil, "bytes of the message after this field"),
  of_version = ProtoField.int16("kdbg.api_version", "api_version", base.DEC, nil, nil, "version of the API"),
  of_client = text_field("client_id", "client_id", "client.id of the client"),
  topic = text_field("topic", "topic", "a topic that the message names"),
  error = text_field("error", "error", "name of an error code other than 0"),
  error_code = ProtoField.int16("kdbg.error_code", "error_code", base.DEC, nil, nil, "an error code other than 0"),
  bytes = ProtoField.bytes("kdbg.bytes", "bytes", base.NONE, "bytes that no field takes"),
  body = ProtoField.bytes("kdbg.body", "body", base.NONE, "body of an API or a version that this file does not know"),
  token = ProtoField.bytes("kdbg.token", "token", base.NONE, "SASL token without a Kafka header"),
  unknown_tag = ProtoField.bytes("kdbg.unknown_tagged_field", "unknown tagged field", base.NONE,
    "tagged field that this version does not have"),
  records = ProtoField.bytes("kdbg.compressed_records", "compressed_records", base.NONE, "records as they were sent"),
  offset = ProtoField.int64("kdbg.record.offset", "offset", base.DEC, nil, nil, "offset of the record"),
  control = text_field("record.control", "control", "type of a control record"),
  timestamp = ProtoField.int64("kdbg.record.timestamp", "timestamp", base.DEC, nil, nil,
    "timestamp of the record in ms since 1970"),
  request_in = ProtoField.framenum("kdbg.request_in", "request in frame", base.NONE, frametype.REQUEST),
  response_in = ProtoField.framenum("kdbg.response_in", "response in frame", base.NONE, frametype.RESPONSE),
  time = ProtoField.relative_time("kdbg.time", "time", "time from the request to the response"),
}

-- What is shown below a record set beside the fields of the grammar. Expert information of it is asked for by name.
local BELOW = { F.bytes, F.records, F.offset, F.timestamp, F.control }
for _, name in ipairs({ "malformed", "wrong_crc", "compressed" }) do
  BELOW[#BELOW + 1] = ProtoField.none("kdbg." .. name, name)
end

local function expert_info(name, text, severity)
  local group = severity == "ERROR" and "MALFORMED" or "PROTOCOL"
  return ProtoExpert.new("kdbg." .. name, text, expert.group[group], expert.severity[severity])
end

local X = {
  malformed = expert_info("malformed", "Malformed message", "ERROR"),
  trailing = expert_info("trailing_bytes", "Bytes after the last field", "ERROR"),
  cut = expert_info("cut", "Message is not complete in the capture", "WARN"),
  crc = expert_info("wrong_crc", "Wrong CRC", "ERROR"),
  unsolicited = expert_info("unsolicited_response", "No request with this correlation id", "WARN"),
  version = expert_info("unknown_version", "Unknown API or version", "WARN"),
  unanswered = expert_info("unanswered_request", "No response in the capture", "WARN"),
  error = expert_info("error_response", "Error code", "NOTE"),
  undecoded = expert_info("undecoded", "No Kafka message", "WARN"),
  codec = expert_info("compressed", "Codec that this version of Wireshark cannot decompress for Lua", "NOTE"),
  limit = expert_info("limit", "Not all items are shown", "WARN"),
  variant = expert_info("variant", "Layout of other programs", "NOTE"),
}

-- Fields: one for each path of the grammars ------------------------------------------------------------------------

local TYPES = {
  int8 = ftypes.INT8, int16 = ftypes.INT16, int32 = ftypes.INT32, int64 = ftypes.INT64, uint16 = ftypes.UINT16,
  uint32 = ftypes.UINT32, float64 = ftypes.DOUBLE, boolean = ftypes.BOOLEAN, varint = ftypes.INT32,
  varlong = ftypes.INT64, unsigned_varint = ftypes.UINT32, uuid = ftypes.GUID, text = ftypes.STRING,
  bytes = ftypes.BYTES, none = ftypes.NONE,
}
local UNBASED = { float64 = true, boolean = true, uuid = true, text = true, bytes = true, none = true }
local fields, labels = {}, {}
for i, field in ipairs(DATA.fields) do
  local path, type, about, names = field[1], field[2], field[3], NAMES[field[4]]
  labels[i] = path:match("[^.]+$")
  local base_of = not UNBASED[type] and base.DEC or nil
  fields[i] = ProtoField.new(labels[i], "kdbg." .. path, TYPES[type], names, base_of, nil, about)
end
DATA.fields = nil
local all = {}
for _, field in pairs(F) do all[#all + 1] = field end
for i = 6, #BELOW do all[#all + 1] = BELOW[i] end
for _, field in ipairs(fields) do all[#all + 1] = field end
kdbg.fields = all
local experts = {}
for _, info in pairs(X) do experts[#experts + 1] = info end
kdbg.experts = experts

-- Numbers ------------------------------------------------------------------------------------------------------------
-- A context `c` is what is known of the message while it is read: `tvb`, `stop` (one past the last byte), `seen`
-- (values that decide how others are read), `topics`, `errors`, `budget` (how many items may still be shown).

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
local function signed(value, limit) if value >= limit then return value - 2 * limit end return value end
local function int16(s, p) return signed(uint16(s, p), 0x8000) end
local function int32(s, p) return signed(uint32(s, p), 0x80000000) end
local function int64(s, p) return int32(s, p) * 0x100000000 + uint32(s, p + 4) end

local FIXED = {
  int8 = { 1, function(s, p) return signed(byte(s, p), 0x80) end }, int16 = { 2, int16 }, int32 = { 4, int32 },
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

local function unsigned_varint(s, p, c, label)
  if p < c.stop then
    local first = byte(s, p)
    if first < 0x80 then return first, p + 1 end
  end
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

-- Read a length or a count; nil stands for null. Lengths of compact forms are one more.
local LENGTHS = {
  varint = varint,
  compact = function(s, p, c, label)
    local count, at = unsigned_varint(s, p, c, label)
    return count - 1, at
  end,
}
for _, name in ipairs({ "int8", "int16", "int32" }) do
  local size, value_of = FIXED[name][1], FIXED[name][2]
  LENGTHS[name] = function(s, p, c, label)
    need(c, p, size, label)
    return value_of(s, p), p + size
  end
end

local function read_length(node, s, p, c, label)
  local length, at = LENGTHS[node.length](s, p, c, label)
  if length < -1 then fail(p, "%s has the length %d", label, length) end
  return length, at
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
  names = function(value, names) return names[value] and format(" (%s)", names[value]) or "" end,
}

local function printable(s) return s:find("^[\t\n\r -~\194-\244\128-\191]*$") end

local function note_error(value, p, tree, c)
  c.errors[#c.errors + 1] = ERRORS[value] or tostring(value)
  c.codes[#c.errors] = value
  if tree then
    add(tree, F.error_code, range(c.tvb, p - 1, 2), value):set_generated()
    add(tree, F.error, range(c.tvb, p - 1, 2), c.errors[#c.errors]):set_generated()
  end
end

local function note_topic(name, c)
  local topics = c.topics
  for i = 1, #topics do
    if topics[i] == name then return end
  end
  if #topics < 16 then topics[#topics + 1] = name end
end

-- Readers: `reader(s, p, tree, c)` reads one value at `p` of the string `s` and returns where it ends. Without a tree
-- it shows nothing. Each node of the tables becomes one reader, when it is first needed.

local readers, make = {}, {}
local widths = {} -- readers that only step over so many bytes where nothing is shown
setmetatable(readers, { __index = function(_, i)
  local node = load("return " .. NODES[i])()
  local reader = (make[node[1]] or make.fixed)(node)
  readers[i] = reader
  return reader
end })

local function shown(tree, c, weight)
  local budget = c.budget
  budget.left = budget.left - weight
  if budget.left < 0 then return nil end
  return tree
end

function make.fixed(node)
  local size, value_of = FIXED[node[1]][1], FIXED[node[1]][2]
  local field, label, kind, keep, names = fields[node[2]], labels[node[2]], node.kind, node.keep, NAMES[node.names]
  local meaning = kind ~= "error" and MEANINGS[kind] or names and MEANINGS.names
  if not (kind == "error" or keep or meaning) then
    local function read(s, p, tree, c)
      local stop = p + size
      if stop > c.stop then need(c, p, size, label) end
      if tree then add(tree, field, range(c.tvb, p - 1, size)) end
      return stop
    end
    widths[read] = size
    return read
  end
  return function(s, p, tree, c)
    need(c, p, size, label)
    local value = value_of(s, p)
    if keep then c.seen[keep] = value end
    if tree then
      local item = add(tree, field, range(c.tvb, p - 1, size))
      local said = meaning and meaning(value, names)
      if said and said ~= "" then append_text(item, said) end
    end
    if kind == "error" and value ~= 0 then note_error(value, p, tree, c) end
    return p + size
  end
end

-- A varint. In the records of a batch `c.absolute` says which field shows what a delta stands for, and from where on.
local function numeric(read, long)
  return function(node)
    local field, label, keep = fields[node[2]], labels[node[2]], node.keep
    return function(s, p, tree, c)
      local value, at = read(s, p, c, label)
      if keep then c.seen[keep] = value end
      if tree then
        local absolute = keep and c.absolute and c.absolute[keep]
        if absolute then
          value = absolute.base + value
          local item = add(tree, absolute.field, range(c.tvb, p - 1, at - p), value)
          if absolute.meaning then append_text(item, absolute.meaning(value:tonumber())) end
        else
          if long and type(value) == "number" then value = Int64.new(value) end
          add(tree, field, range(c.tvb, p - 1, at - p), value)
        end
      end
      return at
    end
  end
end
make.unsigned_varint, make.varint, make.varlong = numeric(unsigned_varint), numeric(varint), numeric(varlong, true)

local topic_names = {}

function make.uuid(node)
  local field, label, kind = fields[node[2]], labels[node[2]], node.kind
  return function(s, p, tree, c)
    need(c, p, 16, label)
    local item = tree and add(tree, field, range(c.tvb, p - 1, 16))
    if kind == "topic_id" then
      local id = s:sub(p, p + 15)
      local name = topic_names[id]
      c.seen.topic_id = id
      if name then
        note_topic(name, c)
        if item then append_text(item, format(" (%s)", name)) end
      end
    end
    return p + 16
  end
end

-- Show that something is secret, or return false where it is not.
local function hidden(node, c)
  if secrets or not (node.secret or c.secretive and node.data) then return false end
  if not node.secret then return true end
  local says = node.when and c.seen[node.when]
  if says == nil or says == 1 then return true end
  if type(says) ~= "string" then return false end
  local key = says:gsub("^listener%.name%.[%w_-]+%.", ""):gsub("^plain%.", ""):gsub("^gssapi%.", "")
    :gsub("^oauthbearer%.", ""):gsub("^scram%-sha%-%d+%.", "")
  return not (DATA.public:find(" " .. says .. " ", 1, true) or DATA.public:find(" " .. key .. " ", 1, true))
end

local function show_bytes(tree, field, at, stop, c, s)
  local item = add(tree, field, range(c.tvb, at - 1, stop - at))
  local text = s:sub(at, stop - at > TEXT and at + TEXT - 1 or stop - 1)
  if text ~= "" and printable(text) then append_text(item, " (" .. text .. (stop - at > TEXT and "…)" or ")")) end
  return item
end

local HIDDEN = "%s: %d bytes, hidden (see the preference Show secrets)"

-- Show an item that stands for bytes and has no value.
local function valueless(tree, field, p, at, c, text)
  local item = add(tree, field, range(c.tvb, p - 1, 0))
  item:set_len(at - p)
  item:set_text(text)
  return item
end

local open_payload

function make.sized(node)
  local field, label, text, kind, keep = fields[node[2]], labels[node[2]], node.text, node.kind, node.keep
  return function(s, p, tree, c)
    local length, at = read_length(node, s, p, c, label)
    if length < 0 then
      if keep then c.seen[keep] = nil end
      if tree then valueless(tree, field, p, at, c, label .. ": null") end
      return at
    end
    need(c, at, length, label)
    local stop = at + length
    if keep or kind == "topic" then
      local value = s:sub(at, stop - 1)
      if keep then c.seen[keep] = value end
      if kind == "topic" then
        note_topic(value, c)
        c.seen.topic = value
      end
    end
    if tree then
      if hidden(node, c) then
        valueless(tree, field, p, stop, c, format(HIDDEN, label, length))
      elseif text then
        add_packet_field(tree, field, range(c.tvb, at - 1, length), ENC_UTF_8)
      else
        local item = show_bytes(tree, field, at, stop, c, s)
        if node.holds and length > 0 then open_payload(node.holds, s, at, stop, item, c) end
      end
    end
    return stop
  end
end

function make.rest(node)
  local field, label = fields[node[2]], labels[node[2]]
  return function(s, p, tree, c)
    if tree and p < c.stop then
      if hidden(node, c) then
        valueless(tree, field, p, c.stop, c, format(HIDDEN, label, c.stop - p))
      else
        add(tree, field, range(c.tvb, p - 1, c.stop - p))
      end
    end
    return c.stop
  end
end

-- Read one tagged field of so many bytes.
local function tagged_field(tags, tag, size, s, p, tree, c)
  need(c, p, size, "tagged field")
  if tags[tag] then
    local taken = readers[tags[tag]](s, p, tree, c) - p
    if taken ~= size then fail(p, "tagged field %d has %d bytes, its value takes %d", tag, size, taken) end
  elseif tree then
    add(tree, F.unknown_tag, range(c.tvb, p - 1, size)):prepend_text(format("tag %d: ", tag))
  end
  return p + size
end

-- Tagged fields (KIP-482): a count, then tag, size and value of each.
local function tagged_fields(tags, s, p, tree, c)
  local count, at = unsigned_varint(s, p, c, "tagged_fields")
  for _ = 1, count do
    local tag, after = unsigned_varint(s, at, c, "tag")
    local size, start = unsigned_varint(s, after, c, "size of a tagged field")
    at = tagged_field(tags, tag, size, s, start, tree, c)
  end
  return at
end

-- Optional fields (the draft of KIP-482): size, tag and value of each; size 0 ends them.
local function optional_fields(tags, s, p, tree, c)
  while true do
    local size, at = varint(s, p, c, "size of an optional field")
    if size == 0 then return at end
    if size < 0 then fail(p, "optional field has the size %d", size) end
    need(c, at, 2, "tag")
    p = tagged_field(tags, uint16(s, at), size, s, at + 2, tree, c)
  end
end

-- Return the readers for where nothing is shown: those of fixed width that follow each other are one.
local function joined(members)
  local steps, i = {}, 1
  while i <= #members do
    local first, width = i, 0
    while members[i] and widths[members[i]] do
      width = width + widths[members[i]]
      i = i + 1
    end
    if width > 0 then
      steps[#steps + 1] = function(s, p, _, c)
        if p + width <= c.stop then return p + width end
        for k = first, #members do p = members[k](s, p, nil, c) end -- which fails at the one that is cut
      end
    else
      steps[#steps + 1] = members[i]
      i = i + 1
    end
  end
  return steps
end

function make.struct(node)
  local tags, front, learns = node.tags, node.front, node.learns
  local members, count = {}, #node.of
  for i, member in ipairs(node.of) do members[i] = readers[member] end
  local steps = joined(members)
  local function read(s, p, tree, c)
    if front then p = optional_fields(tags, s, p, tree, c) end
    if tree then
      c.budget.left = c.budget.left - count
      for i = 1, count do p = members[i](s, p, tree, c) end
    else
      for i = 1, #steps do p = steps[i](s, p, nil, c) end
    end
    if tags and not front then
      if p < c.stop and byte(s, p) == 0 then return p + 1 end
      p = tagged_fields(tags, s, p, tree, c)
    end
    return p
  end
  if learns then -- a topic's name and id stand side by side
    return function(s, p, tree, c)
      c.seen.topic, c.seen.topic_id = nil, nil
      read(s, p, nil, unshown(c, c.stop, c.seen))
      local id, name = c.seen.topic_id, c.seen.topic
      if id and name and name ~= "" and id ~= ("\0"):rep(16) then topic_names[id] = name end
      return read(s, p, tree, c)
    end
  end
  if node.twice then -- a later field decides whether an earlier one is secret
    return function(s, p, tree, c)
      if tree then
        for _, name in ipairs(node.twice) do c.seen[name] = nil end
        read(s, p, nil, unshown(c, c.stop, c.seen))
      end
      return read(s, p, tree, c)
    end
  end
  return read
end

-- A structure that is one field of another has an item of its own.
function make.field(node)
  local field, label, of = fields[node[2]], labels[node[2]], node.of
  return function(s, p, tree, c)
    if not tree then return readers[of](s, p, nil, c) end
    local item = add(tree, field, range(c.tvb, p - 1, 0))
    item:set_text(label)
    local at = readers[of](s, p, item, c)
    item:set_len(at - p)
    return at
  end
end

function make.nullable(node)
  local field, label, of, null = fields[node[2]], labels[node[2]], node.of, node.null
  return function(s, p, tree, c)
    need(c, p, 1, label)
    local marker = signed(byte(s, p), 0x80)
    if marker == null then
      if tree then add(tree, field, range(c.tvb, p - 1, 1)):set_text(label .. ": null") end
      return p + 1
    elseif marker ~= 1 then
      fail(p, "%s begins with %d, neither %d for null nor 1", label, marker, null)
    end
    local item = tree and add(tree, field, range(c.tvb, p - 1, 1))
    if item then item:set_text(label) end
    local at = readers[of](s, p + 1, item, c)
    if item then item:set_len(at - p) end
    return at
  end
end

-- Texts of lists and items, of which the same come again and again.
local function kept_texts(make_text)
  local kept = {}
  return function(label, i)
    local texts = kept[label]
    if not texts then
      texts = {}
      kept[label] = texts
    end
    local text = texts[i]
    if not text then
      text = make_text(label, i)
      if i < 100 then texts[i] = text end
    end
    return text
  end
end

local indexed = kept_texts(function(label, i) return format("%s[%d]", label, i) end)
local counted = kept_texts(function(label, count)
  return count < 0 and label .. ": null" or count == 1 and label .. ": 1 item" or format("%s: %d items", label, count)
end)

function make.array(node)
  local field, label, item_node, structure = fields[node[2]], labels[node[2]], node.of, node.structure
  local weight, reader = structure and 2 or 1, nil
  return function(s, p, tree, c)
    local count, at = read_length(node, s, p, c, label)
    reader = reader or readers[item_node]
    if not tree then
      local width = widths[reader]
      if width and at + width * count <= c.stop then return at + width * math.max(count, 0) end
      for i = 0, count - 1 do
        if i >= #s then fail(at, "%s has %d items in %d bytes", label, count, #s) end
        at = reader(s, at, nil, c)
      end
      return at
    end
    local list = add(tree, range(c.tvb, p - 1, at - p), counted(label, count))
    for i = 0, count - 1 do
      if i >= #s then fail(at, "%s has %d items in %d bytes", label, count, #s) end
      local into = shown(list, c, weight)
      if into and structure then
        local start = at
        into = add(list, field, range(c.tvb, at - 1, 0))
        set_text(into, indexed(label, i))
        at = reader(s, at, into, c)
        set_len(into, at - start)
      else
        at = reader(s, at, into, c)
      end
    end
    if count > 0 then set_len(list, at - p) end
    return at
  end
end

-- Payloads: bytes with a grammar of their own -------------------------------------------------------------------------

local function payload_layout(name, s, at, stop)
  local payload = PAYLOADS[name]
  if not payload.at then return payload.versions[payload.first] end
  if at + payload.at + 2 > stop then return nil end
  return payload.versions[int16(s, at + payload.at)]
end

local function fits(layout, s, at, stop, c)
  local inner = unshown(c, stop, setmetatable({}, { __index = c.seen }))
  local ok, ends = pcall(readers[layout], s, at, nil, inner)
  return ok and ends == stop
end

function open_payload(holds, s, at, stop, item, c)
  local says, candidates
  for _, name in ipairs(holds.by) do says = says or (c.seen[name] ~= "" and c.seen[name]) or nil end
  candidates = says == nil and holds.any or holds.of[says] or {}
  for _, name in ipairs(candidates) do
    local layout = payload_layout(name, s, at, stop)
    if layout and fits(layout, s, at, stop, c) then
      local inner = setmetatable({ stop = stop }, { __index = c })
      local tree = add(item, range(c.tvb, at - 1, stop - at), name)
      readers[layout](s, at, tree, inner)
      return
    end
  end
end

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

-- Messages ------------------------------------------------------------------------------------------------------------

-- What is known of the connections and of the frames that were seen: Wireshark dissects a frame more than once, and
-- its first visit decides. Requests are numbered, and what is known of them stands in a few lists of numbers: Lua's
-- garbage collector goes over all of it again and again. `seen_in` gives frame -> the number of the request that its
-- message is or answers, `more_in` the same by direction and correlation id for further messages of a frame.
local connections, oddities, seen_in, more_in, requests
local connection, source, frame, visited -- those of the packet that is dissected
local SILENT = -1 -- in place of the response's frame: there will be none

function kdbg.init()
  connections, oddities, topic_names, seen_in, more_in = {}, {}, {}, {}, {}
  requests = { count = 0, frame = {}, call = {}, client = {}, response = {}, latency = {} }
end

-- Items become garbage at once. Lua's own pace is so slow that it would collect them when they are out of the
-- processor's cache, which takes twice as long.
collectgarbage("setpause", _VERSION == "Lua 5.2" and 100 or 120)
collectgarbage("setstepmul", _VERSION == "Lua 5.2" and 2000 or 400)

-- Find the connection of a packet, and set which of its sides sends: true for the one with the lower port.
local function find_connection(pinfo)
  local from, to, from_port, to_port = tostring(pinfo.src), tostring(pinfo.dst), pinfo.src_port, pinfo.dst_port
  source = from_port < to_port or (from_port == to_port and from < to)
  if not source then from, to, from_port, to_port = to, from, to_port, from_port end
  local ports_key = from_port * 0x10000 + to_port
  connection = connections[ports_key]
  while connection and not (connection.a == from and connection.b == to) do connection = connection.next end
  if not connection then
    connection = { a = from, b = to, next = connections[ports_key], requests = {}, sent = {}, early = {}, tokens = 0 }
    connections[ports_key] = connection
  end
end

local function known_request(number, direction, id)
  local more = more_in[number]
  return more and more[direction .. id] or seen_in[number]
end

local function remember(number, direction, id, request)
  if not seen_in[number] then
    seen_in[number] = request
  else
    more_in[number] = more_in[number] or {}
    more_in[number][direction .. id] = request
  end
end

local function answer(request, sent, number, time, id)
  requests.response[request], requests.latency[request] = number, time - sent
  remember(number, "response", id, request)
end

local function oddity(number, key) return oddities[number] and oddities[number][key] end

local function note_oddity(number, key, value)
  oddities[number] = oddities[number] or {}
  oddities[number][key] = value
end

-- Whether a message of `size` bytes that begins at `p` of `s` (after its size) looks like a request; `known`: of an API
-- and about a version that the tables have.
local function is_request(s, p, size, known)
  if size < 8 or #s < p + 7 then return false end
  local key, version = int16(s, p), int16(s, p + 2)
  local api = APIS[key]
  if key < 0 or version < 0 or (known and not api) or (known and version > api.newest + 2) then return false end
  if api and version <= api.headerless_until then return true end
  if #s < p + 9 then return size >= 10 end
  local length = int16(s, p + 8)
  if length < -1 or length > MAX_CLIENT_ID or length + 10 > size then return false end
  local control = s:find("[%z\1-\31\127]", p + 10)
  return not control or control >= p + 10 + length
end

local function read_part(layout, s, p, tree, c)
  local ok, ends = pcall(readers[layout], s, p, tree, c)
  if ok then return ends end
  return nil, ends
end

-- Return the layout that fits the bytes: the version's own, or one that other programs are known to write.
local function layout_for(api, direction, version, s, p, c)
  local own, others = api[direction][version], api.others[direction][version]
  for i = 1, others and #others or 0 do
    local other, seen = others[i], {}
    local dry = unshown(c, c.stop, seen)
    local ok, ends = pcall(readers[own], s, p, nil, dry)
    if ok and ends == c.stop then return own end
    ok, ends = pcall(readers[other[1]], s, p, nil, dry)
    if ok and ends == c.stop and (other[3] == nil or seen[other[3]] ~= other[4]) then return other[1], other[2] end
  end
  return own
end

-- The fields that a layout may show below the message itself, those of records and payloads included.
local function fields_below(i, found, known)
  if known[i] then return found end
  known[i] = true
  local node = load("return " .. NODES[i])()
  found[#found + 1] = fields[node[2]]
  for _, inner in ipairs(type(node.of) == "table" and node.of or { node.of }) do fields_below(inner, found, known) end
  for _, inner in pairs(node.tags or {}) do fields_below(inner, found, known) end
  for _, name in ipairs(node.holds and node.holds.any or {}) do
    for _, inner in pairs(PAYLOADS[name].versions) do fields_below(inner, found, known) end
  end
  if node[1] == "records" then
    for _, name in ipairs({ "batch", "message", "record" }) do found[#found + 1] = fields[DATA[name .. "_field"]] end
    for _, field in ipairs(BELOW) do found[#found + 1] = field end
    for _, inner in ipairs({ DATA.front, DATA.batch, DATA.record, DATA.messages[1], DATA.messages[2] }) do
      fields_below(inner, found, known)
    end
  end
  return found
end

local body_fields = {}

-- Whether a filter, a column or a coloring rule asks for a field of a body that is not shown.
local function wants_body(layout, item)
  local found = body_fields[layout]
  if not found then
    found = fields_below(layout, { F.unknown_tag }, {})
    body_fields[layout] = found
  end
  for i = 1, #found do
    if referenced(item, found[i]) then return true end
  end
  return false
end

local function read_body(api, direction, version, s, p, tree, item, c)
  local layout, variant = nil, nil
  if api and api[direction][version] then layout, variant = layout_for(api, direction, version, s, p, c)
  elseif api and direction == "response" and api.classic then layout = api.response[0] end
  if not layout then
    if item then
      item:add_proto_expert_info(X.version, format("Version %d of this API is unknown to kdbg", version))
      if secrets and p < c.stop then add(tree, F.body, range(c.tvb, p - 1, c.stop - p))
      else valueless(tree, F.body, p, c.stop, c, format(HIDDEN, "body", c.stop - p)) end
    end
    return
  end
  if item and not c.visible and not wants_body(layout, item) then
    tree, c.brief = nil, true
  end
  local ends, why = read_part(layout, s, p, tree, c)
  if not item then return end
  if variant then item:add_proto_expert_info(X.variant, "Decoded as " .. variant) end
  if c.budget.left < 0 then item:add_proto_expert_info(X.limit, format("Only about %d items are shown", MAX_ITEMS)) end
  if not ends then
    local text = type(why) == "table" and why.text or tostring(why)
    item:add_proto_expert_info(c.cut and X.cut or X.malformed, text)
  elseif ends < c.stop then
    add(item, F.bytes, range(c.tvb, ends - 1, c.stop - ends))
    item:add_proto_expert_info(X.trailing, format("%d bytes after the last field", c.stop - ends))
  end
end

local described -- the frame that the column describes

local titles = { request = {}, response = {} }

-- Return what a message is in a few words, and show it in the column.
local function describe(pinfo, direction, name, version, c)
  local known = titles[direction][name]
  if not known then
    known = {}
    titles[direction][name] = known
  end
  local text, topics, errors = known[version or -1], c.topics, c.errors
  if not text then
    text = version and format("%s v%s %s", name, version, direction) or format("%s %s", name, direction)
    known[version or -1] = text
  end
  if topics[1] then
    text = text .. "  " .. (topics[2] and table.concat(topics, ", ", 1, math.min(#topics, 3)) or topics[1])
    if topics[4] then text = text .. ", …" end
  end
  if errors[1] then
    local said = {}
    for _, error_name in ipairs(errors) do
      if not said[error_name] then
        said[error_name] = true
        text = text .. "  " .. error_name
      end
    end
  end
  if text:find("%c") then text = text:gsub("%c", "?") end
  if described == frame then pinfo.cols.info:append(" | " .. text) else pinfo.cols.info:set(text) end
  described = frame
  return text
end

local function name_of(key) return APIS[key] and APIS[key].name or format("Unknown(%d)", key) end

local function broken(item, why, c)
  if not item then return end
  item:add_proto_expert_info(c.cut and X.cut or X.malformed, type(why) == "table" and why.text or tostring(why))
end

local function request_of(tvb, s, pinfo, item, c)
  local key, version, id, first = int16(s, 5), int16(s, 7), int32(s, 9), not visited
  local api = APIS[key]
  local header = api and (version <= api.headerless_until and 1 or version >= api.flexible and 3) or 2
  local layout = DATA.headers.request[header]
  local p, why = read_part(layout, s, 5, item, c)
  if not p then
    broken(item, why, c)
    return name_of(key), version
  end
  local known = requests
  local request = not first and known_request(frame, "request", id)
  if not request then
    request = known.count + 1
    known.count, known.frame[request], known.call[request] = request, frame, key * 0x10000 + version
    known.client[request], known.response[request] = c.seen.client_id or false, 0
    remember(frame, "request", id, request)
  end
  local answered_in = known.response[request]
  if item then
    add(item, F.api, range(tvb, 4, 2), name_of(key)):set_generated()
    if answered_in > 0 then add(item, F.response_in, answered_in):set_generated()
    elseif not first and answered_in ~= SILENT then item:add_proto_expert_info(X.unanswered) end
  end
  read_body(api, "request", version, s, p, item, item, c)
  if first then
    connection.last = id
    local early = connection.early[id]
    if early then -- a packet that was captured out of order
      connection.early[id] = nil
      answer(request, pinfo.abs_ts, early.frame, early.time, id)
    elseif c.seen.acks == 0 then
      known.response[request] = SILENT
    else
      connection.requests[id], connection.sent[id] = request, pinfo.abs_ts
    end
  end
  return name_of(key), version
end

local function response_of(tvb, s, pinfo, item, c)
  local id, first, known = int32(s, 5), not visited, requests
  local request
  if not first then
    request = known_request(frame, "response", id)
  else
    request = connection.requests[id]
    if request then
      answer(request, connection.sent[id], frame, pinfo.abs_ts, id)
      connection.requests[id], connection.sent[id] = nil, nil
    else
      connection.early[id] = { frame = frame, time = pinfo.abs_ts }
    end
  end
  local key, version
  if request then key, version = floor(known.call[request] / 0x10000), known.call[request] % 0x10000 end
  local api = APIS[key]
  local flexible = api and version >= api.flexible and not api.classic
  local p, why = read_part(DATA.headers.response[flexible and 2 or 1], s, 5, item, c)
  if not p then
    broken(item, why, c)
    return request and name_of(key) or "unknown", version or "?"
  end
  if not request then
    if item then
      item:add_proto_expert_info(X.unsolicited)
      if p < c.stop then add(item, F.bytes, range(tvb, p - 1, c.stop - p)) end
    end
    return "unknown", "?"
  end
  if item then
    local whole = range(tvb, 4, 4)
    add(item, F.api, whole, name_of(key)):set_generated()
    add(item, F.of_version, whole, version):set_generated()
    if known.client[request] then add(item, F.of_client, whole, known.client[request]):set_generated() end
    add(item, F.request_in, known.frame[request]):set_generated()
    local time = known.latency[request]
    local seconds = floor(time)
    add(item, F.time, NSTime.new(seconds, floor((time - seconds) * 1e9 + 0.5))):set_generated()
  end
  read_body(api, "response", version, s, p, item, item, c)
  if first and key == DATA.handshake and version == 0 and not c.errors[1] then connection.sasl = true end
  return name_of(key), version
end

-- Whether a message is a SASL token without a Kafka header: they follow SaslHandshake v0, until a request comes.
local function is_token(s, size, from_client)
  if visited then return oddity(frame, s:sub(1, 32)) end
  if not connection.sasl then return false end
  if from_client then
    if is_request(s, 5, size, true) then
      connection.sasl = false
      return false
    end
    connection.tokens = connection.tokens + 1
  elseif connection.tokens == 0 then
    return false
  else
    connection.tokens = connection.tokens - 1
  end
  note_oddity(frame, s:sub(1, 32), true)
  return true
end

local undecoded -- whether the next bytes are no message: length_of sets it
local whole -- the dissector as an object, to ask whether anybody wants its items
local context = { seen = {}, topics = {}, errors = {}, codes = {}, budget = {} }

local function message(tvb, pinfo, root)
  local length = length_in(tvb)
  local s = bytes_in(tvb, 0, length)
  local item = referenced(root, whole) and add(root, kdbg, range(tvb, 0, length)) or nil
  if undecoded then
    if item then add(item, F.bytes, range(tvb, 0, length)):add_proto_expert_info(X.undecoded) end
    return length
  end
  local size, from_client = int32(s, 1), connection.client == source
  local c = context
  c.tvb, c.stop, c.cut, c.secretive, c.budget.left = tvb, length + 1, size + 4 > length, nil, MAX_ITEMS
  if next(c.seen) then c.seen = {} end
  if c.topics[1] then c.topics = {} end
  if c.errors[1] then c.errors, c.codes = {}, {} end
  c.visible, c.brief = item and root.visible, false
  if item then add(item, F.size, range(tvb, 0, 4)) end
  local direction, name, version = from_client and "request" or "response"
  if is_token(s, size, from_client) then
    name = "SaslToken"
    if item and secrets then add(item, F.token, range(tvb, 4, length - 4))
    elseif item then valueless(item, F.token, 5, length + 1, c, format(HIDDEN, "token", length - 4)) end
  elseif length < (from_client and 12 or 8) then
    name = "unknown"
    broken(item, format("A message of %d bytes has no header", length), c)
  elseif from_client then
    name, version = request_of(tvb, s, pinfo, item, c)
  else
    name, version = response_of(tvb, s, pinfo, item, c)
  end
  local text = describe(pinfo, direction, name, version, c)
  if item then
    append_text(item, ", " .. text)
    for _, topic in ipairs(c.topics) do add(item, F.topic, range(tvb, 0, length), topic):set_generated() end
    for i = 1, c.brief and #c.errors or 0 do
      add(item, F.error_code, range(tvb, 0, length), c.codes[i]):set_generated()
      add(item, F.error, range(tvb, 0, length), c.errors[i]):set_generated()
    end
    if c.errors[1] then item:add_proto_expert_info(X.error, table.concat(c.errors, ", ", 1, math.min(#c.errors, 5))) end
  end
  return length
end

-- Framing ------------------------------------------------------------------------------------------------------------

-- Whether a message can begin at `p` of `s`: nil where too few bytes are there to say.
local function begins(s, p, from_client, strict, left)
  if #s < p + 3 then return nil end
  local size = int32(s, p)
  if size < 4 or size > MAX_SIZE then return size == 0 and connection.tokens > 0 and not strict end
  if connection.sasl and not strict then return true end
  if #s < p + (from_client and 13 or 7) then return not strict or nil end
  if from_client then return is_request(s, p + 4, size, strict) end
  local id = int32(s, p + 4)
  if connection.requests[id] or strict then return connection.requests[id] ~= nil end
  return size + 4 <= left or connection.last == nil or math.abs(id - connection.last) < NEAR
end

-- Return where the next message may begin after `p`, or the end.
local function next_message(s, p, from_client)
  while true do
    p = s:find("%z", p + 1)
    if not p or #s < p + 13 then return #s + 1 end
    if begins(s, p, from_client, true) then return p end
  end
end

-- Return the length of the message at `offset`, its size included, or of the bytes before the next one.
local function length_of(tvb, _, offset)
  local left, known, s = remaining(tvb, offset), nil, nil
  if visited then
    known = oddity(frame, offset .. " " .. left)
  else
    local from_client = connection.client == source
    s = bytes_in(tvb, offset, math.min(left, length_in(tvb) - offset, PEEK))
    if not begins(s, 1, from_client, false, left) then
      s = bytes_in(tvb, offset, math.min(left, length_in(tvb) - offset))
      known = next_message(s, 1, from_client) - 1
      if known == #s then known = left end
      note_oddity(frame, offset .. " " .. left, known)
    end
  end
  undecoded = known ~= nil
  return known or int32(s or bytes_in(tvb, offset, 4), 1) + 4
end

local ports = {}

-- Decide which side is the client: the one that sends requests.
local function find_client(pinfo, s)
  local to_port, from_port = ports[pinfo.dst_port], ports[pinfo.src_port]
  if to_port and not from_port then connection.client = source
  elseif from_port and not to_port then connection.client = not source
  elseif #s >= 14 and is_request(s, 5, int32(s, 1), true) then connection.client = source
  elseif next_message(s, 1, true) <= #s then connection.client = source end
end

local function dissect(tvb, pinfo, tree)
  find_connection(pinfo)
  frame, visited = pinfo.number, pinfo.visited
  if connection.client == nil then
    find_client(pinfo, tvb:raw(0, tvb:len()))
    connection.first = frame
  end
  if connection.client == nil or frame < connection.first then return 0 end
  if visited and described == frame then described = nil end
  pinfo.cols.protocol = "Kafka"
  local length = length_in(tvb)
  if length == remaining(tvb, 0) and length > 3 and length_of(tvb, pinfo, 0) == length then
    message(tvb, pinfo, tree) -- as most packets are: one message
  else
    dissect_tcp_pdus(tvb, tree, 4, length_of, message)
  end
  return length
end

kdbg.dissector = dissect
whole = kdbg.dissector

-- Whether a packet without a connection begins with a request, on whatever port.
local function begins_connection(tvb)
  local s = tvb:raw(0, math.min(tvb:len(), PEEK))
  if #s < 14 then return false end
  local size = int32(s, 1)
  return size >= 8 and size <= MAX_SIZE and is_request(s, 5, size, true)
end

local function recognise(tvb, pinfo, tree)
  if not begins_connection(tvb) then return false end
  find_connection(pinfo)
  if connection.client ~= nil then return false end
  pinfo.conversation = kdbg
  dissect(tvb, pinfo, tree) -- a call of kdbg.dissector would count as one more layer, which may not desegment
  return true
end

-- In TLS the conversation is TLS's: each record comes here.
local function recognise_in_tls(tvb, pinfo, tree)
  find_connection(pinfo)
  if connection.client == nil and not begins_connection(tvb) then return false end
  dissect(tvb, pinfo, tree)
  return true
end

local tcp, tls = DissectorTable.get("tcp.port"), DissectorTable.get("tls.port")

local function apply_preferences()
  secrets, largest_crc = kdbg.prefs.secrets, kdbg.prefs.crc
  for port in pairs(ports) do tcp:remove(port, kdbg) tls:remove(port, kdbg) end
  ports = {}
  for first, last in kdbg.prefs.ports:gmatch("(%d+)%-?(%d*)") do
    for port = tonumber(first), tonumber(last ~= "" and last or first) do
      ports[port] = true
      tcp:add(port, kdbg)
      tls:add(port, kdbg)
    end
  end
end

kdbg.prefs_changed = apply_preferences
apply_preferences()
tcp:add_for_decode_as(kdbg)
kdbg:register_heuristic("tcp", recognise)
kdbg:register_heuristic("tls", recognise_in_tls)

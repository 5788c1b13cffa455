-- The interpreter of the tables above. It knows the types of Kafka's protocol, no API.

local byte, find, sub, format = string.byte, string.find, string.sub, string.format
local floor, unpack = math.floor, table.unpack
local add, range, set_text, set_len = TreeItem.add, Tvb.range, TreeItem.set_text, TreeItem.set_len
local append_text, add_packet_field = TreeItem.append_text, TreeItem.add_packet_field
local set_generated = TreeItem.set_generated
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

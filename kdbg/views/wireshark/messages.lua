-- Messages ------------------------------------------------------------------------------------------------------------

-- What is known of the connections and of the frames that were seen: Wireshark dissects a frame more than once, and
-- its first visit decides. Requests are numbered, and what is known of them stands in a few lists of numbers: Lua's
-- garbage collector goes over all of it again and again. `seen_in` gives frame -> the number of the request that its
-- message is or answers, `more_in` the same by direction and correlation id for further messages of a frame.
local connections, exceptions, seen_in, more_in, requests
local connection, source, frame, visited, columns -- those of the packet that is dissected
local SILENT = -1 -- in place of the response's frame: there will be none

function kdbg.init()
  connections, exceptions, topic_names, seen_in, more_in = {}, {}, {}, {}, {}
  requests = { count = 0, frame = {}, call = {}, client = {}, response = {}, latency = {} }
end

-- Items become garbage at once. Lua's own pace is so slow that it would collect them when they are out of the
-- processor's cache, which takes twice as long.
collectgarbage("setpause", 120)
collectgarbage("setstepmul", _VERSION == "Lua 5.2" and 4000 or 400)

-- Find the connection of a packet, and set which of its sides sends: true for the one with the lower port.
local function find_connection(pinfo)
  local from, to, from_port, to_port = pinfo.src, pinfo.dst, pinfo.src_port, pinfo.dst_port
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

local function exception_at(number, key) return exceptions[number] and exceptions[number][key] end

local function note_exception(number, key, value)
  exceptions[number] = exceptions[number] or {}
  exceptions[number][key] = value
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

-- Lists of fields that are asked for together: by layout, and those that are added to a message's own.
local lists = {
  request = { F.api, F.response_in }, response = { F.api, F.of_version, F.of_client, F.request_in, F.time },
  size = { F.size }, topic = { F.topic },
}
setmetatable(lists, { __index = function(known, layout)
  known[layout] = fields_below(layout, { F.unknown_tag }, {})
  return known[layout]
end })

-- What was asked for of each list. It holds for so many messages: a filter may be set while packets are captured.
local asked, asked_for, ASKED_FOR = {}, 0, 1000

-- Whether fields of a list are shown, or a filter, a column or a coloring rule asks for one.
local function wanted(list, item, c)
  if c.visible then return true end
  local known = asked[list]
  if known == nil then
    known = false
    for _, field in ipairs(lists[list]) do known = known or referenced(item, field) end
    asked[list] = known
  end
  return known
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
  if item and not wanted(layout, item, c) then
    tree, c.brief = nil, true
  end
  local ends, why = read_part(layout, s, p, tree, c)
  if not item then return end
  if variant then item:add_proto_expert_info(X.variant, "Decoded as " .. variant) end
  if c.left < 0 then item:add_proto_expert_info(X.limit, format("Only about %d items are shown", MAX_ITEMS)) end
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
local function describe(direction, name, version, c)
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
  if described == frame then columns.info:append(" | " .. text) else columns.info = text end
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
  local p, why = read_part(layout, s, 5, item and wanted(layout, item, c) and item, c)
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
    if wanted("request", item, c) then
      set_generated(add(item, F.api, range(tvb, 4, 2), name_of(key)))
      if answered_in > 0 then set_generated(add(item, F.response_in, answered_in)) end
    end
    if answered_in == 0 and not first then item:add_proto_expert_info(X.unanswered) end
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
  local layout = DATA.headers.response[flexible and 2 or 1]
  local p, why = read_part(layout, s, 5, item and wanted(layout, item, c) and item, c)
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
  if item and wanted("response", item, c) then
    local id_bytes = range(tvb, 4, 4)
    set_generated(add(item, F.api, id_bytes, name_of(key)))
    set_generated(add(item, F.of_version, id_bytes, version))
    if known.client[request] then set_generated(add(item, F.of_client, id_bytes, known.client[request])) end
    set_generated(add(item, F.request_in, known.frame[request]))
    local time = known.latency[request]
    local seconds = floor(time)
    set_generated(add(item, F.time, NSTime.new(seconds, floor((time - seconds) * 1e9 + 0.5))))
  end
  read_body(api, "response", version, s, p, item, item, c)
  if first and key == DATA.handshake and version == 0 and not c.errors[1] then connection.sasl = true end
  return name_of(key), version
end

-- Whether a message is a SASL token without a Kafka header: they follow SaslHandshake v0, until a request comes.
local function is_token(s, size, from_client)
  if visited then return exception_at(frame, s:sub(1, 32)) end
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
  note_exception(frame, s:sub(1, 32), true)
  return true
end

local undecoded -- whether the next bytes are no message: length_of sets it
local peeked -- the bytes of the message that length_of looked at, from its first on
local whole -- the dissector as an object, to ask whether anybody wants its items
local context = { seen = {}, topics = {}, errors = {}, codes = {} }

local function message(tvb, pinfo, root)
  local length = length_in(tvb)
  local s = #peeked == length and peeked or bytes_in(tvb, 0, length)
  local item = referenced(root, whole) and add(root, kdbg, range(tvb, 0, length)) or nil
  if undecoded then
    if item then add(item, F.bytes, range(tvb, 0, length)):add_proto_expert_info(X.undecoded) end
    return length
  end
  local size, from_client = int32(s, 1), connection.client == source
  local c = context
  c.tvb, c.stop, c.cut, c.secretive, c.left = tvb, length + 1, size + 4 > length, nil, MAX_ITEMS
  if next(c.seen) then c.seen = {} end
  if c.topics[1] then c.topics = {} end
  if c.errors[1] then c.errors, c.codes = {}, {} end
  c.visible, c.brief = item and root.visible, false
  asked_for = asked_for + 1
  if visited or asked_for > ASKED_FOR then asked, asked_for = {}, 0 end
  if item and wanted("size", item, c) then add(item, F.size, range(tvb, 0, 4)) end
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
  local text = describe(direction, name, version, c)
  if item then
    if c.visible then append_text(item, ", " .. text) end
    local topics = wanted("topic", item, c) and c.topics or {}
    for i = 1, #topics do set_generated(add(item, F.topic, range(tvb, 0, length), topics[i])) end
    for i = 1, c.brief and #c.errors or 0 do
      set_generated(add(item, F.error_code, range(tvb, 0, length), c.codes[i]))
      set_generated(add(item, F.error, range(tvb, 0, length), c.errors[i]))
    end
    if c.errors[1] then item:add_proto_expert_info(X.error, table.concat(c.errors, ", ", 1, math.min(#c.errors, 5))) end
  end
  return length
end

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

-- Return the length of the message at `offset`, its size included, or of the bytes before the next one. `left`: how
-- many bytes follow in the packet.
local function length_of(tvb, _, offset, left)
  local known
  left = left or remaining(tvb, offset)
  local s = bytes_in(tvb, offset, math.min(left, length_in(tvb) - offset, PEEK))
  peeked = s
  if visited then
    known = exceptions[frame] and exception_at(frame, offset .. " " .. left)
  else
    local from_client = connection.client == source
    if not begins(s, 1, from_client, false, left) then
      s = bytes_in(tvb, offset, math.min(left, length_in(tvb) - offset))
      known = next_message(s, 1, from_client) - 1
      if known == #s then known = left end
      note_exception(frame, offset .. " " .. left, known)
    end
  end
  undecoded = known ~= nil
  return known or int32(s, 1) + 4
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
  frame, visited, columns = pinfo.number, pinfo.visited, pinfo.cols
  if connection.client == nil then
    find_client(pinfo, tvb:raw(0, tvb:len()))
    connection.first = frame
  end
  if connection.client == nil or frame < connection.first then return 0 end
  if visited and described == frame then described = nil end
  columns.protocol = "Kafka"
  local length = length_in(tvb)
  if length == remaining(tvb, 0) and length > 3 and length_of(tvb, pinfo, 0, length) == length then
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

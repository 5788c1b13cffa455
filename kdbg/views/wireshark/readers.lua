-- Readers: `reader(s, p, tree, c)` reads one value at `p` of the string `s` and returns where it ends. Without a tree
-- it shows nothing. Each node of the tables becomes one reader, when it is first needed.

local readers, make = {}, {}
local widths = {} -- of readers of numbers that are only shown: their width in bytes, and the field
setmetatable(readers, { __index = function(_, i)
  local node = load("return " .. NODES[i])()
  local reader = (make[node[1]] or make.fixed)(node)
  readers[i] = reader
  return reader
end })

local function shown(tree, c, weight)
  c.left = c.left - weight
  if c.left < 0 then return nil end
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
    widths[read] = { width = size, field = field }
    return read
  end
  local is_error = kind == "error"
  return function(s, p, tree, c)
    local stop = p + size
    if stop > c.stop then need(c, p, size, label) end
    local value = value_of(s, p)
    if keep then c.seen[keep] = value end
    if tree then
      local item = add(tree, field, range(c.tvb, p - 1, size))
      local said = meaning and meaning(value, names)
      if said and said ~= "" then append_text(item, said) end
    end
    if is_error and value ~= 0 then note_error(value, p, tree, c) end
    return stop
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
          local number, long_value = value, value
          if type(value) == "number" then long_value = Int64.new(value) else number = value:tonumber() end
          local item = add(tree, absolute.field, range(c.tvb, p - 1, at - p), long_value)
          if absolute.meaning then append_text(item, absolute.meaning(number)) end
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

local PRINTABLE = "^[\t\n\r -~\194-\244\128-\191]*$"

local function show_bytes(tree, field, at, stop, c, s)
  local item, long = add(tree, field, range(c.tvb, at - 1, stop - at)), stop - at > TEXT
  if stop > at then
    local text = sub(s, at, long and at + TEXT - 1 or stop - 1)
    if find(text, PRINTABLE) then append_text(item, " (" .. text .. (long and "…)" or ")")) end
  end
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
  local field, label, text, keep = fields[node[2]], labels[node[2]], node.text, node.keep
  local read_length, holds, is_topic = length_reader(node, label), node.holds, node.kind == "topic"
  local may_hide = node.secret or node.data
  return function(s, p, tree, c)
    local length, at = read_length(s, p, c)
    if length < 0 then
      if keep then c.seen[keep] = nil end
      if tree then valueless(tree, field, p, at, c, label .. ": null") end
      return at
    end
    local stop = at + length
    if stop > c.stop then need(c, at, length, label) end
    if keep or is_topic then
      local value = sub(s, at, stop - 1)
      if keep then c.seen[keep] = value end
      if is_topic then
        note_topic(value, c)
        c.seen.topic = value
      end
    end
    if tree then
      if may_hide and hidden(node, c) then
        valueless(tree, field, p, stop, c, format(HIDDEN, label, length))
      elseif text then
        add_packet_field(tree, field, range(c.tvb, at - 1, length), ENC_UTF_8)
      else
        local item = show_bytes(tree, field, at, stop, c, s)
        if holds and length > 0 then open_payload(holds, s, at, stop, item, c) end
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

-- Return readers that do what the members do: of plain numbers that follow each other one reads all.
local function joined(members)
  local steps, i = {}, 1
  while i <= #members do
    local first, width, run = i, 0, {}
    while widths[members[i]] do
      run[#run + 1] = widths[members[i]]
      width = width + run[#run].width
      i = i + 1
    end
    if #run > 1 then
      local last = i - 1
      steps[#steps + 1] = function(s, p, tree, c)
        local stop, at, tvb, visible = p + width, p - 1, c.tvb, c.visible
        if stop > c.stop then
          for k = first, last do p = members[k](s, p, tree, c) end -- one of which is cut, and says so
        end
        for k = 1, tree and #run or 0 do
          local each = run[k]
          if visible or referenced(tree, each.field) then add(tree, each.field, range(tvb, at, each.width)) end
          at = at + each.width
        end
        return stop
      end
    else
      steps[#steps + 1] = members[first]
      i = first + 1
    end
  end
  return steps
end

function make.struct(node)
  local tags, front, learns = node.tags, node.front, node.learns
  local members, count = {}, #node.of
  for i, member in ipairs(node.of) do members[i] = readers[member] end
  local steps = joined(members)
  local last = #steps
  local function read(s, p, tree, c)
    if front then p = optional_fields(tags, s, p, tree, c) end
    if tree then c.left = c.left - count end
    for i = 1, last do p = steps[i](s, p, tree, c) end
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
    local marker = int8(s, p)
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
  local weight, reader, read_length = structure and 2 or 1, nil, length_reader(node, label)
  return function(s, p, tree, c)
    local count, at = read_length(s, p, c)
    reader = reader or readers[item_node]
    if not tree then
      local width = widths[reader] and widths[reader].width
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
      local tree, outer = add(item, range(c.tvb, at - 1, stop - at), name), c.stop
      c.stop = stop
      readers[layout](s, at, tree, c)
      c.stop = outer
      return
    end
  end
end

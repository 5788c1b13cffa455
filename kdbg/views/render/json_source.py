"""The view of exchanges as JSON Lines: bodies of clean ones straight from their bytes, all others by their values.

`json_writer(header, body)` returns `write(data, out, odd=None)`, which appends the pieces of a body's JSON to a list:
the same bytes that jsonlines.py makes of the value; what it notes goes to `odd` (runtime.py). It returns whether any
error code is not 0, and raises one of `UNREADABLE` for all else that is odd, and for what only a value tells: tagged
fields, batches whose records may be opened. None for a layout with secrets, payloads or floats.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from typing import Any, TypeAlias
from uuid import UUID

from orjson import Fragment, dumps, loads

from ...exchanges.messages.capture_points import split_object
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import NO_HEADER, UNTIMED, grammar_of, header_grammar
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS
from ...protocol.wire.nodes import Field, Fixed, Node, Sized, UuidNode, Varint, WireArray, WireStruct
from ...protocol.wire.readings import runtime
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.readings.codegen import UNREADABLE, Unsuited
from ...protocol.wire.readings.measure import begin
from ...protocol.wire.readings.runtime import Odd
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK
from .findings import finding_object, note_of
from .jsonlines import (
    Differing,
    Topics,
    arranged,
    arranged_half,
    dump,
    encoded,
    errors_of,
    exchange_object,
    half_object,
    has_number,
    has_type,
    json_line,
    printable,
    record_sets,
    tcp_json,
)
from .style import Look
from .text_source import BlockSource
from .values import Memo, iso

JsonWriter = Callable[[bytes, list[bytes], "list[Odd] | None"], bool]
"""Appends the pieces of a body's JSON to a list, given a message's bytes, and says whether it has an error code."""
WriteSet = Callable[[bytes, int, int, list[bytes], "list[Odd] | None"], None]
LONGEST = 200
"""Bytes of a text that is remembered."""


@lru_cache(maxsize=1 << 14)
def is_special(topic: bytes) -> bool:
    """Return whether a text, as JSON has it, names a topic whose records may be opened."""
    return loads(topic) in SPECIAL


@cache
def json_writer(header: Node, body: WireStruct) -> JsonWriter | None:
    """Return what writes bodies of this grammar as JSON, given whole messages; None where only their values tell."""
    try:
        return Json().message(header, body)
    except Unsuited:
        return None


QUOTED = Memo(lambda data: dumps(data.decode()), longest=LONGEST)
"""Strings as JSON has them, by their UTF-8 bytes."""
UUIDS = Memo(lambda data: b'"%b"' % str(UUID(bytes=data)).encode())
"""UUIDs as JSON has them, by their bytes."""


def octets(data: bytes) -> bytes:
    """Return bytes as JSON has them."""
    return b'{"base64":"%b"}' % b64encode(data)


class Json(BlockSource):
    """Writes a function that appends text: a template for every stretch of fields without a loop or a choice."""

    notes = True
    factor = 0.75

    def __init__(self) -> None:
        super().__init__()
        self.names |= {
            "QUOTED": QUOTED, "UUIDS": UUIDS, "octets": octets, "dumps": dumps, "TRUTH": (b"false", b"true"),
            "compressed": lambda data: b',"compressed_records":%b' % octets(data), "is_special": is_special,
        }  # fmt: skip
        self.held: list[tuple[bytes, str]] = []
        """The parts of the text at hand, each with the expression that fills it, "" where nothing does."""
        self.errors: list[str] = []

    def message(self, header: Node, body: WireStruct) -> JsonWriter:
        """Return the writer of bodies after such headers."""
        begin(self, header, body)
        self.line(1, "add = out.append")
        self.line(1, "failed = False")
        self.prove(header, 1)
        self.read(body, 1)
        self.emit(1)
        self.end(1)
        return self.define("write(data, out, odd=None, pos=0)", "failed")  # type: ignore[no-any-return]

    # Text

    def text(self, text: str) -> None:
        """Add text as it is."""
        self.held.append((text.encode().replace(b"%", b"%%"), ""))

    def put(self, code: str, expression: str) -> None:
        """Add a value by its expression: `%d` of a number, `%b` of bytes."""
        self.held.append((code.encode(), expression))

    def emit(self, depth: int) -> None:
        self.flush(depth)
        if self.held:
            text, values = b"".join([part for part, _ in self.held]), [value for _, value in self.held if value]
            name = self.named("text", text if values else text % ())
            self.line(depth, f"add({name} % ({', '.join(values)},))" if values else f"add({name})")
        if self.errors:
            self.line(depth, f"if {' or '.join(self.errors)}: failed = True")
        self.held, self.errors = [], []

    # Nodes

    def leaf(self, node: Node, depth: int) -> str:
        if isinstance(node, Fixed) and node.code != "d":
            name = self.fresh()
            self.take(node.code, name, f"{name} & {node.unused}" if node.unused else "")
            self.put(*(("%b", f"TRUTH[{name}]") if node.boolean else self.digits(node, name)))
            if node.kind == "error":
                self.errors.append(name)
        elif isinstance(node, Varint):
            self.put(*self.digits(node, self.value(node, depth)))
        elif isinstance(node, UuidNode):
            self.put("%b", f"UUIDS[{self.take('16s', self.fresh())}]")
        elif isinstance(node, Sized) and node.holds is None and node.kind != "secret":
            text = self.sized(node, depth, keep=True)
            if node.kind == "topic":
                self.line(depth, f"if is_special({text}): raise Unreadable")
            self.put("%b", text)
        else:
            raise Unsuited
        return ""

    def of_bytes(self, node: Sized, data: str) -> str:
        return f"QUOTED[{data}]" if node.text else f"octets({data})"

    def of_null(self, node: Sized) -> str:
        return 'b"null"'

    def struct(self, node: WireStruct, depth: int) -> str:
        if node.front:
            raise Unsuited
        self.text("{")
        for i, field in enumerate(node.fields):
            self.text(f'{"," if i else ""}"{field.name}":')
            self.field(field, depth)
        self.text("}")
        if node.tags is not None:
            self.no_tags(depth)
        return ""

    def field(self, field: Field, depth: int) -> None:
        self.read(field.node, depth)

    def no_tags(self, depth: int) -> None:
        """Write what passes over the byte that says that there are no tagged fields."""
        self.flush(depth)
        self.line(depth, "if data[pos]: raise Unreadable")
        self.line(depth, "pos += 1")

    def array(self, node: WireArray, depth: int) -> str:
        count, depth = self.counted(node.length, node.nullable, depth), depth + 1
        if isinstance(node.item, Fixed) and not node.item.boolean and node.item.code != "d":
            many = self.named("many", runtime.MANY[node.item.code])
            self.line(depth, f"add(dumps({many}[{count}](data, pos)))")
            if node.item.kind == "error":
                self.line(depth, f"if any({many}[{count}](data, pos)): failed = True")
            self.line(depth, f"pos += {count} * {node.item.size}")
        else:
            self.items(count, depth, lambda depth: self.item(node.item, depth))
        return ""

    def null(self, depth: int) -> None:
        self.line(depth, 'add(b"null")')

    def items(self, count: str, depth: int, item: Callable[[int], None]) -> None:
        """Write the loop over items, with what stands around and between them."""
        between = self.fresh("between")
        self.line(depth, f'{between} = b"["')

        def inside(depth: int) -> None:
            self.put("%b", between)
            item(depth)
            self.line(depth, f'{between} = b","')

        self.loop(count, depth, inside)
        self.line(depth, f'add(b"]" if {count} else b"[]")')

    def record_set(self, node: RecordsNode, end: str) -> str:
        write = JsonBatches(node.format, cut=node.cut).function()
        return f"{self.named('records', write)}(data, pos, {end}, out, odd)"


class JsonBatches(Batches, Json):
    """Writes the function of a record set: every batch with its records."""

    def function(self) -> WriteSet:
        """Return the function."""
        self.line(1, "add = out.append")
        self.line(1, 'between = b"["')
        self.loop_over_batches(1)
        self.line(1, """add(b"[]" if between == b"[" else b"]")""")
        return self.define("write(data, pos, end, out, odd)", "None")  # type: ignore[no-any-return]

    def head(self, depth: int) -> None:
        self.put("%b", "between")
        for i, (name, value) in enumerate(self.fields.items()):
            self.text(f'{"," if i else "{"}"{name}":')
            self.put("%d", value)
        self.put("%b", f"compressed(data[pos:stop]) if {self.fields['attributes']} & {CODEC_MASK} else b''")
        self.text(',"records":')
        self.emit(depth)

    def each(self, count: str, depth: int) -> None:
        self.items(count, depth, self.one)

    def foot(self, depth: int) -> None:
        self.line(depth, 'add(b"}")')
        self.line(depth, 'between = b","')

    def partial(self, depth: int) -> None:
        self.line(depth, """add(b'%b{"partial":%b}' % (between, octets(data[pos:end])))""")
        self.line(depth, 'between = b","')

    def content(self, node: Node, depth: int) -> str:
        assert isinstance(node, Sized)
        name, text = self.length(node.length, depth), self.fresh("t")
        self.guard_null(name, node.nullable, depth, f'{text} = b"null"')
        self.line(depth + 1, f"try: {text} = dumps(data[pos:pos + {name}].decode())")
        self.line(depth + 1, f"except UnicodeDecodeError: {text} = octets(data[pos:pos + {name}])")
        self.line(depth + 1, f"pos += {name}")
        return text

    def headers(self, node: Node, depth: int) -> None:
        """Write the text of the record as well: its headers come last, and there are seldom any."""
        assert isinstance(node, WireArray)
        assert isinstance(node.item, WireStruct)
        count = self.length(node.length, depth)
        key, value = node.item.fields
        of, batch = self.of_record, self.fields
        self.text('{"offset":')  # offset and timestamp first, not the deltas of the wire
        self.put("%d", f"{batch['base_offset']} + {of['offset_delta']}")
        self.text(',"timestamp":')
        self.put("%d", f"{batch['base_timestamp']} + {of['timestamp_delta']}")
        for name, expression in of.items():
            if not name.endswith("_delta"):
                self.text(f',"{name}":')
                self.put("%d" if name == "attributes" else "%b", expression)
        self.text(',"headers":')

        def header(depth: int) -> None:
            self.text('{"key":')
            self.read(key.node, depth)
            self.text(',"value":')
            self.put("%b", self.content(value.node, depth))
            self.text("}")
            self.emit(depth)

        def several(depth: int) -> None:
            self.line(depth, f"if {count} < 0: raise Unreadable")
            self.emit(depth)
            self.items(count, depth, header)
            self.text("}")

        self.either(count, depth, several, lambda depth: self.text("[]}"))


Writers: TypeAlias = tuple[JsonWriter | None, JsonWriter | None, bool]
"""What writes requests and responses of one API and version, and whether they name topics by ids."""
MOST = 4096
"""Templates that are remembered."""
JSON, NUMBER, TIME, BODY = map(Fragment, (b"\0b", b"\0d", b'"\0b"', b"\0\0"))
"""Places in a template; NUL, which JSON does not have, stands for "%" until those of the text are escaped."""


class JsonView:
    """Renders exchanges, each as one line of JSON."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.topics, self.look = topics, look
        self._writers: dict[tuple[Api, int], Writers] = {}
        self._templates: dict[tuple[object, ...], list[bytes]] = {}

    def __call__(self, exchange: Exchange) -> bytes:
        """Return the line of an exchange, newline included."""
        line = self._straight(exchange)
        return json_line(exchange, self.topics, self.look) if line is None else line

    def _straight(self, exchange: Exchange) -> bytes | None:
        """Return the line made without values; None for what is odd, or cannot be said without them."""
        request, response, api = exchange.request, exchange.response, exchange.api
        if request is None or request.missing or api is None or exchange.lines or (response and response.missing):
            return None
        write, write_response, by_id = self._writers.get((api, exchange.version)) or self._compiled(
            api, exchange.version
        )
        if write is None or (write_response is None and response is not None):
            return None
        names: dict[str, str] = {}
        for rows, _, _ in exchange.outlines() if by_id else ():
            for topic, *_ in rows:
                if type(topic) is UUID and self.topics.get(topic, topic) in SPECIAL:
                    return None  # payloads may be opened
                if type(topic) is UUID and topic in self.topics:
                    names[str(topic)] = self.topics[topic]
        out, odd = [b""], list[Odd]()
        try:
            failed = write(request.data, out, odd)
            findings = request.prove(odd)
            middle = len(out)
            if response is not None and write_response is not None:
                odd = []
                out.append(b"")
                failed = write_response(response.data, out, odd) or failed
                findings += response.prove(odd)
        except UNREADABLE:
            return None
        errors = errors_of(exchange, self.topics) if failed else []
        untimed = UNTIMED in (request.first_time, response and response.first_time)
        if exchange.capture_points or not request.data or untimed:
            asked = half_object(request, Fragment(b"".join(out[1:middle])))
            answer = None if response is None else half_object(response, Fragment(b"".join(out[middle + 1 :])))
            return dump(exchange_object(exchange, asked, answer, (*exchange.findings, *findings), errors, names))
        latency, timing = exchange.latency, exchange.timing
        before, *between, after = self._template(exchange, named=bool(names))
        objects = [*map(finding_object, (*exchange.findings, *findings))]
        lists: list[list[Any]] = [errors, [*map(note_of, objects)], objects]
        out[0] = before % (
            exchange.number, dumps(exchange.correlation_id if has_number(exchange) else None),
            dumps(None if latency is None else latency / 1e6),
            *(() if timing is None else (dumps(split_object(timing)), tcp_json(timing.tcp))),
            *map(_json, lists),
            *((_json(names),) if names else ()), *_places(request),
        )  # fmt: skip
        if response is not None:
            out[middle] = between[0] % _places(response)
        out.append(after)
        return printable(b"".join(out))

    def _template(self, exchange: Exchange, *, named: bool) -> list[bytes]:
        """Return the line of an exchange with places for what differs, in parts around its bodies."""
        answered, timed = exchange.response is not None, exchange.timing is not None
        key = exchange.peers, exchange.api, exchange.version, exchange.client_id, answered, named, timed
        template = self._templates.get(key)
        if template is None:
            half = arranged_half(JSON, TIME, (NUMBER, NUMBER), NUMBER, BODY)
            differing = Differing(NUMBER, *[JSON] * 7)
            line = encoded(arranged(exchange, differing, JSON if named else {}, half, half if answered else None))
            *parts, after = line.split(b"\0\0")
            if len(self._templates) >= MOST:
                self._templates.clear()
            template = [*(part.replace(b"%", b"%%").replace(b"\0", b"%") for part in parts), after]
            self._templates[key] = template
        return template

    def _compiled(self, api: Api, version: int) -> Writers:
        """Return the writers of an API's version, made on first use."""
        sides = grammar_of(api, version, "request"), grammar_of(api, version, "response")
        writers: list[JsonWriter | None] = [None, None]
        if version in api.versions and not (self.look.hide_values and any(map(record_sets, sides))):
            for side, direction in enumerate(DIRECTIONS):
                header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
                writers[side] = json_writer(header, sides[side]) if api.reads(direction, version) else None
        request, response = writers
        found = self._writers[api, version] = request, response, any(has_type(grammar, "uuid") for grammar in sides)
        return found


def _json(values: Collection[Any]) -> bytes:
    """Return a list, or an object that is not empty, as JSON."""
    return encoded(values)[:-1] if values else b"[]"


def _places(half: CapturedMessage) -> tuple[bytes, bytes, int, int, int]:
    """Return what fills the places of a half before its body."""
    time = half.first_time
    return dumps(time / 1e9), iso(time).encode(), half.first_packet, half.last_packet, half.size

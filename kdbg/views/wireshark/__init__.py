"""A dissector for Wireshark: the grammars as tables of Lua, and the interpreter that reads by them (the files *.lua).

One more reading of the declarations: each node becomes one entry of a table, by its class. Nothing here knows an API.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ... import __version__
from ...protocol.grammars import KEYS, apis, headers
from ...protocol.grammars.payloads import SECRETIVE, SECRETIVE_ID, HintedHolding, SoleHolding, payload
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, snake_case
from ...protocol.wire.nodes import (
    ByClass,
    Field,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
    join,
)
from ...protocol.wire.nodes.leaves import KINDS, Length
from ...protocol.wire.readings.layout import walk
from ...protocol.wire.readings.secrets import public_names
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CONTROL_TYPES

SHORT = 2
"""Bytes of the numbers whose names are a table of Wireshark's; those of longer ones follow the number as text."""


FIRST_LINE = "-- Kafka dissector for Wireshark, written by kdbg"
"""How the file begins: one that begins otherwise is not kdbg's."""
INTERPRETER = ("fields", "numbers", "readers", "records", "messages", "framing")
"""The files of the interpreter in their order: each uses what stands in those before it."""
WORDS = (
    "and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until|while"
)
"""Words of Lua's own, which are no names."""
LUA_NAME = re.compile(rf"(?!(?:{WORDS})$)[A-Za-z_]+")
ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f]')


def script(served: Iterable[Api] | None = None) -> str:
    """Return the dissector as one file of Lua: tables of these APIs, all if None, and the interpreter."""
    parts = [Tables(list(apis() if served is None else served)).text()]
    parts += ((pkgutil.get_data(__name__, f"{name}.lua") or b"").decode() for name in INTERPRETER)
    return "\n".join([f"{FIRST_LINE} {__version__}: kdbg guide wireshark\n", *parts])


def lua(value: Any) -> str:
    """Return a value as an expression of Lua; entries that are None or False are left out of tables."""
    if isinstance(value, str):
        return '"' + ESCAPED.sub(lambda found: f"\\{ord(found[0]):03d}", value) + '"'
    if isinstance(value, bytes):
        return '"' + "".join(f"\\{byte:03d}" for byte in value) + '"'
    if isinstance(value, Mapping):
        said = ((key, each) for key, each in value.items() if each is not None and each is not False)
        return "{" + ",".join(f"{lua_key(key)}={lua(each)}" for key, each in said) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(map(lua, value)) + "}"
    return "true" if value is True else str(value)


def lua_key(key: str | int | bytes) -> str:
    """Return a key of a table as it stands in Lua."""
    return key if isinstance(key, str) and LUA_NAME.fullmatch(key) else f"[{lua(key)}]"


class Registry(dict[str, int]):
    """Expressions of Lua that are rows of one table: expression -> its row, from 1 on; equal ones share a row."""

    def row(self, expression: str) -> int:
        return self.setdefault(expression, len(self) + 1)

    def text(self, name: str, quoted: bool = False) -> str:
        """Return the table; `quoted` as texts, each of which the interpreter reads when it first needs the row."""
        rows = (f"[[{expression}]],\n" if quoted else f"{expression},\n" for expression in self)
        return f"DATA.{name} = {{\n{''.join(rows)}}}\n"


class Tables:
    """The tables: fields with their paths, nodes that read them, and which node is the layout of which message."""

    def __init__(self, served: list[Api]) -> None:
        self.fields, self.nodes, self.names = Registry(), Registry(), Registry()
        self.by_path: dict[str, int] = {}
        """By path the field that was last asked for: the items of an array have the path of the array."""
        self.payloads: dict[str, dict[str, Any]] = {}
        self.kept = {"acks", "client_id"}
        for api in served:
            for direction in DIRECTIONS:
                for version in api.versions:
                    self.kept |= deciding(api.at(direction, version))
                self.kept |= {dialect.unless[0] for dialect in api.dialects if dialect.unless}
        self.apis = {api.key: self.api(api) for api in served}
        self.records = self.record_sets()
        self.headers = {
            "request": [self.node(header, "") for header in headers.REQUEST],
            "response": [self.node(header, "") for header in headers.RESPONSE],
        }

    def text(self) -> str:
        errors, public = KINDS["error"](), f" {' '.join(sorted(public_names()))} "
        rows = {"apis": self.apis, "payloads": self.payloads, "headers": self.headers}
        rows |= {"errors": errors, "public": public}
        parts = ["local DATA = " + lua(self.records) + "\n"]
        parts += [self.names.text("names"), self.fields.text("fields"), self.nodes.text("nodes", quoted=True)]
        parts += (f"DATA.{name} = {lua(row)}\n" for name, row in rows.items())
        return "".join(parts)

    def api(self, api: Api) -> dict[str, Any]:
        """Return what is said of an API: its layouts by direction and version, and those that some peers write."""
        prefix, entry = snake_case(api.name), dict[str, Any]()
        others: dict[str, dict[int, Any]] = {}
        for direction in DIRECTIONS:
            entry[direction] = {version: self.node(api.at(direction, version), prefix) for version in api.versions}
            others[direction] = {}
            for version in api.versions:
                for dialect, layout in api.dialects_of(direction, version):
                    row = [self.node(layout, prefix), dialect.name, *(dialect.unless or ())]
                    others[direction].setdefault(version, []).append(row)
        return entry | {
            "name": api.name,
            "flexible": api.flexible,
            "newest": api.versions[-1],
            "headerless_until": api.headerless_until,
            "classic": api.classic_response_header,
            "others": others,
        }

    def record_sets(self) -> dict[str, Any]:
        """Return the nodes of what record sets are made of, and the topics whose records may hold secrets."""
        self.kept |= {"attributes", "records_count", "timestamp_delta", "offset_delta", "key"}
        item = record_format.records.item
        assert isinstance(item, LengthPrefixed)
        entry: dict[str, Any] = {
            "front": self.node(WireStruct(record_format.front, None), "message"),
            "batch": self.node(record_format.batch, "batch"),
            "batch_size": record_format.header_size,
            "record": self.node(item.item, "record"),
        }
        entry |= {
            "handshake": KEYS["saslhandshake"],
            "control": CONTROL_TYPES,
            "secretive": {SECRETIVE: True, SECRETIVE_ID.bytes: True},
        }
        entry |= {f"{name}_field": self.field(name, "none") for name in ("batch", "message", "record")}
        self.kept.add("value")
        return entry | {"messages": [self.node(layout, "message") for layout in record_format.messages]}

    def field(self, path: str, type: str, about: str = "", names: int = 0) -> int:
        """Return the row of a display filter's field."""
        row = self.by_path[path] = self.fields.row(lua([path, type, about, names]))
        return row

    def node(self, node: Node, path: str, about: str = "") -> int:
        """Return the row of a node that stands at a path."""
        return ROWS[type(node)](self, node, path, about)

    def row(self, type: str, field: int, path: str = "", /, **said: Any) -> int:
        """Return the row of a node: its kind, its field, and what else is said of it."""
        name = path.rpartition(".")[2]
        named = lua(said | {"keep": name if name in self.kept else None})[1:-1]
        return self.nodes.row(f'{{"{type}",{field}{"," if named else ""}{named}}}')

    def name_table(self, names: Mapping[int, str] | None) -> int:
        return self.names.row(lua(dict(names))) if names else 0

    def fixed(self, node: Fixed, path: str, about: str) -> int:
        type = node.bnf.lower()
        names = self.name_table(node.names or KINDS.get(node.kind, dict)())
        own = names if node.size <= SHORT and not node.boolean and node.kind != "bits" else 0
        field = self.field(path, type, about, own)
        return self.row(
            type, field, path, kind=node.kind if node.kind in MEANT else None, names=names or None if not own else None
        )

    def varint(self, node: Varint, path: str, about: str) -> int:
        return self.row(node.bnf.lower(), self.field(path, node.bnf.lower(), about), path)

    def uuid(self, node: UuidNode, path: str, about: str) -> int:
        return self.row("uuid", self.field(path, "uuid", about), kind=node.kind or None)

    def sized(self, node: Sized, path: str, about: str) -> int:
        return self.row(
            "sized", self.field(path, "text" if node.text else "bytes", about), path, length=form(node.length),
            text=node.text, data=path in RECORD_DATA, kind=node.kind if node.kind in MEANT else None,
            secret=node.kind == "secret", when=node.when or None, holds=self.holding(node.holds),
        )  # fmt: skip

    def rest(self, node: RemainingBytes, path: str, about: str) -> int:
        return self.row("rest", self.field(path, "bytes", about), secret=node.kind == "secret")

    def struct(self, node: WireStruct, path: str, about: str) -> int:
        members = [self.member(field, path) for field in node.fields]
        known = sorted(node.tags.items()) if node.tags is not None else None
        tags = None if known is None else {tag: self.member(field, path) for tag, field in known}
        kinds = {getattr(field.node, "kind", "") for field in node.members}
        learns = {"topic", "topic_id"} <= kinds
        return self.row("struct", 0, of=members, tags=tags, front=node.front, twice=late(node) or None, learns=learns)

    def member(self, field: Field, path: str) -> int:
        here = join(path, field.name)
        if isinstance(field.node, WireStruct):
            return self.row("field", self.field(here, "none", field.about), of=self.node(field.node, here))
        return self.node(field.node, here, field.about)

    def array(self, node: WireArray, path: str, about: str) -> int:
        item, structure = self.node(node.item, path, about), isinstance(node.item, WireStruct)
        field = self.field(path, "none", about) if structure else self.by_path[path]
        return self.row("array", field, length=form(node.length), of=item, structure=structure)

    def nullable(self, node: NullableStruct, path: str, about: str) -> int:
        return self.row("nullable", self.field(path, "none", about), of=self.node(node.struct, path), null=node.null)

    def record_set(self, node: RecordsNode, path: str, about: str) -> int:
        return self.row("records", self.field(path, "none", about), length=form(node.length), cut=node.cut)

    def holding(self, holds: Any) -> dict[str, Any] | None:
        """Return which payloads bytes may hold; None where that is not said by names."""
        readings: Mapping[str, tuple[str, ...]]
        if isinstance(holds, SoleHolding):
            by, readings = tuple[str, ...](), {"": (holds.name,)}
        elif isinstance(holds, HintedHolding):
            by, readings = holds.by, holds.readings
        else:
            return None
        any_of = list(dict.fromkeys(name for names in readings.values() for name in names))
        for name in any_of:
            self.payload(name)
        return {"by": by, "of": readings, "any": any_of}

    def payload(self, name: str) -> None:
        """Add the layouts of a payload."""
        if name in self.payloads:
            return
        known, entry = payload(name), dict[str, Any]()
        self.payloads[name] = entry
        prefix = snake_case(name)
        for version in known.versions:
            self.kept |= deciding(known.framed(version))
        entry["versions"] = {version: self.node(known.framed(version), prefix) for version in known.versions}
        entry["first"] = known.versions[0]
        if known.version_field:
            names = [field.name for field in known.framed(known.versions[0]).fields]
            before = known.framed(known.versions[0]).fields[: names.index(known.version_field)]
            entry["at"] = sum(field.node.size for field in before if isinstance(field.node, Fixed))


RECORD_DATA = {"record.key", "record.value", "message.key", "message.value"}
"""What applications put into records."""
MEANT = {"error", "topic", "timestamp", "bits"}
"""Kinds of value that the interpreter treats in a way of their own."""


def form(length: Length) -> str:
    """Return the interpreter's word for how a length stands on the wire."""
    return "compact" if length.bias else length.number.bnf.lower()


def deciding(struct: WireStruct) -> set[str]:
    """Return the names of fields on whose values it depends how others are read or shown."""
    names = set[str]()
    for _, field, _ in walk(struct):
        node = field.node.item if isinstance(field.node, WireArray) else field.node
        if isinstance(node, Sized):
            names |= {node.when} if node.when else set()
            names |= set(node.holds.by) if isinstance(node.holds, HintedHolding) else set()
    return names


def late(struct: WireStruct) -> list[str]:
    """Return the names of fields that decide whether one before them is secret."""
    names = [field.name for field in struct.members]
    found = ((i, getattr(field.node, "when", "")) for i, field in enumerate(struct.members))
    return [when for i, when in found if when and when in names and names.index(when) > i]


ROWS = ByClass[Callable[[Tables, Any, str, str], int]]({
    Fixed: Tables.fixed, Varint: Tables.varint, UuidNode: Tables.uuid, Sized: Tables.sized, RemainingBytes: Tables.rest,
    WireStruct: Tables.struct, WireArray: Tables.array, NullableStruct: Tables.nullable, RecordsNode: Tables.record_set,
})  # fmt: skip

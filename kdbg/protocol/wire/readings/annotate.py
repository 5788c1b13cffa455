"""A grammar walked over bytes, giving every field its place in them: the slow reading, the one that explains.

`inspect` never raises for what the bytes hold. Its spans tile the message without hole or overlap as far as it could
be read; what is odd but readable (a null where none may be, bad UTF-8, an unknown tag, a checksum) becomes a finding
and reading goes on; where it cannot go on, `broken` says at which byte and why, and `value` holds what came before.
Decompressed bytes are buffers of their own: a span names the buffer that its places count in.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ....budget import MEMORY
from ....errors import BadLength, Truncated, WireError
from ...findings import Kind, Side, faults
from ...findings.faults import FaultKind
from ..nodes import TAGGED, ByClass, LengthPrefixed, NullableStruct, WireArray, WireStruct, front_size, join
from ..nodes.leaves import INT8, UINT16, UVARINT, VARINT, Fixed, Length, Node, Sized, Stream, Varint
from ..records import RecordsNode
from .inspection import Buffer, Claims, Inspection, Span, sound_part
from .measure import cost_of

__all__ = ["Buffer", "Inspection", "Span", "Walker", "inspect"]
PENDING: Any = object()
Read = TypeVar("Read")


def inspect(
    node: Node,
    data: bytes,
    *,
    header: Node | None = None,
    opaque: bool = False,
    side: Side = "",
    spans: bool = True,
    inner: bool = False,
) -> Inspection:
    """Read a message with its places: its header, if that is given, and its body.

    `opaque` says that the message carries secrets: bytes of it that no field claims are then secret too. `side` is
    which message of an exchange it is, for its findings. Without `spans` none are made, and everything else is the
    same: familiar parts are then read at once, by their generated readings, where these find nothing odd in them.
    `inner` bytes are a part of the message at hand, and take of the memory that is for it.
    """
    if not inner:
        MEMORY.begin()
    walker = Walker(data, opaque, side, spans)
    root: dict[str, Any] = {}
    try:
        if header is not None:
            walker.part(header, "", root, "header")
        walker.body_at = len(walker.result.spans)
        walker.read(node, "", root, "body")
    except WireError as error:
        walker.stop(error)
    walker.result.header, walker.result.value = root.get("header"), root.get("body")
    walker.close()
    walker.conceal()
    return walker.result


class Walker(Claims):
    """Reads nodes one after the other; `holder[key]` is filled as soon as a value exists, so a break loses none."""

    def part(self, node: Node, path: str, holder: Any, key: Any) -> None:
        """Read a part of the message into `holder[key]`: at once, if it is sound and nobody wants its spans."""
        found = None if self.spans is not None else sound_part(node, self.data, self.pos, self.limit)
        if found is None:
            self.read(node, path, holder, key)
        else:
            holder[key] = found[0]
            self.skip(found[1])

    def read(self, node: Node, path: str, holder: Any, key: Any) -> None:
        """Read one node into `holder[key]`."""
        READS[type(node)](self, node, path, holder, key)

    def leaf(self, node: Node, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        value = holder[key] = self.streamed(lambda stream: node._parse(stream, None, path))
        self.span(path, start, node.bnf, value, node)

    def streamed(self, read: Callable[[Stream], Read]) -> Read:
        """Return what a node's own reading finds here, and go past it."""
        stream = io.BytesIO(self.data)
        stream.seek(self.pos)
        value = read(stream)
        self.pos = stream.tell()
        return value

    def fixed(self, node: Fixed, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        value = self.number(node, path)
        if node.boolean:
            if value > 1:
                self.finding(Kind.INVALID_VALUE, FaultKind.NO_BOOLEAN.of(value), path, start, 1)
            value = value != 0
        elif node.unused and value & node.unused:
            self.finding(Kind.RESERVED_BITS, faults.BitsSet(value & node.unused), path, start, node.size)
        holder[key] = value
        self.ends.append(self.pos)
        if self.spans is not None:
            self.spans.append(Span(path, start, self.pos, node.bnf, value, node, "value", self.buffer))

    def number(self, node: Fixed, path: str) -> Any:
        start, size = self.pos, node.size
        data = self.data[start : start + size]
        if len(data) < size:
            raise Truncated(path, start, node.bnf, size, len(data))
        self.pos = start + size
        return node.unpack(data)[0]

    def varint_leaf(self, node: Varint, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        value = holder[key] = self.varint(node, path)
        self.span(path, start, node.bnf, value, node)

    def varint(self, node: Varint, path: str) -> int:
        start = self.pos
        if start < len(self.data) and (byte := self.data[start]) < 0x80:
            self.pos = start + 1
            return (byte >> 1) ^ -(byte & 1) if node.signed else byte
        value, minimal = self.streamed(lambda stream: node.measure(stream, path))
        if not minimal:
            size = self.pos - start
            self.finding(Kind.NON_MINIMAL_VARINT, FaultKind.LONG_VARINT.of(value=value, size=size), path, start, size)
        return value

    def length(self, length: Length, path: str, node: Node, nullable: bool) -> int:
        """Read a length or count, -1 for null; add a finding for a null that is not allowed and take it as null."""
        start, kind = self.pos, length.number
        if isinstance(kind, Fixed):
            number = int(self.number(kind, path)) - length.bias
        elif isinstance(kind, Varint):
            number = self.varint(kind, path) - length.bias
        else:
            number = self.streamed(lambda stream: length.parse(stream, path, node.bnf))
        if number < 0:
            if number < -1:
                raise BadLength(path, start, faults.NegativeLength(node.bnf, number), node.bnf)
            if not nullable:
                self.finding(Kind.UNEXPECTED_NULL, FaultKind.NULL_FORBIDDEN.of(node.bnf), path, start, self.pos - start)
        return number

    def sized(self, node: Sized, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        length = self.length(node.length, path, node, node.nullable)
        value: Any = None
        if length >= 0:
            at = self.pos
            value = self.data[at : at + length]
            if len(value) < length:
                raise Truncated(path, at, node.bnf, length, len(value))
            self.pos = at + length
            if node.text:
                value = self.text(node, value, path)
        holder[key] = value
        self.span(path, start, node.bnf, value, node)

    def text(self, node: Sized, data: bytes, path: str) -> str:
        """Return bytes that were just read as text; add a finding where they are no UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.finding(Kind.INVALID_UTF8, FaultKind.NOT_UTF8.of(node.bnf), path, self.pos - len(data), len(data))
            return data.decode("utf-8", "surrogateescape")

    def array(self, node: WireArray, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        count = self.length(node.length, path, node, node.nullable)
        self.span(path, start, node.bnf, None if count < 0 else count, node, "size")
        holder[key] = None if count < 0 else []
        self.items(node.item, count, path, holder[key])

    def items(self, item: Node, count: int, path: str, items: list[Any], *, reckoned: bool = False) -> None:
        """Read so many items; without `reckoned`, the memory that they take is reckoned here."""
        cost = 0 if reckoned else cost_of(item) * self.factor
        many = count > 1 and isinstance(item, (WireStruct, LengthPrefixed))  # an only one is odd, or its array were not
        read = self.part if many else self.read
        for i in range(count):
            if i > len(self.data):  # an item takes a byte at least, unless a definition leaves it without fields
                raise Truncated(f"{path}[{i}]", self.pos, item.bnf, count - i, 0)
            try:
                MEMORY.take(cost)
            except WireError as error:
                raise WireError(path, self.pos, error.fault, kind=error.kind) from None
            items.append(PENDING)
            try:
                read(item, f"{path}[{i}]", items, i)
            except WireError:
                if items[-1] is PENDING:
                    items.pop()
                raise

    def structure(self, node: WireStruct, path: str, holder: Any, key: Any) -> None:
        holder[key] = {}
        self.struct(node, path, holder[key])

    def struct(self, node: WireStruct, path: str, value: dict[str, Any]) -> None:
        inside = f"{path}." if path else ""
        try:
            if node.front:
                self.tags(node, path, value)
            for name, kind, _, _, _ in node.fields:
                READS[type(kind)](self, kind, inside + name, value, name)
            if node.tags is not None and not node.front:
                self.tags(node, path, value)
        finally:
            if self.spans is not None:
                self.hide_secrets(node, path, value, self.spans)

    def tags(self, node: WireStruct, path: str, value: dict[str, Any]) -> None:
        here, last = join(path, TAGGED), -1
        for tag, start, size in self.entries(node, here):
            self.span(here, start, "TAG", (tag, size), node, "tag")
            if tag <= last:
                self.finding(Kind.TAG_ORDER, FaultKind.TAG_BEHIND.of(tag=tag, last=last), here, start)
            last = max(last, tag)
            self.tag(node, path, value, tag, size)

    def entries(self, node: WireStruct, here: str) -> Iterator[tuple[int, int, int]]:
        """Yield (tag, start, size in bytes) of each tagged or optional field; the caller reads the values."""
        start = self.pos
        if not node.front:
            count = self.varint(UVARINT, here)
            self.span(here, start, "TAGGED_FIELDS", count, node, "size")
            for _ in range(count):
                start = self.pos
                yield self.varint(UVARINT, here), start, self.varint(UVARINT, here)
            return
        while size := front_size(self.varint(VARINT, here), here, start):
            yield self.number(UINT16, here), start, size
            start = self.pos
        self.span(here, start, "OPTIONAL_FIELDS", 0, node, "size")

    def tag(self, node: WireStruct, path: str, value: dict[str, Any], tag: int, size: int) -> None:
        start = self.pos
        known = (node.tags or {}).get(tag)
        if known is None:
            here = join(path, TAGGED)
            data = self.data[start : start + size]
            if len(data) < size:
                raise Truncated(here, start, "BYTES", size, len(data))
            value.setdefault(TAGGED, {})[tag] = data
            self.unclaimed(f"{here}.{tag}", start, start + size)
            self.finding(Kind.UNKNOWN_TAG, FaultKind.TAG_UNKNOWN.of(tag=tag, size=size), here, start, size)
            return
        self.read(known.node, join(path, known.name), value, known.name)
        if self.pos != start + size:
            taken = self.pos - start
            raise BadLength(join(path, known.name), start, FaultKind.TAG_UNFILLED.of(tag=tag, size=size, taken=taken))

    def nullable_struct(self, node: NullableStruct, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        present = self.streamed(lambda stream: node.present(stream, path))
        self.span(path, start, node.bnf, present, INT8, "size")
        holder[key] = {} if present else None
        if present:
            self.struct(node.struct, path, holder[key])

    def prefixed(self, node: LengthPrefixed, path: str, holder: Any, key: Any) -> None:
        start = self.pos
        length = self.length(node.length, path, node, False)
        self.span(join(path, "length"), start, node.length.number.bnf, length, node.length.number, "size")
        end = self.pos + length
        self.read(node.item, path, holder, key)
        if self.pos != end:
            raise BadLength(path, start, FaultKind.LENGTH_UNFILLED.of(length), node.bnf)

    def records(self, node: RecordsNode, path: str, holder: Any, key: Any) -> None:
        from ..records.spans import read_records

        read_records(self, node, path, holder, key)


READS = ByClass[Callable[[Walker, Any, str, Any, Any], None]]({
    Fixed: Walker.fixed, Varint: Walker.varint_leaf, Sized: Walker.sized, Node: Walker.leaf,
    WireStruct: Walker.structure, WireArray: Walker.array, NullableStruct: Walker.nullable_struct,
    LengthPrefixed: Walker.prefixed, RecordsNode: Walker.records,
})  # fmt: skip

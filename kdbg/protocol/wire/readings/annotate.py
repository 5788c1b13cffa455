"""A grammar walked over bytes, giving every field its place in them: the slow reading, the one that explains.

`inspect` never raises for what the bytes hold. Its spans tile the message without hole or overlap as far as it could
be read; what is odd but readable (a null where none may be, bad UTF-8, an unknown tag, a checksum) becomes a finding
and reading goes on; where it cannot go on, `broken` says at which byte and why, and `value` holds what came before.
Decompressed bytes are buffers of their own: a span names the buffer that its places count in.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from ....budget import MEMORY
from ....errors import BadLength, BadValue, Truncated, WireError
from ...findings import Finding, Kind, Side, faults
from ...findings.facts import Facts, Stopped
from ...findings.faults import Fault, FaultKind
from ..nodes import TAGGED, ByClass, LengthPrefixed, NullableStruct, UuidNode, WireArray, WireStruct, join
from ..nodes.leaves import INT8, UINT16, UVARINT, VARINT, Fixed, Length, Node, Sized, Stream, Varint
from ..records import RecordsNode
from .inspection import Buffer, Inspection, Span, sound_part
from .measure import cost_of
from .secrets import may_reveal, secret_members

__all__ = ["Buffer", "Inspection", "Span", "Walker", "inspect"]
PENDING: Any = object()
Read = TypeVar("Read")
SPANS = 6
"""How much more memory values take with their places, and the lines of a hexdump."""


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


CLEAR = frozenset({Kind.INVALID_UTF8, Kind.NON_MINIMAL_VARINT, Kind.RESERVED_BITS, Kind.UNKNOWN_TAG})
"""Kinds of what is odd and leaves no doubt about a value."""


def parse(node: Node, stream: Stream, path: str) -> Any:
    """Return the value that begins where the stream is, and go past it, as construct's `parse` does.

    `path` names it in errors. Raise `WireError` for the first thing that leaves a doubt about it.
    """
    MEMORY.begin()
    start, holder = stream.tell(), dict[str, Any]()
    walker = Walker(stream.read(), False, "", False, strict=True)
    walker.read(node, path, holder, "value")
    stream.seek(start + walker.pos)
    return holder["value"]


class Walker:
    """Reads nodes one after the other; `holder[key]` is filled as soon as a value exists, so a break loses none.

    `pos` is where reading is in `data`. `ends` are the ends of the spans of the buffer at hand, in order: those of
    `spans`, which is None where no spans are wanted. `strict`: what leaves a doubt about a value is raised.
    """

    def __init__(self, data: bytes, opaque: bool, side: Side, spans: bool, *, strict: bool = False) -> None:
        self.result: Inspection = Inspection([Buffer("", data)], side)
        self.data: bytes = data
        self.pos: int = 0
        self.limit: int = len(data)
        """Bytes from here on belong to no part that is read at once: they are another entry's."""
        self.buffer: int = 0
        self.opaque: bool = opaque
        self.ends: list[int] = []
        self.spans: list[Span] | None = self.result.spans if spans else None
        self.factor: int = SPANS if spans else 1
        """How much more memory is taken than by values alone."""
        self.body_at = 0
        self.strict = strict

    def span(self, path: str, start: int, type: str, value: Any, node: Node | None = None, role: str = "value") -> None:
        """Claim the bytes from `start` to where reading is."""
        self.ends.append(self.pos)
        if self.spans is not None:
            secret = role == "raw" and self.opaque
            self.spans.append(Span(path, start, self.pos, type, value, node, role, self.buffer, secret))

    def unclaimed(self, path: str, start: int, end: int) -> None:
        """Note that no field claims the bytes from `start` to `end`, and go past them."""
        self.pos = end
        self.span(path, start, "BYTES", self.data[start:end], role="raw")
        if self.buffer == 0:
            self.result.unexplained += end - start

    def skip(self, end: int) -> None:
        """Go past a part that was read at once."""
        self.pos = end
        self.ends.append(end)

    def finding(self, kind: Kind, facts: Facts, path: str, start: int, length: int = 0) -> None:
        if self.strict and kind not in CLEAR:
            at, fault = facts if isinstance(facts, Stopped) else (start, facts)
            error = BadLength if kind is Kind.UNEXPECTED_NULL else BadValue
            raise error(path, at, cast(Fault, fault), kind=kind)
        place = start if self.buffer == 0 else None
        self.result.findings.append(Finding(kind, self.result.side, path, place, length, facts))

    def stop(self, error: WireError) -> None:
        """Remember why reading could not go on; the bytes from the break on belong to the broken field."""
        self.result.broken = error.with_traceback(None)  # whose frames would keep this alive until garbage is collected
        self.finding(error.kind, Stopped(error.start, error.fault), error.path, error.start)

    def close(self) -> None:
        """Claim the bytes that are left over, so that the spans tile the message to its end."""
        result, broken = self.result, self.result.broken
        covered = self.ends[-1] if self.ends else 0
        result.end = self.pos if broken is None else covered
        left = len(self.data) - result.end
        if broken is None and left:
            self.finding(Kind.TRAILING_BYTES, FaultKind.LEFTOVER.of(left), "", result.end, left)
        if left:
            self.unclaimed("" if broken is None else broken.path, result.end, len(self.data))

    def conceal(self) -> None:
        """Make secret what a broken message says that may hold secrets: its fields may be misaligned.

        Small numbers that stand alone stay: they are few bytes. Those of arrays are as many as a secret has.
        """
        if not self.opaque or not any(finding.kind.shifts for finding in self.result.findings):
            return
        spans = self.result.spans
        for i in range(self.body_at, len(spans)):
            span = spans[i]
            tells = (
                span.role == "value"
                and (span.node is None or span.node.kind != "error")
                and ("[" in span.path or may_reveal(span.value, False))
            )
            if tells or isinstance(span.node, (Sized, UuidNode)):
                spans[i] = spans[i]._replace(secret=True)

    def hide_secrets(self, node: WireStruct, path: str, value: dict[str, Any], spans: list[Span]) -> None:
        """Mark the spans of secret fields, once the sibling that decides it has been read, or could not be."""
        paths = [join(path, name) for name in secret_members(node, value)]
        if not paths:
            return
        for i in range(len(spans) - 1, -1, -1):
            span = spans[i]
            if not span.path.startswith(path):
                break
            if span.role == "value" and any(span.path == one or span.path.startswith(f"{one}[") for one in paths):
                spans[i] = span._replace(secret=True)

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
            number = int(self.streamed(lambda stream: kind._parse(stream, None, path))) - length.bias
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
        while size := self.varint(VARINT, here):
            if size < 0:
                raise BadLength(here, start, FaultKind.NEGATIVE_FIELD_LENGTH.of(size), VARINT.bnf)
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
        marker = self.number(INT8, path)
        if marker not in (node.null, 1):
            raise BadValue(path, start, FaultKind.NO_MARKER.of(null=node.null, value=marker), node.bnf)
        present = marker == 1
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

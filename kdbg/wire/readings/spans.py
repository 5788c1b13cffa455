"""A grammar walked over bytes, giving every field its place in them: the slow reading, the one that explains.

`inspect` never raises for what the bytes hold. Its spans tile the message without hole or overlap as far as it could
be read; what is odd but readable (a null where none may be, bad UTF-8, an unknown tag, a checksum) becomes a finding
and reading goes on; where it cannot go on, `broken` says at which byte and why, and `value` holds what came before.
Decompressed bytes are buffers of their own: a span names the buffer that its places count in.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import BadLength, Truncated, WireError
from ...findings import Finding, Kind, Side
from ...findings.facts import Facts, Stopped
from ...findings.faults import (
    BitsSet,
    Leftover,
    LengthUnfilled,
    LongVarint,
    NegativeLength,
    NoBoolean,
    NotUtf8,
    NullForbidden,
    TagBehind,
    TagUnfilled,
    TagUnknown,
)
from ..nodes import (
    INT8,
    TAGGED,
    UINT16,
    UVARINT,
    VARINT,
    Fixed,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    Sized,
    Varint,
    WireArray,
    WireStruct,
    join,
    take,
)
from ..nodes.tags import TagPosition, front_size
from ..records.node import RecordsNode
from .secrets import secret_members

PENDING: Any = object()


class Span(NamedTuple):
    """Bytes `start` to `end` (not included) of a buffer, and what they say.

    `role` is "value" for a field, "size" for a length or count, "tag" for a tagged field's number and size, "raw"
    for bytes that no field claims. `node` knows the type's name and what its values mean; `secret` that no view may
    show them.
    """

    path: str
    start: int
    end: int
    type: str
    value: Any
    node: Node | None = None
    role: str = "value"
    buffer: int = 0
    secret: bool = False


class Buffer(NamedTuple):
    """Bytes that spans count in: number 0 is the message itself, the others were decompressed out of it."""

    name: str
    data: bytes


@dataclass
class Inspection:
    """Everything there is to say about the bytes of one message."""

    buffers: list[Buffer]
    side: Side = ""
    header: Any = None
    value: Any = None
    spans: list[Span] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: WireError | None = None
    end: int = 0
    """Where reading ended in buffer 0."""


def inspect(
    node: Node, data: bytes, start: int = 0, *, header: Node | None = None, opaque: bool = False, side: Side = ""
) -> Inspection:
    """Read a message with its places: its header, if that is given, and its body.

    `opaque` says that the message carries secrets: bytes of it that no field claims are then secret too. `side` is
    which message of an exchange it is, for its findings.
    """
    walker = Walker(data, start, opaque, side)
    root: dict[str, Any] = {}
    try:
        if header is not None:
            walker.read(header, "", root, "header")
        walker.body_at = len(walker.result.spans)
        walker.read(node, "", root, "body")
    except WireError as error:
        walker.stop(error)
    walker.result.header, walker.result.value = root.get("header"), root.get("body")
    walker.close()
    walker.conceal()
    return walker.result


class Walker:
    """Reads nodes one after the other; `holder[key]` is filled as soon as a value exists, so a break loses none."""

    data: bytes
    buffer: int
    opaque: bool
    stream: io.BytesIO

    def __init__(self, data: bytes, start: int, opaque: bool, side: Side) -> None:
        self.result: Inspection = Inspection([Buffer("", data)], side)
        self.data, self.buffer, self.opaque = data, 0, opaque
        self.stream = io.BytesIO(data)
        self.stream.seek(start)
        self.body_at = 0

    def span(self, path: str, start: int, type: str, value: Any, node: Node | None = None, role: str = "value") -> None:
        end = self.stream.tell()
        secret = role == "raw" and self.opaque
        self.result.spans.append(Span(path, start, end, type, value, node, role, self.buffer, secret))

    def finding(self, kind: Kind, facts: Facts, path: str, start: int, length: int = 0) -> None:
        place = start if self.buffer == 0 else None
        self.result.findings.append(Finding(kind, self.result.side, path, place, length, facts))

    def stop(self, error: WireError) -> None:
        """Remember why reading could not go on; the bytes from the break on belong to the broken field."""
        self.result.broken = error
        self.finding(error.kind, Stopped(error.start, error.fault), error.path, error.start)

    def close(self) -> None:
        """Claim the bytes that are left over, so that the spans tile the message to its end."""
        covered = max((span.end for span in self.result.spans if span.buffer == 0), default=self.result.end)
        self.result.end = self.stream.tell() if self.result.broken is None else covered
        left = len(self.data) - self.result.end
        if self.result.broken is None and left:
            self.finding(Kind.LEFTOVER, Leftover(left), "", self.result.end, left)
        if left:
            self.stream.seek(0, io.SEEK_END)
            path = "" if self.result.broken is None else self.result.broken.path
            self.span(path, self.result.end, "BYTES", self.data[self.result.end :], role="raw")

    def conceal(self) -> None:
        """Make secret all text and bytes of a broken message that may hold secrets: its fields may be misaligned."""
        if not self.opaque or not any(finding.kind.shifts for finding in self.result.findings):
            return
        spans = self.result.spans
        for i in range(self.body_at, len(spans)):
            if isinstance(spans[i].node, Sized):
                spans[i] = spans[i]._replace(secret=True)

    def read(self, node: Node, path: str, holder: Any, key: Any) -> None:
        """Read one node into `holder[key]`."""
        if isinstance(node, Fixed):
            holder[key] = self.fixed(node, path)
        elif isinstance(node, WireStruct):
            holder[key] = {}
            self.struct(node, path, holder[key])
        elif isinstance(node, WireArray):
            self.array(node, path, holder, key)
        elif isinstance(node, Sized):
            holder[key] = self.sized(node, path)
        elif isinstance(node, NullableStruct):
            self.nullable_struct(node, path, holder, key)
        elif isinstance(node, LengthPrefixed):
            self.prefixed(node, path, holder, key)
        elif isinstance(node, RecordsNode):
            from ..records.spans import read_records

            read_records(self, node, path, holder, key)
        else:
            holder[key] = self.leaf(node, path)

    def fixed(self, node: Fixed, path: str) -> Any:
        stream = self.stream
        start = stream.tell()
        number = node.unpack(take(stream, node.size, path, node.bnf))[0]
        value = number != 0 if node.boolean else number
        if node.boolean and number > 1:
            self.finding(Kind.BAD_VALUE, NoBoolean(number), path, start, 1)
        elif node.unused and number & node.unused:
            self.finding(Kind.UNUSED_BITS, BitsSet(number & node.unused), path, start, node.size)
        self.result.spans.append(Span(path, start, start + node.size, node.bnf, value, node, "value", self.buffer))
        return value

    def leaf(self, node: Node, path: str) -> Any:
        start = self.stream.tell()
        value = self.varint(node, path) if isinstance(node, Varint) else node._parse(self.stream, None, path)
        self.span(path, start, node.bnf, value, node)
        return value

    def varint(self, node: Varint, path: str) -> int:
        start = self.stream.tell()
        value, minimal = node.measure(self.stream, path)
        if not minimal:
            size = self.stream.tell() - start
            self.finding(Kind.NON_MINIMAL_VARINT, LongVarint(value, size), path, start, size)
        return value

    def length(self, length: Length, path: str, node: Node, nullable: bool) -> int:
        """Read a length or count, -1 for null; add a finding for a null that is not allowed and take it as null."""
        start = self.stream.tell()
        if isinstance(length.number, Varint):
            number = self.varint(length.number, path) - length.bias
            if number < -1:
                raise BadLength(path, start, NegativeLength(node.bnf, number), node.bnf)
        else:
            number = length.parse(self.stream, path, node.bnf)
        if number < 0 and not nullable:
            self.finding(Kind.NULL, NullForbidden(node.bnf), path, start, self.stream.tell() - start)
        return number

    def sized(self, node: Sized, path: str) -> Any:
        start = self.stream.tell()
        length = self.length(node.length, path, node, node.nullable)
        value: Any = None
        if length >= 0:
            at = self.stream.tell()
            if length > len(self.data) - at:
                raise Truncated(path, at, node.bnf, length, len(self.data) - at)
            data = take(self.stream, length, path, node.bnf)
            value = data.decode("utf-8", "surrogateescape") if node.text else data
            if node.text and not value.isascii() and any("\udc80" <= letter <= "\udcff" for letter in value):
                self.finding(Kind.NOT_UTF8, NotUtf8(node.bnf), path, at, length)
        self.span(path, start, node.bnf, value, node)
        return value

    def array(self, node: WireArray, path: str, holder: Any, key: Any) -> None:
        start = self.stream.tell()
        count = self.length(node.length, path, node, node.nullable)
        self.span(path, start, node.bnf, None if count < 0 else count, node, "size")
        holder[key] = None if count < 0 else []
        self.items(node.item, count, path, holder[key])

    def items(self, item: Node, count: int, path: str, items: list[Any]) -> None:
        for i in range(count):
            items.append(PENDING)
            try:
                self.read(item, f"{path}[{i}]", items, i)
            except WireError:
                if items[-1] is PENDING:
                    items.pop()
                raise

    def struct(self, node: WireStruct, path: str, value: dict[str, Any]) -> None:
        try:
            if node.front:
                self.tags(node, path, value)
            for known in node.fields:
                self.read(known.node, join(path, known.name), value, known.name)
            if node.tags is not None and not node.front:
                self.tags(node, path, value)
        finally:
            self.hide_secrets(node, path, value)

    def hide_secrets(self, node: WireStruct, path: str, value: dict[str, Any]) -> None:
        """Mark the spans of secret fields, once the sibling that decides it has been read, or could not be."""
        paths = [join(path, name) for name in secret_members(node, value)]
        if not paths:
            return
        for i in range(len(self.result.spans) - 1, -1, -1):
            span = self.result.spans[i]
            if not span.path.startswith(path):
                break
            if span.role == "value" and any(span.path == one or span.path.startswith(f"{one}[") for one in paths):
                self.result.spans[i] = span._replace(secret=True)

    def tags(self, node: WireStruct, path: str, value: dict[str, Any]) -> None:
        here, last = join(path, TAGGED), -1
        for tag, start, size in self.front_entries(node, here) if node.front else self.entries(node, here):
            self.span(here, start, "TAG", (tag, size), node, "tag")
            if tag <= last:
                self.finding(Kind.TAG_ORDER, TagBehind(tag, last), here, start)
            last = max(last, tag)
            self.tag(node, path, value, tag, size)

    def entries(self, node: WireStruct, here: str) -> Iterator[TagPosition]:
        """Yield (tag, start, size in bytes) of each tagged field behind a structure; the caller reads the values."""
        start = self.stream.tell()
        count = self.varint(UVARINT, here)
        self.span(here, start, "TAGGED_FIELDS", count, node, "size")
        for _ in range(count):
            start = self.stream.tell()
            yield self.varint(UVARINT, here), start, self.varint(UVARINT, here)

    def front_entries(self, node: WireStruct, here: str) -> Iterator[TagPosition]:
        """Yield (tag, start, size in bytes) of each optional field in front of a structure, as `entries` does."""
        while True:
            start = self.stream.tell()
            size = front_size(self.varint(VARINT, here), here, start)
            if size == 0:
                break
            yield UINT16._parse(self.stream, None, here), start, size
        self.span(here, start, "OPTIONAL_FIELDS", 0, node, "size")

    def tag(self, node: WireStruct, path: str, value: dict[str, Any], tag: int, size: int) -> None:
        start = self.stream.tell()
        known = (node.tags or {}).get(tag)
        if known is None:
            here = join(path, TAGGED)
            data = take(self.stream, size, here, "BYTES")
            value.setdefault(TAGGED, {})[tag] = data
            self.span(f"{here}.{tag}", start, "BYTES", data, role="raw")
            self.finding(Kind.UNKNOWN_TAG, TagUnknown(tag, size), here, start, size)
            return
        self.read(known.node, join(path, known.name), value, known.name)
        if self.stream.tell() != start + size:
            taken = self.stream.tell() - start
            raise BadLength(join(path, known.name), start, TagUnfilled(tag, size, taken))

    def nullable_struct(self, node: NullableStruct, path: str, holder: Any, key: Any) -> None:
        start = self.stream.tell()
        present = node.present(self.stream, path)
        self.span(path, start, node.bnf, present, INT8, "size")
        holder[key] = {} if present else None
        if present:
            self.struct(node.struct, path, holder[key])

    def prefixed(self, node: LengthPrefixed, path: str, holder: Any, key: Any) -> None:
        start = self.stream.tell()
        length = self.length(node.length, path, node, False)
        self.span(join(path, "length"), start, node.length.number.bnf, length, node.length.number, "size")
        end = self.stream.tell() + length
        self.read(node.item, path, holder, key)
        if self.stream.tell() != end:
            raise BadLength(path, start, LengthUnfilled(length), node.bnf)

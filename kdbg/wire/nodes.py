"""The closed set of concrete nodes: what a declaration becomes once its version is known.

A node is a `construct.Construct`: its `_parse` reads plain Python values (never construct's Containers) and its
`_build` writes them, so `node.parse(data)` and `node.build(value)` are construct's own. Every other reading of a
grammar (BNF, spans, compiled, layout, outline) is a function over these eleven classes, in a module of its own.
Paths are those a person writes: `topics[0].partitions[2].leader_id`. Primitive types: the protocol guide's chapter
"Protocol Primitive Types", compact and tagged forms: KIP-482, nullable structures: KIP-893.
"""

from __future__ import annotations

import base64
import binascii
import struct
import uuid
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

import construct

from ..errors import BadLength, BadValue, BuildError, Truncated

Stream = IO[bytes]
NO_DEFAULT: Any = object()
TAGGED = "tagged_fields"
"""The key under which a structure's unknown tagged fields stand, tag -> bytes; absent where there are none."""


class Node(construct.Construct):  # type: ignore[type-arg]
    """`bnf` is the type's word in the guide; `kind` says what the value means, for renderers and filters."""

    bnf = ""
    kind = ""
    names: Mapping[int, str] | None = None

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        """Read one value; `path` names it in errors."""
        raise TypeError(f"{type(self).__name__} is not read on its own")

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        """Write one value; `path` names it in errors."""
        raise TypeError(f"{type(self).__name__} is not written on its own")

    def default(self) -> Any:
        """The value a missing field takes when its declaration names none."""
        raise TypeError(f"{type(self).__name__} has no default")


def take(stream: Stream, length: int, path: str, type: str) -> bytes:
    """Exactly `length` bytes, or `Truncated`; nothing is allocated for bytes that are not there."""
    data = stream.read(length)
    if len(data) < length:
        raise Truncated(path, stream.tell() - len(data), type, length, len(data))
    return data


class Fixed(Node):
    """An integer, boolean or float of fixed width; `code` is its letter in `struct`."""

    def __init__(self, bnf: str, code: str, kind: str = "", names: Mapping[int, str] | None = None) -> None:
        super().__init__()
        self.bnf, self.code, self.kind, self.names = bnf, code, kind, names
        self.size = struct.calcsize(">" + code)
        self.boolean = bnf == "BOOLEAN"

    def means(self, kind: str, names: Mapping[int, str] | None = None) -> Fixed:
        """The same type on the wire, with a meaning of its own."""
        return Fixed(self.bnf, self.code, kind, names)

    def default(self) -> Any:
        return False if self.boolean else 0.0 if self.code == "d" else 0

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        data = take(stream, self.size, path, self.bnf)
        value = struct.unpack(">" + self.code, data)[0]
        if not self.boolean:
            return value
        if value > 1:
            raise BadValue(path, stream.tell() - 1, f"BOOLEAN is 0 or 1, here {value}", self.bnf)
        return value == 1

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        try:
            if self.boolean and not isinstance(value, bool):
                raise struct.error("wants true or false")
            if isinstance(value, bool) and not self.boolean:
                raise struct.error("wants a number")
            if self.code == "d" and value in ("nan", "inf", "-inf"):  # JSON has no numbers for these
                value = float(value)
            stream.write(struct.pack(">" + self.code, value))
        except (struct.error, OverflowError) as error:
            raise BuildError(path, f"{value!r} is no {self.bnf}: {error}") from None
        return value


class Varint(Node):
    """A base-128 number, least significant group first; `signed` ones are zigzag encoded."""

    def __init__(self, bnf: str, bits: int, *, signed: bool, kind: str = "") -> None:
        super().__init__()
        self.bnf, self.bits, self.signed, self.kind = bnf, bits, signed, kind

    def default(self) -> int:
        return 0

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        value, _ = self.measure(stream, path)
        return value

    def measure(self, stream: Stream, path: str) -> tuple[int, bool]:
        """The number, and whether it was written in as few bytes as it needs."""
        start, raw, shift = stream.tell(), 0, 0
        while True:
            byte = take(stream, 1, path, self.bnf)[0]
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= self.bits:
                raise BadValue(path, start, f"{self.bnf} goes on after {shift // 7} bytes", self.bnf)
        if raw >> self.bits:
            raise BadValue(path, start, f"{self.bnf} has more than {self.bits} bits", self.bnf)
        value = (raw >> 1) ^ -(raw & 1) if self.signed else raw
        return value, byte != 0 or shift == 7

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise BuildError(path, f"{value!r} is no {self.bnf}")
        raw = ((value << 1) ^ (value >> self.bits)) if self.signed else value
        if raw < 0 or raw >> self.bits:
            raise BuildError(path, f"{value} does not fit {self.bnf}")
        out = bytearray()
        while raw > 0x7F:
            out.append(raw & 0x7F | 0x80)
            raw >>= 7
        out.append(raw)
        stream.write(bytes(out))
        return value


class Length(NamedTuple):
    """How a length or a count stands on the wire: the number, minus `bias` (compact forms write N + 1, 0 is null)."""

    number: Fixed | Varint
    bias: int

    def parse(self, stream: Stream, path: str, type: str) -> int:
        start = stream.tell()
        length = int(self.number._parse(stream, None, path)) - self.bias
        if length < -1:
            raise BadLength(path, start, f"{type} says a length of {length}", type)
        return length

    def build(self, length: int, stream: Stream, path: str) -> None:
        self.number._build(length + self.bias, stream, None, path)


class UuidNode(Node):
    """Sixteen bytes, most significant first (KIP-516)."""

    bnf = "UUID"

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind = kind

    def default(self) -> uuid.UUID:
        return uuid.UUID(int=0)

    def _parse(self, stream: Stream, context: Any, path: str) -> uuid.UUID:
        return uuid.UUID(bytes=take(stream, 16, path, self.bnf))

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        try:
            stream.write((value if isinstance(value, uuid.UUID) else uuid.UUID(value)).bytes)
        except (ValueError, AttributeError, TypeError):
            raise BuildError(path, f"{value!r} is no UUID") from None
        return value


class Sized(Node):
    """A length, then so many bytes: every form of string and of bytes."""

    def __init__(self, bnf: str, length: Length, *, text: bool, nullable: bool, kind: str = "", when: str = "") -> None:
        super().__init__()
        self.bnf, self.length, self.text, self.nullable, self.kind = bnf, length, text, nullable, kind
        self.when = when
        """For secrets: the name of the sibling field that says whether this one is secret; "" means always."""

    def default(self) -> Any:
        return "" if self.text else b""

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        start = stream.tell()
        length = self.length.parse(stream, path, self.bnf)
        if length < 0:
            if not self.nullable:
                raise BadLength(path, start, f"null, but {self.bnf} must not be null", self.bnf)
            return None
        data = take(stream, length, path, self.bnf)
        return data.decode("utf-8", "surrogateescape") if self.text else data

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if value is None and not self.nullable:
            raise BuildError(path, f"null, but {self.bnf} must not be null")
        data = None if value is None else to_bytes(value, path, self.bnf)
        self.length.build(-1 if data is None else len(data), stream, path)
        stream.write(data or b"")
        return value


def to_bytes(value: Any, path: str, type: str) -> bytes:
    """Bytes of what Python or JSON gives for a string or bytes field: str, bytes or {"base64": "..."}."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise BuildError(path, f"{value!r} cannot be UTF-8: {error.reason}") from None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise BuildError(path, f"base64: {error}") from None
    if isinstance(value, Mapping) and "hidden" in value:
        raise BuildError(path, "hidden when it was decoded; decode again with --show-secrets")
    raise BuildError(path, f"{value!r} is no {type}")


class Rest(Node):
    """All bytes up to the end of the message: raw SASL tokens, bodies of APIs that no grammar is known for."""

    bnf = "REST"

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind, self.when = kind, ""

    def default(self) -> bytes:
        return b""

    def _parse(self, stream: Stream, context: Any, path: str) -> bytes:
        return stream.read()

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stream.write(to_bytes(value, path, self.bnf))
        return value


class WireArray(Node):
    """A count, then so many items."""

    def __init__(self, bnf: str, length: Length, item: Node, *, nullable: bool) -> None:
        super().__init__()
        self.bnf, self.length, self.item, self.nullable = bnf, length, item, nullable

    def default(self) -> list[Any]:
        return []

    def count(self, stream: Stream, path: str) -> int:
        """The number of items, -1 for a null that is allowed; no array can have more items than bytes are left."""
        start = stream.tell()
        count = self.length.parse(stream, path, self.bnf)
        if count < 0 and not self.nullable:
            raise BadLength(path, start, f"null, but {self.bnf} must not be null", self.bnf)
        return count

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        count = self.count(stream, path)
        if count < 0:
            return None
        return [self.item._parse(stream, context, f"{path}[{i}]") for i in range(count)]

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if value is None and not self.nullable:
            raise BuildError(path, f"null, but {self.bnf} must not be null")
        if value is not None and (isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__")):
            raise BuildError(path, f"{value!r} is no list")
        self.length.build(-1 if value is None else len(value), stream, path)
        for i, item in enumerate(value or ()):
            self.item._build(item, stream, context, f"{path}[{i}]")
        return value


class Field(NamedTuple):
    """One field of a structure; `tag` is its number among the tagged fields, None for a plain one."""

    name: str
    node: Node
    initial: Any = NO_DEFAULT
    tag: int | None = None
    about: str = ""

    @property
    def default(self) -> Any:
        return self.node.default() if self.initial is NO_DEFAULT else self.initial


class WireStruct(Node):
    """Fields in order; `tags` holds the known tagged fields of a flexible structure, None where there are no tags."""

    bnf = "STRUCT"

    def __init__(self, fields: tuple[Field, ...], tags: dict[int, Field] | None) -> None:
        super().__init__()
        self.fields, self.tags = fields, tags

    @property
    def keys(self) -> Iterator[str]:
        """Every key a value of this structure may have."""
        yield from (field.name for field in self.fields)
        if self.tags is not None:
            yield from (field.name for field in self.tags.values())
            yield TAGGED

    def default(self) -> dict[str, Any]:
        return {field.name: field.default for field in self.fields}

    def _parse(self, stream: Stream, context: Any, path: str) -> dict[str, Any]:
        value = {f.name: f.node._parse(stream, context, join(path, f.name)) for f in self.fields}
        if self.tags is not None:
            self._parse_tags(value, stream, context, path)
        return value

    def _parse_tags(self, value: dict[str, Any], stream: Stream, context: Any, path: str) -> None:
        last = -1
        for tag, start, size in read_tags(stream, join(path, TAGGED)):
            if tag <= last:
                raise BadValue(join(path, TAGGED), start, f"tag {tag} after tag {last}", "TAG_SECTION")
            last = tag
            field = self.tags.get(tag) if self.tags else None
            if field is None:
                value.setdefault(TAGGED, {})[tag] = take(stream, size, join(path, TAGGED), "BYTES")
                continue
            end = stream.tell() + size
            value[field.name] = field.node._parse(stream, context, join(path, field.name))
            if stream.tell() != end:
                raise BadLength(join(path, field.name), end - size, f"tag {tag} says {size} bytes", field.node.bnf)

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise BuildError(path, f"{value!r} is no structure (an object with fields)")
        for name in value:
            if name not in self.keys:
                raise BuildError(join(path, str(name)), "there is no such field in this version")
        for field in self.fields:
            item = value.get(field.name, NO_DEFAULT)
            if item is NO_DEFAULT:
                item = field.default
            field.node._build(item, stream, context, join(path, field.name))
        if self.tags is not None:
            self._build_tags(value, stream, context, path)
        return value

    def _build_tags(self, value: Mapping[str, Any], stream: Stream, context: Any, path: str) -> None:
        here, entries = join(path, TAGGED), {}
        unknown = value.get(TAGGED) or {}
        if not isinstance(unknown, Mapping):
            raise BuildError(here, f"{unknown!r} is no object of tags and bytes")
        for tag, raw in unknown.items():
            if not str(tag).isdecimal():
                raise BuildError(here, f"{tag!r} is no tag")
            entries[int(tag)] = to_bytes(raw, f"{here}.{tag}", "tagged field")
        for tag, field in (self.tags or {}).items():
            if field.name in value:
                entries[tag] = build(field.node, value[field.name], join(path, field.name))
        UVARINT._build(len(entries), stream, context, path)
        for tag, data in sorted(entries.items()):
            UVARINT._build(tag, stream, context, here)
            UVARINT._build(len(data), stream, context, here)
            stream.write(data)


def read_tags(stream: Stream, path: str) -> Iterator[tuple[int, int, int]]:
    """(tag, where it starts, size of its value) of each tagged field; the caller reads the value in between."""
    for _ in range(UVARINT._parse(stream, None, path)):
        start = stream.tell()
        tag = UVARINT._parse(stream, None, path)
        size = UVARINT._parse(stream, None, path)
        yield tag, start, size


class NullableStruct(Node):
    """A structure that may be null: a marker byte, -1 for null or 1, then the structure (KIP-893)."""

    bnf = "NULLABLE_STRUCT"

    def __init__(self, struct: WireStruct) -> None:
        super().__init__()
        self.struct = struct

    def default(self) -> Any:
        return self.struct.default()

    def present(self, stream: Stream, path: str) -> bool:
        start = stream.tell()
        marker = int(INT8._parse(stream, None, path))
        if marker not in (-1, 1):
            raise BadValue(path, start, f"a nullable structure begins with -1 or 1, here {marker}", self.bnf)
        return marker == 1

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        return self.struct._parse(stream, context, path) if self.present(stream, path) else None

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        INT8._build(-1 if value is None else 1, stream, context, path)
        if value is not None:
            self.struct._build(value, stream, context, path)
        return value


class LengthPrefixed(Node):
    """A length, then one item that fills it to the last byte."""

    bnf = "PREFIXED"

    def __init__(self, number: Fixed | Varint, item: WireStruct) -> None:
        super().__init__()
        self.length, self.item = Length(number, 0), item

    def default(self) -> Any:
        return self.item.default()

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        start = stream.tell()
        end = self.length.parse(stream, path, self.bnf) + stream.tell()
        value = self.item._parse(stream, context, path)
        if stream.tell() != end:
            raise BadLength(path, start, f"a length that ends at byte {end}, the item ends at {stream.tell()}")
        return value

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        data = build(self.item, value, path)
        self.length.build(len(data), stream, path)
        stream.write(data)
        return value


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def build(node: Node, value: Any, path: str = "") -> bytes:
    """The bytes of `value`; `BuildError` names the field that does not fit."""
    import io

    stream = io.BytesIO()
    node._build(value, stream, None, path)
    return stream.getvalue()


INT8, INT16, INT32, INT64 = Fixed("INT8", "b"), Fixed("INT16", "h"), Fixed("INT32", "i"), Fixed("INT64", "q")
UINT16, UINT32, FLOAT64 = Fixed("UINT16", "H"), Fixed("UINT32", "I"), Fixed("FLOAT64", "d")
BOOLEAN = Fixed("BOOLEAN", "B")
UVARINT = Varint("UNSIGNED_VARINT", 32, signed=False)
VARINT, VARLONG = Varint("VARINT", 32, signed=True), Varint("VARLONG", 64, signed=True)
COMPACT_LENGTH = Length(UVARINT, 1)

"""The leaves of grammars, which are construct's constructs: numbers, texts, bytes and ids, and the names of numbers.

construct has no types, and its classes cannot be subscripted: a type checker sees as much of its base classes as kdbg
uses; a running program gets construct's own.
"""

from __future__ import annotations

import base64
import binascii
import copy
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ....errors import BadValue, BuildError, Truncated
from ...findings.faults import FaultKind

if TYPE_CHECKING:
    from ..language.payload import Holding

    class AnyConstruct:
        """`construct.Construct`: what reads bytes into values and writes values as bytes.

        `context` is what construct's context holds, such as `version`. `"name" / construct` is the field of that name,
        `construct * "text"` the same with a text that says what it means.
        """

        name: str | None
        docs: str

        def parse(self, data: bytes, **context: Any) -> Any: ...
        def build(self, obj: Any, **context: Any) -> bytes: ...
        def __rtruediv__(self, name: str) -> Renamed: ...
        def __mul__(self, text: str) -> Self: ...

    class AnySubconstruct(AnyConstruct):
        """`construct.Subconstruct`: a construct around another."""

        subcon: AnyConstruct

        def __init__(self, subcon: AnyConstruct) -> None: ...

    class Renamed(AnySubconstruct):
        """`construct.Renamed`: a field, with its name and what it means."""

        def __init__(self, subcon: AnyConstruct, newname: str | None = None, newdocs: str | None = None) -> None: ...
else:
    from construct import Construct as AnyConstruct
    from construct import Renamed
    from construct import Subconstruct as AnySubconstruct

Type = TypeVar("Type", bound=AnyConstruct)


def documented(of: Type, text: str) -> Type:
    """Return a copy of the type with a text: what fields of this type mean where they do not say it themselves."""
    same = copy.copy(of)
    same.docs = text
    return same


class DocumentedConstruct(AnyConstruct):
    """A construct with the attributes that construct sets in `__init__` as the class's: subclasses are dataclasses."""

    name: str | None = None
    docs: str = ""
    flagbuildnone: bool = False
    parsed: None = None

    def __mul__(self, text: str) -> Self:
        """Return the type with a text that says what it means; construct's own `*` would make it a nameless field."""
        return documented(self, text)


KINDS: dict[str, Callable[[], Mapping[int, str]]] = {}
"""Kinds of number whose names another room knows (error codes, API keys) -> what gives number -> name. That room adds
its own."""
LISTED = 40
"""Names that a refusal lists; of more only those that look like the wrong one."""


def number_of(node: Fixed, given: Any, path: str) -> Any:
    """Return the number that a name, or for a bit set a list of names, stands for; what is neither comes back as it is.

    Case, dashes and underscores do not count. Raise `BuildError` with the valid names for a name that is none of them.
    """
    names = node.names or KINDS.get(node.kind, dict)()
    if not names:
        return given
    if isinstance(given, str):
        number = _number(names, given, path)
        return 1 << number if node.kind == "bits" else bool(number) if node.boolean else number
    if node.kind == "bits" and isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given):
        return sum({1 << _number(names, one, f"{path}[{i}]") for i, one in enumerate(given)})
    return given


def _number(names: Mapping[int, str], given: str, path: str) -> int:
    """Return the number of a name; raise `BuildError` with the valid or the nearest names if it is none of them."""
    known = {_plain(name): number for number, name in names.items()}
    found = known.get(_plain(given))
    if found is not None:
        return found
    if len(names) <= LISTED:
        raise BuildError(path, f"{given!r} is not one of {', '.join(names.values())}")
    import difflib

    near = difflib.get_close_matches(_plain(given), known, n=5)
    like = f"; similar: {', '.join(names[known[word]] for word in near)}" if near else ""
    raise BuildError(path, f"{given!r} is not one of the {len(names)} known names{like}")


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


Stream = IO[bytes]


class Node(DocumentedConstruct):
    """`bnf` is the type's word in the guide; `kind` says what the value means, for renderers and filters."""

    bnf: str
    kind: str = ""
    names: Mapping[int, str] | None = None

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        """Read one value; `path` names it in errors."""
        raise TypeError(f"{type(self).__name__} is not read on its own")

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        """Write one value; `path` names it in errors."""
        raise TypeError(f"{type(self).__name__} is not written on its own")

    def default(self) -> Any:
        """Return the value of a left-out field whose declaration names none; raise `TypeError` if there is none."""
        raise TypeError(f"{type(self).__name__} has no default")


class WalkedNode(Node):
    """A node that the walker of readings/annotate.py has a method for: it reads the bytes for construct, too."""

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        from ..readings.annotate import parse  # which needs all classes of nodes

        return parse(self, stream, path)


def take(stream: Stream, length: int, path: str, type: str) -> bytes:
    """Read exactly `length` bytes or raise `Truncated`; nothing is allocated for bytes that are not there."""
    data = stream.read(length)
    if len(data) < length:
        raise Truncated(path, stream.tell() - len(data), type, length, len(data))
    return data


@dataclass(eq=False, repr=False)
class Fixed(Node):
    """An integer, boolean or float of fixed width; `code` is its letter in `struct`."""

    unused = 0
    """The bits that have no meaning and should be 0; one that is set is told, and kept."""
    bnf: str
    code: str
    kind: str = ""
    names: Mapping[int, str] | None = None

    def __post_init__(self) -> None:
        layout = struct.Struct(">" + self.code)
        self.size: int = layout.size
        self.unpack: Callable[[bytes], tuple[Any, ...]] = layout.unpack
        self.pack: Callable[[Any], bytes] = layout.pack
        self.boolean: bool = self.bnf == "BOOLEAN"

    def means(self, kind: str, names: Mapping[int, str] | None = None) -> Fixed:
        """Return the same type on the wire with another meaning and, by `names`, names for its values or bits."""
        return documented(Fixed(self.bnf, self.code, kind, names), self.docs)

    def reserving(self, bits: int) -> Fixed:
        """Return the same type with a mask of the bits that have no meaning and should be 0."""
        same = copy.copy(self)
        same.unused = bits
        return same

    def default(self) -> Any:
        return False if self.boolean else 0.0 if self.code == "d" else 0

    def _parse(self, stream: Stream, context: Any, path: str) -> Any:
        value = self.unpack(take(stream, self.size, path, self.bnf))[0]
        if not self.boolean:
            return value
        if value > 1:
            raise BadValue(path, stream.tell() - 1, FaultKind.NO_BOOLEAN.of(value), self.bnf)
        return value == 1

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        try:
            if type(value) is int and not self.boolean:
                stream.write(self.pack(value))
                return value
            if isinstance(value, (str, list, tuple)):
                value = number_of(self, value, path)
            if self.boolean and not isinstance(value, bool):
                raise struct.error("expected true or false")
            if isinstance(value, bool) and not self.boolean:
                raise struct.error("expected a number")
            if self.code == "d" and value in ("nan", "inf", "-inf"):  # JSON has no numbers for these
                value = float(value)
            stream.write(self.pack(value))
        except (struct.error, OverflowError) as error:
            raise BuildError(path, f"{value!r} is not a valid {self.bnf}: {error}") from None
        return value


SMALL = [bytes([number]) for number in range(0x80)]
"""Numbers that take one byte as a varint, written."""


@dataclass(eq=False, repr=False)
class Varint(Node):
    """A base-128 number, least significant group first; `signed` ones are zigzag encoded."""

    bnf: str
    bits: int
    _: KW_ONLY
    signed: bool
    kind: str = ""

    def default(self) -> int:
        return 0

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        value, _ = self.measure(stream, path)
        return value

    def measure(self, stream: Stream, path: str) -> tuple[int, bool]:
        """Read a number; return it and whether it takes as few bytes as it needs; raise `BadValue` if too wide."""
        start, raw, shift = stream.tell(), 0, 0
        while True:
            byte = take(stream, 1, path, self.bnf)[0]
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= self.bits:
                raise BadValue(path, start, FaultKind.ENDLESS_VARINT.of(type=self.bnf, size=shift // 7), self.bnf)
        if raw >> self.bits:
            raise BadValue(path, start, FaultKind.WIDE_VARINT.of(type=self.bnf, bits=self.bits), self.bnf)
        value = (raw >> 1) ^ -(raw & 1) if self.signed else raw
        return value, byte != 0 or shift == 7

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise BuildError(path, f"{value!r} is not a valid {self.bnf}")
        raw = ((value << 1) ^ (value >> self.bits)) if self.signed else value
        if 0 <= raw < 0x80:
            stream.write(SMALL[raw])
            return value
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
    """How a length or a count stands on the wire: the number, minus `bias` (compact forms write N + 1, 0 is null).

    `number` may be another node too, one that finds the length by looking ahead (sasl_tokens.py).
    """

    number: Node
    bias: int

    def build(self, length: int, stream: Stream, path: str) -> None:
        self.number._build(length + self.bias, stream, None, path)


@dataclass(eq=False, repr=False)
class UuidNode(Node):
    """Sixteen bytes, most significant first (KIP-516)."""

    bnf = "UUID"
    kind: str = ""

    def default(self) -> uuid.UUID:
        return uuid.UUID(int=0)

    def _parse(self, stream: Stream, context: Any, path: str) -> uuid.UUID:
        return uuid.UUID(bytes=take(stream, 16, path, self.bnf))

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        try:
            stream.write((value if isinstance(value, uuid.UUID) else uuid.UUID(value)).bytes)
        except (ValueError, AttributeError, TypeError):
            raise BuildError(path, f"{value!r} is not a UUID") from None
        return value


@dataclass(eq=False, repr=False)
class Sized(WalkedNode):
    """A length, then so many bytes: every form of string and of bytes."""

    bnf: str
    length: Length
    _: KW_ONLY
    text: bool
    nullable: bool
    kind: str = ""
    when: str = ""
    """For secrets: the name of the sibling field that says whether this one is secret; "" means always."""
    holds: Holding | None = None
    """For payloads: what says how the bytes are laid out."""

    def default(self) -> Any:
        return "" if self.text else b""

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if value is None and not self.nullable:
            raise BuildError(path, f"null, but {self.bnf} must not be null")
        data = None if value is None else to_bytes(value, path, self.bnf)
        self.length.build(-1 if data is None else len(data), stream, path)
        stream.write(data or b"")
        return value


def to_bytes(value: Any, path: str, type: str) -> bytes:
    """Return the bytes of what Python or JSON gives for a string or bytes field: str, bytes or {"base64": "..."}.

    Raise `BuildError` for anything else, text that UTF-8 cannot hold, and bytes that were hidden when decoded.
    """
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
    if isinstance(value, Mapping) and value.keys() & {"redacted", "hidden"}:
        raise BuildError(path, "redacted in this JSON; decode again with --show-secrets")
    raise BuildError(path, f"{value!r} is not a valid {type}")


@dataclass(eq=False, repr=False)
class RemainingBytes(Node):
    """All bytes up to the end of the message: raw SASL tokens, bodies of APIs that no grammar is known for."""

    bnf = "REST"
    when = ""
    kind: str = ""
    holds: Holding | None = None

    def default(self) -> bytes:
        return b""

    def _parse(self, stream: Stream, context: Any, path: str) -> bytes:
        return stream.read()

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stream.write(to_bytes(value, path, self.bnf))
        return value


INT8, INT16, INT32, INT64 = Fixed("INT8", "b"), Fixed("INT16", "h"), Fixed("INT32", "i"), Fixed("INT64", "q")
UINT16, UINT32, FLOAT64 = Fixed("UINT16", "H"), Fixed("UINT32", "I"), Fixed("FLOAT64", "d")
BOOLEAN = Fixed("BOOLEAN", "B")
UVARINT = Varint("UNSIGNED_VARINT", 32, signed=False)
VARINT, VARLONG = Varint("VARINT", 32, signed=True), Varint("VARLONG", 64, signed=True)
COMPACT_LENGTH = Length(UVARINT, 1)

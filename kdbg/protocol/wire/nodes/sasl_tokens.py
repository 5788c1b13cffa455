"""The parts of SASL tokens: text between marks (RFC 4616, 5802, 7628), and DER of GSS-API tokens (RFC 2743)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....errors import BadLength, BadValue, BuildError
from ...findings.faults import FaultKind, PlainFault
from ..language.types import At, Declaration, Struct
from . import WireArray
from .leaves import Length, Node, Sized, Stream, take, to_bytes

STEP = 256
"""Bytes looked at in one go: texts are short."""


@dataclass(eq=False, repr=False)
class Mark(Node):
    """The mark in front of a text; its value is the length of that, -1 where `absent` stands instead of the mark."""

    bnf = "MARK"
    mark: bytes
    stop: bytes
    absent: bytes | None

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        if stream.read(len(self.mark)) != self.mark:
            stream.seek(start)
            if self.absent is None or stream.read(len(self.absent)) != self.absent:
                raise BadValue(path, start, FaultKind.MARK_MISSING.of(self.mark.decode()), "TEXT")
            return -1
        start = stream.tell()
        while piece := stream.read(STEP):  # up to the stop, which is one byte, or to the end
            found = piece.find(self.stop) if self.stop else -1
            if found >= 0:
                stream.seek(found - len(piece), 1)
                break
        length = stream.tell() - start
        stream.seek(start)
        return length

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stream.write(self.mark if value >= 0 else self.absent or b"")
        return value


class Marked(Sized):
    """Text after a mark, up to `stop` (one letter, or "" for the end).

    `absent` is what stands in place of both where the text is missing, which makes it null; None: it never is.
    `when`: as for `Secret`.
    """

    def __init__(self, mark: str, stop: str = "", *, absent: str | None = None, kind: str = "", when: str = "") -> None:
        self.mark: Mark = Mark(mark.encode(), stop.encode(), None if absent is None else absent.encode())
        super().__init__("TEXT", Length(self.mark, 0), text=True, nullable=absent is not None, kind=kind, when=when)

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        stop = self.mark.stop
        if stop and value is not None and stop in to_bytes(value, path, self.bnf):
            raise BuildError(path, f"{stop.decode()!r} would end the text")
        return super()._build(value, stream, context, path)


@dataclass(eq=False, repr=False)
class Ahead(Node):
    """How often a mark stands ahead, without those at the very end; nothing of it is on the wire."""

    bnf = "AHEAD"
    mark: bytes

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        count = stream.read().rstrip(self.mark).count(self.mark)
        stream.seek(start)
        return count

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        return value


class Each(Declaration):
    """As many structures as there are marks ahead that begin one."""

    def __init__(self, mark: str, *fields: Any) -> None:
        self.mark: bytes = mark.encode()
        self.of: Struct = Struct(*fields)

    def at(self, at: At, *, nullable: bool = False) -> WireArray:
        return WireArray("ARRAY", Length(Ahead(self.mark), 0), self.of.structure(at), nullable=False)


LONGEST = 4
"""Bytes of a length: more than that no token has."""


class DerLength(Node):
    """A length in one byte, or, from 128 on, in as few as it needs after a byte that counts them."""

    bnf = "DER_LENGTH"

    def default(self) -> int:
        return 0

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        first = take(stream, 1, path, self.bnf)[0]
        if first < 0x80:
            return first
        if not 0x80 < first <= 0x80 + LONGEST:
            raise BadLength(path, start, FaultKind.LONG_LENGTH_OF_LENGTH.of(first & 0x7F), self.bnf)
        length = int.from_bytes(take(stream, first & 0x7F, path, self.bnf), "big")
        if length < 0x80 or length >> 8 * ((first & 0x7F) - 1) == 0:
            raise BadLength(path, start, FaultKind.LONG_VARINT.of(value=length, size=first & 0x7F), self.bnf)
        return length

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        if not isinstance(value, int) or not 0 <= value < 1 << 8 * LONGEST:
            raise BuildError(path, f"{value!r} is not a valid {self.bnf}")
        size = (value.bit_length() + 7) // 8
        stream.write(bytes([value]) if value < 0x80 else bytes([0x80 + size]) + value.to_bytes(size, "big"))
        return value


class ObjectId(Node):
    """An object identifier as it is written: `1.2.840.113554.1.2.2`."""

    bnf = "OBJECT_IDENTIFIER"
    TAG = 6

    def default(self) -> str:
        return "0.0"

    def _parse(self, stream: Stream, context: Any, path: str) -> str:
        start = stream.tell()
        tag, size = take(stream, 2, path, self.bnf)
        data = take(stream, size, path, self.bnf)
        if tag != self.TAG or not data or size >= 0x80 or data[-1] >= 0x80:
            raise BadValue(path, start, PlainFault.NO_OBJECT_ID, self.bnf)
        numbers, number = [], 0
        for byte in data:
            if not number and byte == 0x80:
                raise BadValue(path, start, PlainFault.ZEROS_IN_OBJECT_ID, self.bnf)
            number = number << 7 | byte & 0x7F
            if byte < 0x80:
                numbers.append(number)
                number = 0
        top = min(numbers[0] // 40, 2)
        return ".".join(map(str, (top, numbers[0] - 40 * top, *numbers[1:])))

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        try:
            top, second, *others = map(int, value.split("."))
            data = b"".join(_groups(number) for number in (40 * top + second, *others))
            if not (0 <= top <= 2 and 0 <= second < (40 if top < 2 else 1 << 32)):
                raise ValueError
            stream.write(bytes([self.TAG, len(data)]) + data)
        except (ValueError, AttributeError):
            raise BuildError(path, f"{value!r} is not a valid {self.bnf}") from None
        return value


def _groups(number: int) -> bytes:
    """Return a number as bytes of seven bits each, most significant first; all but the last have their top bit set.

    Raise `ValueError` for a number below 0.
    """
    if number < 0:
        raise ValueError
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))

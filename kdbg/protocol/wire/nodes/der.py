"""The two pieces of DER that stand in front of a GSS-API token: a length, and an object identifier (RFC 2743, 3.1)."""

from __future__ import annotations

from typing import Any

from ....errors import BadLength, BadValue, BuildError
from ...findings.faults import LongLengthOfLength, LongVarint, NoObjectId, ZerosInObjectId
from .leaves import Node, Stream, take

LONGEST = 4
"""Bytes of a length: more than that no token has."""


class DerLength(Node):
    """A length in one byte, or, from 128 on, in as few as it needs behind a byte that counts them."""

    bnf = "DER_LENGTH"

    def default(self) -> int:
        return 0

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        first = take(stream, 1, path, self.bnf)[0]
        if first < 0x80:
            return first
        if not 0x80 < first <= 0x80 + LONGEST:
            raise BadLength(path, start, LongLengthOfLength(first & 0x7F), self.bnf)
        length = int.from_bytes(take(stream, first & 0x7F, path, self.bnf), "big")
        if length < 0x80 or length >> 8 * ((first & 0x7F) - 1) == 0:
            raise BadLength(path, start, LongVarint(length, first & 0x7F), self.bnf)
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
            raise BadValue(path, start, NoObjectId(), self.bnf)
        numbers, number = [], 0
        for byte in data:
            if not number and byte == 0x80:
                raise BadValue(path, start, ZerosInObjectId(), self.bnf)
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

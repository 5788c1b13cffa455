"""What a number in an error log may be: its four bytes looked at as text, as the beginning of another protocol, as two
INT16s, as a pattern that memory is filled with."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ..engine.foreign import ForeignProtocol, is_tls, recognise
from ..engine.foreign import number as mistaken


class Foreign(NamedTuple):
    """The beginning of another protocol; `less` was subtracted from it by the reader."""

    found: ForeignProtocol
    less: int


class Fill(NamedTuple):
    """A pattern that memory is filled with, and by whom."""

    pattern: str
    by: str


class Letters(NamedTuple):
    """Text, read as a number."""

    text: str


class StringAhead(NamedTuple):
    """The length of a string and its first two letters: the reader stands two bytes before where it should."""

    length: int
    text: str


class NullAhead(NamedTuple):
    """Two INT16s, `first` and -1, which is what null is written as."""

    first: int


class TextEnds(NamedTuple):
    """Letters at the end of a string, and the first bytes of what follows it."""

    text: str


class Shifted(NamedTuple):
    """A small number, then zeros: its bytes are the other way round, or `early` bytes in front were not read."""

    number: int
    early: int


class InsideTls(NamedTuple):
    """A TLS version stands in the bytes: they are from inside a TLS stream."""


class Negative(NamedTuple):
    """No size: it is negative."""


class Size(NamedTuple):
    """Nothing but a size: so many units of 1 MiB and bytes beside them, where these are few."""

    mebibytes: int
    beside: int


Sense: TypeAlias = Foreign | Fill | Letters | StringAhead | NullAhead | TextEnds | Shifted | InsideTls | Negative | Size
FILLS = {
    0xAA: "debugging allocators, and others, fill memory with it",
    0xCC: "MSVC fills the stack with it",
    0xCD: "MSVC fills new memory with it",
    0xDD: "MSVC fills freed memory with it",
    0xA5: "jemalloc fills new memory with it",
    0x5A: "jemalloc fills freed memory with it",
    0xAB: "Windows marks the end of heap blocks with it",
    0xFD: "MSVC fences heap blocks with it",
    0x55: "test patterns are made of it",
}
WORDS = {
    0xDEADBEEF: "a mark for freed or unset memory", 0xBAADF00D: "Windows' mark for new memory",
    0xFEEEFEEE: "Windows' mark for freed memory", 0xCAFEBABE: "the beginning of a Java class file",
    0xDEADC0DE: "a mark for freed memory", 0xFEEDFACE: "the beginning of a macOS program",
}  # fmt: skip
LONGEST = 1 << 12
"""Strings that stand where a count is read are names: they are short."""
MEBI = 1 << 20


def bytes_of(value: int) -> bytes:
    """Return the four bytes of a number."""
    return (value & 0xFFFFFFFF).to_bytes(4, "big")


def sense(value: int) -> Sense:
    """Return what a number most likely is."""
    data = bytes_of(value)
    if (found := mistaken(value)) is not None:
        return Foreign(found, 0)
    if value + 4 < 1 << 31 and (found := recognise(bytes_of(value + 4))) is not None:
        return Foreign(found, 4)
    if (value & 0xFFFFFFFF) in WORDS:
        return Fill(data.hex(" "), WORDS[value & 0xFFFFFFFF])
    if len(set(data)) == 1 and data[0] in FILLS:
        return Fill(data.hex(" "), FILLS[data[0]])
    if all(map(is_text, data)):
        return Letters(data.decode("ascii"))
    return _by_halves(value, data)


def _by_halves(value: int, data: bytes) -> Sense:
    first, second = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:], "big")
    if 2 <= first < LONGEST and all(map(is_text, data[2:])):
        return StringAhead(first, data[2:].decode("ascii"))
    if second == 0xFFFF and first < 128:
        return NullAhead(first)
    if is_text(data[0]) and is_text(data[1]) and (not data[2] or data[2] == 0xFF):
        return TextEnds(data[:2].decode("ascii"))
    if is_text(data[0]) and is_text(data[1]) and is_text(data[2]) and not data[3]:
        return TextEnds(data[:3].decode("ascii"))
    if not second and (0 < first < 128 or (0 < data[0] < 128 and not data[1])):
        return Shifted(first, 2) if first < 128 else Shifted(data[0], 3)
    if data[0] >= 0x80 and is_tls(b"\x17" + data[1:]):
        return InsideTls()
    if value < 0:
        return Negative()
    return Size(value // MEBI, value % MEBI)


def is_text(byte: int) -> bool:
    """Return whether a byte is a printable ASCII letter, digit or mark."""
    return 32 < byte < 127

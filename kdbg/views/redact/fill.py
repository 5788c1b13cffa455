"""Plain bytes compressed to exactly so many bytes: what a batch was compressed to is what it must be afterwards.

What was taken out of the plain bytes is blank, which makes them shorter. What is missing is filled up with what
decoders pass over: a file name in a gzip header (RFC 1952), a skippable frame behind a frame of zstd (RFC 8878) or lz4.
In snappy, which knows no such thing, elements are written longer than they need be (`snappy`). Where that leaves a few
bytes, fewer than such a frame has, the blanks become another letter, or some of them other letters.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ...budget import MEMORY
from ...errors import WireError
from ...protocol.wire.records.compression import compress, decompress
from .snappy import snappy_packer

Packer = Callable[[bytes], bytes]
"""Compresses bytes in one way."""
Filler = Callable[[bytes, int], bytes | None]
"""Makes compressed bytes longer by so many bytes; None where it cannot."""
SKIPPABLE = b"\x50\x2a\x4d\x18"
LETTERS = b"x\0"
"""What stands for what was taken out, a blank first: a match with the bytes beside it can make the difference."""
OTHERS = b"qzvkwjhgpfyb"
"""Letters that become some of them, one after the other: each makes the compressed bytes a little longer."""
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
HARDEST = {GZIP: 9, LZ4: 16, ZSTD: 19}
"""The levels that make the fewest bytes in a bearable time."""
EACH, SPARE = 1 << 12, 1 << 33
"""Plain bytes that may be compressed at the fastest pace for each compressed byte of a batch, and more for all."""


class Effort:
    """How much may be compressed to find what fits: bombs end, and leave what the batches behind them need.

    `given_up` counts the batches for which it was not enough.
    """

    given_up: int

    def __init__(self, spare: int = SPARE) -> None:
        self._own, self._spare, self.given_up = 0, spare, 0

    def begin(self, size: int) -> None:
        """Begin a batch of so many compressed bytes."""
        self._own = EACH * size

    def take(self, work: int) -> bool:
        """Take plain bytes to compress, of the batch's own first; return whether so many are left."""
        rest = max(work - self._own, 0)
        if rest > self._spare:
            self.given_up += 1
            return False
        self._own = max(self._own - work, 0)
        self._spare -= rest
        return True


class Room(NamedTuple):
    """Plain bytes from `start` to `end` that may be anything."""

    start: int
    end: int


class Plain(NamedTuple):
    """Plain bytes, the rooms in them, and what writes the checksums in them once the rooms are filled."""

    data: bytes
    rooms: Sequence[Room]
    prove: Callable[[bytearray], None]

    @property
    def room(self) -> int:
        """Bytes in all rooms."""
        return sum(end - start for start, end in self.rooms)

    def filled(self, letter: int, others: bytes) -> bytes:
        """Return the bytes with `others` in the rooms, then `letter` up to their ends."""
        data, used = bytearray(self.data), 0
        for start, end in self.rooms:
            size = end - start
            data[start:end] = others[used : used + size].ljust(size, bytes([letter]))
            used += size
        self.prove(data)
        return bytes(data)


def refill(codec: int, plain: Plain, old: bytes, magic: int, effort: Effort) -> bytes | None:
    """Return bytes of the length of `old` that decompress to the plain ones, with any letters in their rooms.

    None where there is no way, for nothing compresses the bytes that far, or where looking for it takes too long.
    """
    effort.begin(len(old))
    for packer, filler, pace in _ways(codec, old, magic):
        for letter in LETTERS if plain.rooms else LETTERS[:1]:
            for amount in range(min(plain.room, len(OTHERS)) + 1):
                if not effort.take(pace * len(plain.data)):
                    return None
                data = plain.filled(letter, OTHERS[:amount])
                packed = packer(data)
                if len(packed) > len(old):
                    break
                found = filler(packed, len(old) - len(packed))
                if found is not None and _holds(codec, found, data, magic):
                    return found
    return None


def _holds(codec: int, packed: bytes, plain: bytes, magic: int) -> bool:
    """Return whether compressed bytes decompress to the plain ones; its memory is free again afterwards."""
    MEMORY.begin()
    try:
        return decompress(codec, packed, magic=magic) == plain
    except WireError:
        return False


def _ways(codec: int, old: bytes, magic: int) -> Iterator[tuple[Packer, Filler, int]]:
    """Yield how bytes of this codec can be compressed and filled up: as producers do, then harder.

    With each its pace: how many times as long as the fastest it takes, roughly.
    """
    if codec == SNAPPY:
        yield *snappy_packer(old), 4
    filler = fill_gzip if codec == GZIP else fill_frames
    for level, pace in ((None, 4), (HARDEST[codec], 16)) if codec in HARDEST else ():
        yield partial(compress, codec, magic=magic, level=level), filler, pace


def fill_gzip(packed: bytes, more: int) -> bytes | None:
    """Make a gzip member longer by a file name, which ends with a zero."""
    if not more:
        return packed
    return packed[:3] + bytes([packed[3] | 8]) + packed[4:10] + b"x" * (more - 1) + b"\0" + packed[10:]


def fill_frames(packed: bytes, more: int) -> bytes | None:
    """Make frames longer by one that is passed over; it takes 8 bytes at least."""
    if not more:
        return packed
    return packed + SKIPPABLE + struct.pack("<I", more - 8) + bytes(more - 8) if more >= 8 else None

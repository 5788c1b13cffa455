"""Plain bytes compressed to exactly so many bytes: what a batch was compressed to is what it must be afterwards.

What was taken out of the plain bytes is blank, which makes them shorter. What is missing is filled up with what
decoders pass over: a file name in a gzip header (RFC 1952), a skippable frame after a frame of zstd (RFC 8878) or lz4.
Snappy knows no such thing: there, the first bytes become literals whose lengths take more bytes than they need. Where
a few bytes are missing, fewer than such a frame has, the blanks become another letter, or some of them other letters.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from ...budget import MEMORY
from ...errors import WireError
from ...protocol.wire.records.compression import XERIAL, XERIAL_BLOCK, XERIAL_HEADER, compress, decompress

Packer = Callable[[bytes], bytes]
"""Compresses bytes in one way."""
Filler = Callable[[bytes, int], bytes | None]
"""Makes compressed bytes longer by so many bytes, or by as many as it can; None where it cannot."""
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
    """How much may be compressed to find what fits: bombs end, and leave what the batches after them need.

    `given_up` counts the batches for which it was not enough.
    """

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


class Plain(NamedTuple):
    """Plain bytes, and what writes the checksums in them once the rooms are filled.

    A room is where bytes begin that may be anything, and where they end.
    """

    data: bytes
    rooms: Sequence[tuple[int, int]]
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
                MEMORY.begin()  # what is decompressed is free again afterwards
                with suppress(WireError):
                    if found is not None and len(found) == len(old) and decompress(codec, found, magic=magic) == data:
                        return found
    return None


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


def snappy_packer(old: bytes) -> tuple[Packer, Filler]:
    """Return how to compress and to fill up: framed as the old bytes are, by snappy-java, or one block."""
    from cramjam import snappy

    if not old.startswith(XERIAL):
        return lambda data: bytes(snappy.compress_raw(data)), lengthened
    head = old[: len(XERIAL_HEADER)]
    size = max(XERIAL_BLOCK, snappy.decompress_raw_len(next(_blocks(old), b"\0")))

    def pack(data: bytes) -> bytes:
        parts = (data[start : start + size] for start in range(0, len(data), size))
        return _framed(head, [bytes(snappy.compress_raw(part)) for part in parts])

    def fill(framed: bytes, more: int) -> bytes:
        blocks = list[bytes]()
        for block in _blocks(framed):
            blocks.append(lengthened(block, more))
            more -= len(blocks[-1]) - len(block)
        return _framed(head, blocks)

    return pack, fill


def _blocks(framed: bytes) -> Iterator[bytes]:
    start = len(XERIAL_HEADER)
    while start < len(framed):
        end = start + 4 + int.from_bytes(framed[start : start + 4])
        yield framed[start + 4 : end]
        start = end


def _framed(head: bytes, blocks: list[bytes]) -> bytes:
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def lengthened(block: bytes, more: int) -> bytes:
    """Return a snappy block of the same plain bytes that has `more` bytes more, or as many as it can have.

    It is the length of the plain bytes, then elements, of which the first is a literal: a tag, up to four bytes for its
    length, its bytes. Every byte but its last can be a literal of its own. Where that is not enough, more of the first
    bytes become literals: half as many as are missing, as what follows may have repeated them.
    """
    from cramjam import snappy

    plain = bytes(snappy.decompress_raw(block))
    if not plain or not more:
        return block
    start = _varint_end(block)
    extra = max((block[start] >> 2) - 59, 0)
    length = 1 + (int.from_bytes(block[start + 1 : start + 1 + extra], "little") if extra else block[start] >> 2)
    rest = block[start + 1 + extra + length :]
    if more > 5 * length - 1 - extra:
        longer = min(max((more - 4) // 2, 2), len(plain))
        packed = bytes(snappy.compress_raw(plain[longer:]))
        packed = packed[_varint_end(packed) :]
        grown = len(_literal(plain[:longer])) + len(packed) - (len(block) - start)
        if grown <= more:
            extra, length, rest, more = _extra(longer), longer, packed, more - grown
    more, extra = max(more - (4 - extra), 0), extra + min(more, 4 - extra)
    made, at = [block[:start]], 0
    while more and at + 1 < length:
        taken = min(more - 1, 4)
        made.append(_literal(plain[at : at + 1], taken))
        more, at = more - 1 - taken, at + 1
    return b"".join([*made, _literal(plain[at:length], extra), rest])


def _varint_end(block: bytes) -> int:
    return next(at for at, byte in enumerate(block) if byte < 0x80) + 1


def _extra(length: int) -> int:
    """Return how many bytes the length of a literal takes after its tag."""
    return ((length - 1).bit_length() + 7) // 8 if length > 60 else 0


def _literal(data: bytes, extra: int = 0) -> bytes:
    """Return a literal whose length takes so many bytes after its tag, or more where it needs them."""
    extra, length = max(extra, _extra(len(data))), len(data) - 1
    front = bytes([59 + extra << 2]) + length.to_bytes(extra, "little") if extra else bytes([length << 2])
    return front + data

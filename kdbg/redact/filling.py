"""Plain bytes compressed to exactly so many bytes: what a batch was compressed to is what it must be afterwards.

What was taken out of the plain bytes is blank, which makes them shorter. So as much of it as there is room for becomes
noise, and the last few bytes are filled with what decoders pass over: a file name in a gzip header (RFC 1952), a
skippable frame behind a frame of zstd (RFC 8878) or lz4. For the few bytes that are less than such a frame, and in
snappy, which knows no such thing, the same elements are written longer than they need be (`lz4`, `snappy`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ..budget import MEMORY
from ..errors import WireError
from ..wire.records.compression import compress, decompress
from .lz4 import longer
from .snappy import snappy_packers
from .substitutes import Substitutes

Packer = Callable[[bytes], bytes]
"""Compresses bytes in one way."""
Filler = Callable[[bytes, int], bytes | None]
"""Makes compressed bytes longer by so many bytes; None where it cannot."""
SKIPPABLE = b"\x50\x2a\x4d\x18"
OTHERS = b"aeot019-/ \0\1\2\xff"
TURNS, AROUND = 6, 12
"""Other noise that is tried, and other amounts of it, where the bytes that are left to fill are too few for a frame."""


NOISE, NOISE_MORE = 2, 64
"""Noise is never compressed to less than half: more than twice the size, and some bytes, need not be tried."""
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

    def filled(self, noise: bytes) -> bytes:
        """Return the bytes with this noise in the rooms, as far as it goes."""
        data, used = bytearray(self.data), 0
        for start, end in self.rooms:
            if used == len(noise):
                break
            size = min(end - start, len(noise) - used)
            data[start : start + size] = noise[used : used + size]
            used += size
        self.prove(data)
        return bytes(data)

    def noisy(self, made: Substitutes, turn: int, dense: bool, amount: int) -> bytes:
        """Return the bytes with so many bytes of noise in the rooms."""
        return self.filled(made.noise(amount, turn, dense=dense))

    def blank_with(self, letter: int) -> Plain:
        """Return the same with another letter in all rooms."""
        data = bytearray(self.data)
        for start, end in self.rooms:
            data[start:end] = bytes([letter]) * (end - start)
        return self._replace(data=bytes(data))


def refill(codec: int, plain: Plain, old: bytes, magic: int, made: Substitutes, effort: Effort) -> bytes | None:
    """Return bytes of the length of `old` that decompress to the plain ones, with some noise in their rooms.

    None where there is no way, for nothing compresses the bytes that far, or where looking for it takes too long.
    """
    effort.begin(len(old))
    most = min(plain.room, NOISE * len(old) + NOISE_MORE)
    for packer, filler, pace in _ways(codec, old, magic):
        for base, noises in _bases(plain, made):
            if not effort.take(pace * len(plain.data)):
                return None
            if len(packer(base.filled(b""))) > len(old):
                continue
            for noisy in noises:
                if not effort.take(pace * len(plain.data) * (most.bit_length() + AROUND)):
                    return None
                found = _searched(noisy, most, packer, filler, len(old))
                if found is not None and _holds(codec, *found, magic):
                    return found[0]
                if found is None and not plain.rooms:
                    break
    return None


def _holds(codec: int, packed: bytes, plain: bytes, magic: int) -> bool:
    """Return whether compressed bytes decompress to the plain ones; its memory is free again afterwards."""
    MEMORY.begin()
    try:
        return decompress(codec, packed, magic=magic) == plain
    except WireError:
        return False


def _bases(plain: Plain, made: Substitutes) -> Iterator[tuple[Plain, Iterable[Callable[[int], bytes]]]]:
    """Yield the plain bytes, with functions that return them with so much noise in their rooms.

    That is of letters, then of any bytes. Then what is no noise is another letter: a match with the bytes beside it can
    make the difference.
    """
    yield plain, (partial(plain.noisy, made, turn, dense) for dense in (False, True) for turn in range(TURNS))
    for letter in OTHERS if plain.rooms else b"":
        other = plain.blank_with(letter)
        yield other, [partial(other.noisy, made, 0, False)]


def _searched(
    noisy: Callable[[int], bytes], most: int, packer: Packer, filler: Filler, size: int
) -> tuple[bytes, bytes] | None:
    """Return compressed bytes of this size, and their plain ones; those without noise take no more than that.

    The amount of noise that comes nearest to the size is looked for, then those around it are tried.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(packer(noisy(middle))) <= size else (low, middle - 1)
    for amount in range(low, max(low - AROUND, -1), -1):
        plain = noisy(amount)
        packed = packer(plain)
        if len(packed) <= size and (found := filler(packed, size - len(packed))) is not None:
            return found, plain
    return None


def _ways(codec: int, old: bytes, magic: int) -> Iterator[tuple[Packer, Filler, int]]:
    """Yield how bytes of this codec can be compressed and filled up: as producers do, then harder, then otherwise.

    With each its pace: how many times as long as the fastest it takes, roughly.
    """
    if codec == 1:
        yield from ((partial(compress, 1, level=level), fill_gzip, 8) for level in (6, 9, 1))
        yield partial(_deflated, strategy=zlib.Z_RLE), fill_gzip, 8
    elif codec == 2:
        yield from ((packer, filler, 4) for packer, filler in snappy_packers(old))
    elif codec == 3:
        for level, pace in ((0, 1), (9, 8), (16, 16)):
            yield partial(compress, 3, magic=magic, level=level), fill_lz4, pace
        for sums in (1, 2):
            yield from ((partial(_lz4, sums=sums, level=level), fill_lz4, pace) for level, pace in ((0, 1), (16, 16)))
    elif codec == 4:
        for level, pace in ((3, 1), (1, 1), (9, 4), (19, 16), (22, 16)):
            yield partial(compress, 4, level=level), fill_zstd, pace
        yield from ((partial(_zstd, size=size, sums=sums), fill_zstd, 16) for size in (0, 1) for sums in (0, 1))


def _deflated(data: bytes, strategy: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31, 9, strategy)
    return packer.compress(data) + packer.flush()


def _lz4(data: bytes, sums: int, level: int) -> bytes:
    from lz4 import frame

    packed: bytes = frame.compress(
        data, compression_level=level, block_size=frame.BLOCKSIZE_MAX4MB, block_linked=True, store_size=False,
        content_checksum=sums == 1, block_checksum=sums == 2,
    )  # fmt: skip
    return packed


def _zstd(data: bytes, size: int, sums: int) -> bytes:
    from zstandard import ZstdCompressor

    return ZstdCompressor(level=19, write_content_size=bool(size), write_checksum=bool(sums)).compress(data)


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


def fill_lz4(packed: bytes, more: int) -> bytes | None:
    """Make a frame of lz4 longer: by a frame that is passed over, or by matches that are written as literals."""
    return longer(packed, more) if 0 < more < 8 else fill_frames(packed, more)


def fill_zstd(packed: bytes, more: int) -> bytes | None:
    """Make a frame of zstd longer: by a frame that is passed over, or by empty blocks of 3 bytes."""
    if more in (3, 6):
        from zstandard import frame_header_size

        front = frame_header_size(packed)
        return packed[:front] + bytes(more) + packed[front:]
    return fill_frames(packed, more)

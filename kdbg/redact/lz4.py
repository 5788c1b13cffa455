"""lz4 frames written longer than they need be: a byte that a match copies can be written as a literal instead.

A frame is a header, then blocks: a length (its highest bit set where the block is not compressed) and the bytes. A
compressed block is a row of sequences: literals, then a match, which copies bytes again from `offset` back. The last
sequence has literals alone. See lz4_Frame_format.md and lz4_Block_format.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

LEAST_MATCH = 4
CONTENT_SIZE, DICTIONARY, BLOCK_SUMS = 0x08, 0x01, 0x10
PLAIN_BLOCK = 1 << 31


class Sequence(NamedTuple):
    """Literals and the match behind them; `length` is 0 where there is none."""

    literals: bytes
    offset: int = 0
    length: int = 0

    def encoded(self) -> bytes:
        size, match = len(self.literals), max(self.length - LEAST_MATCH, 0)
        token = bytes([min(size, 15) << 4 | min(match, 15)])
        front = token + _more(size) + self.literals
        return front + struct.pack("<H", self.offset) + _more(match) if self.length else front


def _more(length: int) -> bytes:
    """Return the bytes of a length that four bits do not hold."""
    return b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255]) if length >= 15 else b""


def sequences(block: bytes) -> list[Sequence]:
    """Return the sequences of a sound block."""
    found, place = list[Sequence](), 0

    def length(nibble: int) -> int:
        nonlocal place
        if nibble == 15:
            while True:
                place += 1
                nibble += block[place - 1]
                if block[place - 1] != 255:
                    break
        return nibble

    while place < len(block):
        token = block[place]
        place += 1
        size = length(token >> 4)
        literals = block[place : place + size]
        place += size
        if place == len(block):
            found.append(Sequence(literals))
            break
        offset = int.from_bytes(block[place : place + 2], "little")
        place += 2
        found.append(Sequence(literals, offset, length(token & 15) + LEAST_MATCH))
    return found


def longer(packed: bytes, more: int) -> bytes | None:
    """Return a sound frame made longer by so many bytes; None if its first compressed block has no room for them.

    Blocks with checksums are left as they are.
    """
    flags = packed[4]
    if flags & BLOCK_SUMS:
        return None
    start = 7 + 8 * bool(flags & CONTENT_SIZE) + 4 * bool(flags & DICTIONARY)
    length = int.from_bytes(packed[start : start + 4], "little")
    if not length or length & PLAIN_BLOCK:
        return None
    end = start + 4 + length
    block = _longer_block(packed[start + 4 : end], more)
    return None if block is None else packed[:start] + struct.pack("<I", len(block)) + block + packed[end:]


def _longer_block(block: bytes, more: int) -> bytes | None:
    """Return a block without history, longer by so many bytes: its first matches copy less, or are literals."""
    row, done, made, plain = sequences(block), 0, b"", bytearray()
    while more and done < len(row) - 1:
        one, after, begin = row[done], row[done + 1], len(plain)
        plain += one.literals
        for _ in range(one.length):
            plain.append(plain[-one.offset])
        copied = bytes(plain[begin + len(one.literals) :])
        size = _size(one, after)
        ways = [way for way in _ways(one, copied, after, more) if 0 <= _size(*way) - size <= more]
        *front, row[done + 1] = best = max(ways, key=lambda way: _size(*way))
        more -= _size(*best) - size
        made += b"".join(sequence.encoded() for sequence in front)
        del plain[begin + sum(len(sequence.literals) + sequence.length for sequence in front) :]
        done += 1
    return None if more else made + b"".join(sequence.encoded() for sequence in row[done:])


def _ways(one: Sequence, copied: bytes, after: Sequence, more: int) -> Iterator[list[Sequence]]:
    """Yield how two sequences can be written: as they are, with a shorter match between them, with none."""
    for length in range(max(LEAST_MATCH, one.length - more), one.length + 1):
        yield [one._replace(length=length), after._replace(literals=copied[length:] + after.literals)]
    yield [after._replace(literals=one.literals + copied + after.literals)]


def _size(*row: Sequence) -> int:
    return sum(len(one.encoded()) for one in row)

"""snappy blocks written longer than they need be, as the format allows: to fill a block to a given length.

A block is the length of its plain bytes, then elements: literals, whose length stands in the tag or in one to four
bytes behind it, and copies, whose offset has 11, 16 or 32 bits. So the bytes in front can be one literal, most elements
can be written in more bytes, and a literal can be written as two. See snappy's format_description.txt.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ...protocol.wire.records.compression import XERIAL, XERIAL_BLOCK, XERIAL_HEADER


class Literal(NamedTuple):
    """Bytes as they are; `extra` bytes hold their length, 0 where the tag does."""

    data: bytes
    extra: int

    @classmethod
    def of(cls, data: bytes) -> Literal:
        """Return a literal that takes as few bytes as can be."""
        return cls(data, _extra(len(data)))

    def encoded(self) -> bytes:
        length = len(self.data) - 1
        if not self.extra:
            return bytes([length << 2]) + self.data
        return bytes([59 + self.extra << 2]) + length.to_bytes(self.extra, "little") + self.data

    def longer(self, more: int) -> tuple[Literal, int]:
        """Return the literal with up to so many bytes more for its length, and how many are left."""
        taken = min(more, 4 - self.extra)
        return Literal(self.data, self.extra + taken), more - taken


class Copy(NamedTuple):
    """Bytes again from `offset` back; `size` is that of the element: 2, 3 or 5."""

    length: int
    offset: int
    size: int

    def encoded(self) -> bytes:
        if self.size == 2:
            return bytes([1 | (self.length - 4) << 2 | self.offset >> 8 << 5, self.offset & 0xFF])
        kind = 2 if self.size == 3 else 3
        return bytes([kind | (self.length - 1) << 2]) + self.offset.to_bytes(self.size - 1, "little")

    def longer(self, more: int) -> tuple[Copy, int]:
        """Return the copy in up to so many bytes more, and how many are left."""
        size = next(size for size in (5, 3, 2) if size <= self.size or size - self.size <= more)
        size = max(size, self.size)
        return Copy(self.length, self.offset, size), more - (size - self.size)


Element = Literal | Copy


def _extra(length: int) -> int:
    """Return how many bytes the length of a literal takes after its tag."""
    return ((length - 1).bit_length() + 7) // 8 if length > 60 else 0


def elements(block: bytes) -> tuple[bytes, list[Element]]:
    """Return the length in front of a sound block, as it stands there, and its elements."""
    place = 0
    while block[place] & 0x80:
        place += 1
    front, found, place = block[: place + 1], list[Element](), place + 1
    while place < len(block):
        tag = block[place]
        kind, high = tag & 3, tag >> 2
        if not kind:
            extra = max(high - 59, 0)
            length = (int.from_bytes(block[place + 1 : place + 1 + extra], "little") if extra else high) + 1
            start = place + 1 + extra
            found.append(Literal(block[start : start + length], extra))
            place = start + length
        elif kind == 1:
            found.append(Copy((high & 7) + 4, tag >> 5 << 8 | block[place + 1], 2))
            place += 2
        else:
            size = 3 if kind == 2 else 5
            found.append(Copy(high + 1, int.from_bytes(block[place + 1 : place + size], "little"), size))
            place += size
    return front, found


def plainer(block: bytes, more: int) -> bytes:
    """Return a valid block whose first elements are one literal: as many as make it longer by `more` bytes at most."""
    front, found = elements(block)
    rest, length, best = len(block) - len(front), 0, (0, 0)
    for count, element in enumerate(found, 1):
        rest -= len(element.encoded())
        length += len(element.data) if isinstance(element, Literal) else element.length
        if len(front) + 1 + _extra(length) + length + rest <= len(block) + more:
            best = count, length
    count, length = best
    begin = Literal.of(_unpacked(block)[:length]).encoded() if count else b""
    return front + begin + b"".join(element.encoded() for element in found[count:])


def longer(block: bytes, more: int) -> bytes:
    """Return a valid block made longer by `more` bytes, or by as many as its elements allow."""
    if not more:
        return block
    front, found = elements(block)
    made: list[Element] = []
    for element in found:
        element, more = element.longer(more)
        pieces, more = _split(element, more) if isinstance(element, Literal) else ([element], more)
        made += pieces
    return front + b"".join(element.encoded() for element in made)


def _split(literal: Literal, more: int) -> tuple[list[Element], int]:
    """Return a literal in pieces of one byte, each of which takes a tag and up to four bytes more; what is left too."""
    pieces, data = list[Element](), literal.data
    while more and len(data) > 1:
        piece, more = Literal(data[:1], 0).longer(more - 1)
        pieces.append(piece)
        data = data[1:]
    return [*pieces, Literal(data, literal.extra)], more


def snappy_packer(old: bytes) -> tuple[Callable[[bytes], bytes], Callable[[bytes, int], bytes | None]]:
    """Return how to compress and to fill up: framed as the old bytes are, by snappy-java, or one block."""
    if not old.startswith(XERIAL):
        return _packed, _fill
    return partial(_framed, old[: len(XERIAL_HEADER)], max(XERIAL_BLOCK, _largest(old))), _fill_framed


def _largest(framed: bytes) -> int:
    """Return the plain bytes of the first block."""
    from cramjam import snappy

    start = len(XERIAL_HEADER) + 4
    length = int.from_bytes(framed[start - 4 : start], "big")
    return int(snappy.decompress_raw_len(framed[start : start + length]))


def _packed(data: bytes) -> bytes:
    from cramjam import snappy

    return bytes(snappy.compress_raw(data))


def _framed(head: bytes, size: int, data: bytes) -> bytes:
    blocks = [_packed(data[start : start + size]) for start in range(0, len(data), size)]
    return _joined(head, blocks)


def _joined(head: bytes, blocks: list[bytes]) -> bytes:
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _unpacked(block: bytes) -> bytes:
    from cramjam import snappy

    return bytes(snappy.decompress_raw(block))


def _fill(block: bytes, more: int) -> bytes | None:
    found = _filled([block], more)
    return None if found is None else found[0]


def _fill_framed(framed: bytes, more: int) -> bytes | None:
    start, blocks = len(XERIAL_HEADER), list[bytes]()
    while start < len(framed):
        length = int.from_bytes(framed[start : start + 4], "big")
        blocks.append(framed[start + 4 : start + 4 + length])
        start += 4 + length
    found = _filled(blocks, more)
    return None if found is None else _joined(framed[: len(XERIAL_HEADER)], found)


def _filled(blocks: list[bytes], more: int) -> list[bytes] | None:
    """Return blocks that are longer by so many bytes together; None where they have no room for them."""
    for make in (plainer, longer):
        for i, block in enumerate(blocks):
            blocks[i] = make(block, more)
            more -= len(blocks[i]) - len(block)
    return None if more else blocks

"""AES keys in use, and what may be secrets of TLS, out of the bytes of a process's memory.

A key in use stands in memory with its key schedule (FIPS 197, 5.2), whose words follow from each other by XOR: that
shows it in the memory of any library. Secrets are bytes like any others; where they can stand depends on who keeps
them there (`Layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Offsets: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]

KEY_BYTES = 32
"""Bytes of a key of ChaCha20."""
KEY_WORDS = (4, 8)
"""Words of 32 bits of an AES-128 and an AES-256 key."""
SECRET_SIZES = (32, 48)
"""Bytes of secrets of TLS with SHA-256 and SHA-384; the master secret of TLS 1.2 has 48."""
DISTINCT = {32: 25, 48: 36}
"""Different bytes that a secret has at the least: 48 random bytes have 43.9 ± 1.8."""
AT_ONCE = 1 << 16
"""Candidates whose bytes are compared at once."""
GO_SPAN = 8192
"""Bytes of a page of Go's heap, which is divided into slots of one size."""


class Layout(StrEnum):
    """Who keeps secrets, which says where they can stand."""

    JAVA = "java"
    """A byte[] has its length in front, and four zeros after that where class pointers are not compressed."""
    PADDED = "padded"
    """OpenSSL and rustls keep secrets in arrays of 64 bytes, the rest of which is zero."""
    GO = "go"
    """Go's allocator puts objects of one size one after the other."""
    ANY = "any"
    """Whatever looks random."""


class MemorySearch:
    """`take` chunks of memory; `keys` are AES keys in use, `windows` what may be secrets, by their size.

    Chunks are to overlap by `OVERLAP` bytes.
    """

    OVERLAP = 1024

    def __init__(self, layouts: frozenset[Layout], most: int) -> None:
        self.layouts = layouts
        self.most = most
        """Windows that are kept, at most."""
        self.keys: set[bytes] = set()
        self.windows: dict[int, dict[bytes, None]] = {size: {} for size in SECRET_SIZES}

    def take(self, address: int, data: bytes) -> None:
        """Search a chunk of memory that stands at an address."""
        self.keys |= keys_in_use(data)
        for size, found in self.windows.items():
            for layout in self.layouts:
                for offsets in LAYOUTS[layout](data, size, address):
                    for offset in _random_ones(data, offsets, size).tolist():
                        if len(found) < self.most:
                            found[data[offset : offset + size]] = None


def keys_in_use(data: bytes) -> set[bytes]:
    """Return the AES keys whose schedules stand in memory, in both orders of the bytes of a word.

    Of each Nk words of a schedule, those after the first are the XOR of the word before and the one Nk before. Two
    such runs, one after the other, do not come about by chance.
    """
    words = np.frombuffer(data, "<u4", len(data) // 4)
    follows = words[1:] ^ words[:-1]
    found = set[bytes]()
    for size in KEY_WORDS:
        if len(words) < 3 * size:
            continue
        same = (follows[size:] == words[1 : len(words) - size]) & (words[1 : len(words) - size] != 0)
        starts = np.flatnonzero(same[:-2] & same[1:-1] & same[2:])
        starts = starts[starts + size + 2 < len(same)]
        again = starts + (size if size == KEY_WORDS[0] else KEY_WORDS[0])
        starts = starts[same[again] & same[again + 1] & same[again + 2]]
        rounds = set(starts.tolist())
        for start in rounds:
            if start - size not in rounds:  # else it is a later round of the same schedule
                key = words[start : start + size]
                found |= {key.tobytes(), key.byteswap().tobytes()}
    return found


def present(chunks: Iterable[tuple[int, bytes]], wanted: Collection[bytes]) -> set[bytes]:
    """Return those of some keys that stand in memory, at addresses that are multiples of 4."""
    found = set[bytes]()
    ordered = np.sort(np.frombuffer(b"".join(key[:4] for key in wanted), "<u4"))
    low, high = np.zeros(1 << 16, bool), np.zeros(1 << 16, bool)
    low[ordered & 0xFFFF] = high[ordered >> 16] = True
    for _, data in chunks if len(ordered) else ():
        words = np.frombuffer(data, "<u4", len(data) // 4)
        near = np.flatnonzero(low[words.astype(np.uint16)])
        near = near[high[words[near] >> 16]]
        at = np.searchsorted(ordered, words[near])
        near = near[ordered[np.minimum(at, len(ordered) - 1)] == words[near]]
        found.update(key for at in (4 * near).tolist() if (key := data[at : at + KEY_BYTES]) in wanted)
    return found


def _in_java(data: bytes, size: int, _: int) -> Iterator[Offsets]:
    words = np.frombuffer(data, "<u4", len(data) // 4)
    after = np.flatnonzero(words == size) + 1
    after = np.concatenate((after, after[words[np.minimum(after, len(words) - 1)] == 0] + 1))
    yield 4 * _filled(words, after[after * 4 + size <= len(data)], size)


def _padded(data: bytes, size: int, _: int) -> Iterator[Offsets]:
    words, length = np.frombuffer(data, "<u4", len(data) // 4), size // 4
    if len(words) >= length + 4:
        zero = words == 0
        ends = zero[length:-3] & zero[length + 1 : -2] & zero[length + 2 : -1] & zero[length + 3 :]
        yield 4 * _filled(words, np.flatnonzero(ends & ~zero[length - 1 : -4]), size)


def _in_go(data: bytes, size: int, address: int) -> Iterator[Offsets]:
    slots = np.arange(0, GO_SPAN - size + 1, size)
    offsets = (np.arange(-(address % GO_SPAN), len(data), GO_SPAN)[:, None] + slots).ravel()
    offsets = offsets[(offsets >= 0) & (offsets + size <= len(data))]
    words, doubts = np.frombuffer(data, "<u8", len(data) // 8), np.zeros(len(offsets), np.int8)
    for place in range(size // 8):
        doubts += _doubts(words[offsets // 8 + place])
        offsets, doubts = offsets[doubts <= 1], doubts[doubts <= 1]
    yield offsets


def _anywhere(data: bytes, size: int, _: int) -> Iterator[Offsets]:
    for start in (0, 4):
        doubts = _doubts(np.frombuffer(data, "<u8", (len(data) - start) // 8, start))
        if len(doubts) >= (length := size // 8):
            sums = np.concatenate((np.zeros(1, np.int32), np.cumsum(doubts, dtype=np.int32)))
            yield start + 8 * np.flatnonzero(sums[length:] - sums[:-length] <= 1)


LAYOUTS: dict[Layout, Callable[[bytes, int, int], Iterator[Offsets]]] = {
    Layout.JAVA: _in_java, Layout.PADDED: _padded, Layout.GO: _in_go, Layout.ANY: _anywhere,
}  # fmt: skip
"""What yields the offsets in a chunk at which a secret of a size can stand; the third argument is its address."""


def _filled(words: Words, starts: Offsets, size: int) -> Offsets:
    """Return those places where a first, second, middle and last word are not zero."""
    ends = [words[starts + place] != 0 for place in (0, 1, size // 8, size // 4 - 1)]
    return starts[np.logical_and.reduce(ends)]


def _doubts(words: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Return for words of 64 bits: 2 where they are an address or a number, 1 where they may be text, else 0.

    One random word in 256 has seven bits in each byte: two in a secret are too many.
    """
    high = (words >> np.uint64(48)).astype(np.uint16)
    numbers = (high == 0) | (high == 0xFFFF) | (words.astype(np.uint32) == 0)
    text: NDArray[np.int8] = ((words & np.uint64(0x8080808080808080)) == 0).astype(np.int8)
    text += 2 * numbers.astype(np.int8)
    return text


def _random_ones(data: bytes, offsets: Offsets, size: int) -> Offsets:
    """Return those places whose bytes differ as much as random ones."""
    content, kept = np.frombuffer(data, np.uint8), []
    for place in range(0, len(offsets), AT_ONCE):
        some = offsets[place : place + AT_ONCE]
        ordered = np.sort(content[some[:, None] + np.arange(size)], axis=1)
        kept.append(some[(ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1 >= DISTINCT[size]])
    return np.concatenate(kept) if kept else offsets

"""Keys of ChaCha20-Poly1305 under TLS 1.2 in a process's memory, and the number of a record under one (RFC 7905).

ChaCha20 has no key schedule: what its library keeps beside a key shows it. Memory has the nonce of the last record, or
that of number 0; the nonce of each other record differs from it in few bits, for nonces are numbers XOR a vector.
The number itself is in the tag: Poly1305 is a polynomial, and the block with the number is the only unknown in it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

from ..record import SealedRecord

Numbers: TypeAlias = NDArray[np.uint64]
Words: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]
Offsets: TypeAlias = NDArray[np.int64]
Side = TypeVar("Side")
CONSTANT, BLOCK = b"expand 32-byte k", 64
"""The front of ChaCha20's state (RFC 8439, 2.3), and bytes of a block."""
KEY, NONCE, TAG = 32, 12, 16
DISTINCT = 25
"""Different bytes that a key has at the least."""
MOST_STATES = 1 << 12
"""Keys that are kept: more of them show that a memory holds too much of what looks like keys."""
MOST_BLOCKS = 300
"""Blocks of the key stream that are more than a record takes."""
RING, ALGORITHM = 536, 520
"""Bytes from a key of ring to its vector, and to the address of its cipher."""
AWS_LC = 8
"""Bytes in front of the key in what an address of aws-lc leads to."""
LOWEST, HIGHEST_ADDRESS = 1 << 16, 1 << 48
"""Words and addresses that are less are numbers, of which keys and nonces have few; no address of a program is more."""
AT_ONCE = 1 << 16
"""Nonces that are tried at once."""
NOWHERE: Offsets = np.array([], np.int64)
PRIME = (1 << 130) - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
HIGHEST = 1 << 40
"""A number that no record reaches."""


class State(NamedTuple):
    """A key, and the nonce of some record under it."""

    key: bytes
    nonce: bytes

    @property
    def is_possible(self) -> bool:
        """Whether both are whole, and the key looks random."""
        return len(self.key) == KEY and len(self.nonce) == NONCE and len({*self.key}) >= DISTINCT


class NumberedRecord(NamedTuple):
    """The number of the first of some records that follow each other, and the nonce of number 0."""

    number: int
    vector: bytes


def states(chunks: Iterable[tuple[int, bytes]], read: Callable[[int, int], bytes], runtime: str) -> set[State]:
    """Return what may be keys in chunks of memory; `read` returns so many bytes at an address, or less.

    `runtime` is java, go, or "" for programs of other libraries.
    """
    found = set[State]()
    for _, data in chunks:
        if runtime == "java":
            some = _with_counter(data, _after_constant(data))
        elif runtime == "go":
            some = _pointed(data, read)
        else:
            some = chain(_with_counter(data, _before_counter(data)), _of_ring(data), _pointed(data, read))
        found.update(one for one in some if one.is_possible)
        if len(found) > MOST_STATES:
            break
    return found


def _with_counter(data: bytes, starts: Iterable[int]) -> Iterator[State]:
    """Yield keys in front of a counter of blocks and the nonce of the last record: Java's and OpenSSL's."""
    for start in starts:
        yield State(data[start : start + KEY], data[start + KEY + 4 : start + KEY + 4 + NONCE])


def _after_constant(data: bytes) -> Iterator[int]:
    at = data.find(CONSTANT)
    while at >= 0:
        yield at + len(CONSTANT)
        at = data.find(CONSTANT, at + 1)


def _before_counter(data: bytes) -> list[int]:
    words = np.frombuffer(data, "<u4", len(data) // 4)
    large = words >= LOWEST
    at = np.flatnonzero((words[8:-3] <= MOST_BLOCKS) & large[7:-4] & large[9:-2] & large[:-11])
    for place in (1, 2, 3, 4, 5, 6, 10):
        at = at[large[at + place]]
    starts: list[int] = (4 * at).tolist()
    return starts


def _of_ring(data: bytes) -> Iterator[State]:
    words = np.frombuffer(data, "<u8", len(data) // 8)
    at = np.flatnonzero(words[ALGORITHM // 8 + 1 : -2] == 0)
    for place, holds in ((ALGORITHM // 8, _is_address), (0, _is_random), (3, _is_random), (RING // 8, _is_random)):
        at = at[holds(words[at + place])]
    for start in (8 * at).tolist():
        yield State(data[start : start + KEY], data[start + RING : start + RING + NONCE])


def _pointed(data: bytes, read: Callable[[int, int], bytes]) -> Iterator[State]:
    """Yield the nonce of number 0 beside the address of a key: as Go's crypto/tls and as rustls with aws-lc have it."""
    words = np.frombuffer(data, "<u8", len(data) // 8)
    addresses = _is_address(words)
    pairs = np.flatnonzero(addresses[:-1] & addresses[1:])
    after = pairs[pairs < len(words) - 3]
    for at in after[_is_random(words[after + 2])].tolist():
        yield State(read(int(words[at]) + AWS_LC, KEY), data[8 * at + 16 : 8 * at + 16 + NONCE])
    before = pairs[pairs >= 2]
    for at in before[_is_random(words[before - 2]) & (words[before - 1] < 1 << 32)].tolist():
        yield State(read(int(words[at + 1]), KEY), data[8 * at - 16 : 8 * at - 16 + NONCE])


def _is_address(words: Numbers) -> Flags:
    found: Flags = (words >= LOWEST) & (words < HIGHEST_ADDRESS)
    return found


def _is_random(words: Numbers) -> Flags:
    high, low = words >> np.uint64(48), words & np.uint64(0xFFFFFFFF)
    found: Flags = (high != 0) & (high != 0xFFFF) & (low >> np.uint64(16) != 0)
    return found


def numbered(
    state: State, sides: Mapping[Side, Sequence[SealedRecord]], first: int, end: int
) -> Iterator[tuple[Side, NumberedRecord]]:
    """Yield which sides have records under a key, of which the nonce differs by a number in a range from the state's.

    One record of a side must begin a message: its size, or API key, of 4 bytes, the first two of which are zero.
    """
    fixed, last = state.nonce[:4], np.uint64(int.from_bytes(state.nonce[4:], "big"))
    left = dict(sides)
    for start in range(first, end, AT_ONCE):
        ends = np.arange(start, min(start + AT_ONCE, end), dtype=np.uint64) ^ last
        stream = key_stream(state.key, ends, fixed, 0)
        for side, records in [*left.items()]:
            found = next(_numbers(state.key, fixed, ends, stream, records), None)
            if found is not None:
                del left[side]
                yield side, found


def _numbers(
    key: bytes, fixed: bytes, ends: Numbers, stream: Words, records: Sequence[SealedRecord]
) -> Iterator[NumberedRecord]:
    for at, record in enumerate(records):
        for end in ends[begin_message(stream, record)].tolist():
            nonce = fixed + end.to_bytes(8, "big")
            number = number_of(key, nonce, record)
            if number is not None and number >= at:
                vector = (int.from_bytes(nonce, "big") ^ number).to_bytes(NONCE, "big")
                yield NumberedRecord(number - at, vector)


def begin_message(stream: Words, record: SealedRecord) -> Offsets:
    """Return where a key stream shows a record that begins a message: the first two bytes of its size, or of its API
    key, are zero. Given are the first 4 bytes of the stream for each number."""
    if len(record.body) < TAG + 4:
        return NOWHERE
    return np.flatnonzero(stream.view("<u2")[::2] == int.from_bytes(record.body[:2], "little"))


def number_of(key: bytes, nonce: bytes, record: SealedRecord) -> int | None:
    """Return the number that is in the tag of a record (RFC 8439, 2.5 and 2.8); None for another key or nonce."""
    once = Cipher(algorithms.ChaCha20(key, bytes(4) + nonce), None).encryptor().update(bytes(KEY))
    factor, added = int.from_bytes(once[:16], "little") & CLAMP, int.from_bytes(once[16:], "little")
    sealed, tag = record.body[:-TAG], int.from_bytes(record.body[-TAG:], "little")
    about = bytes((record.kind,)) + record.version + len(sealed).to_bytes(2, "big") + bytes(3)
    blocks = sealed + bytes(-len(sealed) % 16) + struct.pack("<QQ", 13, len(sealed))
    rest, power = 0, 1
    for place in range(0, len(blocks), 16):
        rest = (rest + int.from_bytes(blocks[place : place + 16], "little") + (1 << 128)) * factor % PRIME
        power = power * factor % PRIME
    inverse = pow(power * factor, -1, PRIME) if factor else 0
    for high in range(4):
        total = (tag - added) % (1 << 128) + (high << 128)
        block = ((total - rest) * inverse - (1 << 128)) % PRIME
        if block >> 64 == int.from_bytes(about, "little"):
            number = int.from_bytes((block % (1 << 64)).to_bytes(8, "little"), "big")
            return number if number < HIGHEST else None
    return None


def key_stream(key: bytes, ends: Numbers, fixed: bytes, place: int) -> Words:
    """Return 4 bytes of ChaCha20's key stream from a place on for each nonce, given the ends of all and their front."""
    nonces = ends.astype(">u8").view("<u4").reshape(-1, 2)
    known = np.frombuffer(CONSTANT + key + (1 + place // BLOCK).to_bytes(4, "little") + fixed, "<u4")
    begun = [*(np.full(len(ends), word, np.uint32) for word in known), *(nonces[:, at].copy() for at in (0, 1))]
    state = [word.copy() for word in begun]
    for at in range(20):
        for column in range(4):
            places = [4 * row + (column + row * (at % 2)) % 4 for row in range(4)]
            _quarter_round(*(state[each] for each in places))
    found: Words = state[place % BLOCK // 4] + begun[place % BLOCK // 4]
    return found


def _quarter_round(a: Words, b: Words, c: Words, d: Words) -> None:
    """Change four words of many states (RFC 8439, 2.1)."""
    for one, other, turned, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        one += other
        turned ^= one
        high = turned << np.uint32(left)
        turned >>= np.uint32(32 - left)
        turned |= high

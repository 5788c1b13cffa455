"""Which partition a record goes to, as the user's own client would choose it.

Java's default partitioner is murmur2 of the key (`Utils.murmur2`, KIP-480 and KIP-794 for records without one),
librdkafka's is CRC-32 (`consistent_random`). Records without a key go anywhere.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Sequence

Partitioner = Callable[[bytes | None, Sequence[int]], int]
"""Key and partitions to the partition."""
SEED, M, MASK = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit MurmurHash2 of Java's client, unsigned."""
    hashed, whole = SEED ^ len(data), len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * M & MASK
        hashed = hashed * M & MASK ^ (k ^ k >> 24) * M & MASK
    if len(data) > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * M & MASK
    hashed = (hashed ^ hashed >> 13) * M & MASK
    return hashed ^ hashed >> 15


def by_murmur2(key: bytes | None, partitions: Sequence[int]) -> int:
    """Choose as Java's client does: toPositive(murmur2(key)) % partitions; any where there is no key."""
    return anywhere(key, partitions) if key is None else partitions[(murmur2(key) & 0x7FFFFFFF) % len(partitions)]


def by_crc32(key: bytes | None, partitions: Sequence[int]) -> int:
    """Choose as librdkafka's consistent_random does: crc32(key) % partitions; any for no key or an empty one."""
    return partitions[zlib.crc32(key) % len(partitions)] if key else anywhere(key, partitions)


def anywhere(key: bytes | None, partitions: Sequence[int]) -> int:
    """Choose any partition at random."""
    return random.choice(partitions)


def round_robin() -> Partitioner:
    """Make a partitioner that takes one partition after the other, from the first on."""
    turns = itertools.count()
    return lambda key, partitions: partitions[next(turns) % len(partitions)]


PARTITIONERS: dict[str, Callable[[], Partitioner]] = {
    "murmur2": lambda: by_murmur2,
    "crc32": lambda: by_crc32,
    "round-robin": round_robin,
    "random": lambda: anywhere,
}

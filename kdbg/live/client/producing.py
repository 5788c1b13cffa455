"""Which partition a record goes to, as the user's own client would choose it.

Java's default partitioner is murmur2 of the key (`Utils.murmur2`, KIP-480 and KIP-794 for records without one),
librdkafka's is CRC-32 (`consistent_random`). Records without a key go anywhere.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import InputError

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


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""By the number that the attributes of a batch or message carry."""
FORMATS = {"v0": range(2), "v1": range(2, 3), "v2": range(3, 1 << 15)}
"""The record formats, and the versions of Produce that carry them."""
HEADERS_SINCE, ZSTD_SINCE = 3, 7


def carried_by(
    versions: range, *, record_format: str | None = None, compression: str = "none", header: object = ()
) -> range:
    """Return those of `versions` (of Produce) that carry such records; `InputError` where none does."""
    within = FORMATS[record_format] if record_format else range(1 << 15)
    first = max(within[0], HEADERS_SINCE if header else 0, ZSTD_SINCE if compression == "zstd" else 0)
    found = [version for version in versions if first <= version <= within[-1]]
    if not found:
        what = "headers" if header else "zstd" if compression == "zstd" else "these records"
        raise InputError(f"record format {record_format} does not support {what}; omit --record-format, or use v2")
    return range(found[0], found[-1] + 1)


def entries(
    version: int, values: tuple[bytes | str | None, ...], key: bytes | None, headers: tuple[tuple[str, Any], ...],
    timestamp: int, compression: str, record_format: str | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the record set of these values in `record_format`, by default that of this version of Produce.

    `InputError` for headers in format v0 or v1, which have none.
    """
    name = record_format or next(name for name, versions in FORMATS.items() if version in versions)
    magic = list(FORMATS).index(name)
    records = [{"key": key, "value": value, "timestamp": timestamp} for value in values]
    codec = CODECS.index(compression)
    if magic == 2:
        named = [{"key": name, "value": value} for name, value in headers]
        return [{"magic": 2, "attributes": codec, "records": [record | {"headers": named} for record in records]}]
    if headers:
        raise InputError("record headers require record format v2, which needs Produce v3 or later")
    return _messages(magic, codec, records)


def _messages(magic: int, codec: int, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a message set; compressed, it is one message, with the last offset of those inside it (KIP-31)."""
    for record in records:
        if not magic:
            del record["timestamp"]
    messages = [{"magic": magic, "offset": i} | record for i, record in enumerate(records)]
    if not codec:
        return messages
    last = messages[-1] if messages else {}
    outer = {"timestamp": last["timestamp"]} if "timestamp" in last else {}
    return [{"magic": magic, "offset": len(messages) - 1, "attributes": codec, "records": messages} | outer]

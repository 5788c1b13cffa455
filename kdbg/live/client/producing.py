"""Records to produce: in which format they go, which versions of Produce carry it, and the record set itself.

Message sets of magic 0 belong to Produce 0 and 1, those of magic 1 (KIP-32) to version 2, batches of magic 2 (KIP-98)
to version 3 and later; headers came with batches, zstd with version 7 (KIP-110).
"""

from __future__ import annotations

from typing import Any

from ...errors import InputError

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

"""Records as the tests write and read them: what is produced in each format, and what a broker gives back of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.forms import CODECS

NO_TIMESTAMP = -1
FORMATS = ("v0", "v1", "v2")
"""The record formats by their magic."""
START = int(time.time()) * 1000 - 3_600_000
"""When the records are from: not so long ago that a broker's retention would take them away."""


class Row(NamedTuple):
    """One record."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = NO_TIMESTAMP
    headers: tuple[tuple[str, bytes | None], ...] = ()


SAMPLE = (
    Row(0, b"key", b"value", START, (("trace", b"1"), ("trace", b"2"))),
    Row(1, None, b"no key", START + 7),
    Row(2, b"no value", None, START + 3, (("empty", b""), ("null", None))),
    Row(3, b"", b"", START + 5),
    Row(4, "clé".encode(), bytes(range(256)), START + 6),
    Row(5, b"large", b"over the blocks of snappy and lz4 " * 4000, START + 4, (("größe", b"\x00\xff"),)),
)
"""Nulls, empties, bytes that are no text, and more than a codec takes into one block."""


def record_set(record_format: str, codec: str, rows: Sequence[Row] = SAMPLE) -> list[dict[str, Any]]:
    """The rows as a batch, as messages, or as messages inside a compressed one."""
    magic, attributes = FORMATS.index(record_format), CODECS.index(codec)
    if magic == 2:
        return [{"magic": 2, "attributes": attributes, "records": [_record(row) for row in rows]}]
    messages = [_message(magic, i, row) for i, row in enumerate(rows)]
    if not attributes:
        return messages
    newest = {"timestamp": max(row.timestamp for row in rows)} if magic else {}
    return [{"magic": magic, "offset": len(rows) - 1, "attributes": attributes, "records": messages} | newest]


def _record(row: Row) -> dict[str, Any]:
    headers = [{"key": key, "value": value} for key, value in row.headers]
    return {"key": row.key, "value": row.value, "timestamp": row.timestamp, "headers": headers}


def _message(magic: int, offset: int, row: Row) -> dict[str, Any]:
    time = {"timestamp": row.timestamp} if magic else {}
    return {"magic": magic, "offset": offset, "key": row.key, "value": row.value} | time


def rows_of(records: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """The records of a record set that was decoded, in whatever format they came."""
    for entry in records:
        if entry.get("magic") == 2 or "records" in entry:
            yield from map(_row, entry["records"])
        elif "partial" not in entry:
            yield _row(entry)


def _row(record: Mapping[str, Any]) -> Row:
    headers = tuple((header["key"], header["value"]) for header in record.get("headers", ()))
    time = record.get("timestamp", NO_TIMESTAMP)
    return Row(record["offset"], record["key"], record["value"], time, headers)


def survives(row: Row, produced: str, fetched: int) -> Row:
    """What is left of a row produced in one format and fetched in one of `fetched`'s magic."""
    dated = produced != "v0" and fetched > 0
    headed = produced == "v2" and fetched == 2
    return row._replace(
        timestamp=row.timestamp if dated else NO_TIMESTAMP,
        headers=row.headers if headed else (),
    )


def numbered(rows: Sequence[Row], times: int = 1) -> list[Row]:
    """The rows so many times in a row, with the offsets that they get."""
    return [row._replace(offset=i) for i, row in enumerate(list(rows) * times)]


def body_of(exchange: Exchange) -> dict[str, Any]:
    """What was answered; every byte of it must be understood."""
    assert exchange.response is not None
    message = exchange.response.message()
    assert message is not None
    assert message.findings == ()
    return message.body

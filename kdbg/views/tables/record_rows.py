"""The records of a record set as rows: where they stand, how large they are, and what is in them if asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...protocol.wire.language.payload import OpenedPayload, Sealed
from ...protocol.wire.records.sets import CONTROL, TRANSACTIONAL, codec_of
from .values import text, timestamp

TableRow = tuple[Any, ...]
RecordColumns = TableRow
"""The columns of `records` from `offset` on."""


def record_rows(entries: Any, wrong: set[str], path: str, *, values: bool, secrets: bool) -> Iterator[RecordColumns]:
    """Yield the columns of `records` from `offset` on, for each record of a record set.

    Offsets are those in the records. `wrong` are the paths of entries whose checksum does not match, `path` is the
    set's. `values` adds keys and values, those that hold secrets only with `secrets`.
    """
    show = _Shown(values, secrets)
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        here = f"{path}[{i}]"
        sound = not any(where == here or where.startswith((f"{here}.", f"{here}[")) for where in wrong)
        for record in _records(entry):
            yield record["offset"], *show(entry, record), *_producer(entry, record), sound


def _records(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a batch or of a compressed message; a plain message is its own record."""
    if "magic" not in entry:
        return []
    if "records" in entry or entry["magic"] == 2:
        return [record for record in entry.get("records") or () if "offset" in record]  # the last may have broken off
    return [entry]


def _producer(entry: dict[str, Any], record: dict[str, Any]) -> TableRow:
    """Return codec, producer id, epoch, sequence, control type, and whether it is part of a transaction."""
    if entry["magic"] != 2:
        return codec_of(entry), None, None, None, None, False
    idempotent = entry["producer_id"] >= 0
    sequence = entry["base_sequence"] + record["offset"] - entry["base_offset"] if entry["base_sequence"] >= 0 else None
    return (
        codec_of(entry),
        entry["producer_id"] if idempotent else None,
        entry["producer_epoch"] if idempotent else None,
        None if sequence is None else sequence & 0x7FFFFFFF,  # sequences wrap to 0 (KIP-98)
        record.get("control") if entry["attributes"] & CONTROL else None,
        bool(entry["attributes"] & TRANSACTIONAL),
    )


class _Shown:
    """Makes the columns of a record that hold its content, as far as that is asked for."""

    def __init__(self, values: bool, secrets: bool) -> None:
        self.values, self.secrets = values, secrets

    def __call__(self, entry: dict[str, Any], record: dict[str, Any]) -> TableRow:
        """Return timestamp, sizes of key and value, key, value and headers."""
        key, value, headers = record["key"], record["value"], record.get("headers")
        when = timestamp(record.get("timestamp"))
        return when, _size(key), _size(value), self._bytes(key), self._bytes(value), self._headers(headers)

    def _bytes(self, data: bytes | None) -> bytes | None:
        if data is None or not self.values:
            return None
        hidden = isinstance(data, Sealed) or (isinstance(data, OpenedPayload) and data.secret)
        return None if hidden and not self.secrets else bytes(data)

    def _headers(self, headers: Any) -> list[tuple[str | None, bytes | None]]:
        return [(text(each["key"]) or "", each["value"] if self.values else None) for each in headers or ()]


def _size(data: bytes | None) -> int | None:
    return None if data is None else len(data)

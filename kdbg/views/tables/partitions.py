"""What a message says of each partition: which fields of which API the tables keep, and record sets in numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocol.wire.readings.outline import count_records
from ...protocol.wire.records.sets import codec_of

REQUEST, RESPONSE = "request", "response"
KEPT: dict[str, dict[str, dict[str, str]]] = {
    "Produce": {RESPONSE: {"base_offset": "offset", "log_start_offset": "log_start_offset"}},
    "Fetch": {
        REQUEST: {"fetch_offset": "offset"},
        RESPONSE: {
            "high_watermark": "high_watermark", "last_stable_offset": "last_stable_offset",
            "log_start_offset": "log_start_offset",
        },
    },
    "ListOffsets": {
        REQUEST: {"timestamp": "requested_timestamp"}, RESPONSE: {"offset": "offset", "old_style_offsets": "offset"},
    },
    "OffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetFetch": {RESPONSE: {"committed_offset": "offset"}},
    "DeleteRecords": {REQUEST: {"offset": "offset"}, RESPONSE: {"low_watermark": "log_start_offset"}},
    "OffsetForLeaderEpoch": {RESPONSE: {"end_offset": "offset"}},
    "TxnOffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetDelete": {},
    "ShareFetch": {},
    "ShareAcknowledge": {},
}  # fmt: skip
"""API by API, the fields of both messages that become columns; a partition's error and record set always do."""


OFFSETS = ("offset", "high_watermark", "last_stable_offset", "log_start_offset", "requested_timestamp")
"""The columns that `KEPT` fills."""


class Amount(NamedTuple):
    """A record set in numbers; `last_offset` counts from 0 in a produce request."""

    bytes: int | None = None
    records: int | None = None
    last_offset: int | None = None
    codec: str | None = None


def amount(entries: Any) -> Amount:
    """Return bytes that are there, number of records, last offset and codec of a record set; no numbers without one."""
    if not isinstance(entries, list):
        return Amount()
    whole = [entry for entry in entries if "magic" in entry]
    held = entries[-1].get("bytes") if entries else None  # of a set of which the end is missing
    size = sum(_size(entry) for entry in entries) if held is None else int(held)
    if not whole:
        return Amount(size, 0)
    return Amount(size, count_records(entries), _last_offset(whole[-1]), codec_of(whole[0]))


def _size(entry: dict[str, Any]) -> int:
    """Return the bytes of one entry, its offset and its length included."""
    if "magic" in entry:
        return int(entry["batch_length"] if entry["magic"] == 2 else entry["message_size"]) + 12
    return sum(len(piece) for piece in entry.values())


def _last_offset(entry: dict[str, Any]) -> int:
    if entry["magic"] == 2:
        return int(entry["base_offset"] + entry["last_offset_delta"])
    inner = (record["offset"] for record in reversed(entry.get("records") or ()) if "offset" in record)
    return int(next(inner, entry["offset"]))  # the last of them may have broken off

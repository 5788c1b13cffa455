"""A log segment's batches, one on a line of 80 columns: where, offsets, newest time, format, codec, records, size.

Behind these, as far as there is room: what is wrong or special about the batch, `p` and its producer (id/epoch/first
sequence number), `e` and the epoch of the leader that took it.
"""

from __future__ import annotations

from typing import Any

from ...exchanges.messages.message import Message
from ...payloads.segments import SegmentPiece
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from .style import Look
from .summary import size
from .values import CODEC_NAMES, DELETE_HORIZON, cut
from .values import timestamp as dated


def header(look: Look) -> str:
    """Return the line with the names of the columns."""
    names = f"{'at':>9} {'offsets':<13} {'time':<19} v {'codec':<6} {'recs':>4} {'size':>5} details"
    return look.paint("dim", names) + "\n"


class LogSummary:
    """Renders each piece of a log segment as one line."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> str:
        entry = message.body["records"][0] if message is not None and piece.whole else {}
        odd = piece.odd(message)
        bad = f"✗ {odd[0].kind}" if odd else ""
        line = f"{piece.position:>9} {self._fields(entry, piece)} {size(piece.size):>5} "
        about = " ".join(filter(None, [bad, *_about(entry)]))
        about = about if self.look.full else cut(about, self.look.width - len(line))
        return f"{line}{self.look.paint('bad', about) if bad else about}".rstrip() + "\n"

    def _fields(self, entry: dict[str, Any], piece: SegmentPiece) -> str:
        if "magic" not in entry:
            return f"{'–':<13} {'–':<19} – {'–':<6} {'–':>4}"
        codec = CODEC_NAMES[entry["attributes"] & CODEC_MASK] or "none"
        first, last, newest, count = facts(entry)
        offsets = f"{first}" if first == last else f"{first}–{last}"
        time = dated(newest)[-27:-8] if newest >= 0 else "–"
        return f"{offsets:<13} {time:<19} {entry['magic']} {codec:<6} {count:>4}"


def facts(entry: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return (first offset, last offset, newest time, number of records) of a batch or message.

    The time is in milliseconds since 1970, -1 for none. A compressed message is counted by the messages inside.
    """
    if entry["magic"] == 2:
        first = entry["base_offset"]
        return first, first + entry["last_offset_delta"], entry["max_timestamp"], entry["records_count"]
    inside = entry.get("records") or [entry]
    return inside[0].get("offset", -1), entry["offset"], entry.get("timestamp", -1), len(inside)


def _about(entry: dict[str, Any]) -> list[str]:
    """Return the words about a batch that have no column of their own."""
    attributes = entry.get("attributes", 0)
    words = [record["control"] for record in entry.get("records", ()) if "control" in record]
    words += ["txn"] if attributes & TRANSACTIONAL and not attributes & CONTROL else []
    words += ["append time"] if entry.get("magic") != 0 and attributes & APPEND_TIME else []
    words += ["delete horizon"] if entry.get("magic") == 2 and attributes & DELETE_HORIZON else []
    if entry.get("producer_id", -1) >= 0:
        words.append(f"p{entry['producer_id']}/{entry['producer_epoch']}/{entry['base_sequence']}")
    if entry.get("partition_leader_epoch", -1) >= 0:
        words.append(f"e{entry['partition_leader_epoch']}")
    return words

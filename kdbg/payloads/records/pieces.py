"""A log segment, piece by piece -> the records that it holds, with the outcome of their transactions.

A segment holds the markers behind the records, often far behind: a record says what became of it only where its
marker was read before, which is never so in the order of the file. So pieces come with no outcome.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...exchanges.messages.message import Message
from ...protocol.findings import Kind
from ..segments import File
from .record import CapturedRecord, Origin
from .sets import RecordSetSource, Shown, records_in

STORED = Origin("stored")


def records_of_piece(file: File, message: Message, *, secrets: bool = False) -> Iterator[CapturedRecord]:
    """Yield the records of a piece of a log segment; topic and partition are those in the file's path."""
    wrong = frozenset(f"[0].{finding.path}" for finding in message.findings if finding.kind is Kind.CRC_MISMATCH)
    place = RecordSetSource(file.place.topic, file.place.partition)
    yield from records_in(message.body.get("records") or (), place, STORED, Shown({}, secrets), wrong)

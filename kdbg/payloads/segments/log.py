"""A log segment (`.log`), also a KRaft snapshot (`.checkpoint`, KIP-630): record batches and messages to the end.

Where its entries are, walk.py finds out; what they say is read as in a message, as a record set of one entry.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from ...budget import MEMORY
from ...exchanges.guess.headerless import records_api
from ...exchanges.messages.message import Message, explain, read_slowly
from ...exchanges.messages.payloads import open_inspection, open_payloads
from ...exchanges.messages.record_payloads import tells_metadata
from ...exchanges.messages.suspicion import is_metadata
from ...protocol.findings import Finding
from ...protocol.grammars.payloads import TOPICS
from ...protocol.grammars.records import record_format
from ...protocol.wire import TopicName
from ...protocol.wire.language.payload import Sealed
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Field, WireStruct
from ...protocol.wire.readings.annotate import Inspection
from ...protocol.wire.readings.compiled import UNREADABLE, record_readers
from ...protocol.wire.records.sets import CONTROL, decode
from .piece import Read, SegmentPiece, of_file
from .place import METADATA_TOPIC
from .walk import LogWalk, entry_size

WITH_TOPIC = WireStruct((Field("topic", TopicName.at(At(0, False))), *records_api.at("response", 0).fields), None)
"""What a piece says, beside the topic that it is of: that tells what its records hold."""
UNREAD = ("raw", "partial", "raw_records", "compressed_records")
"""The bytes in the value of an entry that stand for what could not be read, or for what stands beside them read."""
IN_FRONT = "records[0]."
"""The path of the one entry of a piece, which says nothing to a reader."""


class Log:
    """The kind of file that is a log; by its topic's name the records of Kafka's own topics are opened."""

    name: str = "log"
    title: str = "log segment"
    timed = True

    def __init__(self, topic: str | None = None, head: bytes = b"") -> None:
        """Name the topic by the file's folder, which is believed of Kafka's own; `head` is how the file begins."""
        self.topic = topic if topic in TOPICS else METADATA_TOPIC if is_metadata_log(head) else None
        self.named: str | None = self.topic or topic
        """What readers of keys and values go by; records are opened by `topic` alone."""
        self.secret: bool = self.topic == METADATA_TOPIC
        """Whether bytes that cannot be read may hold secrets: the KRaft log has SCRAM credentials and tokens."""

    def hides(self, piece: SegmentPiece) -> bool:
        """Return whether the bytes of a piece that is no entry may hold secrets."""
        return self.secret or (self.topic is None and is_metadata(piece.data))

    def begins(self, head: bytes) -> bool:
        """Whether an entry stands first."""
        return entry_size(head, 0) is not None

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        return LogWalk(read).pieces()

    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        if not piece.whole:
            return self._message(piece, [{"raw": piece.data}])
        MEMORY.begin()
        try:
            entries = decode(piece.data, record_format, record_readers(), cut=False, shallow=shallow)
        except UNREADABLE:
            slow = read_slowly(records_api, 0, "response", piece.data, header=False)
            message = self._message(piece, slow.body["records"], slow.findings)
        else:
            if shallow and entries[0]["magic"] == 2 and entries[0]["attributes"] & CONTROL:
                return self.message(piece)  # its one record is all its meaning
            message = self._message(piece, entries)
        if not shallow:
            message = open_payloads(message, piece.data)
            message.body["topic"] = self.named
        message.findings = tuple(map(shortened, message.findings))
        return message

    def _message(
        self, piece: SegmentPiece, entries: list[dict[str, Any]], findings: tuple[Finding, ...] = ()
    ) -> Message:
        for entry in entries if self.hides(piece) and (self.secret or not piece.whole) else ():
            entry.update({name: Sealed(entry[name]) for name in UNREAD if name in entry})
        body = {"topic": self.topic, "records": entries}
        return Message(records_api, 0, "response", None, body, WITH_TOPIC, piece.size, findings)

    def inspection(self, piece: SegmentPiece) -> Inspection:
        found = explain(records_api, 0, "response", piece.data, header=False)[1]
        found.value["topic"] = self.topic
        open_inspection(WITH_TOPIC, found)
        found.value["topic"] = self.named
        found.spans = [
            span._replace(
                path=span.path.removeprefix(IN_FRONT), secret=span.secret or (self.secret and span.role == "raw")
            )
            for span in found.spans
        ]
        found.buffers = [buffer._replace(name=buffer.name.removeprefix(IN_FRONT)) for buffer in found.buffers]
        found.findings = [shortened(finding) for finding in found.findings]
        return found

    def facts(self, message: Message, base_offset: int | None) -> dict[str, Any]:
        return {}

    def times(self, message: Message) -> tuple[int, int] | None:
        (entry,) = message.body["records"]
        first = entry.get("base_timestamp", entry.get("timestamp", -1))
        times = [first, entry.get("max_timestamp", first)]
        times += [record.get("timestamp", -1) for record in entry.get("records", ())]
        known = [time for time in times if time >= 0]
        return (min(known), max(known)) if known else None


def is_metadata_log(head: bytes) -> bool:
    """Return whether a file that begins so is of the KRaft log, by its records, wherever it was copied to."""
    stream = io.BytesIO(head)
    pieces = [piece for piece in LogWalk(stream.read).pieces() if piece.whole]
    for piece in pieces:
        try:
            entries = decode(piece.data, record_format, record_readers(), cut=False)
        except UNREADABLE:
            continue
        if any(tells_metadata(entry) for entry in entries):
            return True
    return False


def shortened(finding: Finding) -> Finding:
    """Return a finding in a record set of one entry as a finding of that entry in a file."""
    return of_file(finding)._replace(path=finding.path.removeprefix(IN_FRONT))

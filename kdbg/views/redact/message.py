"""A message made fit to be shared: its bytes go in, as many come out, which every view shows the same exchange for.

Names, values and secrets are replaced where they stand, in records and in payloads too. What was compressed is
compressed again to the same size, checksums are made to fit; one that did not fit before does not fit afterwards.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.message import carries_secrets, explain
from ...exchanges.messages.payloads import open_inspection
from ...protocol.wire.readings.inspection import Inspection, Span
from ...protocol.wire.records.sets import CODEC_MASK, crc32, crc32c
from .edits import Edit, edits
from .fill import Effort, Plain, Room, refill
from .replacements import Replaced
from .substitutes import BLANK, Substitutes, blank

CORRELATION_ID = 4
SIZE_FIELDS = {"batch_length": ("base_offset", crc32c), "message_size": ("offset", crc32)}
"""The field that says how long an entry is; the first field of such an entry, and what its checksum is made by."""
PREFIX = 12
"""Bytes in front of what that length counts."""


class Redacted(NamedTuple):
    """The bytes in place of a message's; `lost` counts compressed batches that could not be compressed as far."""

    data: bytes
    lost: int


def redact(half: CapturedMessage, made: Substitutes, effort: Effort) -> Redacted:
    """Return the bytes in place of a captured message's, without its size."""
    if half.api is None:
        kept = min(CORRELATION_ID, len(half.data))
        made.replaced.add(half.data[kept:], Replaced.OTHER)
        return Redacted(half.data[:kept] + blank(len(half.data) - kept), 0)
    grammar, inspection = explain(half.api, half.version, half.direction, half.data)
    open_inspection(grammar, inspection, half.context)
    found = list(edits(inspection, made, carries_secrets(grammar), bool(half.missing)))
    return MessageEdits(inspection, found, made, effort).folded()


class MessageEdits:
    """The buffers of a message with their edits made; from the innermost out, each is packed into the one around it."""

    effort: Effort
    lost: int

    def __init__(self, inspection: Inspection, found: list[Edit], made: Substitutes, effort: Effort) -> None:
        self.effort = effort
        self.old = [buffer.data for buffer in inspection.buffers]
        self.new = [bytearray(data) for data in self.old]
        self.names = [buffer.name for buffer in inspection.buffers]
        self.rooms: list[list[Room]] = [[] for _ in self.old]
        for buffer, start, end, data, free, kind in found:
            old = self.old[buffer][start:end]
            made.replaced.keep(old) if kind is None else made.replaced.add(old, kind)
            self.new[buffer][start:end] = data
            if free:
                self.rooms[buffer].append(Room(start, end))
        self.spans = {span.path: span for span in inspection.spans}
        self.entries = [span for span in inspection.spans if span.path.rpartition(".")[2] in SIZE_FIELDS]
        self.checksums = [list(self._checksums(buffer)) for buffer in range(len(self.old))]
        self.lost = 0

    def folded(self) -> Redacted:
        """Return the message as bytes again."""
        for buffer in range(len(self.new) - 1, 0, -1):
            self._prove(buffer, self.new[buffer])
            self._pack(buffer)
        self._prove(0, self.new[0])
        return Redacted(bytes(self.new[0]), self.lost)

    def _pack(self, buffer: int) -> None:
        """Compress a buffer into its place, to the size that it had; where that cannot be, the place becomes blank."""
        path = self.names[buffer].removesuffix(".records")
        place = self._field(path, "compressed_records") or self._field(path, "value")
        attributes, magic = self._field(path, "attributes"), self._field(path, "magic")
        if place is None or attributes is None or magic is None:
            return
        start, end = place.end - _length(place), place.end
        old = self.old[place.buffer][start:end]
        plain = Plain(bytes(self.new[buffer]), sorted(self.rooms[buffer]), partial(self._prove, buffer))
        packed = None
        if plain.data == self.old[buffer]:
            packed = old
        elif not self._is_blank(place):
            packed = refill(attributes.value & CODEC_MASK, plain, old, magic.value, self.effort)
            self.lost += packed is None
        self.new[place.buffer][start:end] = blank(len(old)) if packed is None else packed

    def _is_blank(self, place: Span) -> bool:
        """Return whether the compressed bytes were blanked as they are, for what is in them is not understood."""
        data = self.new[place.buffer][place.start : place.end]
        return place.type == "COMPRESSED" and not data.strip(BLANK)

    def _field(self, path: str, name: str) -> Span | None:
        return self.spans.get(f"{path}.{name}")

    def _prove(self, buffer: int, new: bytearray) -> None:
        """Write the checksums of the entries in a buffer, into `new`, its new bytes."""
        old = self.old[buffer]
        for crc, start, end, proves in self.checksums[buffer]:
            wrong = int.from_bytes(old[crc : crc + 4], "big") ^ proves(old[start:end])
            new[crc : crc + 4] = struct.pack(">I", wrong ^ proves(bytes(new[start:end])))

    def _checksums(self, buffer: int) -> Iterator[tuple[int, int, int, Callable[[bytes], int]]]:
        """Yield where a checksum stands, what it covers, and the function that makes it."""
        for span in self.entries:
            if span.buffer != buffer:
                continue
            path, _, name = span.path.rpartition(".")
            first, proves = SIZE_FIELDS[name]
            begins, crc = self._field(path, first), self._field(path, "crc")
            if begins is not None and crc is not None:
                yield crc.start, crc.end, min(begins.start + PREFIX + span.value, len(self.old[buffer])), proves


def _length(place: Span) -> int:
    """Return the bytes of a field without those of its length."""
    return place.end - place.start if place.type == "COMPRESSED" else len(place.value)

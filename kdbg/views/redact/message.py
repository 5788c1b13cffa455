"""A message made fit to be shared: its bytes go in, as many come out, which every view shows the same exchange for.

Names, values and secrets are replaced where they stand, in records and in payloads too. What was compressed is
compressed again to the same size, checksums are made to fit; one that did not fit before does not fit afterwards.

A valid message is read by source.py; any other, and one with payloads or compressed batches, field by field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.message import carries_secrets, explain
from ...exchanges.messages.payloads import open_inspection
from ...protocol.findings import Kind
from ...protocol.findings.quirks import is_spare
from ...protocol.wire import Api
from ...protocol.wire.nodes import RemainingBytes, Sized
from ...protocol.wire.readings.inspection import Inspection, Span
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, crc32, crc32c
from .fields import PLAIN, content_of, substitute
from .fill import Effort, Plain, refill
from .packets import TEXT
from .source import FoundTexts, finder
from .substitutes import BLANK, Replaced, Substitutes, blank

PREAMBLE = 17
"""Bytes of an entry that is cut off which say that it is one: offset, length, epoch or CRC, magic."""
MAGIC = 16
LENGTH = 5
"""Bytes of the longest length in front of a text."""
FEW = 8
"""Bytes left over after a message up to which it is taken to be read rightly: some clients send spare ones."""
HEADER = frozenset({"api_key", "api_version", "correlation_id", "client_id"})
STRUCTURE = frozenset({
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "records_count", "offset",
    "message_size", "timestamp",
})  # fmt: skip
"""The fields of a batch or message that stay where the records after them cannot be read."""
CORRELATION_ID = 4
SIZE_FIELDS = {"batch_length": ("base_offset", crc32c), "message_size": ("offset", crc32)}
"""The field that says how long an entry is; the first field of such an entry, and what its checksum is made by."""
PREFIX = 12
"""Bytes in front of what that length counts."""


class Edit(NamedTuple):
    """Bytes in place of those from `start` to `end` of a buffer, as many; `free`: any other bytes would do as well.

    `kind` is what was replaced; None for a text that stays.
    """

    buffer: int
    start: int
    end: int
    data: bytes
    free: bool = False
    kind: Replaced | None = Replaced.VALUE


def edits(inspection: Inspection, made: Substitutes, secret: bool, cut: bool) -> Iterator[Edit]:
    """Yield what is replaced. `secret`: its grammar may hold some; `cut`: the capture lacks the message's end."""
    for finding in inspection.findings:  # fields may not be what their names say, for a wrong length has moved them
        harmless = finding.kind in (Kind.TRAILING_BYTES, Kind.UNEXPECTED_NULL) and finding.length <= FEW
        if finding.kind.shifts and not (cut and finding.kind.cut) and (secret or not harmless):
            yield from _all_but_header(inspection, made)
            return
    sets = {span.path for span in inspection.spans if isinstance(span.node, RecordsNode)}
    unreadable = (Kind.MALFORMED_RECORD_SET, Kind.DECOMPRESSION_FAILED)
    broken = [finding.path for finding in inspection.findings if finding.kind in unreadable]
    spoilt = tuple({  # batches and messages whose records cannot be read: their bytes may have moved as well
        f"{path[: path.find(']', len(records)) + 1]}."
        for path in broken for records in sets if path.startswith(f"{records}[")
    })  # fmt: skip
    for span in inspection.spans:
        if span.path.startswith(spoilt) and span.path.rpartition(".")[2] not in STRUCTURE:
            yield _blanked(span)
        elif span.role == "raw":
            if span.type != "COMPRESSED":
                yield _blanked(span, _kept(span, inspection))
        elif span.role == "value" and span.value is not None and not isinstance(span.node, PLAIN):
            yield _replaced(span, made)


def _kept(span: Span, inspection: Inspection) -> int:
    """Return the bytes that stay of some that no field claims: what says that an entry, or a field, was cut off."""
    broken = inspection.broken
    if any(is_spare(one) and one.start == span.start and not span.buffer for one in inspection.findings):
        return span.end - span.start  # a known pattern of zeros and ones
    if broken is not None and span.path == broken.path and not span.buffer:
        kept = min(max(broken.start - span.start, 0), LENGTH)
        return 0 if TEXT.search(inspection.buffers[span.buffer].data, span.start, span.start + kept) else kept
    records, _, number = span.path.rpartition("[")
    if number[:-1].isdigit():  # it may stand in a batch that was cut off, after what is whole of it
        batch = f"{records}[{int(number[:-1]) - 1}].batch_length"
        lengths = [one for one in inspection.spans if one.path == batch and one.buffer == span.buffer]
        if any(one.end + one.value > span.start for one in lengths):
            return 0
    is_told = any(one.path == span.path and one.start == span.start for one in inspection.findings)
    front = inspection.buffers[span.buffer].data[span.start : min(span.start + PREAMBLE, span.end)]
    if not span.path.endswith("]") or is_told or len(front) < PREAMBLE:
        return 0
    begins = front[MAGIC] <= 2 and not (front[0] or front[8])  # an entry, by its magic, offset and length
    return PREAMBLE if begins and not TEXT.search(front) else 0


def _all_but_header(inspection: Inspection, made: Substitutes) -> Iterator[Edit]:
    """Yield the edits that leave nothing of a message but its header; of that, the client id is replaced as ever."""
    start = 0
    for span in inspection.spans:
        if span.buffer or span.path not in HEADER:
            break
        start = span.start + _kept(span, inspection) if span.role == "raw" else span.end
        if isinstance(span.node, Sized) and span.value:
            yield _replaced(span, made)
    size = len(inspection.buffers[0].data) - start
    yield Edit(0, start, start + size, blank(size), kind=Replaced.OTHER)


def _blanked(span: Span, kept: int = 0) -> Edit:
    start = min(span.start + kept, span.end)
    return Edit(span.buffer, start, span.end, blank(span.end - start))


def _replaced(span: Span, made: Substitutes) -> Edit:
    """Return the edit of a text or of bytes; their length in front of them stays."""
    node, value = span.node, span.value
    if not isinstance(node, (Sized, RemainingBytes)):
        return _blanked(span)
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    content = content_of(span.path, node)
    new, kind = substitute(content, data, made)
    return Edit(span.buffer, span.end - len(data), span.end, new, content.free, kind)


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
    return redacted_at_once(half, made) or redacted_by_fields(half, half.api, made, effort)


def redacted_by_fields(half: CapturedMessage, api: Api, made: Substitutes, effort: Effort) -> Redacted:
    """Return what `redact` does, for a message of this API: all of its fields are read with their places."""
    grammar, inspection = explain(api, half.version, half.direction, half.data)
    open_inspection(grammar, inspection, half.context)
    found = list(edits(inspection, made, carries_secrets(grammar), bool(half.missing)))
    return MessageEdits(inspection, found, made, effort).folded()


def redacted_at_once(half: CapturedMessage, made: Substitutes) -> Redacted | None:
    """Return what `redact` does for a valid message; None for one that must be read field by field."""
    found = FoundTexts([], [])
    if half.api is None or not half.read_with(finder(half.api, half.version, half.direction), found):
        return None
    new = bytearray(half.data)
    for start, end, content in found.texts:
        old = half.data[start:end]
        new[start:end], kind = substitute(content, old, made)
        made.replaced.keep(old) if kind is None else made.replaced.add(old, kind)
    for crc, end in found.batches:
        new[crc : crc + 4] = crc32c(memoryview(new)[crc + 4 : end]).to_bytes(4)
    return Redacted(bytes(new), 0)


class MessageEdits:
    """The buffers of a message with their edits made; from the innermost out, each is packed into the one around it."""

    def __init__(self, inspection: Inspection, found: list[Edit], made: Substitutes, effort: Effort) -> None:
        self.effort = effort
        self.old = [buffer.data for buffer in inspection.buffers]
        self.new = [bytearray(data) for data in self.old]
        self.names = [buffer.name for buffer in inspection.buffers]
        self.rooms: list[list[tuple[int, int]]] = [[] for _ in self.old]
        for buffer, start, end, data, free, kind in found:
            old = self.old[buffer][start:end]
            made.replaced.keep(old) if kind is None else made.replaced.add(old, kind)
            self.new[buffer][start:end] = data
            if free:
                self.rooms[buffer].append((start, end))
        self.spans = {span.path: span for span in inspection.spans}
        self.checksums: list[list[tuple[int, int, int, Callable[[bytes], int]]]] = [[] for _ in self.old]
        """By buffer, where checksums stand, what they cover, and the function that makes them."""
        for span in inspection.spans:
            path, _, name = span.path.rpartition(".")
            if name in SIZE_FIELDS:
                first, proves = SIZE_FIELDS[name]
                begins, crc = self._field(path, first), self._field(path, "crc")
                if begins is not None and crc is not None:
                    end = min(begins.start + PREFIX + span.value, len(self.old[span.buffer]))
                    self.checksums[span.buffer].append((crc.start, crc.end, end, proves))
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
        is_field = place.type != "COMPRESSED"
        start, end = place.end - len(place.value) if is_field else place.start, place.end
        old = self.old[place.buffer][start:end]
        plain = Plain(bytes(self.new[buffer]), sorted(self.rooms[buffer]), partial(self._prove, buffer))
        packed = None
        if plain.data == self.old[buffer]:
            packed = old
        elif is_field or self.new[place.buffer][start:end].strip(BLANK):  # else it was blanked as it is
            packed = refill(attributes.value & CODEC_MASK, plain, old, magic.value, self.effort)
            self.lost += packed is None
        self.new[place.buffer][start:end] = blank(len(old)) if packed is None else packed

    def _field(self, path: str, name: str) -> Span | None:
        return self.spans.get(f"{path}.{name}")

    def _prove(self, buffer: int, new: bytearray) -> None:
        """Write the checksums of the entries in a buffer, into `new`, its new bytes."""
        old = self.old[buffer]
        for crc, start, end, proves in self.checksums[buffer]:
            wrong = int.from_bytes(old[crc : crc + 4], "big") ^ proves(old[start:end])
            new[crc : crc + 4] = struct.pack(">I", wrong ^ proves(bytes(new[start:end])))

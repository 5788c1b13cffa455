"""Record sets with their places: the slow reading of the walk in sets.py.

A batch or message that cannot be read is a finding of its own; the entries around it are read all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....budget import MEMORY
from ....errors import Truncated, WireError
from ...findings import Kind
from ...findings.facts import Stopped
from ...findings.faults import FaultKind, PlainFault
from ..nodes import INT32, INT64
from ..readings.inspection import Buffer, sound_records
from . import RecordsNode
from .compression import decompress
from .sets import (
    CODEC_MASK,
    MESSAGE,
    RecordFormat,
    RecordSetEntry,
    absolute,
    crc32,
    crc32c,
    entries,
    inherit,
    records_weight,
    unwrap,
)

if TYPE_CHECKING:
    from ..readings.annotate import Walker


ATTRIBUTES_AT = 21
"""Where the attributes of a batch stand, after its offset, length, leader epoch, magic and checksum."""


def read_records(walker: Walker, node: RecordsNode, path: str, holder: Any, key: Any) -> None:
    """Read a record set into `holder[key]`."""
    start = walker.pos
    length = walker.length(node.length, path, node, node.nullable)
    walker.span(path, start, node.bnf, None if length < 0 else length, node, "size")
    holder[key] = None if length < 0 else []
    if length < 0:
        return
    start = walker.pos
    end = min(start + length, len(walker.data))
    short = end < start + length
    _entries(walker, node.format, path, holder[key], (start, end), node.cut or short, short=short)
    if short:
        found = holder[key]
        if not found or "partial" not in found[-1]:
            found.append({"partial": b""})
        found[-1] |= {"bytes": end - start, "of": length}
        raise Truncated(path, start, node.bnf, length, end - start)


def _entries(
    walker: Walker, format: RecordFormat, path: str, found: list[Any], place: tuple[int, int], cut: bool,
    depth: int = 0, *, short: bool = False,
) -> None:  # fmt: skip
    """Read the entries of a record set; `cut`: the last one may be cut off; `short`: the message ends in it."""
    for i, entry in enumerate(entries(walker.data, *place, format)):
        here = f"{path}[{i}]"
        if entry.partial and short:
            found += _partial_entry(walker, entry, path, i, format)
        elif entry.magic is None or (entry.magic == 2 and depth):
            found.append(_raw(walker, entry, here, cut))
        elif entry.magic == 2:
            found.append(_contained(walker, entry, here, _batch, format, depth))
        else:
            if not depth or walker.spans is not None:
                MEMORY.take(MESSAGE * walker.factor)
            found.append(_contained(walker, entry, here, _message, format, depth))


def _partial_entry(
    walker: Walker, entry: RecordSetEntry, path: str, i: int, format: RecordFormat
) -> list[dict[str, Any]]:
    """Return what is there of an entry whose end is not: a batch with its whole records, then bytes."""
    found: list[dict[str, Any]] = []
    walker.pos = entry.start
    if entry.end - entry.start >= format.header_size and walker.data[entry.start + 16] == 2:
        batch: dict[str, Any] = {}
        if not walker.data[entry.start + ATTRIBUTES_AT + 1] & CODEC_MASK:
            walker.struct(format.batch, f"{path}[{i}]", batch)
            batch["records"] = absolute(batch, _whole_records(walker, f"{path}[{i}].records", batch, format))
            found.append(batch)
    start, walker.pos = walker.pos, entry.end
    rest = walker.data[start : entry.end]
    if rest:
        walker.span(f"{path}[{i + len(found)}]", start, "BYTES", rest, role="raw")
        found.append({"partial": rest})
    return found


def _whole_records(walker: Walker, path: str, batch: dict[str, Any], format: RecordFormat) -> list[Any]:
    """Return the records of a batch that are there to their last byte; the reading is past them then."""
    raw: list[Any] = []
    left = len(walker.data) - walker.pos
    MEMORY.take(records_weight(batch["records_count"], left) * walker.factor)
    while len(raw) < batch["records_count"]:
        place, claimed, noted = walker.pos, len(walker.ends), len(walker.result.findings)
        shown = len(walker.spans) if walker.spans is not None else 0
        one: dict[str, Any] = {}
        try:
            walker.read(format.records.item, f"{path}[{len(raw)}]", one, "record")
        except WireError:
            del walker.ends[claimed:], walker.result.findings[noted:]
            if walker.spans is not None:
                del walker.spans[shown:]
            walker.pos = place
            break
        raw.append(one["record"])
    return raw


def _raw(walker: Walker, entry: RecordSetEntry, path: str, cut: bool) -> dict[str, bytes]:
    data = walker.data[entry.start : entry.end]
    if entry.partial and cut:
        walker.pos = entry.end
        walker.span(path, entry.start, "BYTES", data, role="raw")
        return {"partial": data}
    walker.unclaimed(path, entry.start, entry.end)
    facts = PlainFault.ENDS_IN_BATCH if entry.partial else PlainFault.NO_ENTRY
    walker.finding(Kind.MALFORMED_RECORD_SET, facts, path, entry.start, len(data))
    return {"partial" if entry.partial else "raw": data}


def _contained(
    walker: Walker, entry: RecordSetEntry, path: str, read: Any, format: RecordFormat, depth: int
) -> dict[str, Any]:
    """Read one entry; where it breaks, the rest of its bytes stay raw and the walk goes on after it."""
    value: dict[str, Any] = {}
    walker.pos, outer, walker.limit = entry.start, walker.limit, entry.end
    try:
        read(walker, entry, path, value, format, depth)
    except WireError as error:
        _claim_rest(walker, path, entry.start, entry.end)
        walker.finding(Kind.MALFORMED_RECORD_SET, Stopped(error.start, error.fault), error.path or path, error.start)
        return {"raw": walker.data[entry.start : entry.end]}
    finally:
        walker.limit = outer
    return value


def _claim_rest(walker: Walker, path: str, start: int, end: int) -> None:
    """Make the spans tile `start` to `end`: drop those that ran past the end, and claim what none of them covers.

    Findings that ran past the end go with them: they are about bytes of the next entry.
    """
    ends, findings = walker.ends, walker.result.findings
    while findings and (findings[-1].start or 0) + findings[-1].length > end and walker.buffer == 0:
        findings.pop()
    while ends and ends[-1] > end:
        ends.pop()
        if walker.spans is not None:
            walker.spans.pop()
    walker.pos, start = end, max(start, ends[-1]) if ends else start
    if start < end:
        walker.unclaimed(path, start, end)


def _batch(
    walker: Walker, entry: RecordSetEntry, path: str, batch: dict[str, Any], format: RecordFormat, depth: int
) -> None:
    holder: dict[str, Any] = {}
    walker.part(format.batch, path, holder, "batch")
    batch.update(holder["batch"])
    crc_at = entry.start + format.crc_at
    proved = crc32c(memoryview(walker.data)[crc_at + 4 : entry.end])
    if proved != batch["crc"]:
        facts = FaultKind.CHECKSUM_WRONG.of(of="batch", algorithm="CRC-32C", says=batch["crc"], gives=proved)
        walker.finding(Kind.CRC_MISMATCH, facts, f"{path}.crc", crc_at, 4)
    start, codec = walker.pos, batch["attributes"] & CODEC_MASK
    if not codec:
        _records(walker, path, batch, format, entry.end)
        return
    data = batch["compressed_records"] = walker.data[start : entry.end]

    def unpack() -> bytes:
        plain = decompress(codec, data)
        MEMORY.expect(records_weight(batch["records_count"], len(plain)) * walker.factor)
        return plain

    inside = _decompressed(walker, f"{path}.compressed_records", start, entry.end, unpack)
    if inside is not None:
        with _inside(walker, f"{path}.records", inside):
            _records(walker, path, batch, format, len(inside))


def _records(walker: Walker, path: str, batch: dict[str, Any], format: RecordFormat, end: int) -> None:
    """Read the records of a batch; if they break, add a finding and keep their bytes as `raw_records`.

    Compressed records that break stay `compressed_records`.
    """
    start, raw = walker.pos, list[Any]()
    weight = records_weight(batch["records_count"], end - start)
    sound = sound_records(format, batch, walker.data, start, end, weight) if walker.spans is None else None
    if sound is not None:
        batch["records"] = sound
        walker.skip(end)
        return
    try:
        MEMORY.take(weight * walker.factor)
        walker.items(format.records.item, batch["records_count"], f"{path}.records", raw, reckoned=True)
        if walker.pos != end:
            raise WireError(f"{path}.records", walker.pos, PlainFault.BATCH_UNFILLED)
    except WireError as error:
        _claim_rest(walker, f"{path}.records", start, end)
        if error.kind is Kind.MEMORY_LIMIT:
            walker.finding(Kind.MEMORY_LIMIT, error.fault, f"{path}.records", start, end - start)
        else:
            walker.finding(Kind.MALFORMED_RECORD_SET, Stopped(error.start, error.fault), error.path, error.start)
        if "compressed_records" not in batch:
            batch["raw_records"] = walker.data[start:end]
        return
    batch["records"] = absolute(batch, raw)


def _message(
    walker: Walker, entry: RecordSetEntry, path: str, message: dict[str, Any], format: RecordFormat, depth: int
) -> None:
    assert entry.magic is not None
    for name, node in (("offset", INT64), ("message_size", INT32)):
        walker.fixed(node, f"{path}.{name}", message, name)
    start = walker.pos
    walker.struct(format.messages[entry.magic], path, message)
    if walker.pos != entry.end:
        raise WireError(path, walker.pos, PlainFault.MESSAGE_UNFILLED)
    proved = crc32(memoryview(walker.data)[start + 4 : entry.end])
    if proved != message["crc"] & 0xFFFFFFFF:
        says = message["crc"] & 0xFFFFFFFF
        facts = FaultKind.CHECKSUM_WRONG.of(of="message", algorithm="CRC-32", says=says, gives=proved)
        walker.finding(Kind.CRC_MISMATCH, facts, f"{path}.crc", start, 4)
    if message["attributes"] & CODEC_MASK and message["value"] is not None:
        at = entry.end - len(message["value"])
        inside = _decompressed(walker, f"{path}.value", at, None, lambda: unwrap(message, depth))
        if inside is not None:
            inner: list[Any] = []
            with _inside(walker, f"{path}.records", inside):
                _entries(walker, format, f"{path}.records", inner, (0, len(inside)), False, depth + 1)
            clean = all("raw" not in part and "partial" not in part for part in inner)
            message["records"] = inherit(message, inner) if clean else inner


def _decompressed(walker: Walker, path: str, start: int, end: int | None, unpack: Any) -> bytes | None:
    """Return what a compressed field holds; add a finding and return None where it does not decompress."""
    if end is not None:
        walker.pos = end
        walker.span(path, start, "COMPRESSED", walker.data[start:end], role="raw")
    try:
        plain: bytes = unpack()
        MEMORY.take(len(plain) * (walker.factor - 1))
        return plain
    except WireError as error:
        kind = error.kind if error.kind is Kind.MEMORY_LIMIT else Kind.DECOMPRESSION_FAILED
        walker.finding(kind, error.fault, path, start)
        return None


@contextmanager
def _inside(walker: Walker, name: str, data: bytes) -> Iterator[None]:
    """Let a walker read in a decompressed buffer for a while."""
    outer = walker.data, walker.pos, walker.limit, walker.buffer, walker.ends
    walker.result.buffers.append(Buffer(name, data))
    walker.data, walker.pos, walker.limit = data, 0, len(data)
    walker.buffer, walker.ends = len(walker.result.buffers) - 1, []
    try:
        yield
    finally:
        walker.data, walker.pos, walker.limit, walker.buffer, walker.ends = outer

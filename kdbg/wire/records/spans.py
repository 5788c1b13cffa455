"""Record sets with their places: the slow reading of the walk in sets.py.

A batch or message that cannot be read is a finding of its own; the entries around it are read all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...budget import MEMORY
from ...errors import Truncated, WireError
from ...findings import Kind
from ...findings.facts import Stopped
from ...findings.faults import BatchUnfilled, ChecksumWrong, EndsInBatch, MessageUnfilled, NoEntry
from ..nodes import INT32, INT64
from ..readings.familiar import sound_records
from ..readings.inspection import Buffer
from .checksum import crc32, crc32c
from .compression import decompress
from .node import RecordsNode
from .sets import (
    CODEC_MASK,
    MESSAGE,
    RecordFormat,
    RecordSetEntry,
    absolute,
    entries,
    inherit,
    records_weight,
    unwrap,
)

if TYPE_CHECKING:
    from ..readings.spans import Walker


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
    _entries(walker, node.format, path, holder[key], (start, end), node.cut or end < start + length)
    if end < start + length:
        raise Truncated(path, start, node.bnf, length, end - start)


def _entries(
    walker: Walker, format: RecordFormat, path: str, found: list[Any], place: tuple[int, int], cut: bool, depth: int = 0
) -> None:
    for i, entry in enumerate(entries(walker.data, *place, format)):
        here = f"{path}[{i}]"
        if entry.magic is None:
            found.append(_raw(walker, entry, here, cut))
        elif entry.magic == 2 and depth == 0:
            found.append(_contained(walker, entry, here, _batch, format, depth))
        elif entry.magic < 2:
            if not depth or walker.spans is not None:
                MEMORY.take(MESSAGE * walker.factor)
            found.append(_contained(walker, entry, here, _message, format, depth))
        else:
            found.append(_raw(walker, entry, here, cut))


def _raw(walker: Walker, entry: RecordSetEntry, path: str, cut: bool) -> dict[str, bytes]:
    data = walker.data[entry.start : entry.end]
    if entry.partial and cut:
        walker.pos = entry.end
        walker.span(path, entry.start, "BYTES", data, role="raw")
        return {"partial": data}
    walker.unclaimed(path, entry.start, entry.end)
    facts = EndsInBatch() if entry.partial else NoEntry()
    walker.finding(Kind.RECORD_SET, facts, path, entry.start, len(data))
    return {"partial" if entry.partial else "raw": data}


def _contained(
    walker: Walker, entry: RecordSetEntry, path: str, read: Any, format: RecordFormat, depth: int
) -> dict[str, Any]:
    """Read one entry; where it breaks, the rest of its bytes stay raw and the walk goes on behind it."""
    value: dict[str, Any] = {}
    walker.pos, outer, walker.limit = entry.start, walker.limit, entry.end
    try:
        read(walker, entry, path, value, format, depth)
    except WireError as error:
        _claim_rest(walker, path, entry.start, entry.end)
        walker.finding(Kind.RECORD_SET, Stopped(error.start, error.fault), error.path or path, error.start)
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
        facts = ChecksumWrong("batch", "CRC-32C", batch["crc"], proved)
        walker.finding(Kind.CRC, facts, f"{path}.crc", crc_at, 4)
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
        with _Inside(walker, f"{path}.records", inside):
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
            raise WireError(f"{path}.records", walker.pos, BatchUnfilled())
    except WireError as error:
        _claim_rest(walker, f"{path}.records", start, end)
        if error.kind is Kind.MEMORY:
            walker.finding(Kind.MEMORY, error.fault, f"{path}.records", start, end - start)
        else:
            walker.finding(Kind.RECORD_SET, Stopped(error.start, error.fault), error.path, error.start)
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
        raise WireError(path, walker.pos, MessageUnfilled())
    proved = crc32(memoryview(walker.data)[start + 4 : entry.end])
    if proved != message["crc"] & 0xFFFFFFFF:
        facts = ChecksumWrong("message", "CRC-32", message["crc"] & 0xFFFFFFFF, proved)
        walker.finding(Kind.CRC, facts, f"{path}.crc", start, 4)
    if message["attributes"] & CODEC_MASK and message["value"] is not None:
        at = entry.end - len(message["value"])
        inside = _decompressed(walker, f"{path}.value", at, None, lambda: unwrap(message, depth))
        if inside is not None:
            inner: list[Any] = []
            with _Inside(walker, f"{path}.records", inside):
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
        kind = error.kind if error.kind is Kind.MEMORY else Kind.COMPRESSION
        walker.finding(kind, error.fault, path, start)
        return None


class _Inside:
    """Lets a walker read in a decompressed buffer for a while."""

    def __init__(self, walker: Walker, name: str, data: bytes) -> None:
        self.walker = walker
        self.outer = walker.data, walker.pos, walker.limit, walker.buffer, walker.ends
        walker.result.buffers.append(Buffer(name, data))
        walker.data, walker.pos, walker.limit = data, 0, len(data)
        walker.buffer, walker.ends = len(walker.result.buffers) - 1, []

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        walker = self.walker
        walker.data, walker.pos, walker.limit, walker.buffer, walker.ends = self.outer

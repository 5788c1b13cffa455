"""What is replaced in a message: the places of all its fields go in, edits of its buffers come out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...protocol.findings import Finding, Kind
from ...protocol.findings.quirks import is_spare
from ...protocol.wire.nodes import Fixed, RemainingBytes, Sized, Varint
from ...protocol.wire.nodes.leaves import UuidNode
from ...protocol.wire.nodes.sasl_tokens import DerLength, ObjectId
from ...protocol.wire.readings.inspection import Inspection, Span
from ...protocol.wire.records.node import RecordsNode
from .fields import Holds, holds, is_kept
from .layers import TEXT
from .replacements import Replaced
from .substitutes import Substitutes, blank

PREAMBLE = 17
"""Bytes of an entry that is cut off which say that it is one: offset, length, epoch or CRC, magic."""
MAGIC = 16
LENGTH = 5
"""Bytes of the longest length in front of a text."""
FEW = 8
"""Bytes left over behind a message up to which it is taken to be read rightly: some clients send spare ones."""
JSON_TOKEN = re.compile(rb'"(?P<text>(?:[^"\\]|\\.)*)"(?P<key>\s*:)?|[{}\[\],\s]+|true|false|null', re.DOTALL)
JSON_KEYS = frozenset({b"status", b"scope", b"openid-configuration"})
"""Keys of the error that a broker sends for a token (RFC 7628)."""
JSON_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = (Fixed, Varint, UuidNode, DerLength, ObjectId)
"""Numbers and ids, which stay."""
SECRETS = {"secret": Replaced.SECRET}
HEADER = frozenset({"api_key", "api_version", "correlation_id", "client_id"})
STRUCTURE = frozenset({
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "records_count", "offset",
    "message_size", "timestamp",
})  # fmt: skip
"""The fields of a batch or message that stay where the records behind them cannot be read."""


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
    if _is_misread(inspection.findings, secret, cut):
        yield from _all_but_header(inspection, made)
        return
    spoilt = _spoilt(inspection)
    for span in inspection.spans:
        if any(span.path.startswith(path) for path in spoilt) and span.path.rpartition(".")[2] not in STRUCTURE:
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
    if _is_inside(span, inspection):
        return 0
    is_told = any(one.path == span.path and one.start == span.start for one in inspection.findings)
    return PREAMBLE if span.path.endswith("]") and not is_told and _is_preamble(span, inspection) else 0


def _is_preamble(span: Span, inspection: Inspection) -> bool:
    """Return whether an entry begins here, and nobody's bytes: by its magic, offset and length, and no text in them."""
    front = inspection.buffers[span.buffer].data[span.start : min(span.start + PREAMBLE, span.end)]
    return len(front) == PREAMBLE and front[MAGIC] <= 2 and not (front[0] or front[8]) and not TEXT.search(front)


def _is_inside(span: Span, inspection: Inspection) -> bool:
    """Return whether bytes that no field claims stand in a batch that was cut off, behind what is whole of it."""
    records, _, number = span.path.rpartition("[")
    if not number[:-1].isdigit():
        return False
    batch = f"{records}[{int(number[:-1]) - 1}].batch_length"
    return any(
        one.path == batch and one.buffer == span.buffer and one.end + one.value > span.start for one in inspection.spans
    )


def _is_misread(findings: list[Finding], secret: bool, cut: bool) -> bool:
    """Return whether the fields may not be what their names say, for a wrong length has moved them."""
    for finding in findings:
        if not finding.kind.shifts or (cut and finding.kind.cut):
            continue
        if secret or finding.kind not in (Kind.TRAILING_BYTES, Kind.UNEXPECTED_NULL) or finding.length > FEW:
            return True
    return False


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


def _spoilt(inspection: Inspection) -> tuple[str, ...]:
    """Return the paths of batches and messages whose records cannot be read: their bytes may have moved as well."""
    sets = {span.path for span in inspection.spans if isinstance(span.node, RecordsNode)}
    broken = [
        one.path for one in inspection.findings if one.kind in (Kind.MALFORMED_RECORD_SET, Kind.DECOMPRESSION_FAILED)
    ]
    return tuple({
        f"{path[: path.find(']', len(records)) + 1]}."
        for path in broken for records in sets if path.startswith(f"{records}[")
    })  # fmt: skip


def _blanked(span: Span, kept: int = 0) -> Edit:
    start = min(span.start + kept, span.end)
    return Edit(span.buffer, start, span.end, blank(span.end - start))


def _replaced(span: Span, made: Substitutes) -> Edit:
    """Return the edit of a text or of bytes; their length in front of them stays."""
    node, value = span.node, span.value
    if not isinstance(node, (Sized, RemainingBytes)):
        return _blanked(span)
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    return Edit(span.buffer, span.end - len(data), span.end, *_substitute(span, data, made))


def _json_blanked(data: bytes) -> bytes:
    """Return JSON without its texts, numbers and unknown keys; what is no JSON is blank from there on."""
    made, place = b"", 0
    while (found := JSON_TOKEN.match(data, place)) is not None and found.end() > place:
        text, token = found["text"], found[0]
        is_known = text is None or (found["key"] is not None and text in JSON_KEYS)
        made += token if is_known else b'"' + blank(len(text)) + token[len(text) + 1 :]
        place = found.end()
        if number := JSON_NUMBER.match(data, place):
            made += b"1" * len(number[0])
            place = number.end()
    return made + blank(len(data) - place)


def _substitute(span: Span, data: bytes, made: Substitutes) -> tuple[bytes, bool, Replaced | None]:
    """Return what stands in place of a text or of bytes, whether anything else would do, and what was replaced."""
    assert span.node is not None
    if span.node.kind == "address" and len(data) in (4, 16):
        return made.address(data), False, Replaced.VALUE
    held = holds(span.path, span.node)
    if held is Holds.JSON:
        return _json_blanked(data), False, Replaced.VALUE
    if held is Holds.VALUE:
        return blank(len(data)), not span.node.kind, SECRETS.get(span.node.kind, Replaced.VALUE)
    if is_kept(held, str(span.value)):
        return data, False, None
    return made.name(str(span.value)), False, Replaced.NAME

"""What a broker rejects in the record set of a produced partition, and the error code of it.

The order is Kafka's: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator. The reading of
the request says what is wrong in the bytes; here are the rules about values that can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import Stopped
from ...protocol.findings.faults import LengthUnfilled
from ...protocol.findings.mistakes import mistake_sentence
from ...protocol.findings.quirks import Sure
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL

UNKNOWN_SERVER_ERROR, NONE, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, UNSUPPORTED_CODEC, INVALID_RECORD = -1, 0, 2, 10, 76, 87
INVALID_TIMESTAMP: Final = 32
ZSTD, ZSTD_SINCE = 4, 7
LARGEST: Final = 1_048_588
"""Bytes of the largest batch that brokers take by default, its offset and length included (message.max.bytes)."""
FRONT = 12
"""Bytes of a batch before those that its length counts."""


class BatchMistake(NamedTuple):
    """What is wrong in a record set; `code` is the broker's error, 0 where it accepts this, None: no response.

    `finding`: the text is that of a finding, which says what the bytes are, and not what was meant.
    """

    text: str
    code: int | None
    finding: bool = False


def batch_mistake(
    entries: Sequence[Mapping[str, Any]] | None, findings: Sequence[Sequence[Finding]], version: int,
    latest: int | None = None,
) -> BatchMistake | None:  # fmt: skip
    """Return what is wrong first in the record set of a partition, None for a valid one.

    `findings` are those of its first entry, and those of all others. `version` is that of the Produce request (3 or
    higher), `latest` the highest timestamp that the broker takes, milliseconds since 1970.
    """
    if entries is None:
        return BatchMistake("the records of a produced partition are null", None)
    if not entries:
        return BatchMistake("the records of a produced partition are empty", INVALID_RECORD)
    first, others = findings
    found = _set(entries, first, version) or _header(entries[0], first) or _inside(entries[0], first, latest)
    return BatchMistake(others[0].text, NONE, True) if found is None and others else found


def _set(entries: Sequence[Mapping[str, Any]], findings: Sequence[Finding], version: int) -> BatchMistake | None:
    """Return what is wrong with a record set that has not exactly one batch, in a codec that the version has."""
    text = findings[0].text if findings else ""
    if "partial" in entries[0]:
        return BatchMistake(text, INVALID_RECORD, True)
    magic = entries[0].get("magic", _magic(entries[0]))
    if magic in (0, 1):
        return _certain("message-set", INVALID_RECORD, actual=magic)
    if "magic" not in entries[0]:
        return BatchMistake(text, CORRUPT_MESSAGE, True)
    if len(entries) > 1 and "partial" not in entries[1]:
        return BatchMistake(f"a partition has {count(len(entries), 'batch')}, expected 1", INVALID_RECORD)
    if entries[0]["attributes"] & CODEC_MASK == ZSTD and version < ZSTD_SINCE:
        return BatchMistake(f"Produce v{version} does not support zstd", UNSUPPORTED_CODEC)
    return None


def _magic(entry: Mapping[str, Any]) -> int | None:
    """Return the magic byte of an entry that could not be read."""
    data = entry.get("raw", b"")
    return data[16] if len(data) > 16 and int.from_bytes(data[8:12], signed=True) >= 14 else None


def _header(batch: Mapping[str, Any], findings: Sequence[Finding]) -> BatchMistake | None:
    """Return what is wrong in the header of a batch."""
    number, last, size = batch["records_count"], batch["last_offset_delta"], batch["batch_length"] + FRONT
    if batch["base_offset"]:
        return _certain("wrong-base-offset", INVALID_RECORD, actual=batch["base_offset"], expected=0)
    if size > LARGEST:
        return BatchMistake(f"the batch has {count(size, 'byte')}; message.max.bytes is {LARGEST:,}", MESSAGE_TOO_LARGE)
    crc = next((one for one in findings if one.kind is Kind.CRC_MISMATCH), None)
    if crc is not None:
        return BatchMistake(crc.text, CORRUPT_MESSAGE, True)
    broken = next((one for one in findings if one.kind is Kind.MALFORMED_RECORD_SET), None)
    if broken is not None and (number <= 0 or last != number - 1):
        return BatchMistake(broken.text, INVALID_RECORD, True)
    if number <= 0:
        return BatchMistake("the batch has no records", INVALID_RECORD)
    if last != number - 1:
        return _certain("wrong-last-offset-delta", INVALID_RECORD, actual=last, expected=number - 1)
    if batch["producer_id"] >= 0 > batch["base_sequence"]:
        return BatchMistake("the batch has a producer id and no base sequence", INVALID_RECORD)
    if batch["attributes"] & CONTROL:
        return BatchMistake("the batch is a control batch, which only brokers write", INVALID_RECORD)
    return None


def _inside(batch: Mapping[str, Any], findings: Sequence[Finding], latest: int | None) -> BatchMistake | None:
    """Return what is wrong in the records of a batch. Of a compressed one, brokers do not check record lengths."""
    codec = batch["attributes"] & CODEC_MASK
    broken = next(
        (
            one
            for one in findings
            if one.kind in (Kind.DECOMPRESSION_FAILED, Kind.MALFORMED_RECORD_SET, Kind.UNEXPECTED_NULL)
        ),
        None,
    )
    if broken is not None:
        unchecked = codec and isinstance(broken.facts, Stopped) and isinstance(broken.facts.fault, LengthUnfilled)
        code = (
            UNKNOWN_SERVER_ERROR if broken.kind is Kind.DECOMPRESSION_FAILED else NONE if unchecked else INVALID_RECORD
        )
        return BatchMistake(broken.text, code, True)
    records = batch.get("records") or ()
    late = next((one["timestamp"] for one in records if latest is not None and one["timestamp"] > latest), None)
    if late is not None:
        text = f"a record has timestamp {late}, more than an hour ahead; expected milliseconds since 1970"
        return BatchMistake(text, INVALID_TIMESTAMP)
    deltas = [record["offset"] - batch["base_offset"] for record in records]
    if deltas == list(range(len(deltas))):
        return None
    text = f"the offset deltas of the records are {_few(deltas)}, expected {_few(range(len(deltas)))}"
    return BatchMistake(text, UNKNOWN_SERVER_ERROR if codec else NONE)


def _few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + ", …" * (len(numbers) > 5)


def _certain(kind: str, code: int, *, actual: int, expected: int = 0) -> BatchMistake:
    return BatchMistake(mistake_sentence(kind, Sure.CERTAIN, actual=actual, expected=expected), code)

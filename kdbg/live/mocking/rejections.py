"""What a broker makes of a request that a client wrote wrongly: an error code, a closed connection, or nothing at all.

The order of the checks, and what each leads to, is that of Kafka 3.9 and 4.4: `tests/brokers/test_mock.py` sends the
same requests to them. What is wrong in the bytes, the reading of the message says by its findings. The checks of record
sets are those of ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords and LogValidator.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from ...exchanges.engine.requests import RequestHeader, read_header
from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.known import Known
from ...exchanges.messages.message import Message
from ...protocol.findings import Finding, Kind
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import Stopped
from ...protocol.findings.faults import FaultKind, NegativeLength, ValueFact
from ...protocol.findings.quirks import Sure, mistake_sentence
from ...protocol.findings.text import beside
from ...protocol.grammars import find
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL

API_VERSIONS = 18
HEADER = struct.Struct(">hhih")
MOST_LENIENT = 16
"""Fields of a request that are read more leniently than kdbg reads them."""
UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, UNSUPPORTED_CODEC, INVALID_RECORD = -1, 2, 10, 76, 87
INVALID_TIMESTAMP: Final = 32
ZSTD, ZSTD_SINCE = 4, 7
LARGEST: Final = 1_048_588
"""Bytes of the largest batch that brokers take by default, its offset and length included (message.max.bytes)."""
FRONT = 12
"""Bytes of a batch before those that its length counts."""
INVALID_TOPIC, INVALID_ACKS, INCONSISTENT_PROTOCOL, INVALID_GROUP, INVALID_SESSION = 17, 21, 23, 24, 26
INVALID_REQUEST, NOT_AUTHORIZED = 42, 53
SESSION: Final = range(6000, 1_800_001)
"""Milliseconds of a session that brokers allow: group.min.session.timeout.ms and group.max.session.timeout.ms."""
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Names and versions of clients (KIP-511)."""
TOPIC: Final = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$")
NEEDS_GROUP: Final = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})
UNREADABLE: Final = frozenset({Kind.TRUNCATED, Kind.INVALID_LENGTH, Kind.INVALID_VALUE, Kind.UNEXPECTED_NULL})
"""Findings about fields at which a broker stops reading."""
Place: TypeAlias = tuple[Any, int]
"""A topic, by its name or id, and a partition."""


class Request(NamedTuple):
    """A request that can be read; `lenient` are findings that a broker does not make."""

    half: CapturedMessage
    message: Message
    lenient: list[Finding]


def header_of(frame: bytes) -> RequestHeader | None:
    """Return the header of a request; None where a broker cannot read it. A length below -1 is null, as in Kafka."""
    if len(frame) < HEADER.size:
        return read_header(frame, 0, len(frame))[1]
    key, version, correlation_id, length = HEADER.unpack_from(frame)
    if key == API_VERSIONS and version < 0:
        api = find(key)
        return RequestHeader(api, version, correlation_id, None, False) if api is not None else None
    if length < -1:
        frame = HEADER.pack(key, version, correlation_id, -1) + frame[HEADER.size :]
    return read_header(frame, 0, len(frame))[1]


def read_request(frame: bytes, header: RequestHeader, known: Known) -> Request | None:
    """Return the request that a frame is, None where the version of its API is unknown.

    Kafka takes any byte but 0 for true, and any length below 0 for null; so does this.
    """
    api, version = header.api, header.version
    if not api.reads("request", version):
        return None
    lenient: list[Finding] = []
    while True:
        half = CapturedMessage(frame, (now := time.time_ns(), now), (0, 0), "request")
        half.api, half.version, half.known = api, version, known
        message = half.message()
        if message is None:
            return None
        changed = next(((one, data) for one in message.findings if (data := _lenient(one, frame)) is not None), None)
        if changed is None or len(lenient) == MOST_LENIENT:
            return Request(half, message, lenient)
        finding, frame = changed
        lenient.append(finding)


def _lenient(finding: Finding, frame: bytes) -> bytes | None:
    """Return the request without what a finding is about, None where a broker is not lenient about it."""
    fault = finding.facts.fault if isinstance(finding.facts, Stopped) else finding.facts
    at = finding.facts.at if isinstance(finding.facts, Stopped) else finding.start
    if isinstance(fault, ValueFact) and fault.kind is FaultKind.NO_BOOLEAN and at is not None:
        return frame[:at] + b"\1" + frame[at + 1 :]
    if isinstance(fault, NegativeLength) and at is not None and "VARINT" not in fault.type and fault.type != "RECORD":
        width = 2 if fault.type.endswith("STRING") else 4
        return frame[:at] + b"\xff" * width + frame[at + width :]
    return None


class Reaction(Enum):
    """What a broker does other than respond with an error; the values end a sentence of which it is the subject."""

    ACCEPT = "accepts it"
    CLOSE = "closes the connection"
    SILENCE = "sends no response"


End: TypeAlias = int | Reaction


class Rejection(NamedTuple):
    """What is wrong in a request, as a sentence without a full stop, and what a broker does.

    `place` is the partition that it is about, None for the whole request. `finding`: the text is that of a finding,
    which says what the bytes are, and not what was meant.
    """

    text: str
    end: End
    place: Place | None = None
    finding: bool = False


def batch_mistake(
    entries: Sequence[Mapping[str, Any]] | None, findings: Sequence[Sequence[Finding]], version: int,
    latest: int | None = None, place: Place | None = None,
) -> Rejection | None:  # fmt: skip
    """Return what is wrong first in the record set of a partition, None for a valid one.

    `findings` are those of its first entry, and those of all others. `version` is that of the Produce request (3 or
    higher), `latest` the highest timestamp that the broker takes, milliseconds since 1970.
    """
    if entries is None:
        return Rejection("the records of a produced partition are null", Reaction.SILENCE, place)
    if not entries:
        return Rejection("the records of a produced partition are empty", INVALID_RECORD, place)
    first, others = findings
    found = _set(entries, first, version) or _header(entries[0], first) or _inside(entries[0], first, latest)
    if found is None and others:
        found = Rejection(others[0].text, Reaction.ACCEPT, finding=True)
    return found._replace(place=place) if found is not None else None


def _set(entries: Sequence[Mapping[str, Any]], findings: Sequence[Finding], version: int) -> Rejection | None:
    """Return what is wrong with a record set that has not exactly one batch, in a codec that the version has."""
    text, data = findings[0].text if findings else "", entries[0].get("raw", b"")
    if "partial" in entries[0]:
        return Rejection(text, INVALID_RECORD, finding=True)
    readable = len(data) > 16 and int.from_bytes(data[8:12], signed=True) >= 14
    magic = entries[0].get("magic", data[16] if readable else None)
    if magic in (0, 1):
        return Rejection(_certain("message-set", actual=magic), INVALID_RECORD)
    if "magic" not in entries[0]:
        return Rejection(text, CORRUPT_MESSAGE, finding=True)
    if len(entries) > 1 and "partial" not in entries[1]:
        return Rejection(f"a partition has {count(len(entries), 'batch')}, expected 1", INVALID_RECORD)
    if entries[0]["attributes"] & CODEC_MASK == ZSTD and version < ZSTD_SINCE:
        return Rejection(f"Produce v{version} does not support zstd", UNSUPPORTED_CODEC)
    return None


def _header(batch: Mapping[str, Any], findings: Sequence[Finding]) -> Rejection | None:
    """Return what is wrong in the header of a batch."""
    number, last, size = batch["records_count"], batch["last_offset_delta"], batch["batch_length"] + FRONT
    if batch["base_offset"]:
        return Rejection(_certain("wrong-base-offset", actual=batch["base_offset"]), INVALID_RECORD)
    if size > LARGEST:
        return Rejection(f"the batch has {count(size, 'byte')}; message.max.bytes is {LARGEST:,}", MESSAGE_TOO_LARGE)
    crc = next((one for one in findings if one.kind is Kind.CRC_MISMATCH), None)
    if crc is not None:
        return Rejection(crc.text, CORRUPT_MESSAGE, finding=True)
    broken = next((one for one in findings if one.kind is Kind.MALFORMED_RECORD_SET), None)
    if broken is not None and (number <= 0 or last != number - 1):
        return Rejection(broken.text, INVALID_RECORD, finding=True)
    if number <= 0:
        return Rejection("the batch has no records", INVALID_RECORD)
    if last != number - 1:
        text = _certain("wrong-last-offset-delta", actual=last, expected=number - 1)
        return Rejection(text, INVALID_RECORD)
    if batch["producer_id"] >= 0 > batch["base_sequence"]:
        return Rejection("the batch has a producer id and no base sequence", INVALID_RECORD)
    if batch["attributes"] & CONTROL:
        return Rejection("the batch is a control batch, which only brokers write", INVALID_RECORD)
    return None


def _inside(batch: Mapping[str, Any], findings: Sequence[Finding], latest: int | None) -> Rejection | None:
    """Return what is wrong in the records of a batch. Of a compressed one, brokers do not check record lengths."""
    codec = batch["attributes"] & CODEC_MASK
    kinds = Kind.DECOMPRESSION_FAILED, Kind.MALFORMED_RECORD_SET, Kind.UNEXPECTED_NULL
    broken = next((one for one in findings if one.kind in kinds), None)
    end: End = INVALID_RECORD
    if broken is not None:
        fault = broken.facts.fault if isinstance(broken.facts, Stopped) else None
        if broken.kind is Kind.DECOMPRESSION_FAILED:
            end = UNKNOWN_SERVER_ERROR
        elif codec and isinstance(fault, ValueFact) and fault.kind is FaultKind.LENGTH_UNFILLED:
            end = Reaction.ACCEPT
        return Rejection(broken.text, end, finding=True)
    records = batch.get("records") or ()
    late = next((one["timestamp"] for one in records if latest is not None and one["timestamp"] > latest), None)
    if late is not None:
        text = f"a record has timestamp {late}, more than an hour ahead; expected milliseconds since 1970"
        return Rejection(text, INVALID_TIMESTAMP)
    deltas = [record["offset"] - batch["base_offset"] for record in records]
    if deltas == list(range(len(deltas))):
        return None
    text = f"the offset deltas of the records are {_few(deltas)}, expected {_few(range(len(deltas)))}"
    return Rejection(text, UNKNOWN_SERVER_ERROR if codec else Reaction.ACCEPT)


def _few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + ", …" * (len(numbers) > 5)


def _certain(kind: str, *, actual: int, expected: int = 0) -> str:
    return mistake_sentence(kind, Sure.CERTAIN, actual=actual, expected=expected)


def rejections(message: Message, latest: int | None = None) -> list[Rejection]:
    """Return what is wrong in a request that has a known API and version; none for a valid one.

    `latest` is the highest timestamp of a record that the broker takes, milliseconds since 1970.
    """
    parts = list[tuple[str, Place, Any]]()  # the path of each partition's records, the partition, and the records
    if message.api.name == "Produce" and message.version >= 3:
        for i, topic in enumerate(message.body.get("topic_data") or ()):
            name = topic.get("name", topic.get("topic_id"))
            for j, part in enumerate(topic.get("partition_data") or ()):
                path = f"topic_data[{i}].partition_data[{j}].records"
                parts.append((path, (name, part.get("index")), part.get("records")))
    inside = tuple(f"{path}[" for path, _, _ in parts)
    errors = (one for one in message.findings if one.kind.is_error and one.kind is not Kind.ENCODING_MISTAKE)
    outside = (one for one in errors if not one.path.startswith(inside))
    found = [
        Rejection(text_beside(one), Reaction.CLOSE if one.kind in UNREADABLE else Reaction.ACCEPT, finding=True)
        for one in outside
    ]
    if any(one.end is Reaction.CLOSE for one in found):
        return found
    found += _rules(message)
    for path, place, records in parts:
        own = [one for one in message.findings if one.path.startswith(f"{path}[")]
        first = [one for one in own if one.path.startswith(f"{path}[0]")]
        others = [one for one in own if one not in first]
        odd = batch_mistake(records, (first, others), message.version, latest, place)
        found += [odd] if odd is not None else []
    return found


def text_beside(finding: Finding) -> str:
    """Return the text of a finding, with its field."""
    return finding.text if isinstance(finding.facts, Stopped) else beside(finding)


def _rules(message: Message) -> Iterator[Rejection]:
    """Yield what the values of a request break, though each can be read."""
    api, body = message.api.name, message.body
    if api == "Produce":
        if body.get("acks") not in (-1, 0, 1):
            expected = "-1, 0 or 1"
            text = mistake_sentence("unused-value", Sure.CERTAIN, path="acks", actual=body["acks"], expected=expected)
            yield Rejection(text, INVALID_ACKS)
        parts = (part for topic in body["topic_data"] for part in topic["partition_data"])
        batches = (batch for part in parts for batch in part["records"] or () if "magic" in batch)
        if body.get("transactional_id") is None and any(batch["attributes"] & 0x10 for batch in batches):
            text = "a batch belongs to a transaction, and the request has no transactional_id"
            yield Rejection(text, NOT_AUTHORIZED)
    if api == "ApiVersions" and message.version >= 3:
        for name in ("client_software_name", "client_software_version"):
            if not SOFTWARE.fullmatch(body[name]):
                yield Rejection(f"{name} is {body[name]!r}, expected letters, digits, - and .", INVALID_REQUEST)
    if api in NEEDS_GROUP and not body["group_id"]:
        yield Rejection("group_id is empty", INVALID_GROUP)
    elif api == "JoinGroup" and body["session_timeout_ms"] not in SESSION:
        text = f"session_timeout_ms is {body['session_timeout_ms']}, expected {SESSION[0]} to {SESSION[-1]}"
        yield Rejection(text, INVALID_SESSION)
    elif api == "JoinGroup" and not (body["protocols"] and body["protocol_type"]):
        yield Rejection("the member offers no protocol", INCONSISTENT_PROTOCOL)
    elif api == "FindCoordinator" and "key_type" in body and body["key_type"] not in (0, 1, 2):
        yield Rejection(f"key_type is {body['key_type']}, expected 0, 1 or 2", INVALID_REQUEST)


def is_topic(name: str) -> bool:
    """Return whether a topic may have this name."""
    return TOPIC.match(name) is not None

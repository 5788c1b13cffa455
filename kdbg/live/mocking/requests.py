"""A request as a broker reads it: header and message, and what the bytes have that a broker is lenient about."""

from __future__ import annotations

import struct
import time
from typing import NamedTuple

from ...exchanges.engine.requests import RequestHeader, read_header
from ...exchanges.messages.exchange import CapturedMessage, Known
from ...exchanges.messages.message import Message
from ...protocol.findings import Finding
from ...protocol.findings.facts import Stopped
from ...protocol.findings.faults import NegativeLength, NoBoolean
from ...protocol.grammars import find

API_VERSIONS = 18
FRONT = struct.Struct(">hhih")
MOST_LENIENT = 16
"""Fields of a request that are read more leniently than kdbg reads them."""


class Request(NamedTuple):
    """A request that can be read; `lenient` are findings that a broker does not make."""

    half: CapturedMessage
    message: Message
    lenient: list[Finding]


def header_of(frame: bytes) -> RequestHeader | None:
    """Return the header of a request; None where a broker cannot read it. A length below -1 is null, as in Kafka."""
    if len(frame) < FRONT.size:
        return read_header(frame, 0, len(frame))[1]
    key, version, correlation_id, length = FRONT.unpack_from(frame)
    if key == API_VERSIONS and version < 0:
        api = find(key)
        return RequestHeader(api, version, correlation_id, None, False) if api is not None else None
    if length < -1:
        frame = FRONT.pack(key, version, correlation_id, -1) + frame[FRONT.size :]
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
    if isinstance(fault, NoBoolean) and at is not None:
        return frame[:at] + b"\1" + frame[at + 1 :]
    if isinstance(fault, NegativeLength) and at is not None and "VARINT" not in fault.type and fault.type != "RECORD":
        width = 2 if fault.type.endswith("STRING") else 4
        return frame[:at] + b"\xff" * width + frame[at + width :]
    return None

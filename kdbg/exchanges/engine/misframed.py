"""Messages whose size or header is written wrong, so that no frame begins where one should: by the mistake in them."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.findings import Finding
from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import Exchange
from ..mistakes import Mistake, find_frame_mistake, find_mistake
from .engine_findings import of_sequence
from .requests import RequestHeader, fits, read_header
from .search import HEADER, Buffer, size_at

LONGEST = 1 << 12
"""Longer messages are not examined."""


class Misframed(NamedTuple):
    """A request without a believable size or header: the header that is meant, its bytes, the mistake as a finding.

    `header` is None for a raw SASL token, `finding` where reading the message finds the mistake as well.
    """

    header: RequestHeader | None
    frame: bytes
    finding: Finding | None


def misframed_request(data: Buffer) -> Misframed | None:
    """Return the request that is meant by these bytes, which are all that came; None where none is."""
    if not HEADER <= len(data) <= LONGEST:
        return None
    framing = find_frame_mistake(bytes(data)) or _without_size(bytes(data))
    found = framing or _header_mistake(bytes(data))
    header = read_header(found.corrected, 4, len(found.corrected) - 4)[1] if found is not None else None
    if found is None or header is None:
        return None
    frame = bytes(data[0 if found.kind == "size-missing" else 4 :])
    return Misframed(header, frame, found.finding if framing is not None else None)


def _without_size(data: bytes) -> Mistake | None:
    """Return the mistake of a valid request without a size."""
    header = read_header(data, 0, len(data))[1]
    if header is None or not header.known or not fits(header.api, header.version, "request", data):
        return None
    corrected = len(data).to_bytes(4, "big") + data
    return Mistake(
        "size-missing", header.api.name, header.version, "request", "size", -4, 0, "", "", Sure.LIKELY, corrected
    )


def _header_mistake(data: bytes) -> Mistake | None:
    """Return the mistake in the header of a request whose size, API and version are believable."""
    api, version = find(int.from_bytes(data[4:6])), int.from_bytes(data[6:8])
    if size_at(data)[0] != len(data) - 4 or api is None or not api.reads("request", version):
        return None
    found = find_mistake(data[4:], api=api, version=version, direction="request", size=len(data) - 4)
    return found if found is not None and found.corrected else None


def raw_token(data: Buffer) -> Misframed | None:
    """Return these bytes as a raw SASL token where a SaslAuthenticate request is due; None where they are no frame."""
    if not 4 < len(data) <= LONGEST or size_at(data)[0] != len(data) - 4:
        return None
    return Misframed(None, bytes(data[4:]), of_sequence("raw-sasl-token", SASL_TOKEN.name, 0, 0, len(data) - 4))


def misframed_response(data: Buffer, exchange: Exchange) -> Misframed | None:
    """Return the response to this request whose size has the wrong byte order; None where these bytes are none."""
    size, api = int.from_bytes(data[:4], "little"), exchange.api
    number = exchange.correlation_id.to_bytes(4, "big", signed=True)
    if api is None or not 8 <= len(data) <= LONGEST or size != len(data) - 4 or data[4:8] != number:
        return None
    actual = str(size_at(data)[0])
    found = Mistake(
        "little-endian-size", api.name, exchange.version, "response", "size", -4, 4, actual, str(size), Sure.CERTAIN
    )
    return Misframed(None, bytes(data[4:]), found.finding)

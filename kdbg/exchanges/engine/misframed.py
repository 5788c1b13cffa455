"""Messages whose size or header is written wrong, so that no frame begins where one should: by the mistake in them."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.findings import Finding
from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import Exchange
from ..mistakes.connection import find_frame_mistake
from ..mistakes.finder import find_mistake
from ..mistakes.search import Mistake, sized
from .pairing import of_sequence
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


def misframed_request(data: Buffer, *, token: bool = False) -> Misframed | None:
    """Return the request that is meant by these bytes, which are all that came; None where none is.

    `token`: a SaslAuthenticate request is due; they are a raw SASL token in place of one.
    """
    if token and 4 < len(data) <= LONGEST and size_at(data)[0] == len(data) - 4:
        return Misframed(None, bytes(data[4:]), of_sequence("raw-sasl-token", SASL_TOKEN.name, 0, 0, len(data) - 4))
    if token or not HEADER <= len(data) <= LONGEST:
        return None
    data = bytes(data)
    framing, bare = find_frame_mistake(data), read_header(data, 0, len(data))[1]
    if framing is None and bare is not None and bare.known and fits(bare.api, bare.version, "request", data):
        framing = Mistake(
            "size-missing", bare.api.name, bare.version, "request", "size", -4, 0, "", "", Sure.LIKELY, sized(data)
        )
    found, api, version = framing, find(int.from_bytes(data[4:6])), int.from_bytes(data[6:8])
    sound = size_at(data)[0] == len(data) - 4 and api is not None and api.reads("request", version)
    if found is None and sound and api is not None:  # its size, API and version are believable
        found = find_mistake(data[4:], api=api, version=version, direction="request", size=len(data) - 4)
        found = found if found is not None and found.corrected else None
    header = read_header(found.corrected, 4, len(found.corrected) - 4)[1] if found is not None else None
    if found is None or header is None:
        return None
    frame = data[0 if found.kind == "size-missing" else 4 :]
    return Misframed(header, frame, found.finding if framing is not None else None)


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

"""Whether an error code or a closed connection rejects a message, or is a normal step of a protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...protocol.findings import Kind
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from .exchange import Exchange

EVERY: frozenset[int] = frozenset()
NORMAL_STEPS: dict[int, frozenset[int]] = {
    14: EVERY,  # COORDINATOR_LOAD_IN_PROGRESS: a coordinator that has just started or moved asks to be asked again
    27: frozenset({8, 11, 12, 14, 28}),  # REBALANCE_IN_PROGRESS: OffsetCommit, JoinGroup, Heartbeat, SyncGroup, and in
    #                                      transactions TxnOffsetCommit: the member joins again
    35: frozenset({18}),  # UNSUPPORTED_VERSION of ApiVersions: the answer names the versions to go on with
    79: frozenset({11}),  # MEMBER_ID_REQUIRED of JoinGroup: the answer has the id to join with (KIP-394)
}
"""Error codes, and the keys of the APIs in whose messages they are normal; `EVERY` stands for all of them."""


def is_normal_step(api: Api | None, code: int) -> bool:
    """Return whether an error code in a message of this API is a normal step of its protocol."""
    keys = NORMAL_STEPS.get(code)
    return keys is not None and (not keys or (api is not None and api.key in keys))


def went_wrong(exchange: Exchange, *, shallow: bool = False) -> bool:
    """Return whether an exchange has an error that is no normal step, or a finding that is no mere note."""
    if any(not is_normal_step(exchange.api, code) for *_, codes in exchange.outlines() for code in codes):
        return True
    return any(finding.severity != "note" for finding in exchange.all_findings(shallow=shallow))


PRODUCE, FETCH, API_VERSIONS = 0, 1, 18
CLOSED: Final = "closed"
"""Of a request without a response at the end of its connection."""
NONE_OF_ITS_OWN = -1
OF_REQUESTS: Final = frozenset({34, 35, 42, 43})
"""ILLEGAL_SASL_STATE, UNSUPPORTED_VERSION, INVALID_REQUEST, UNSUPPORTED_FOR_MESSAGE_FORMAT: of any API."""
OF_RECORDS: Final = OF_REQUESTS | {NONE_OF_ITS_OWN, 2, 21, 76, 87}
"""With UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, INVALID_REQUIRED_ACKS, UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD."""
BODY: Final = 5
"""Where a response may have its first error code: after the correlation id and one byte more."""
SHORT: Final = 1 << 10
"""Bytes of a response up to which error codes are looked for; those to Produce may be longer."""


def _pattern(codes: frozenset[int]) -> re.Pattern[bytes]:
    """Return the pattern of bytes that one of these codes may be; without a code, bytes seldom follow it."""
    low = b"".join(re.escape(bytes([code])) for code in sorted(codes) if code > 0)
    unknown = rb"|\xff{18}" if NONE_OF_ITS_OWN in codes else b""  # error code, base offset and append time are -1
    return re.compile(rb"\x00[%b]%b" % (low, unknown))


PATTERNS: Mapping[bool, re.Pattern[bytes]] = {True: _pattern(OF_RECORDS), False: _pattern(OF_REQUESTS)}


def note_rejection(exchange: Exchange) -> None:
    """Take note at its request of what the response, or none, says of it."""
    request, response = exchange.request, exchange.response
    if request is not None:
        tried = exchange.api is not None and exchange.api.key == API_VERSIONS  # in another version, which is no error
        request.refused = tried and response is not None and response.data[4:6] == b"\0\x23"  # UNSUPPORTED_VERSION
        request.rejected = rejection(exchange)


def rejection(exchange: Exchange) -> str:
    """Return the error code by name, or `CLOSED`, with which a broker rejects a request; "" where it does not."""
    request, response, api = exchange.request, exchange.response, exchange.api
    if request is None or api is None or api.key in (FETCH, API_VERSIONS):
        return ""
    if response is None:
        ended = any(one.kind is Kind.NO_RESPONSE and one.facts is None for one in exchange.findings)
        return CLOSED if ended else ""
    of_records = api.key == PRODUCE
    if (len(response.data) > SHORT and not of_records) or PATTERNS[of_records].search(response.data, BODY) is None:
        return ""
    outline = response.outline()
    rows, _, codes = outline if outline is not None else ((), (), ())
    wanted = OF_RECORDS if of_records else OF_REQUESTS
    found = next((code for code in (*(row[2] for row in rows), *codes) if code in wanted), 0)
    return error_name(found) if found else ""

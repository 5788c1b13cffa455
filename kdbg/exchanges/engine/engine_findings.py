"""What the engine finds odd about a connection and its exchanges, each as a finding: one function for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...budget import MEMORY
from ...protocol.findings import Finding, Kind
from ...protocol.findings import facts as of
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import CapturedMessage, Exchange
from ..messages.handshake import SASL_AUTHENTICATE
from .identify import Candidate, is_likely
from .search import REFUSED

NotAwaited = of.WaitedTooMuch | of.InFlightFull | of.PassedOver | of.PassedOverMany | of.ResponsesLost
"""Why a response is waited for no longer."""


def broken_off(half: CapturedMessage) -> Finding:
    """Make the finding for a message whose end is missing."""
    place = half.direction, "", len(half.data), half.missing
    if half.held:
        return Finding(Kind.TRUNCATED, *place, of.BrokenOff())
    return Finding(Kind.MEMORY_LIMIT, *place, of.NotHeld(MEMORY.connections))


def too_large(data: bytes, size: int) -> Finding | None:
    """Make the finding for a request that begins with these bytes behind its size, if it is larger than brokers take.

    None if it is not, or if they are no request's that kdbg knows.
    """
    key, version = int.from_bytes(data[:2]), int.from_bytes(data[2:4])
    api = find(key) if size > REFUSED and len(data) >= 4 else None
    if api is None or version not in api.versions:
        return None
    facts = of.RequestTooLarge(api.name, version, size, REFUSED)
    return Finding(Kind.REQUEST_TOO_LARGE, "request", "", 0, facts=facts)


def unasked(size: int, waiting: int = 0, candidates: Sequence[Candidate] = (), *, read: bool = False) -> Finding:
    """Make the finding for a response to no request that was seen.

    `size` is that of its body in bytes; `waiting` is how many others it was given up for, else 0; `candidates` are what
    it may be by its bytes, and `read` says that it is read as the first.
    """
    facts: of.Answers | of.RequestUnseen | of.RequestUnseenSoLong
    if candidates:
        named = ((one.api.key, one.api.name, _first(one.version, one.versions)) for one in candidates)
        facts = of.Answers(tuple(named), is_likely(candidates), read)
    else:
        facts = of.RequestUnseenSoLong(waiting) if waiting else of.RequestUnseen()
    return Finding(Kind.UNSOLICITED_RESPONSE, "response", "body", 4, size, facts)


def _first(version: int, versions: tuple[int, ...]) -> tuple[int, ...]:
    """Return the versions with this one in front."""
    return version, *(other for other in versions if other != version)


LAST = 4
"""Requests in flight that a correlation id is compared with: a client that reuses it does so at once."""


def out_of_place(exchange: Exchange, handshake: int | None, size: int) -> Iterator[Finding]:
    """Yield a finding for a request of `size` bytes that may not be sent now.

    `handshake` is the version of the SaslHandshake request just before it, None where that was another one.
    """
    api = exchange.api
    if api is not None and handshake == 0 and api.key == SASL_AUTHENTICATE:
        yield of_sequence("sasl-authenticate-after-v0", api.name, exchange.version, 0, size)


def reused(exchange: Exchange, before: Sequence[Exchange]) -> Iterator[Finding]:
    """Yield a finding for a request with the correlation id of one in flight; `before` are those."""
    api, number = exchange.api, exchange.correlation_id
    if api is None or api is SASL_TOKEN:
        return
    if any(one.correlation_id == number and one.api is not SASL_TOKEN for one in before[-LAST:]):
        yield of_sequence("reused-correlation-id", api.name, exchange.version, 4, 4, str(number))


def of_sequence(kind: str, api: str, version: int, start: int, length: int, actual: str = "") -> Finding:
    """Return the finding for a request that is out of place."""
    facts = MessageMistake(kind, api, version, actual, "", Sure.CERTAIN.value)
    return Finding(Kind.ENCODING_MISTAKE, "request", "", start, length, facts)

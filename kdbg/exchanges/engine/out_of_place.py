"""Requests that are valid, but not where they are sent: by what came before them on their connection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.exchange import Exchange
from . import tokens

LAST = 4
"""Requests in flight that a correlation id is compared with: a client that reuses it does so at once."""


def out_of_place(exchange: Exchange, handshake: int | None, size: int) -> Iterator[Finding]:
    """Yield a finding for a request of `size` bytes that may not be sent now.

    `handshake` is the version of the SaslHandshake request just before it, None where that was another one.
    """
    api = exchange.api
    if api is not None and handshake == 0 and api.key == tokens.SASL_AUTHENTICATE:
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

"""Connections that were asked for and never came to be: a finding of each."""

from __future__ import annotations

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import NobodyThere, TurnedDown
from ...streams.tcp.connection import Connection


def attempt(connection: Connection) -> Finding | None:
    """Return what to say of a connection over which nothing was sent; None where it was open, or nobody knows."""
    if connection.refused:
        return Finding(
            Kind.CONNECTION_REFUSED, facts=TurnedDown(connection.tries, connection.start, connection.last_time)
        )
    if connection.unanswered:
        return Finding(
            Kind.CONNECTION_TIMEOUT, facts=NobodyThere(connection.tries, connection.start, connection.last_time)
        )
    return None

"""Metadata names a host, and nobody ever tries to reach it: the client cannot find its address."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..advertised import LOCAL, leads_nowhere, told
from ..case import Case, Rule
from ..looking import sessions_of

if TYPE_CHECKING:
    from ...ledgers import Ledgers

WORKING: frozenset[int] = frozenset({0, 1, 2, 11, 68})
"""APIs that only a client uses which has reached the brokers that metadata names."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for advertised names to which no client connects, though clients go on asking for metadata."""
    for entry, attempts in leads_nowhere(book):
        if attempts or entry.host in LOCAL or is_address(entry.host):
            continue
        stranded = [
            name
            for name in entry.clients
            if not any(WORKING & session.apis.keys() for session in sessions_of(book, name))
        ]
        if stranded:
            yield rule.case(*told(book, entry, attempts, stranded), certainty="likely", weight=4.0)


def is_address(host: str) -> bool:
    """Return whether a host is told by its address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


rule: Rule = Rule(
    "advertised-listener-unresolvable",
    Severity.ERROR,
    "an advertised name that has no address",
    "the broker at {broker} tells clients that broker {node_id} is at {listener}, and {client_id} never tries to "
    "connect there: it cannot resolve that name",
    "Set advertised.listeners of broker {node_id} to a name that clients can resolve, or add the name to their DNS.",
    "Kafka documentation, Broker configs: advertised.listeners",
    find,
    ("the client connects over an interface that was not captured",),
    frozenset({"connection-churn"}),
)

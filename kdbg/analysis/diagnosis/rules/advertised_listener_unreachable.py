"""The address that metadata names for a broker does not answer, or refuses, though the bootstrap address works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import LOCAL, case_parts, is_address, leads_nowhere, stranded

if TYPE_CHECKING:
    from ...ledgers import Ledgers


def find(book: Ledgers) -> Iterator[Case]:
    """Look for attempts to reach an advertised address of which none succeeds."""
    nowhere = list(leads_nowhere(book))
    for entry, attempts in nowhere:
        if entry.host in LOCAL and any(end[0] not in LOCAL for end in entry.told_by):
            continue
        if attempts:
            yield rule.case(*case_parts(book, entry, attempts), weight=4.0)
        elif is_address(entry.host) and (lost := stranded(book, entry, [one for one, _ in nowhere])):
            yield rule.case(*case_parts(book, entry, attempts, lost), certainty="likely", weight=4.0)


rule: Rule = Rule(
    "advertised-listener-unreachable",
    Severity.ERROR,
    "advertised listener is unreachable",
    (
        "broker {broker} advertises broker {node_id} at address {listener}, which client {client_id} "
        "{probably}cannot reach: {answers}"
    ),
    (
        "Set advertised.listeners of broker {node_id} to an address that its clients can reach, or allow "
        "traffic to {listener} (firewall, routing, port mapping)."
    ),
    "Kafka documentation, Broker configs: advertised.listeners",
    find,
    ("broker {node_id} is down",),
    frozenset({"connection-churn", "unknown-topic", "stale-leader"}),
)

"""Metadata names a host, and nobody ever tries to reach it: the client cannot find its address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import LOCAL, case_parts, is_address, leads_nowhere, stranded

if TYPE_CHECKING:
    from ...ledgers import Ledgers


def find(book: Ledgers) -> Iterator[Case]:
    """Look for advertised names to which no client connects, though clients go on asking for metadata."""
    nowhere = list(leads_nowhere(book))
    for entry, attempts in nowhere:
        if attempts or entry.host in LOCAL or is_address(entry.host):
            continue
        lost = stranded(book, entry, [one for one, _ in nowhere])
        if lost:
            yield rule.case(*case_parts(book, entry, attempts, lost), certainty="likely", weight=4.0)


rule: Rule = Rule(
    "advertised-listener-unresolvable",
    Severity.ERROR,
    "advertised host name does not resolve",
    (
        "broker {broker} advertises broker {node_id} at address {listener}, but client {client_id} "
        "attempts no connection there: the client {probably}cannot resolve the host name"
    ),
    (
        "Set advertised.listeners of broker {node_id} to a host name that its clients can resolve, or "
        "add the name to their DNS."
    ),
    "Kafka documentation, Broker configs: advertised.listeners",
    find,
    ("the client connects over a network interface that was not captured",),
    frozenset({"connection-churn"}),
)

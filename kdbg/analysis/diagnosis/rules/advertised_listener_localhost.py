"""A broker says that it is at localhost, to a client that is somewhere else, or behind another address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import LOCAL, case_parts, leads_nowhere

if TYPE_CHECKING:
    from ...ledgers import Ledgers


def find(book: Ledgers) -> Iterator[Case]:
    """Look for metadata that names a loopback address at which nobody gets through."""
    for entry, attempts in leads_nowhere(book):
        if entry.host not in LOCAL:
            continue
        elsewhere = {end for end in entry.told_by if end[0] not in LOCAL}
        if elsewhere:
            yield rule.case(
                *case_parts(book, entry, attempts), certainty="certain" if attempts else "likely", weight=4.0
            )


rule: Rule = Rule(
    "advertised-listener-localhost",
    Severity.ERROR,
    "broker advertises localhost",
    (
        "broker {broker} advertises broker {node_id} at address {listener}, which client {client_id} "
        "{probably}cannot reach: the address leads to the client's own host"
    ),
    ("Set advertised.listeners of broker {node_id} to a host name and port that its clients can reach."),
    "Kafka documentation, Broker configs: advertised.listeners",
    find,
    explains=frozenset({"connection-churn", "unknown-topic", "stale-leader"}),
)

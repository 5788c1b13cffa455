"""The way between client and broker is long: the handshake takes as long as each request does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import MS, by_ends, clients_of_host, on_paths, span
from ..text import named

if TYPE_CHECKING:
    from ...ledgers import Ledgers

LONG = 50 * MS


def find(book: Ledgers) -> Iterator[Case]:
    """Look for ends between which no handshake is quick."""
    measured = (path for path in book.paths.all() if path.round_trip is not None)
    for (host, broker), paths in by_ends(measured):
        trips = sorted(path.round_trip for path in paths if path.round_trip is not None)
        quickest = trips[0]
        if quickest < LONG:
            continue
        clients = clients_of_host(book, host)
        yield rule.case(
            Who(clients[0] if clients else None, host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"trip": quickest, "clients": named("client", clients) if clients else f"host {host}"}, weight=1.8,
        )  # fmt: skip


rule: Rule = Rule(
    "network-latency",
    Severity.WARNING,
    "high network latency",
    (
        "the round trip between host {host} and broker {broker} takes at least {trip!d} in {count:TCP "
        "handshake}: no response to {clients} can arrive sooner"
    ),
    (
        "Move client and broker closer together, or use fewer round trips: larger batches (batch.size, "
        "linger.ms), larger fetches (fetch.min.bytes), more requests in flight."
    ),
    "RFC 9293, section 3.5",
    find,
    explains=frozenset({"consumer-too-slow", "head-of-line-blocking"}),
)

"""Somebody speaks HTTP to a broker's port: a browser, a health check, a scraper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import METHODS, by_ends, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers


FULL: dict[bytes, str] = {b"DELE": "DELETE", b"OPTI": "OPTIONS", b"PATC": "PATCH", b"TRAC": "TRACE"}
"""Methods by their first four bytes, where they are longer."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for requests of HTTP that are not answered in HTTP."""
    wrong = (path for path in book.paths.all() if path.ways[0].head[:4] in METHODS and path.ways[1].head[:4] != b"HTTP")
    for (host, broker), paths in by_ends(wrong):
        head = paths[0].ways[0].head[:4]
        yield rule.case(
            Who(None, host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"number": int.from_bytes(head, "big"),
                   "method": FULL.get(head, head.decode("ascii").strip())}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "http-to-kafka-port",
    Severity.ERROR,
    "HTTP request on a Kafka port",
    (
        "a program on host {host} sends an HTTP {method} request to broker {broker}: the broker reads it "
        "as a Kafka request of {number:byte} and closes the connection"
    ),
    (
        "Find out which browser, health check or metrics scraper on host {host} uses the Kafka port; a "
        "health check should only open a TCP connection."
    ),
    "Kafka documentation, Monitoring",
    find,
    explains=frozenset({"connection-churn"}),
)

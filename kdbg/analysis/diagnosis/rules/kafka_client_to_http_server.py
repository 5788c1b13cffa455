"""A Kafka client is answered in HTTP: the address is that of a proxy, of Kafka Connect, of the Schema Registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import METHODS, by_ends, client_on, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers


def find(book: Ledgers) -> Iterator[Case]:
    """Look for answers in HTTP to what is no HTTP."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[1].head[:4] == b"HTTP" and path.ways[0].head and path.ways[0].head[:4] not in METHODS
        and book.session_on(path) is not None
    )  # fmt: skip
    for (host, broker), paths in by_ends(wrong):
        yield rule.case(
            Who(client_on(book, paths), host, endpoint(broker)), *span(paths), len(paths), on_paths(paths), weight=2.0
        )


rule: Rule = Rule(
    "kafka-client-to-http-server",
    Severity.ERROR,
    "Kafka client on an HTTP port",
    (
        "client {client_id} sends Kafka requests to address {broker}, which responds with HTTP: no Kafka "
        "broker listens there"
    ),
    (
        "Check bootstrap.servers and advertised.listeners: the port belongs to a proxy, Kafka Connect or "
        "a Schema Registry."
    ),
    "Kafka documentation, Security: listener configuration",
    find,
)

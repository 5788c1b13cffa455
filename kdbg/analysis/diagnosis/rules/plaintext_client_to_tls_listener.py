"""A client speaks Kafka in the clear to a port that speaks TLS: it is answered with an alert."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import by_ends, client_on, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers

ALERT = 0x15
HANDSHAKE = 0x16


def find(book: Ledgers) -> Iterator[Case]:
    """Look for alerts that answer what is no TLS."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[1].head[:2] == bytes((ALERT, 3)) and path.ways[0].head and path.ways[0].head[0] != HANDSHAKE
    )
    for (host, broker), paths in by_ends(wrong):
        head = paths[0].ways[1].head
        yield rule.case(
            Who(client_on(book, paths), host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"number": int.from_bytes(head[:4], "big")}, weight=3.0,
        )  # fmt: skip


rule: Rule = Rule(
    "plaintext-client-to-tls-listener",
    Severity.ERROR,
    "plaintext client on a TLS listener",
    (
        "client {client_id} connects without TLS to a TLS listener of broker {broker}: the broker "
        "responds with a TLS alert, which some clients read as a message of {number:byte}, and closes "
        "the connection"
    ),
    "Set security.protocol=SSL (or SASL_SSL) on the client, or use the port of a plaintext listener.",
    "Kafka documentation, Security: listener configuration",
    find,
    explains=frozenset({"connection-churn", "client-without-sasl", "api-version-unsupported", "connection-limit"}),
)

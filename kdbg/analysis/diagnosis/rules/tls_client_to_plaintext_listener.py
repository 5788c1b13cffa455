"""A client begins with a TLS handshake where the broker speaks Kafka in the clear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import by_ends, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers

HANDSHAKE = 0x16


def find(book: Ledgers) -> Iterator[Case]:
    """Look for hellos that nobody answers, on connections that the other end closes."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[0].head[:2] == bytes((HANDSHAKE, 3)) and not path.ways[1].bytes and path.closes
    )
    plain = {session.broker for session in book.sessions.values() if session.peers.tls is None}
    for (host, broker), paths in by_ends(wrong):
        sure = broker in plain or any(path.closes[0].side == 1 for path in paths)
        yield rule.case(
            Who(None, host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"number": int.from_bytes(paths[0].ways[0].head[:4], "big")}, weight=3.0,
            certainty="certain" if sure else "likely",
        )  # fmt: skip


rule: Rule = Rule(
    "tls-client-to-plaintext-listener",
    Severity.ERROR,
    "TLS client on a plaintext listener",
    (
        "a client on host {host} starts a TLS handshake with broker {broker}, whose listener is "
        "{probably}plaintext: the broker reads it as a Kafka request of {number:byte}, and the "
        "connection closes"
    ),
    "Set security.protocol=PLAINTEXT (or SASL_PLAINTEXT) on the client, or use the port of the TLS listener.",
    "Kafka documentation, Security: listener configuration",
    find,
    explains=frozenset({"connection-churn"}),
)

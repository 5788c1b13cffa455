"""The broker accepts connections and closes them at once, while others of the same host live on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import METHODS, MS, by_ends, client_on, clients_of_host, on_paths, span

if TYPE_CHECKING:
    from ....streams.tcp.paths import Path
    from ...ledgers import Ledgers

AT_ONCE = 200 * MS
FEW = 3


def turned_away(path: Path) -> bool:
    """Return whether the acceptor closes a connection at once, without a word."""
    if path.answered is None or path.ways[1].bytes or not path.closes or path.ways[0].bytes > 1000:
        return False
    head = path.ways[0].head
    if head[:1] == b"\x16" or head[:4] in METHODS:
        return False
    first = path.closes[0]
    return first.side == 1 and first.time - path.answered < AT_ONCE


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections that are turned away where others of that host are served."""
    for (host, broker), paths in by_ends(path for path in book.paths.all() if turned_away(path)):
        served = [
            session
            for session in book.sessions.values()
            if session.peers.client[0] == host and session.broker == broker and session.path is not None
            and session.path.ways[1 - session.client_side].bytes
        ]  # fmt: skip
        if len(paths) < FEW or not served:
            continue
        at = paths[0].start
        open_then = sum(session.path is not None and session.path.start <= at for session in served)
        names = clients_of_host(book, host)
        yield rule.case(
            Who(client_on(book, paths) or (names[0] if names else None), host, endpoint(broker)),
            *span(paths), len(paths), on_paths(paths), facts={"open": open_then}, certainty="likely", weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "connection-limit",
    Severity.ERROR,
    "connection limit reached",
    (
        "broker {broker} closes {count:new connection} from host {host} without a response, while it "
        "keeps {open:older connection} from that host open: the host has {probably}reached its "
        "connection limit"
    ),
    (
        "Raise max.connections.per.ip or max.connections on the broker, or find out why host {host} "
        "opens so many connections: one client object per process is enough."
    ),
    "KIP-402, KIP-612; Broker configs: max.connections.per.ip",
    find,
    ("a load balancer or firewall closes the connections",),
    frozenset({"connection-churn", "client-without-sasl"}),
)

"""Addresses that metadata names, and who got through to them: what the rules on advertised listeners share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from ...exchanges.messages.peers import endpoint
from .case import Evidence, Who
from .queries import client_on, sessions_of

if TYPE_CHECKING:
    from ...streams.tcp.paths import Path
    from ..ledgers import Ledgers
    from ..ledgers.clusters import Advertised

LOCAL: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.localdomain"})
WORKING: frozenset[int] = frozenset({0, 1, 2, 11, 68})
"""APIs that only a client uses which has reached the brokers that metadata names."""
METADATA = 3
LOOPBACK: frozenset[str] = frozenset({"127.0.0.1", "::1"})


def leads_nowhere(book: Ledgers) -> Iterator[tuple[Advertised, list[Path]]]:
    """Yield the advertised addresses at which nobody gets through, each with the attempts to, which may be none."""
    paths = list(book.paths.all())
    spoken = {session.broker for session in book.sessions.values()}
    for entry in book.clusters.advertised.values():
        if not entry.host or entry.port <= 0:
            continue
        case_parts = entry.seen.since
        to = [path for path in paths if path.acceptor[1] == entry.port and leads_to(entry.host, path, spoken)]
        if any(path.answered is not None or path.ways[1].bytes for path in to):
            continue
        attempts = [path for path in to if path.syns and path.start >= case_parts - 1_000_000_000]
        yield entry, attempts


def is_address(host: str) -> bool:
    """Return whether a host is told by its address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def leads_to(host: str, path: Path, spoken: set[Any]) -> bool:
    """Return whether a path may lead to an advertised host."""
    there = path.acceptor[0]
    if host in LOCAL:
        return there in LOOPBACK
    if is_address(host):
        return ip_address(host) == ip_address(there)
    return path.acceptor not in spoken or path.ways[1].bytes > 0  # a name may stand for any address


def case_parts(book: Ledgers, entry: Advertised, attempts: Sequence[Path], lost: Sequence[str] = ()) -> tuple[Any, ...]:
    """Return what a case is made of: who, since, until, how often, evidence; facts are added by `facts_of`."""
    client = client_on(book, attempts) or (lost[0] if lost else None) or _best(entry.clients)
    by = entry.told_by.most_common(1)[0][0]
    until = max((path.last_time for path in attempts), default=entry.seen.until)
    since = min((path.start for path in attempts), default=entry.seen.since)
    who = Who(client or None, attempts[0].initiator[0] if attempts else None, endpoint(by),
              listener=f"{entry.host}:{entry.port}")  # fmt: skip
    packets = tuple(path.first_packet for path in attempts)[:6]
    found = Evidence(entry.seen.numbers[:3], packets, ("brokers.host", "brokers.port"))
    facts = {"node_id": entry.node_id, "answers": answers(attempts)}
    return who, since, until, max(len(attempts), 1), found, facts


def answers(attempts: Sequence[Path]) -> str:
    """Return what happened to connection attempts, as the sentences have it."""
    if not attempts:
        return "the capture has no connection attempt to it"
    refused = sum(path.refused is not None for path in attempts)
    if refused == len(attempts):
        return "every connection attempt is refused"
    if not refused:
        return "no connection attempt gets a reply"
    return "connection attempts are refused or get no reply"


def _best(clients: Counter[str]) -> str | None:
    found = [name for name, _ in clients.most_common() if name]
    return found[0] if found else None


def stranded(book: Ledgers, entry: Advertised, nowhere: Sequence[Advertised]) -> list[str]:
    """Return the clients that were told only addresses that lead nowhere, asked again, and got no work done."""
    found: list[str] = []
    for name in entry.clients:
        others = [one for one in book.clusters.advertised.values() if name in one.clients]
        asked = sum(session.used(METADATA).seen.count for session in sessions_of(book, name))
        works = any(WORKING & session.apis.keys() for session in sessions_of(book, name))
        if name and not works and asked > 1 and all(one in nowhere for one in others):
            found.append(name)
    return found

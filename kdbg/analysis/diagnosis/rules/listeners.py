"""Advertised listeners: addresses that metadata names for brokers, and at which no client gets through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any

from ....exchanges.messages.peers import endpoint
from ....streams.tcp.paths import Path
from ...ledgers import Ledgers
from ...ledgers.clusters import Advertised
from ..case import Case, Evidence, Who, rule
from ..queries import client_on, grouped, has_live_sibling, sessions_of

LOCAL: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.localdomain"})
LOOPBACK: frozenset[str] = frozenset({"127.0.0.1", "::1"})
WORKING: frozenset[int] = frozenset({0, 1, 2, 11, 68})
"""APIs that only a client uses which has reached the brokers that metadata names."""
METADATA = 3


def leads_nowhere(book: Ledgers) -> list[tuple[Advertised, list[Path]]]:
    """Return the advertised addresses to which no client connects, each with the attempts, which may be none."""
    paths = grouped(book.paths.all(), lambda path: path.acceptor[1])
    spoken = {session.broker for session in book.sessions.values()}
    served = {session.broker for session in book.sessions.values() if session.is_served}
    found: list[tuple[Advertised, list[Path]]] = []
    for entry in book.clusters.advertised.values():
        if not entry.host or entry.port <= 0 or (entry.host, entry.port) in served:
            continue
        to = [path for path in paths.get(entry.port, ())
              if path.initiator[0] in entry.hosts and leads_to(entry.host, path, spoken)]  # fmt: skip
        if any(path.answered is not None or path.ways[1].bytes for path in to):
            continue
        found.append((entry, [path for path in to if path.syns and path.start >= entry.seen.since - 1_000_000_000]))
    return found


def is_address(host: str) -> bool:
    """Return whether a host is named by its address."""
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


def is_local(entry: Advertised) -> bool:
    """Return whether a broker that is somewhere else advertises a loopback address."""
    return entry.host in LOCAL and any(end[0] not in LOCAL for end in entry.told_by)


def case_parts(book: Ledgers, entry: Advertised, attempts: Sequence[Path], lost: Sequence[str] = ()) -> tuple[Any, ...]:
    """Return what a case is made of: who, since, until, how often, evidence, facts."""
    named = (name for name, _ in entry.clients.most_common() if name)
    client = client_on(book, attempts) or next(iter(lost), None) or next(named, None)
    by = entry.told_by.most_common(1)[0][0]
    until = max((path.last_time for path in attempts), default=entry.seen.until)
    since = min((path.start for path in attempts), default=entry.seen.since)
    who = Who(client, attempts[0].initiator[0] if attempts else None, endpoint(by),
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


def stranded(book: Ledgers, entry: Advertised, nowhere: Sequence[tuple[Advertised, Any]]) -> list[str]:
    """Return the clients that got only unreachable addresses, requested metadata again, and got no further."""
    unreachable = [one for one, _ in nowhere]
    found: list[str] = []
    for name in entry.clients:
        others = [one for one in book.clusters.advertised.values() if name in one.clients]
        sessions = sessions_of(book, name)
        asked = sum(session.used(METADATA).seen.count for session in sessions)
        works = any(WORKING & session.apis.keys() for session in sessions)
        if name and not works and asked > 1 and all(one in unreachable for one in others):
            found.append(name)
    return found


@rule(
    "advertised-listener-localhost",
    "connection",
    title="broker advertises localhost",
    sentence="broker {broker} advertises broker {node_id} at address {listener}, which client {client_id} "
    "{probably}cannot reach: the address leads to the client's own host",
    advice="Set advertised.listeners of broker {node_id} to a host name and port that its clients can reach.",
    document="Kafka documentation, Broker configs: advertised.listeners",
    explains={"connection-churn", "unknown-topic", "stale-leader"},
)
def advertised_listener_localhost(book: Ledgers) -> Iterator[Case]:
    """Look for metadata that names a loopback address at which no client gets through."""
    for entry, attempts in leads_nowhere(book):
        if is_local(entry):
            yield advertised_listener_localhost.case(
                *case_parts(book, entry, attempts), certainty="certain" if attempts else "likely", weight=4.0
            )


@rule(
    "advertised-listener-unreachable",
    "connection",
    title="advertised listener is unreachable",
    sentence="broker {broker} advertises broker {node_id} at address {listener}, which client {client_id} "
    "{probably}cannot reach: {answers}",
    advice="Set advertised.listeners of broker {node_id} to an address that its clients can reach, or allow traffic "
    "to {listener} (firewall, routing, port mapping).",
    document="Kafka documentation, Broker configs: advertised.listeners",
    alternatives=("broker {node_id} is down",),
    explains={"connection-churn", "unknown-topic", "stale-leader"},
)
def advertised_listener_unreachable(book: Ledgers) -> Iterator[Case]:
    """Look for attempts to reach an advertised address of which none succeeds."""
    nowhere = leads_nowhere(book)
    for entry, attempts in nowhere:
        if is_local(entry):
            continue
        if attempts and all(path.refused for path in attempts) and has_live_sibling(
            book, f"{entry.host}:{entry.port}", (path.initiator[0] for path in attempts)
        ):  # fmt: skip
            continue  # see broker-down
        if attempts:
            yield advertised_listener_unreachable.case(*case_parts(book, entry, attempts), weight=4.0)
        elif is_address(entry.host) and (lost := stranded(book, entry, nowhere)):
            yield advertised_listener_unreachable.case(
                *case_parts(book, entry, attempts, lost), certainty="likely", weight=4.0
            )


@rule(
    "advertised-listener-unresolvable",
    "connection",
    title="advertised host name does not resolve",
    sentence="broker {broker} advertises broker {node_id} at address {listener}, but client {client_id} attempts no "
    "connection there: the client {probably}cannot resolve the host name",
    advice="Set advertised.listeners of broker {node_id} to a host name that its clients can resolve, or add the name "
    "to their DNS.",
    document="Kafka documentation, Broker configs: advertised.listeners",
    alternatives=("the client connects over a network interface that was not captured",),
    explains={"connection-churn"},
)
def advertised_listener_unresolvable(book: Ledgers) -> Iterator[Case]:
    """Look for advertised names to which no client connects, though clients go on asking for metadata."""
    nowhere = leads_nowhere(book)
    for entry, attempts in nowhere:
        if attempts or entry.host in LOCAL or is_address(entry.host):
            continue
        if lost := stranded(book, entry, nowhere):
            yield advertised_listener_unresolvable.case(
                *case_parts(book, entry, attempts, lost), certainty="likely", weight=4.0
            )

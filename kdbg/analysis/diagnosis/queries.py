"""Addresses that metadata names, and who got through to them: what the rules on advertised listeners share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple

from ...exchanges.messages.peers import End, endpoint
from ...protocol.grammars import name_of
from ..ledgers.evidence import Mark, Occurrences
from .case import Evidence, Who

if TYPE_CHECKING:
    from ...streams.tcp.paths import Path
    from ..ledgers import Ledgers
    from ..ledgers.accounts import Failure
    from ..ledgers.clusters import Advertised
    from ..ledgers.sessions import KafkaConnection


LOCAL: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.localdomain"})
WORKING: frozenset[int] = frozenset({0, 1, 2, 11, 68})
"""APIs that only a client uses which has reached the brokers that metadata names."""
METADATA = 3
LOOPBACK: frozenset[str] = frozenset({"127.0.0.1", "::1"})


def leads_nowhere(book: Ledgers) -> Iterator[tuple[Advertised, list[Path]]]:
    """Yield the advertised addresses to which no client connects, each with the attempts, which may be none."""
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
    """Return the clients that got only unreachable addresses, requested metadata again, and got no further."""
    found: list[str] = []
    for name in entry.clients:
        others = [one for one in book.clusters.advertised.values() if name in one.clients]
        asked = sum(session.used(METADATA).seen.count for session in sessions_of(book, name))
        works = any(WORKING & session.apis.keys() for session in sessions_of(book, name))
        if name and not works and asked > 1 and all(one in nowhere for one in others):
            found.append(name)
    return found


OF_BROKERS: frozenset[int] = frozenset((4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82))
"""APIs that brokers and controllers alone use."""


def software_by_client(book: Ledgers) -> dict[tuple[str, str], str]:
    """Return the software of client ids and hosts, where all their connections that say so say the same."""
    found: dict[tuple[str, str], str] = {}
    for session in book.sessions.values():
        if session.software:
            key = session.client_id, session.peers.client[0]
            found[key] = session.software if found.get(key, session.software) == session.software else ""
    return found


def is_broker(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether the asking end is a broker: it says so, by what it asks."""
    polls = book.polls.get(session.peers.number)
    return bool(OF_BROKERS & session.apis.keys()) or (polls is not None and polls.replica >= 0)


SECOND = 1_000_000_000
MS = 1_000_000
METHODS: tuple[bytes, ...] = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"PRI ")


class Failures(NamedTuple):
    """The same error of the same client about the same subject, on all its connections."""

    code: int
    subject: str
    client_id: str
    all: list[Failure]
    seen: Occurrences

    @property
    def session(self) -> KafkaConnection:
        """The connection on which it was seen first."""
        return min(self.all, key=lambda one: one.seen.since).session

    @property
    def partitions(self) -> list[int]:
        """The partitions it was told of."""
        return sorted({number for one in self.all for number in one.partitions})


def failures(book: Ledgers, codes: Iterable[int], apis: Iterable[int] | None = None) -> list[Failures]:
    """Return errors with one of these codes, in messages of these APIs (None: of any), by client and subject."""
    wanted, keys = frozenset(codes), None if apis is None else frozenset(apis)
    found: dict[tuple[int, str, str], list[Any]] = {}
    for failure in book.failures.values():
        if failure.code in wanted and (keys is None or failure.api_key in keys):
            found.setdefault((failure.code, failure.subject, failure.session.client_id), []).append(failure)
    return [
        Failures(code, subject, client, all, Occurrences.of(one.seen for one in all))
        for (code, subject, client), all in found.items()
    ]


def api_name(key: int) -> str:
    """Return the name of an API, its key where kdbg knows none."""
    return name_of(key) or f"API {key}"


def who(session: KafkaConnection | None, **more: Any) -> Who:
    """Return the client, its host and the broker of a connection, with what else is known."""
    if session is None:
        return Who(**more)
    known = {
        "client_id": session.client_id or None, "host": session.peers.client[0],
        "broker": endpoint(session.broker), "user": session.user,
    }  # fmt: skip
    return Who(**{**known, **more})


def evidence(seen: Occurrences | Iterable[Mark], *fields: str, packets: Iterable[int] = ()) -> Evidence:
    """Return exchanges that were seen as evidence, with the fields that tell."""
    numbers = seen.numbers if isinstance(seen, Occurrences) else tuple(dict.fromkeys(mark.number for mark in seen))[:7]
    return Evidence(numbers, tuple(packets), fields)


def on_paths(paths: Iterable[Path], *fields: str) -> Evidence:
    """Return the first packets of paths as evidence."""
    return Evidence((), tuple(path.first_packet for path in paths)[:7], fields)


def by_ends(paths: Iterable[Path]) -> Iterator[tuple[tuple[str, End], list[Path]]]:
    """Yield paths by the host of their initiator, and their acceptor."""
    found: dict[tuple[str, End], list[Path]] = {}
    for path in paths:
        found.setdefault((path.initiator[0], path.acceptor), []).append(path)
    yield from found.items()


def client_on(book: Ledgers, paths: Iterable[Path]) -> str | None:
    """Return the client id that was said on one of these paths."""
    for path in paths:
        session = book.session_on(path)
        if session is not None and session.client_id:
            return session.client_id
    return None


def clients_of_host(book: Ledgers, host: str) -> list[str]:
    """Return the client ids that a host used, those with most exchanges first."""
    found: dict[str, int] = {}
    for session in book.sessions.values():
        if session.peers.client[0] == host and session.client_id:
            found[session.client_id] = found.get(session.client_id, 0) + session.exchanges
    return sorted(found, key=lambda name: -found[name])


def sessions_of(book: Ledgers, client_id: str) -> list[KafkaConnection]:
    """Return the connections of a client, by its id."""
    return [session for session in book.sessions.values() if session.client_id == client_id]


def span(paths: Iterable[Path]) -> tuple[int, int]:
    """Return when the first of some paths began and the last one was heard of."""
    found = list(paths)
    return min(path.start for path in found), max(path.last_time for path in found)

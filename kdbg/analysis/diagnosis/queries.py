"""What rules and stories share: connections, flows and groups by what they have in common, and the parts of cases.

Also the rules that an error code, or a malformed message, alone makes sure of.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from ...exchanges.messages.peers import End, endpoint
from ...protocol.findings import Severity
from ...protocol.findings.quirks import MISTAKES, Sure
from ...protocol.grammars import name_of
from ...streams.tcp.paths import Path
from ..ledgers import Ledgers
from ..ledgers.accounts import Failure
from ..ledgers.evidence import Mark, Occurrences
from ..ledgers.groups import Group, Member
from ..ledgers.sessions import ORDER, KafkaConnection, Malformed
from .case import Case, Evidence, Milestone, Rule, Who, rule
from .trials import CERTAINTIES

OF_BROKERS: frozenset[int] = frozenset((4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82))
"""APIs that brokers and controllers alone use."""
SECOND = 1_000_000_000
MS = 1_000_000
FEW = 3
"""Attempts, or errors, from which on they are no exception."""
BESIDE = SECOND
"""Time within which a client tries the other addresses of a host name."""
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Extent = tuple[int, int, int, Evidence]
"""Since and until when something was seen, how often, and where."""


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return items by their keys, in the order of the first item of each."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def software_by_client(book: Ledgers) -> dict[tuple[str, str], str]:
    """Return the software of client ids and hosts, where all their connections that say so say the same."""
    found: dict[tuple[str, str], str] = {}
    for session in book.sessions.values():
        if session.software:
            key = session.client_id, session.peers.client[0]
            found[key] = session.software if found.get(key, session.software) == session.software else ""
    return found


def is_follower(book: Ledgers, number: int) -> bool:
    """Return whether a connection is that of a follower, which fetches what it replicates."""
    polls = book.polls.get(number)
    return polls is not None and polls.replica >= 0


def is_broker(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether the asking end is a broker: it says so, by what it asks."""
    return bool(OF_BROKERS & session.apis.keys()) or is_follower(book, session.peers.number)


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
    found = (one for one in book.failures.values() if one.code in wanted and (keys is None or one.api_key in keys))
    return [
        Failures(*key, all, Occurrences.of(one.seen for one in all))
        for key, all in grouped(found, lambda one: (one.code, one.subject, one.session.client_id)).items()
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


def who_at(book: Ledgers, host: str, broker: End) -> Who:
    """Return the client with most exchanges of a host, that host, and a broker."""
    return Who(next(iter(clients_of_host(book, host)), None), host, endpoint(broker))


def who_in(group: Group, member: Member | None, **more: Any) -> Who:
    """Return the client and the host of a group's member, and the group, with what else is known."""
    if member is None:
        return Who(group=group.name, **more)
    return Who(member.client_id or None, member.host or None, group=group.name, **more)


def evidence(seen: Occurrences | Iterable[Mark], *fields: str, packets: Iterable[int] = ()) -> Evidence:
    """Return exchanges that were seen as evidence, with the fields that tell."""
    numbers = seen.numbers if isinstance(seen, Occurrences) else tuple(dict.fromkeys(mark.number for mark in seen))[:7]
    return Evidence(numbers, tuple(packets), fields)


def on_paths(paths: Iterable[Path]) -> Evidence:
    """Return the first packets of paths as evidence."""
    return Evidence((), tuple(path.first_packet for path in paths)[:7])


def span(paths: Iterable[Path]) -> tuple[int, int]:
    """Return when the first of some paths began and the last one was heard of."""
    found = list(paths)
    return min(path.start for path in found), max(path.last_time for path in found)


def extent(seen: Occurrences, *fields: str) -> Extent:
    """Return since and until when something was seen, how often, and where, with the fields that tell."""
    return seen.since, seen.until, seen.count, evidence(seen, *fields)


def extent_of_marks(marks: Sequence[Mark], *fields: str) -> Extent:
    """Return the same of exchanges of which each was one time."""
    return marks[0].time, marks[-1].end, len(marks), evidence(marks[:6], *fields)


def extent_of_paths(paths: list[Path]) -> Extent:
    """Return the same of paths of which each was one time."""
    return *span(paths), len(paths), on_paths(paths)


def by_ends(book: Ledgers, paths: Iterable[Path]) -> Iterable[tuple[tuple[str, End], list[Path]]]:
    """Return paths by the host of the client, and the broker."""
    return grouped(paths, partial(ends_of, book)).items()


def ends_of(book: Ledgers, path: Path) -> tuple[str, End]:
    """Return the host of the client of a path, and the broker: who opened it does not tell where it began before."""
    session = book.session_on(path)
    return (path.initiator[0], path.acceptor) if session is None else (session.peers.client[0], session.broker)


class Reached:
    """Where connections were opened: `last` has the last start by host and end, and by host alone.

    `beside` has all starts by port and address family: a client tries the other addresses of a name at once.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.last: dict[tuple[str, End | None], int] = {}
        self.beside: dict[tuple[int, bool], list[int]] = {}
        for path in sorted((path for path in paths if path.answered is not None), key=lambda path: path.start):
            host, port = path.acceptor
            self.last[path.initiator[0], path.acceptor] = self.last[path.initiator[0], None] = path.start
            self.beside.setdefault((port, ":" in host), []).append(path.start)

    def got_past(self, failed: Path) -> bool:
        """Return whether its host was connected there after this attempt, or over another address at once."""
        if self.last.get((failed.initiator[0], failed.acceptor), 0) > failed.start:
            return True
        starts = self.beside.get((failed.acceptor[1], ":" not in failed.acceptor[0]), [])
        at = bisect_left(starts, failed.start - BESIDE)
        return at < len(starts) and starts[at] < failed.start + BESIDE


def clusters_of(book: Ledgers) -> Mapping[str, str]:
    """Return the cluster id of each broker's address, by its own metadata or that of another broker."""
    ids = {endpoint(broker): next(iter(ids)) for broker, ids in book.clusters.ids_by_broker.items()}
    told = {f"{one.host}:{one.port}": ids[by] for one in book.clusters.advertised.values()
            for by in map(endpoint, one.told_by) if by in ids}  # fmt: skip
    return told | ids


def has_live_sibling(book: Ledgers, address: str, hosts: Iterable[str]) -> bool:
    """Return whether another advertised broker of the same cluster responds to one of these hosts."""
    advertised = {f"{one.host}:{one.port}" for one in book.clusters.advertised.values()}
    if address not in advertised:
        return False
    clusters, wanted = clusters_of(book), set(hosts)
    live = {endpoint(one.broker) for one in book.sessions.values()
            if one.peers.client[0] in wanted and one.is_served}  # fmt: skip
    return any(one != address and clusters.get(one) == clusters.get(address) is not None for one in live & advertised)


class Unreachable(NamedTuple):
    """An end that cannot be reached: the attempts, whether it responded before, whether a host reached others since."""

    end: End
    attempts: list[Path]
    served: bool
    elsewhere: bool


def unreachable(book: Ledgers) -> Iterator[Unreachable]:
    """Yield the ends to which the last attempt of a host failed."""
    reached = Reached(book.paths.all())
    wrong = (one for one in book.paths.all() if one.syns and one.answered is None and (one.refused or one.unanswered))
    attempts = grouped(wrong, lambda path: (path.acceptor, path.initiator[0]))
    failed: dict[End, list[Path]] = {}
    for (acceptor, _), some in attempts.items():
        if (len(some) >= FEW or some[-1].refused or some[-1].syns > 1) and not reached.got_past(some[-1]):
            failed.setdefault(acceptor, []).extend(some)
    served = {session.broker for session in book.sessions.values() if session.is_served}
    for acceptor, some in failed.items():
        some.sort(key=lambda path: path.start)
        elsewhere = any(reached.last.get((path.initiator[0], None), 0) > some[0].start for path in some)
        yield Unreachable(acceptor, some, acceptor in served, elsewhere)


def client_on(book: Ledgers, paths: Iterable[Path]) -> str | None:
    """Return the client id that was said on one of these paths."""
    sessions = filter(None, map(book.session_on, paths))
    return next((session.client_id for session in sessions if session.client_id), None)


def clients_of_host(book: Ledgers, host: str) -> list[str]:
    """Return the client ids that a host used, those with most exchanges first."""
    found: dict[str, int] = {}
    for session in book.sessions.values():
        if session.peers.client[0] == host and session.client_id:
            found[session.client_id] = found.get(session.client_id, 0) + session.exchanges
    return sorted(found, key=lambda name: -found[name])


def sessions_of(book: Ledgers, client_id: str) -> list[KafkaConnection]:
    """Return the connections of a client, by its id."""
    return book.sessions_of(client_id)


def session_of(book: Ledgers, client_id: str) -> KafkaConnection | None:
    """Return the first connection of a client."""
    return next(iter(sessions_of(book, client_id)), None)


def topic_of(flows: Iterable[tuple[int, str, int]], *sessions: KafkaConnection) -> str | None:
    """Return the first topic in the keys of flows that connections wrote to or read from."""
    numbers = {session.peers.number for session in sessions}
    return next((topic for number, topic, _ in flows if number in numbers), None)


def groups_of(book: Ledgers, client_id: str) -> list[str]:
    """Return the groups that a client belongs to."""
    return [group.name for group in book.groups.values() if client_id in group.clients]


def group_of(book: Ledgers, client_id: str) -> str | None:
    """Return the group that a client belongs to, where it is one."""
    found = groups_of(book, client_id)
    return found[0] if len(found) == 1 else None


def by_error(
    code: str,
    milestone: Milestone,
    title: str,
    sentence: str,
    advice: str,
    document: str,
    *,
    errors: tuple[int, ...],
    apis: tuple[int, ...] | None = None,
    subject: Literal["topic", "group", "transactional_id", ""] = "topic",
    weight: float = 2.0,
    facts: Callable[[Ledgers, Failures], Mapping[str, Any]] | None = None,
    explains: Set[str] = frozenset(),
) -> Rule:
    """Return the rule that finds these error codes in messages of these APIs (None: of any).

    `subject` is what of a request the error is about. The sentence may name `principal`, the user of the connection,
    and what `facts` tell.
    """

    @rule(code, milestone, title, sentence, advice, document, explains=explains)
    def found(book: Ledgers) -> Iterator[Case]:
        """Look for error codes in responses."""
        for one in failures(book, errors, apis):
            named = {subject: one.subject or None} if subject else {}
            more = {} if facts is None else facts(book, one)
            known = {"principal": one.session.user or "ANONYMOUS", **more}
            yield found.case(who(one.session, **named), *extent(one.seen, "error_code"), known, weight=weight)

    return found


def malformed(side: str, title: str, sentence: str) -> Rule:
    """Return the rule for mistakes in the messages of one side."""

    @rule(
        f"malformed-{side}", "API versions", title, sentence,
        "Correct the program that writes the message. {rule}",
        "Kafka protocol guide", ("another mistake that leads to the same bytes",),
        {"connection-churn", "client-without-sasl", "correlation-mismatch-middlebox",
         "sasl-client-to-plaintext-listener"},
    )  # fmt: skip
    def found(book: Ledgers) -> Iterator[Case]:
        """Look for encoding mistakes in messages."""
        mistakes: dict[tuple[Any, ...], list[tuple[KafkaConnection, Malformed]]] = {}
        for number, mistaken in book.mistakes.items():
            session = book.sessions[number]
            for key, one in mistaken.by_kind.items():
                if key[0] == side:
                    party = (session.client_id, session.peers.client[0]) if side == "request" else session.broker
                    mistakes.setdefault((party, *key), []).append((session, one))
        for all in mistakes.values():
            session, first = all[0]
            seen = Occurrences.of(one.seen for _, one in all)
            severity = min((one.severity for _, one in all), key=ORDER.index)
            if severity is Severity.NOTE and first.facts.sure == Sure.GUESS:
                continue  # lint and the message itself say it
            facts = {
                "api": first.facts.api, "version": first.facts.version, "mistake": first.finding.text,
                "rule": MISTAKES[first.facts.kind].explanation,
            }  # fmt: skip
            certainty = next(one for one in CERTAINTIES if one == first.facts.sure)
            yield found.case(
                who(session), *extent(seen, *filter(None, [first.finding.path])), facts,
                certainty=certainty, severity=severity,
                weight=4.0,  # more than any other cause has: what the message itself explains comes first
            )  # fmt: skip

    return found

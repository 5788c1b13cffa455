"""Events that several stories have: causes that diagnosis found, errors, what a connection began and ended with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ....exchanges.messages.peers import endpoint
from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.accounts import Failure
from ...ledgers.evidence import Occurrences
from ...ledgers.sessions import KafkaConnection
from ..case import Case, Who
from ..queries import api_name, who


class Event(NamedTuple):
    """Something that happened: `time` in nanoseconds since the epoch, `kind` a code, `facts` what its sentence needs.

    `exchanges` are numbers. `case` is the cause that diagnosis found, of events of the kind `cause`.
    """

    time: int
    kind: str
    who: Who
    facts: Mapping[str, Any]
    exchanges: tuple[int, ...] = ()
    case: Case | None = None


class Subject(NamedTuple):
    """Whom or what there is a story of; `facts` say how much of one."""

    name: str
    facts: Mapping[str, int | str]


class Story(NamedTuple):
    """One kind of story: which subjects there are in ledgers, and what happened to one of them."""

    subjects: Callable[[Ledgers], Iterable[Subject]]
    events: Callable[[Ledgers, str, list[Case]], Iterable[Event]]


NORMAL = frozenset({27, 79})
"""REBALANCE_IN_PROGRESS and MEMBER_ID_REQUIRED are steps of any rebalance."""
API_VERSIONS = 18
KINDS: dict[int, str] = {
    **dict.fromkeys((9, 11, 12, 13, 14, 15, 42, 47, 68, 69), "group"),
    **dict.fromkeys((22, 24, 25, 26, 28), "transactional id"),
    10: "key",
    17: "SASL mechanism",
}
"""By API key: what errors are about that name no partition."""
MOST_CONNECTIONS = 20
"""Connections of a client that are told one by one."""


def causes(cases: Iterable[Case], concerns: Callable[[Who], bool]) -> Iterator[Event]:
    """Yield what diagnosis found, as far as it concerns the subject."""
    for case in cases:
        if concerns(case.who):
            facts: dict[str, Any] = {
                "cause": case.code, "severity": case.severity.value, "certainty": case.certainty, "count": case.count,
                "until": case.until / 1e9, "because": case.because or None,
            }  # fmt: skip
            yield Event(case.since, "cause", case.who, facts, case.evidence.exchanges, case)


def errors(book: Ledgers, wanted: Callable[[Failure], bool]) -> Iterator[Event]:
    """Yield errors that clients were told: once for each client, API, code and subject."""
    found: dict[tuple[str, int, int, str], list[Failure]] = {}
    for one in book.failures.values():
        if one.code not in NORMAL and one.api_key != API_VERSIONS and wanted(one):
            found.setdefault((one.session.client_id, one.api_key, one.code, one.subject), []).append(one)
    for (client, key, code, subject), all in found.items():
        seen = Occurrences.of(one.seen for one in all)
        yield Event(
            seen.first.end if seen.first is not None else 0, "error", who(all[0].session),
            {"client": client, "api": api_name(key), "code": code, "error": error_name(code),
             "subject_kind": subject_kind(all), "subject": subject, "count": seen.count,
             "for_ns": seen.until - seen.since},
            seen.numbers,
        )  # fmt: skip


def subject_kind(all: Iterable[Failure]) -> str:
    """Return what errors are about: a topic, unless they are of no partition and their API has another subject."""
    first = next(iter(all))
    return "topic" if first.partitions else KINDS.get(first.api_key, "topic")


def opened(session: KafkaConnection) -> Event | None:
    """Return how a connection began, None where that is not in the capture."""
    first, path = session.first, session.path
    time = path.start if path is not None and path.opened else first.time if first is not None else 0
    if not time:
        return None
    facts = {
        "connection": session.peers.number, "client": session.client_id, "broker": endpoint(session.broker),
        "host": session.peers.client[0], "seen": path is not None and path.opened, "software": session.software,
        "user": session.user, "mechanism": session.mechanism,
    }  # fmt: skip
    return Event(time, "connects", who(session), facts, (first.number,) if first is not None else ())


def connections(sessions: Iterable[KafkaConnection]) -> Iterator[Event]:
    """Yield how connections began and ended: of many, the first ones, and how many more there are."""
    all = sorted(sessions, key=lambda session: session.first.time if session.first is not None else 0)
    for session in all[:MOST_CONNECTIONS]:
        yield from filter(None, (opened(session),))
        for close in session.path.closes[:1] if session.path is not None else ():
            facts = {
                "connection": session.peers.number, "client": session.client_id, "broker": endpoint(session.broker),
                "by": session.closed_first, "reset": close.reset, "exchanges": session.exchanges,
                "unanswered": session.unanswered_count,
            }  # fmt: skip
            last = (session.last.number,) if session.last is not None else ()
            yield Event(close.time, "closes", who(session), facts, last)
    if rest := all[MOST_CONNECTIONS:]:
        first = opened(rest[0])
        if first is not None:
            yield first._replace(kind="more-connections", facts={"connections": len(rest)})


def on(session: KafkaConnection) -> Iterator[Event]:
    """Yield what happened on a connection beside its beginning and end."""
    if session.refused is not None:
        mark, code, message = session.refused
        facts = {"user": session.user, "mechanism": session.mechanism, "code": code, "error": error_name(code),
                 "message": message, "client": session.client_id}  # fmt: skip
        yield Event(mark.end, "authentication-failed", who(session), facts, (mark.number,))
    elif session.authenticated:
        mark = session.authenticated[0]
        facts = {"user": session.user, "mechanism": session.mechanism, "lifetime_ms": session.lifetime,
                 "client": session.client_id, "connection": session.peers.number}  # fmt: skip
        yield Event(mark.end, "authentication", who(session), facts, (mark.number,))
    if session.throttled.first is not None:
        facts = {"client": session.client_id, "count": session.throttled.count, "throttle_ms": session.throttle_ms}
        yield Event(session.throttled.first.end, "throttled", who(session), facts, session.throttled.numbers)
    for slow in session.slow:
        if slow.late >= 1_000_000_000:
            facts = {"client": session.client_id, "api": api_name(slow.api_key), "took_ns": slow.first - slow.start,
                     "late_ns": slow.late}  # fmt: skip
            yield Event(slow.mark.time, "slow", who(session), facts, (slow.mark.number,))


def traffic(book: Ledgers, wanted: Callable[[int, str, int], bool], kind: str) -> Iterator[Event]:
    """Yield who wrote to (`kind` is `writes`) or read from (`reads`) which topic, when first and last, and how much."""
    flows: Any = book.written if kind == "writes" else book.fetched
    found: dict[tuple[str, str], list[tuple[int, int, Any]]] = {}
    for (number, topic, partition), flow in flows.items():
        if wanted(number, topic, partition) and (kind == "writes" or flow.with_data or flow.requests):
            session = book.sessions[number]
            polls = book.polls.get(number)
            if kind == "reads" and polls is not None and polls.replica >= 0:
                continue
            found.setdefault((session.client_id, topic), []).append((number, partition, flow))
    for (client, topic), all in found.items():
        seen = Occurrences.of(flow.requests for _, _, flow in all)
        if seen.first is None or seen.last is None:
            continue
        facts = {
            "client": client, "topic": topic, "partitions": sorted({partition for _, partition, _ in all})[:64],
            "requests": seen.count, "records": sum(flow.records for *_, flow in all),
            "bytes": sum(flow.bytes for *_, flow in all), "for_ns": seen.until - seen.since,
        }  # fmt: skip
        about = who(book.sessions[all[0][0]], topic=topic)
        yield Event(seen.since, kind, about, facts, (seen.first.number,))
        if seen.last.number != seen.first.number:
            yield Event(seen.last.time, f"{kind}-last", about, facts, (seen.last.number,))

"""What clients do not get past, whatever the reason: the findings that remain where no other rule gives a reason.

Each rule here finds the clients that stand before a milestone, by what the peer sent or did not send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from textwrap import shorten
from typing import NamedTuple

from ....exchanges.messages.peers import End, endpoint
from ....exchanges.messages.rejection import is_normal_step
from ....protocol.findings import Kind, Severity
from ....protocol.findings.amounts import count
from ....protocol.findings.facts import Encrypted
from ....protocol.grammars import find
from ....protocol.grammars.errors import ERRORS, error_name
from ....streams.tcp.paths import Path
from ....streams.tls.session import Why
from ...ledgers import Ledgers
from ...ledgers.accounts import Failure
from ...ledgers.evidence import Occurrences
from ...ledgers.sessions import KafkaConnection, Unanswered
from ..case import MILESTONES, Case, Evidence, Milestone, Who, rule
from ..queries import (
    FEW,
    SECOND,
    api_name,
    client_on,
    evidence,
    extent,
    extent_of_paths,
    group_of,
    grouped,
    unreachable,
    who,
)
from ..text import duration, named

APIS: dict[Milestone, tuple[int, ...]] = {
    "API versions": (18,), "authentication": (17, 36), "metadata": (3, 75), "coordinator": (10,),
    "group membership": (11, 12, 13, 68, 76, 88), "partition assignment": (14,), "position": (2, 9, 23),
    "records": (0, 1, 78), "commits": (8, 79), "transactions": (22, 24, 25, 26, 28),
}  # fmt: skip
"""The keys of the APIs that lead to a milestone."""
MILESTONE_OF: dict[int, Milestone] = {key: name for name, keys in APIS.items() for key in keys}
OF_GROUPS = frozenset({8, 9, 10, 11, 12, 13, 14, 15, 42, 47, 68, 69, 76, 77, 79, 88, 89})
METADATA, LEAVE_GROUP, INIT_PRODUCER_ID = 3, 13, 22
FIRST = frozenset({3, 17, 18, 36})
"""Metadata, SaslHandshake, ApiVersions, SaslAuthenticate: what stands at the beginning of a connection."""
EXISTING = frozenset({36, 69, 84})
"""TOPIC_ALREADY_EXISTS, GROUP_ID_NOT_FOUND, ELECTION_NOT_NEEDED: of requests for what may be there, or done."""
OFTEN, LONG = 10, 10 * SECOND
PATIENCE, GIVEN_UP = 5 * SECOND, SECOND
"""How long a request must have waited, beyond what it allows, when the capture ends, and when its client closes."""
FAILED = frozenset({Why.REFUSED, Why.UNANSWERED, Why.UNFINISHED})
LONGEST_MEANING = 70


@rule(
    "connection-failing",
    "connection",
    title="no connection to an address",
    sentence="{count:connection attempt} from {hosts} to address {broker} failed: {answers}",
    advice="Check that a broker is running and listening at address {broker}, that bootstrap.servers and "
    "advertised.listeners name that port, and that no firewall is in between.",
    document="RFC 9293, section 3.5; Kafka documentation, Broker configs: listeners",
    fallback=True,
)
def connection_failing(book: Ledgers) -> Iterator[Case]:
    """Look for addresses to which the attempts of a host are refused, or get no reply, up to the last."""
    for acceptor, paths, before, elsewhere in unreachable(book):
        if before and len(paths) >= FEW:
            continue
        refused = sum(path.refused is not None for path in paths)
        how = "each was refused (RST)" if refused == len(paths) else "none got a reply"
        hosts = list(dict.fromkeys(path.initiator[0] for path in paths))
        yield connection_failing.case(
            Who(None, hosts[0] if len(hosts) == 1 else None, endpoint(acceptor)), *extent_of_paths(paths),
            {"hosts": named("host", hosts), "answers": how if refused in (0, len(paths)) else "some were refused"},
            severity=Severity.NOTE if (elsewhere or before) and len(paths) < OFTEN else Severity.ERROR, weight=2.4,
        )  # fmt: skip


class FailedHandshake(NamedTuple):
    """A TLS handshake that failed."""

    client: End
    broker: End
    path: Path
    facts: Encrypted


def failed_handshakes(book: Ledgers) -> dict[End, list[FailedHandshake]]:
    """Return the TLS handshakes that failed, by broker, where its client had no other one later."""
    found: list[FailedHandshake] = []
    open_: dict[tuple[str, End], int] = {}
    for session in book.sessions.values():
        if session.peers.tls is not None and session.last is not None:
            open_[session.peers.client[0], session.broker] = session.last.time
    for peers, finding in book.left:
        path = book.paths.path_of(peers.first_packet)
        if finding.kind is not Kind.NOT_DECRYPTED or not isinstance(finding.facts, Encrypted) or path is None:
            continue
        if finding.facts.why in FAILED and (path.closes or book.last_time - path.last_time > PATIENCE):
            found.append(FailedHandshake(peers.client, peers.broker, path, finding.facts))
        elif finding.facts.why not in FAILED:
            ends = peers.client[0], peers.broker
            open_[ends] = max(open_.get(ends, 0), path.last_time)
    left = (one for one in found if open_.get((one.client[0], one.broker), 0) < one.path.start)
    return grouped(left, lambda one: one.broker)


@rule(
    "tls-handshake-failing",
    "TLS",
    title="TLS handshakes fail",
    sentence="{count:TLS handshake} of {hosts} with broker {broker} failed: {how}",
    advice="Check ssl.enabled.protocols, ssl.cipher.suites, the key store and the trust store on both sides, and the "
    "broker's log, which names the reason.",
    document="RFC 8446, section 6.2",
    explains={"connection-churn", "connection-limit"},
    fallback=True,
)
def tls_handshake_failing(book: Ledgers) -> Iterator[Case]:
    """Look for handshakes that end with an alert, or in the middle, by broker."""
    for broker, some in failed_handshakes(book).items():
        paths = [one.path for one in some]
        hosts = list(dict.fromkeys(one.client[0] for one in some))
        told = next((one.facts for one in some if one.facts.broker_alerts or one.facts.client_alerts), some[0].facts)
        how = "the broker does not respond"
        if told.broker_alerts or told.client_alerts:
            side = "broker" if told.broker_alerts else "client"
            how = f"the {side} sends TLS alert {(told.broker_alerts or told.client_alerts)[0]}"
        elif told.why != Why.UNANSWERED and (closed := next((path.closes for path in paths if path.closes), None)):
            how = f"the {'broker' if closed[0].side else 'client'} closes the connection"
        yield tls_handshake_failing.case(
            Who(None, hosts[0] if len(hosts) == 1 else None, endpoint(broker)), *extent_of_paths(paths),
            {"hosts": named("host", hosts), "how": how}, weight=2.4,
        )  # fmt: skip


@rule(
    "not-kafka",
    "connection",
    title="another protocol than Kafka",
    sentence="{count:connection} from {hosts} to address {broker} did not carry Kafka: {what}",
    advice="Check which service listens at address {broker}, and which program connects to it; name another port "
    "than Kafka's with --port to leave it out.",
    document="Kafka documentation, Security: listener configuration",
    fallback=True,
)
def not_kafka(book: Ledgers) -> Iterator[Case]:
    """Look for connections on which something else than Kafka was spoken, by the end that accepted them."""
    found: dict[End, list[Path]] = {}
    for peers, finding in book.left:
        path = book.paths.path_of(peers.first_packet)
        if finding.kind is Kind.NOT_KAFKA and path is not None:
            found.setdefault(path.acceptor, []).append(path)
    for acceptor, paths in found.items():
        hosts = list(dict.fromkeys(path.initiator[0] for path in paths))
        first = paths[0].ways[1].head
        said = f"'{first.decode().strip()}'" if first.isascii() else first.hex(" ")
        yield not_kafka.case(
            Who(client_on(book, paths), hosts[0] if len(hosts) == 1 else None, endpoint(acceptor)),
            *extent_of_paths(paths),
            {"hosts": named("host", hosts),
             "what": f"the first bytes from there are {said}" if first else "nothing came from there"},
            severity=Severity.ERROR if any(map(book.session_on, paths)) else Severity.NOTE, weight=2.4,
        )  # fmt: skip


def reached(book: Ledgers) -> dict[str, Milestone]:
    """Return the last milestone that clients reached, by client id: its APIs gave them a response without an error."""
    failed = Counter[tuple[int, int]]()
    for failure in book.failures.values():
        failed[failure.session.peers.number, failure.api_key] += failure.seen.count
    found: dict[str, Milestone] = {}
    for session in book.sessions.values():
        failed.update((session.peers.number, one.api_key) for one in session.unanswered)
        passed = (
            MILESTONE_OF[key]
            for key, use in session.apis.items()
            if key in MILESTONE_OF and key != INIT_PRODUCER_ID and use.seen.count > failed[session.peers.number, key]
        )
        found[session.client_id] = max((found.get(session.client_id, MILESTONES[0]), *passed), key=MILESTONES.index)
    return found


class ApiRequests(NamedTuple):
    """What a client asked by one API, on all its connections: how often, when last, and when it was last answered.

    APIs that prepare a connection are answered where any is; where a broker turns new ones away, where a new one is.
    """

    times: int
    last: int
    answered: int


class ClientRequests:
    """The use of APIs by clients, each known by its id and host."""

    def __init__(self, book: Ledgers) -> None:
        self._sessions = grouped(book.sessions.values(), lambda one: (one.client_id, one.peers.client[0]))
        self._known: dict[tuple[str, str, int, End], ApiRequests] = {}

    def asking(self, session: KafkaConnection, api_key: int) -> ApiRequests:
        """Return what the client of a connection asked by an API."""
        key = session.client_id, session.peers.client[0], api_key, session.broker
        if key not in self._known:
            sessions = self._sessions[key[:2]]
            uses = [one.used(api_key).seen for one in sessions]
            answered = last = [seen.last for seen in uses]
            if api_key in FIRST:
                near = [one for one in sessions if one.broker == session.broker]
                turned_away = sum(one.closed_first == "broker" and not one.is_served for one in near)
                served = [one.first for one in near if one.is_served]
                answered = served if turned_away >= FEW else [one.last for one in sessions]
            self._known[key] = ApiRequests(
                sum(seen.count for seen in uses), max((mark.time for mark in last if mark), default=0),
                max((mark.time for mark in answered if mark and mark.end > mark.time), default=0),
            )  # fmt: skip
        return self._known[key]


def severity_of(failure: Failure, asked: ApiRequests, extent: Occurrences) -> Severity | None:
    """Return how serious an error code is that a client got: an error where the client did not get past it.

    None for normal steps of a protocol, for what a retry helped against, and for what happens at the end of a client.
    """
    past = extent.last is not None and asked.last > extent.last.time
    long = extent.until - extent.since >= LONG
    often = 2 * extent.count >= asked.times
    if is_normal_step(find(failure.api_key), failure.code) or failure.api_key == LEAVE_GROUP:
        return Severity.ERROR if not past and long and extent.count >= max(2 * FEW, asked.times / 2 + 1) else None
    error = ERRORS.get(failure.code)
    existing = failure.code in EXISTING and MILESTONE_OF.get(failure.api_key) != "group membership"
    if existing or (error is not None and error.retriable and (extent.count < FEW or not often)):
        return None if past or existing else Severity.NOTE
    lasting = not past or (often and extent.count >= FEW and failure.api_key in MILESTONE_OF)
    return Severity.ERROR if lasting else Severity.NOTE


@rule(
    "error-response",
    "connection",
    title="requests fail with an error code",
    sentence="{clients} {get} {error} from broker {broker} in {count} of {asked:response} to {api}{about}: {meaning}",
    advice="Check the broker's log at that time. {remedy}",
    document="Kafka protocol guide, Error Codes",
    explains={"connection-churn"},
    fallback=True,
)
def error_response(book: Ledgers) -> Iterator[Case]:
    """Look for error codes that clients do not get past, by code, API and subject."""
    clients = ClientRequests(book)
    found: dict[tuple[int, int, str, Severity], list[tuple[Failure, ApiRequests]]] = {}
    by_client = grouped(book.failures.values(), lambda one: (
        one.code, one.api_key, one.subject, one.session.client_id, one.session.peers.client[0],
    ))  # fmt: skip
    for failures in by_client.values():
        first = failures[0]
        if first.code not in ERRORS and first.session.findings:
            continue  # a message that cannot be read
        if first.api_key == METADATA and was_found(book, first.subject, failures[-1].seen.until):
            continue
        asked = clients.asking(first.session, first.api_key)
        severity = severity_of(first, asked, Occurrences.of(one.seen for one in failures))
        if severity is not None:
            key = first.code, first.api_key, first.subject, severity
            found.setdefault(key, []).extend((one, asked) for one in failures)
    for (code, api_key, subject, severity), all in found.items():
        first = min((one for one, _ in all), key=lambda one: one.seen.since)
        names = list(dict.fromkeys(one.session.client_id for one, _ in all))
        seen = Occurrences.of(one.seen for one, _ in all)
        meaning, _, remedy = (ERRORS[code].text if code in ERRORS else "").partition(". ")
        asked_in_all = sum({id(asked): asked.times for _, asked in all}.values())
        noun = "topic" if any(one.partitions for one, _ in all) else subject_noun(api_key)
        named_so = {"group": group_of(book, first.session.client_id)} if api_key in OF_GROUPS else {}
        if subject and noun:
            named_so[noun] = subject
        yield error_response.case(
            who(first.session, **named_so)._replace(
                **({} if len(names) == 1 else {"client_id": None, "host": None})),
            *extent(seen, "error_code"),
            {"clients": named("client", names), "get": "gets" if len(names) == 1 else "get", "error": error_name(code),
             "asked": max(asked_in_all, seen.count), "api": api_name(api_key), "remedy": remedy or f"{meaning}.",
             "about": f" about {noun.replace('_id', ' id').replace('_', ' ')} {subject}" if subject and noun else "",
             "meaning": in_short(meaning) or "kdbg does not know the code"},
            severity=severity, weight=1.0 + (seen.count >= FEW), before=MILESTONE_OF.get(api_key),
        )  # fmt: skip


def was_found(book: Ledgers, name: str, after: int) -> bool:
    """Return whether metadata had a topic after a time: it was created meanwhile."""
    topic = book.clusters.topics.get(name)
    return topic is not None and topic.found.until > after


def in_short(meaning: str) -> str:
    """Return what an error code means as a part of a sentence, without what follows a semicolon."""
    return shorten(meaning[:1].lower() + meaning[1:].split("; ")[0].rstrip("."), LONGEST_MEANING, placeholder=" …")


def subject_noun(api_key: int) -> str:
    """Return what of `Who` the errors of an API are about: a topic, unless its requests name something else."""
    if api_key in OF_GROUPS:
        return "group"
    return {"transactions": "transactional_id", "authentication": "", "API versions": ""}.get(
        MILESTONE_OF.get(api_key, ""), "topic"
    )


class UnansweredRequest(NamedTuple):
    """A request without a response: how long it waited, in nanoseconds, and who ended that."""

    session: KafkaConnection
    request: Unanswered
    waited: int
    ended_by: str


def unanswered_requests(book: Ledgers) -> Iterator[UnansweredRequest]:
    """Yield requests that waited longer than they allow, or whose connection the broker closed, without a later
    response to their client by the same API."""
    clients = ClientRequests(book)
    for session in book.sessions.values():
        for one in session.unanswered:
            closed = session.path.closes[0].time if session.path is not None and session.path.closes else 0
            waited = (closed or book.last_time) - one.mark.time
            held = max(other.held for other in session.unanswered if other.mark.time <= one.mark.time)  # in order
            least = {"broker": 0, "client": GIVEN_UP + held, "": PATIENCE + held}[session.closed_first]
            if one.missing or one.api_key < 0 or session.refused is not None or waited < least:
                continue
            if clients.asking(session, one.api_key).answered <= one.mark.time:
                yield UnansweredRequest(session, one, waited, session.closed_first)


@rule(
    "no-response",
    "connection",
    title="requests get no response",
    sentence="{clients} {get} no response from broker {broker} to {count:request} ({apis}): {how}",
    advice="Check whether the broker was running, its log and its garbage collection log at that time, and proxies "
    "between it and the clients.",
    document="Kafka protocol guide: network",
    explains={"connection-churn"},
    fallback=True,
)
def no_response(book: Ledgers) -> Iterator[Case]:
    """Look for requests without a response, by broker."""
    for broker, some in grouped(unanswered_requests(book), lambda one: one.session.broker).items():
        first, last = some[0], max(some, key=lambda one: one.waited)
        names = list(dict.fromkeys(one.session.client_id for one in some))
        apis = list(dict.fromkeys(api_name(one.request.api_key) for one in some))
        how = {
            "broker": "the broker closed the connection instead",
            "client": f"the client closed the connection after {duration(last.waited)}",
            "": f"the capture ends {duration(last.waited)} later",
        }[last.ended_by]
        marks = [one.request.mark for one in some]
        known = who(first.session) if len(names) == 1 else Who(broker=endpoint(broker))
        yield no_response.case(
            known, marks[0].time, max(one.request.mark.time + one.waited for one in some), len(some), evidence(marks),
            {"clients": named("client", names), "get": "gets" if len(names) == 1 else "get", "how": how,
             "apis": ", ".join(apis[:3]) + (" …" if len(apis) > 3 else "")},
            weight=2.2, before=MILESTONE_OF.get(first.request.api_key),
        )  # fmt: skip


@rule(
    "not-readable",
    "connection",
    title="nothing that can be diagnosed",
    sentence="the capture has {packets:packet} and {exchanges:exchange} that can be read: {what}",
    advice="Use {how}.",
    document="kdbg guide incomplete, kdbg guide tls",
    fallback=True,
    severity=Severity.WARNING,
)
def not_readable(book: Ledgers) -> Iterator[Case]:
    """Look for captures without exchanges, and for connections that were not decrypted."""
    hidden = [peers for peers, one in book.left if one.kind is Kind.NOT_DECRYPTED
              and isinstance(one.facts, Encrypted) and one.facts.why not in FAILED]  # fmt: skip
    if not hidden and (book.exchanges or any(path.syns for path in book.paths.all())):
        return
    packets = sum(way.packets for path in book.paths.all() for way in path.ways)
    what, how = f"{count(len(hidden), 'TLS connection')} not decrypted", "--tls-keys with the session keys of a client"
    if not hidden:
        what = "no connection in it carries Kafka" if packets else "no TCP connection was read"
        how = "a capture filter that includes the broker's port, and capture on the interface of the clients"
    yield not_readable.case(
        Who(), book.first_time, book.last_time, max(len(hidden), 1),
        Evidence((), tuple(peers.first_packet for peers in hidden)[:7]),
        {"packets": packets, "exchanges": book.exchanges, "what": what, "how": how},
        severity=Severity.NOTE if book.exchanges else Severity.WARNING, weight=0.5,
    )  # fmt: skip

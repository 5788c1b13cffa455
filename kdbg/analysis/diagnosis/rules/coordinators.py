"""Coordinators of groups, and the offsets that members commit there."""

from __future__ import annotations

from collections.abc import Iterator

from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.groups import Member
from ..case import Case, Who, rule
from ..queries import SECOND, evidence, extent, failures, group_of, groups_of, session_of, sessions_of, who

OFFSET_COMMIT, FIND_COORDINATOR, TXN_OFFSET_COMMIT = 8, 10, 28
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16
GONE: frozenset[int] = frozenset({22, 25, 113})
"""ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH."""
OTHERS: frozenset[int] = frozenset({0, 14, 16, 22, 25, 27, 29, 30, 47, 82, 90, 113})
"""Codes that other rules are about, or that are steps of a protocol."""
LONG = 3 * SECOND
INVALID_RECORD_STATE, SHARE_APIS = 121, (78, 79)
OFTEN = 5


@rule(
    "coordinator-moved",
    "coordinator",
    title="client keeps using the old coordinator",
    sentence="client {client_id} keeps sending requests for group {group} to broker {broker}, which is no longer the "
    "coordinator: the client receives {count:NOT_COORDINATOR error} and sends {looked:FindCoordinator request}",
    advice="Upgrade or fix the client: after NOT_COORDINATOR it must send FindCoordinator and use the coordinator in "
    "the response.",
    document="Kafka protocol guide: FindCoordinator",
    explains={"offset-commit-failing"},
)
def coordinator_moved(book: Ledgers) -> Iterator[Case]:
    """Look for NOT_COORDINATOR again and again, without a look who coordinates now."""
    by_client: dict[str, list[Occurrences]] = {}
    for one in failures(book, (NOT_COORDINATOR,)):
        by_client.setdefault(one.client_id, []).append(one.seen)
    for client, all in by_client.items():
        seen = Occurrences.of(all)
        if seen.count < OFTEN:
            continue
        looked = Occurrences.of(session.used(FIND_COORDINATOR).seen for session in sessions_of(book, client))
        since = [mark for mark in looked.marks if mark.time > seen.since]
        asked = len(since) if looked.count <= len(looked.marks) else looked.count
        if asked * 2 > seen.count:
            continue
        yield coordinator_moved.case(
            who(session_of(book, client), group=next(iter(groups_of(book, client)), None)), *extent(seen, "error_code"),
            facts={"looked": asked}, weight=2.2,
        )  # fmt: skip


@rule(
    "coordinator-unavailable",
    "coordinator",
    title="group has no coordinator",
    sentence="group {group} of client {client_id} has no coordinator: broker {broker} responds with "
    "COORDINATOR_NOT_AVAILABLE, {times}",
    advice="Check that topic __consumer_offsets exists and that its partitions have leaders; "
    "offsets.topic.replication.factor may exceed the number of brokers.",
    document="Broker configs: offsets.topic.replication.factor",
    explains={"repeated-requests"},
)
def coordinator_unavailable(book: Ledgers) -> Iterator[Case]:
    """Look for the error over seconds, with no answer after it that names a coordinator."""
    for one in failures(book, (COORDINATOR_NOT_AVAILABLE,)):
        group = book.groups.get(one.subject)
        better = group is not None and any(time > one.seen.until for time, _ in group.coordinators)
        if one.seen.until - one.seen.since >= LONG and not better:
            found, noun = (coordinator_unavailable, "group") if group is not None else (_log, "transactional_id")
            yield found.case(who(one.session, **{noun: one.subject or None}), *extent(one.seen, "error_code"))


_log = coordinator_unavailable._replace(
    sentence="transactional id {transactional_id} of client {client_id} has no coordinator: broker {broker} responds "
    "with COORDINATOR_NOT_AVAILABLE, {times}",
    advice="Check that topic __transaction_state exists and that its partitions have leaders; "
    "transaction.state.log.replication.factor may exceed the number of brokers.",
)


@rule(
    "commit-after-leaving-group",
    "group membership",
    title="offset commit from a former group member",
    sentence="client {client_id} commits offsets in group {group} after the client {probably}{why}: the coordinator "
    "rejects the commit, {times}, and the records are consumed again",
    advice="Commit before close() or unsubscribe(), in onPartitionsRevoked (librdkafka: the rebalance callback). Find "
    "out why a member that did not leave lost its membership.",
    document="KIP-62",
    alternatives=("the poll loop is too slow", "the session timed out"),
)
def commit_after_leaving_group(book: Ledgers) -> Iterator[Case]:
    """Look for commits that are refused because the client is not a member."""
    for group in book.groups.values():
        events = [event for event in group.events if event.kind == "commit" and event.code in GONE]
        for member_id in dict.fromkeys(event.member_id for event in events):
            seen = Occurrences(event.mark for event in events if event.member_id == member_id)
            member = group.members.get(member_id)
            left = member.left if member is not None else None
            if left is not None and left.time > seen.since:
                left = None
            if left is None and member is not None and lives(member, seen):
                continue
            session = book.sessions.get(seen.marks[0].connection)
            client = (member.client_id if member is not None else "") or (session.client_id if session else "")
            marks = seen.marks if left is None else [left, *seen.marks]
            yield commit_after_leaving_group.case(
                Who(client or None, session.peers.client[0] if session else None, group=group.name), seen.since,
                seen.until, seen.count, evidence(marks[:6], "member_id", "error_code"), weight=2.1,
                facts={"why": "lost its membership in a rebalance" if left is None else "left the group"},
                certainty="likely" if left is None else "certain",
            )  # fmt: skip


def lives(member: Member, refused: Occurrences) -> bool:
    """Return whether a member's heartbeats are welcome while its commits are refused: then it commits wrongly."""
    answers = sum(one.count for code, one in member.errors.items() if code in GONE) - refused.count
    return member.beats.count > 0 and member.beats.until > refused.since and answers <= 0


@rule(
    "offset-commit-failing",
    "commits",
    title="offset commits fail",
    sentence="the coordinator rejects offset commits of client {client_id} for topic {topic} in group {group}: "
    "{error}, {times}; after a restart the client resumes from older offsets",
    advice="Check the error (kdbg errors {error}). If the metadata is too large, shorten it or raise "
    "offset.metadata.max.bytes; if the topic is unknown, check that it exists.",
    document="Kafka protocol guide: OffsetCommit",
)
def offset_commit_failing(book: Ledgers) -> Iterator[Case]:
    """Look for errors in answers to OffsetCommit, also to members of which nothing but the commits is refused."""
    apis = OFFSET_COMMIT, TXN_OFFSET_COMMIT
    codes = {failure.code for failure in book.failures.values() if failure.api_key in apis} - OTHERS
    clients = set[str]()
    for group in book.groups.values():
        commits = [event.member_id for event in group.events if event.kind == "commit" and event.code in GONE]
        for member in group.known_members():
            refused = Occurrences.of(seen for code, seen in member.errors.items() if code in GONE)
            count = commits.count(member.member_id)
            if count and member.left is None and count >= refused.count and lives(member, refused):
                clients.add(member.client_id)
    wrong = [one for one in failures(book, GONE, (OFFSET_COMMIT,)) if one.client_id in clients]
    for one in [*failures(book, codes, apis), *wrong]:
        names = groups_of(book, one.client_id)
        name = next((name for name in names if (OFFSET_COMMIT, one.code) in book.groups[name].errors), None)
        yield offset_commit_failing.case(
            who(one.session, topic=one.subject or None, group=name),
            *extent(one.seen, "error_code"), facts={"error": error_name(one.code)}, weight=2.1,
        )  # fmt: skip


@rule(
    "share-lock-expired",
    "commits",
    title="acknowledgement comes too late",
    sentence="client {client_id} acknowledges records of topic {topic} in share group {group}, {times}, that it no "
    "longer has acquired (INVALID_RECORD_STATE): their acquisition lock expired before",
    advice="Raise group.share.record.lock.duration.ms, or process fewer records at a time (max.poll.records).",
    document="KIP-932",
)
def share_lock_expired(book: Ledgers) -> Iterator[Case]:
    """Look for acknowledgements of records that are not acquired any more."""
    for one in failures(book, (INVALID_RECORD_STATE,), SHARE_APIS):
        yield share_lock_expired.case(
            who(one.session, topic=one.subject, group=group_of(book, one.client_id)), *extent(one.seen, "error_code"),
            weight=2.0,
        )  # fmt: skip

"""Positions of consumers: those that do not advance, that are never committed, or that are out of range."""

from __future__ import annotations

from collections.abc import Iterator

from ....protocol.findings import Kind
from ....protocol.findings.amounts import count
from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.flows import Fetched
from ...ledgers.sessions import KafkaConnection
from ..case import Case, Who, rule
from ..queries import evidence, extent, failures, group_of, grouped, is_follower, session_of, sessions_of, who
from ..text import UNKNOWN

OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, INVALID_RECORD, FETCH = 1, 2, 87, 1
LIST_OFFSETS, OFFSET_FETCH = 2, 9
OFTEN_LOOKED_UP = 2
OFTEN_RESTARTED, OFTEN_STUCK = 3, 5
"""Connections that begin at the same offset, and fetches of one connection."""
PARTIAL = frozenset({0, 1, 2})
"""Versions of Fetch that may be answered with a part of a batch (KIP-74)."""
Consumed = dict[tuple[str, str, int], list[tuple[KafkaConnection, Fetched]]]
"""By client id, topic and partition: the connections that fetch it."""


def consumed(book: Ledgers) -> Consumed:
    """Return what consumers fetch, on all their connections."""
    found: Consumed = {}
    for (number, topic, partition), fetched in book.fetched.items():
        if not is_follower(book, number):
            session = book.sessions[number]
            found.setdefault((session.client_id, topic, partition), []).append((session, fetched))
    return found


def is_read(fetched: Fetched) -> bool:
    """Return whether a connection came to the end of a partition, so that no record stopped it."""
    last = fetched.samples.last
    return last is not None and last.offset >= last.high_watermark > fetched.first_offset


@rule(
    "never-commits",
    "commits",
    title="consumer never commits",
    sentence="client {client_id} reads partition {partition} of topic {topic} from offset {offset} to the end, "
    "{times}, and group {group} commits no offset: it {probably}reads the same records again after each restart",
    advice="Set enable.auto.commit=true, or commit offsets after records are processed (commitSync, or the commit of "
    "the framework).",
    document="Consumer configs: enable.auto.commit",
    alternatives=("the client fails each time before it commits",),
    explains={"poison-record", "consumer-too-slow"},
)
def never_commits(book: Ledgers) -> Iterator[Case]:
    """Look for groups without a commit whose client reads all of a partition again and again."""
    told = set[str]()
    for (client, topic, partition), all in consumed(book).items():
        name = group_of(book, client)
        read = [(session, one) for session, one in all
                if is_read(one) and one.with_data and Kind.TRUNCATED not in session.findings]  # fmt: skip
        first = {one.first_offset for _, one in read}
        if name is None or name in told or book.groups[name].commits or len(read) < OFTEN_RESTARTED or len(first) > 1:
            continue
        told.add(name)
        marks = [one.with_data.marks[0] for _, one in read]
        yield never_commits.case(
            who(read[0][0], topic=topic, partition=partition, group=name), marks[0].time, marks[-1].end, len(read),
            evidence(marks, "fetch_offset"), facts={"offset": first.pop()}, certainty="likely", weight=2.5,
        )  # fmt: skip


@rule(
    "poison-record",
    "position",
    title="consumer cannot get past a record",
    sentence="client {client_id} fetches partition {partition} of topic {topic} {times} from offset {offset} and "
    "never advances: the client {probably}fails on {damaged}",
    advice="Check the record at offset {offset} (kdbg records FILE --topic {topic} --partition {partition}). Skip "
    "records that cannot be processed, or send them to a dead letter topic, and commit the next offset.",
    document="KIP-334",
    alternatives=("the consumer fails for another reason at this offset", "the consumer never commits"),
    explains={"connection-churn", "consumer-too-slow", "busy-fetch-loop"},
)
def poison_record(book: Ledgers) -> Iterator[Case]:
    """Look for partitions that a client begins to read at the same offset again and again, with data each time."""
    for (client, topic, partition), all in consumed(book).items():
        session = all[0][0]
        if session.used(FETCH).versions.keys() <= PARTIAL:
            continue  # these stop at a batch that is larger than they take
        stuck = max(
            fetched.served[fetched.stuck_at] if fetched.stuck and fetched.stuck_at == max(fetched.served) else 0
            for _, fetched in all
        )  # how often a connection was sent data from the last offset that it came to
        group = group_of(book, client)
        commits = group is not None and bool(book.groups[group].commits)
        starts = [fetched.first_offset for _, fetched in all
                  if fetched.with_data and fetched.first_offset >= 0 and (commits or not is_read(fetched))]  # fmt: skip
        again = max((starts.count(start) for start in set(starts)), default=0) if group is not None else 0
        if stuck < OFTEN_STUCK and again < OFTEN_RESTARTED:
            continue
        offset = next((fetched.stuck_at for _, fetched in all if fetched.stuck), None)
        if offset is None:
            offset = max(set(starts), key=starts.count)
        marks = [mark for _, fetched in all for mark in (fetched.stuck.marks or fetched.with_data.marks)[:3]]
        damaged = bool(failures(book, (CORRUPT_MESSAGE, INVALID_RECORD), (FETCH,))) or any(
            one.findings.get(Kind.CRC_MISMATCH) for one, _ in all
        )
        what = "a corrupt batch" if damaged else "a record that it cannot deserialize or process (its batch is intact)"
        yield poison_record.case(
            Who(client or None, session.peers.client[0], topic=topic, partition=partition, group=group),
            min((mark.time for mark in marks), default=0), max((mark.end for mark in marks), default=0),
            max(stuck, again), evidence(marks, "fetch_offset"), facts={"offset": offset, "damaged": what},
            certainty="certain" if damaged else "likely", weight=2.4,
        )  # fmt: skip


@rule(
    "offset-out-of-range-data-loss",
    "position",
    title="requested offset no longer exists",
    sentence="client {client_id} requests offset {asked} of topic {topic}, partition {partition}: {lost} "
    "(OFFSET_OUT_OF_RANGE, {times})",
    advice="Raise retention.ms or retention.bytes of topic {topic}, consume faster, or commit more often. "
    "auto.offset.reset decides where the consumer resumes; with none it fails instead of skipping records.",
    document="Consumer configs: auto.offset.reset",
    alternatives=("the topic was deleted and recreated", "an unclean leader election truncated the log"),
)
def offset_out_of_range_data_loss(book: Ledgers) -> Iterator[Case]:
    """Look for fetches that were out of range."""
    for one in failures(book, (OFFSET_OUT_OF_RANGE,), (FETCH,)):
        if not one.subject:  # a code of the whole response, which tells no offset
            continue
        flows = (
            (number, fetched.log_start, fetched.out_of_range)
            for (connection, topic, number), fetched in book.fetched.items()
            if topic == one.subject and OFFSET_OUT_OF_RANGE in fetched.errors
            and book.sessions[connection].client_id == one.client_id
        )  # fmt: skip
        partition, start, asked = next(flows, (None, -1, -1))
        known, found, lost = book.clusters.topics.get(one.subject), _beyond, "the partition does not have that offset"
        if known is not None and len(known.ids) > 1:
            lost = "the topic was deleted and recreated"
        elif start > asked >= 0:
            found, lost = (
                offset_out_of_range_data_loss,
                f"the oldest offset is {start}, {count(start - asked, 'offset')} later",
            )
        yield found.case(
            who(one.session, topic=one.subject, partition=partition, group=group_of(book, one.client_id)),
            *extent(one.seen, "fetch_offset", "error_code"), facts={"asked": asked, "lost": lost}, weight=2.5,
        )  # fmt: skip


_beyond = offset_out_of_range_data_loss._replace(
    advice="Check whether topic {topic} was deleted and recreated, or an unclean leader election truncated its log, "
    "and reset the committed offsets. auto.offset.reset decides where the consumer resumes.",
)


@rule(
    "offset-reset-none",
    "position",
    title="no position to start from",
    sentence="client {client_id} requests the committed offset of topic {topic} in group {group}, {times}; there is "
    "none, and the client fetches nothing: it {probably}has auto.offset.reset=none",
    advice="Set auto.offset.reset to earliest or latest instead of none, or commit the offsets of group {group} with "
    "kafka-consumer-groups.sh --reset-offsets first.",
    document="Consumer configs: auto.offset.reset",
    alternatives=("the client ends for another reason before it reads",),
)
def offset_reset_none(book: Ledgers) -> Iterator[Case]:
    """Look for members without a committed offset that neither look up another one nor fetch."""
    used = {(book.sessions[number].client_id, topic) for number, topic, _ in book.fetched}
    for group in book.groups.values():
        members = {member.client_id for member in group.members.values() if member.joined}
        for (client, topic), places in grouped(group.missing.items(), lambda item: item[0][:2]).items():
            seen = Occurrences.of(one for _, one in places)
            if client not in members or (client, topic) in used or seen.count < OFTEN_LOOKED_UP:
                continue
            sessions = sessions_of(book, client)
            session = next((one for one in sessions if OFFSET_FETCH in one.apis), None)
            whole = seen.count >= OFTEN_RESTARTED or all(one.opened for one in sessions)
            if session is not None and whole and not any(LIST_OFFSETS in one.apis for one in sessions):
                yield offset_reset_none.case(
                    who(session, group=group.name, topic=topic), *extent(seen, "committed_offset"), certainty="likely",
                    weight=2.4,
                )  # fmt: skip


@rule(
    "committed-offsets-lost",
    "position",
    title="committed offsets are gone",
    sentence="group {group} committed an offset for topic {topic}, but client {client_id} finds none later{deleted}: "
    "it starts at the position of auto.offset.reset",
    advice="Find out who deletes group {group} or its offsets, and raise offsets.retention.minutes if the group is "
    "idle for longer. Set its offsets with kafka-consumer-groups.sh --reset-offsets.",
    document="Broker configs: offsets.retention.minutes",
)
def committed_offsets_lost(book: Ledgers) -> Iterator[Case]:
    """Look for offsets that were committed, and are not there later."""
    for group in book.groups.values():
        for (client, topic), places in grouped(group.lost.items(), lambda item: item[0][:2]).items():
            session = session_of(book, client)
            by = group.deleted.client_id or UNKNOWN["client_id"] if group.deleted is not None else ""
            yield committed_offsets_lost.case(
                who(session, group=group.name, topic=topic),
                *extent(Occurrences.of(one for _, one in places), "committed_offset"), weight=2.6,
                facts={"deleted": f" (client {by} deleted the group)" if by else ""},
            )  # fmt: skip

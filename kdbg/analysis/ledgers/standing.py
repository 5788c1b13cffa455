"""How things stand at the end of what was seen: groups, producers and transactions, as an administrator would ask.

What the packets do not show is None, and named in `unknown`; nothing is taken for what it usually is. A capture that
began late knows less, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from .groups import Group, Member, Offset
from .producers import Kept, Producer, Transactional

if TYPE_CHECKING:
    from .accounts import Accounts

OFFSETS_TOPIC = "__consumer_offsets"
Names: TypeAlias = Mapping[str, str]
NO_NAMES: Names = {}
NO_OFFSETS: Mapping[tuple[str, int], Offset] = {}
Unknown = Literal[
    "beginning", "answer", "session", "settling", "assignments", "markers", "offsets-partition", "closely"
]
"""Why something is not known: the capture does not have how it began, an answer, whether a member's session is over,
that a rebalance has settled, what a member was given, the markers that end a transaction, which partition of the
offsets topic is a part of it; not all exchanges were read closely."""


class MemberNow(NamedTuple):
    """A member; of one that is only told of by others the client and what it was given are None."""

    member_id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    epoch: int | None
    assigned: Mapping[str, tuple[int, ...]] | None


class GroupNow(NamedTuple):
    """A group: `state` as DescribeGroups names it, `epoch` the generation or the group's epoch.

    `members` are those that are known; all of them, unless `unknown` says "beginning".
    """

    group: str
    newer: bool
    state: str | None
    epoch: int | None
    protocol: str | None
    members: tuple[MemberNow, ...]
    offsets: Mapping[tuple[str, int], Offset]
    unknown: frozenset[Unknown]


class ProducerNow(NamedTuple):
    """What a partition remembers of a producer id; `start` is where its open transaction begins, -1 for none."""

    topic: str
    partition: int
    producer_id: int
    epoch: int | None
    sequence: int | None
    start: int | None
    unknown: frozenset[Unknown]


class TransactionNow(NamedTuple):
    """A transactional id: `state` as DescribeTransactions names it; `partitions` those of an open transaction."""

    transactional_id: str
    state: str | None
    producer_id: int | None
    epoch: int | None
    timeout_ms: int | None
    partitions: frozenset[tuple[str, int]]
    unknown: frozenset[Unknown]


def groups(book: Accounts) -> list[GroupNow]:
    """Return all groups, by name."""
    names = _late_names(book)
    return [group_now(book.groups[name], book.last_time, names) for name in sorted(book.groups)]


def group_now(group: Group, now: int, names: Names = NO_NAMES) -> GroupNow:
    """Return how a group stands at a time; `names` are of topics that were told by their ids before."""
    found = _newer(group) if group.new_protocol else _classic(group, now)
    offsets: dict[tuple[str, int], Offset] = {}
    for (topic, partition), offset in group.offsets.items():
        key = names.get(topic, topic), partition
        if key not in offsets or offsets[key].time <= offset.time:
            offsets[key] = offset
    members = tuple(
        one._replace(assigned={names.get(topic, topic): some for topic, some in one.assigned.items()})
        if one.assigned is not None else one
        for one in found.members
    )  # fmt: skip
    held = {key: offset for key, offset in offsets.items() if offset.offset >= 0}
    return found._replace(members=members, offsets=held)


def _late_names(book: Accounts) -> Names:
    """Return the names of topics by the text of their ids: what an account was made under before a name was told."""
    return {str(topic_id): name for topic_id, name in book.names.topics.items()}


def _classic(group: Group, now: int) -> GroupNow:
    found = group.round
    members, unknown = _members(group)
    state: str | None = None
    epoch = found.number if found is not None else None
    protocol = found.protocol if found is not None else None
    if found is None or (group.alone > found.formed and group.alone > group.moved):
        if group.alone:
            state, members, unknown = "Empty", (), set()
    elif any(_is_silent(group.members.get(one.member_id), now) for one in members):
        unknown.add("session")
    elif found.listed is not None and not members:
        state, epoch, protocol = "Empty", found.number + 1, ""
    elif group.moved > found.formed:
        state, epoch = ("PreparingRebalance", epoch) if members or found.listed is not None else (None, None)
    elif found.given:
        state = "Stable"
    elif found.listed is not None:
        state = "CompletingRebalance"
    if group.deleted > max((one.confirmed for one in group.members.values()), default=0):
        state, epoch, protocol, members, unknown = "Dead", None, "", (), set()
    if state == "Stable" and any(one.assigned is None for one in members):
        unknown.add("assignments")
    return GroupNow(group.name, False, state, epoch, protocol, members, NO_OFFSETS, frozenset(unknown))


def _members(group: Group) -> tuple[tuple[MemberNow, ...], set[Unknown]]:
    """Return the members of the latest generation that have not left, and what is not known of them."""
    found = group.round
    if found is None:
        return (), {"beginning"}
    listed = dict(found.listed) if found.listed is not None else {}
    for member in group.members.values():
        if member.member_id and member.epoch == found.number:
            listed.setdefault(member.member_id, member.instance_id)
    gone = {one.member_id for one in group.members.values() if not one.stays and (one.left or one.confirmed)}
    members = tuple(
        _member(group.members.get(member_id), member_id, instance, found.number)
        for member_id, instance in sorted(listed.items())
        if member_id not in gone
    )
    return members, set() if found.listed is not None else {"beginning"}


def _member(member: Member | None, member_id: str, instance: str | None, epoch: int) -> MemberNow:
    if member is None:
        return MemberNow(member_id, instance, None, None, None, None)
    assigned = member.assigned if member.assigned_in >= epoch else None
    return MemberNow(member_id, instance or member.instance_id, member.client_id or None, member.host or None,
                     member.epoch, assigned)  # fmt: skip


def _is_silent(member: Member | None, now: int) -> bool:
    """Return whether a member's session may be over: nobody would say so where it is the last one."""
    timeout = member.session_timeout_ms * 1_000_000 if member is not None else 0
    return member is not None and bool(timeout) and now - member.last_sign >= timeout


def _newer(group: Group) -> GroupNow:
    """Return how a group of the protocol of KIP-848 stands; its epoch is told by its members' epochs alone."""
    there = [one for one in group.members.values() if one.member_id and one.stays]
    unknown: set[Unknown] = set() if group.begun else {"beginning"}
    highest = max((one.epoch for one in group.members.values()), default=-1)
    state: str | None = None
    epoch: int | None = None
    if group.deleted > max((one.confirmed for one in group.members.values()), default=0):
        state, there, unknown = "Dead", [], set()
    elif not there and group.begun:
        state, epoch = "Empty", _emptied(group, highest)
    elif there and _settled(group, there):
        epoch = highest
        state = "Stable" if group.begun else None
    else:
        unknown.add("settling")
    members = tuple(
        MemberNow(one.member_id, one.instance_id, one.client_id or None, one.host or None, one.epoch, one.assigned)
        for one in sorted(there, key=lambda one: one.member_id)
    )
    if any(one.assigned is None for one in members):
        unknown.add("assignments")
    return GroupNow(group.name, True, state, epoch, None, members, NO_OFFSETS, frozenset(unknown))


def _settled(group: Group, there: list[Member]) -> bool:
    """Return whether all members are at one epoch, that of the last change, and were told so after all had it."""
    last = max(one.epoch_since for one in there)
    same = len({one.epoch for one in there}) == 1
    changed = group.moved < max(one.confirmed for one in there) and there[0].epoch > group.epoch_before
    return same and changed and all(one.confirmed >= last for one in there)


def _emptied(group: Group, highest: int) -> int | None:
    """Return the epoch of a group whose members are gone: each one's leaving counts one."""
    gone = [one for one in group.members.values() if one.member_id]
    return highest + 1 if len(gone) == 1 and gone[0].left is not None else None


def producers(book: Accounts) -> list[ProducerNow]:
    """Return what partitions remember of producers with an id, by topic, partition and id."""
    names = _late_names(book)
    latest: dict[tuple[str, int, int], tuple[Producer, Kept]] = {}
    for producer in book.producers.by_id.values():
        for (topic, partition), kept in producer.kept.items():
            key = names.get(topic, topic), partition, producer.producer_id
            if key not in latest or latest[key][1].time <= kept.time:
                latest[key] = producer, kept
    return [_producer(book, *key[:2], *latest[key]) for key in sorted(latest)]


def _producer(book: Accounts, topic: str, partition: int, producer: Producer, kept: Kept) -> ProducerNow:
    session = book.sessions.get(kept.connection)
    unknown = set[Unknown]()
    epoch: int | None = kept.epoch
    sequence, start = kept.sequence, kept.start
    if session is not None and session.sampled:
        unknown.add("closely")
        sequence = None
    elif sequence is None:
        unknown.add("answer")
    txn = book.producers.transactional.get(producer.transactional_id or "")
    if txn is not None and start != -1:
        start = _start(txn, kept, unknown)
        if "markers" in unknown and txn.epoch > kept.epoch:  # the markers have the new epoch (KIP-890)
            epoch = sequence = None
    return ProducerNow(topic, partition, producer.producer_id, epoch, sequence, start, frozenset(unknown))


def _start(txn: Transactional, kept: Kept, unknown: set[Unknown]) -> int | None:
    """Return where a partition's open transaction begins, as far as that was seen."""
    if txn.ended is not None and txn.ended[0] > kept.since:
        unknown.add("markers")
        return None
    if txn.now is None and txn.ended is None:
        unknown.add("beginning")
        return None
    return kept.start


def transactions(book: Accounts) -> list[TransactionNow]:
    """Return all transactional ids, by name."""
    names, found = _late_names(book), book.producers.transactional
    return [transaction_now(found[name], names) for name in sorted(found)]


def transaction_now(txn: Transactional, names: Names = NO_NAMES) -> TransactionNow:
    """Return how a transactional id stands; `names` are of topics that were told by their ids before."""
    unknown: set[Unknown] = set() if txn.now is not None else {"beginning"}
    last = txn.transactions[-1] if txn.transactions else None
    partitions = frozenset[tuple[str, int]]()
    state: str | None = None
    if last is not None and last.ended is None:
        state, partitions = "Ongoing", frozenset((names.get(topic, topic), one) for topic, one in txn.partitions)
        if txn.now is None and txn.ended is None:
            unknown.add("beginning")
        if txn.groups_added and not any(topic == OFFSETS_TOPIC for topic, _ in partitions):
            unknown.add("offsets-partition")
    elif txn.now is not None and (txn.ended is None or txn.now.mark.end >= txn.ended[0]):
        state = "Empty"
    elif txn.ended is not None and txn.partitions and txn.marked >= txn.partitions:
        state = "CompleteCommit" if txn.ended[1] else "CompleteAbort"
    elif txn.ended is not None:
        unknown.add("markers")
    return TransactionNow(
        txn.name, state, txn.producer_id if txn.producer_id >= 0 else None, txn.epoch if txn.epoch >= 0 else None,
        txn.now.timeout_ms if txn.now is not None else None, partitions, frozenset(unknown),
    )  # fmt: skip

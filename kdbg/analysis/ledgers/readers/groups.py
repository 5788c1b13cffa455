"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and ConsumerGroupHeartbeat: what happens in groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ..accounts import Accounts
from ..evidence import Mark
from ..groups import LONGEST_REASON, Event, Group, assignment_of, few_of, subscription_of
from ..sessions import KafkaConnection

Body = dict[str, Any]


def group_of(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body) -> Group | None:
    """Return the entry of the group that a request is about, used by the client that asks."""
    group = book.group(asked["group_id"]) if asked.get("group_id") else None
    if group is not None:
        group.use(session.client_id, mark)
    return group


def _opened(half: CapturedMessage | None) -> Body:
    """Return a message with its payloads opened."""
    message = half.message() if half is not None else None
    return message.body if message is not None and not message.misaligned and isinstance(message.body, dict) else {}


def join(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of JoinGroup."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    asked, told = _opened(exchange.request), _opened(exchange.response) or told
    code = told.get("error_code", 0)
    member_id = told.get("member_id") or asked.get("member_id") or ""
    member = group.member(member_id, session.client_id, session.peers.client[0])
    group.failed(11, code, mark)
    generation = told.get("generation_id", -1)
    if member is not None:
        member.instance_id = asked.get("group_instance_id") or member.instance_id
        member.session_timeout_ms = asked.get("session_timeout_ms", 0)
        member.rebalance_timeout_ms = asked.get("rebalance_timeout_ms", member.session_timeout_ms)
        protocols = asked.get("protocols") or ()
        member.protocols = tuple(str(one.get("name")) for one in protocols)
        member.topics = subscription_of(protocols) or member.topics
        member.failed(code, mark)
        member.sign(mark)
        if not code and told:
            member.joined.add(mark)
    if not code and generation >= 0:
        group.generations.setdefault(generation, mark)
    reason = (asked.get("reason") or "")[:LONGEST_REASON]
    group.happened(Event(mark, "join", member_id, generation, code, reason=reason))


def sync(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of SyncGroup."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    told = _opened(exchange.response) or told
    code = told.get("error_code", 0)
    group.failed(14, code, mark)
    member = group.member(asked.get("member_id") or "", session.client_id, session.peers.client[0])
    if member is not None:
        member.failed(code, mark)
        member.sign(mark)
        if told and not code:
            member.synced.add(mark)
            assigned = told.get("assignment")
            member.assigned = assignment_of(assigned) if assigned else {}
    given = few_of(member.assigned) if member is not None and told and not code else ((), 0)
    group.happened(Event(mark, "sync", asked.get("member_id") or "", asked.get("generation_id", -1), code, *given))


def heartbeat(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of Heartbeat."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    code = told.get("error_code", 0)
    group.failed(12, code, mark)
    member = group.member(asked.get("member_id") or "", session.client_id, session.peers.client[0])
    if member is not None:
        member.instance_id = asked.get("group_instance_id") or member.instance_id
        member.beats.add(mark)
        member.sign(mark)
        member.failed(code, mark)
    if code:
        group.happened(Event(mark, "heartbeat", asked.get("member_id") or "", asked.get("generation_id", -1), code))


def leave(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of LeaveGroup: of the member itself, or of an administrator who removes members."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    code = told.get("error_code", 0)
    group.failed(13, code, mark)
    for entry in asked.get("members") or [asked]:
        member_id = entry.get("member_id") or ""
        member = group.members.get(member_id)
        if member is None and entry.get("group_instance_id"):
            named = [one for one in group.members.values() if one.instance_id == entry["group_instance_id"]]
            member = named[-1] if named else None
        if member is not None:
            member.go(mark)
            member.reason = entry.get("reason") or ""
            member.left_by_other = bool(member.client_id) and member.client_id != session.client_id
        reason = (entry.get("reason") or "")[:LONGEST_REASON]
        member_id = member_id or (member.member_id if member is not None else "")
        group.happened(Event(mark, "leave", member_id, -1, code, reason=reason))


def consumer_heartbeat(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of ConsumerGroupHeartbeat (KIP-848)."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    group.new_protocol = True
    code, epoch = told.get("error_code", 0), asked.get("member_epoch", 0)
    group.failed(68, code, mark)
    member_id = told.get("member_id") or asked.get("member_id") or ""
    member = group.member(member_id, session.client_id, session.peers.client[0])
    if member is None:
        return
    member.beats.add(mark)
    member.sign(mark)
    member.instance_id = asked.get("instance_id") or member.instance_id
    if (asked.get("rebalance_timeout_ms") or -1) > 0:
        member.rebalance_timeout_ms = asked["rebalance_timeout_ms"]
    if asked.get("subscribed_topic_names"):
        member.topics = tuple(str(name) for name in asked["subscribed_topic_names"])
    assignment = told.get("assignment")
    if isinstance(assignment, dict):
        member.assigned = {
            book.topic(None, entry.get("topic_id")): tuple(entry.get("partitions") or ())
            for entry in assignment.get("topic_partitions") or ()
        }
        member.synced.add(mark)
    member.failed(code, mark)
    if epoch < 0:
        member.go(mark)
        group.happened(Event(mark, "leave", member_id, epoch, code))
    elif epoch == 0 or code:
        if not code:
            member.joined.add(mark)
        kind = "join" if epoch == 0 else "heartbeat"
        group.happened(Event(mark, kind, member_id, told.get("member_epoch", -1), code))
    if isinstance(assignment, dict):
        group.happened(Event(mark, "sync", member_id, told.get("member_epoch", -1), code, *few_of(member.assigned)))
    if not code and told.get("member_epoch", -1) > 0:
        group.generations.setdefault(told["member_epoch"], mark)


def commit(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of OffsetCommit."""
    group = group_of(book, session, mark, asked)
    if group is None:
        return
    group.commits.add(mark)
    member_id = asked.get("member_id") or ""
    member = group.members.get(member_id)
    if member is not None:
        member.connections.add(mark.connection)
    codes = {place: partition.get("error_code", 0) for place, partition in _partitions(book, told)}
    epoch: int = asked.get("generation_id_or_member_epoch", -1)
    for place, partition in _partitions(book, asked):
        if codes.get(place) == 0:
            before = group.committed.get(place, (0, 0, 0))
            group.committed[place] = partition.get("committed_offset", -1), mark.time, before[2] + 1
    for code in {code for code in codes.values() if code}:
        group.failed(8, code, mark)
        if member is not None:
            member.failed(code, mark)
        group.happened(Event(mark, "commit", member_id, epoch, code))


def offset_fetch(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of OffsetFetch: the groups that a broker knows."""
    for entry in told.get("groups") or ([{**told, "group_id": asked.get("group_id")}] if told else ()):
        if not entry.get("error_code") and entry.get("group_id"):
            book.group(entry["group_id"])


def offset_delete(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of OffsetDelete: the group that it is about."""
    group_of(book, session, mark, asked)


def delete_groups(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of DeleteGroups: the groups that there were."""
    for entry in told.get("results") or ():
        if not entry.get("error_code"):
            book.group(entry.get("group_id", ""))


def in_transaction(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of TxnOffsetCommit: a transaction, and the group whose offsets it commits."""
    name = asked.get("transactional_id")
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    for error in exchange.errors:
        txn.failed(28, error.code, mark)
    if asked.get("group_id"):
        book.group(asked["group_id"])


def _partitions(book: Accounts, body: Body) -> Iterator[tuple[tuple[str, int], Body]]:
    """Yield topic and partition, and what a message says of them."""
    for topic in body.get("topics") or ():
        name = book.topic(topic.get("name"), topic.get("topic_id"))
        for partition in topic.get("partitions") or ():
            yield (name, partition.get("partition_index", -1)), partition


READERS = {
    8: commit, 9: offset_fetch, 11: join, 12: heartbeat, 13: leave, 14: sync, 28: in_transaction, 42: delete_groups,
    47: offset_delete, 68: consumer_heartbeat,
}  # fmt: skip

"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and ConsumerGroupHeartbeat: what happens in groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ....exchanges.messages.exchange import Exchange
from ..accounts import Accounts, body_of
from ..evidence import Mark, Occurrences
from ..groups import LONGEST_REASON, Event, Group, assignment_of, few_of, subscription_of
from ..sessions import KafkaConnection

Body = dict[str, Any]
JOIN_GROUP, SYNC_GROUP, OFFSET_DELETE = 11, 14, 47
ACCEPT, RELEASE, REJECT = 1, 2, 3


def in_group(
    key: int, book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange about a group, which the client that asks uses from then on; `key` is the API's.

    The payloads of JoinGroup, and of a response of SyncGroup, are opened.
    """
    read = IN_GROUP.get(key)
    group = book.group(asked["group_id"]) if asked.get("group_id") else None
    if group is None:
        return
    group.use(session.client_id, mark)
    if read is None:
        return
    if key == JOIN_GROUP:
        asked = body_of(exchange.request)
    if key in (JOIN_GROUP, SYNC_GROUP):
        response = body_of(exchange.response) or response
    group.failed(key, response.get("error_code", 0), mark)
    read(book, group, session, mark, asked, response)


def join(book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body) -> None:
    """Take an exchange of JoinGroup."""
    code = response.get("error_code", 0)
    member_id = response.get("member_id") or asked.get("member_id") or ""
    member = group.member(member_id, session.client_id, session.peers.client[0])
    generation = response.get("generation_id", -1)
    if member is not None:
        member.instance_id = asked.get("group_instance_id") or member.instance_id
        member.session_timeout_ms = asked.get("session_timeout_ms", 0)
        member.rebalance_timeout_ms = asked.get("rebalance_timeout_ms", member.session_timeout_ms)
        protocols = asked.get("protocols") or ()
        member.protocols = tuple(str(one.get("name")) for one in protocols)
        topics = subscription_of(protocols)
        member.topics, member.subscribes = topics or member.topics, topics != ()
        member.failed(code, mark)
        member.sign(mark)
        if not code and response:
            member.joined.add(mark)
    if not code and generation >= 0:
        group.generations.setdefault(generation, mark)
    reason = (asked.get("reason") or "")[:LONGEST_REASON]
    group.happened(Event(mark, "join", member_id, generation, code, reason=reason))


def sync(book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body) -> None:
    """Take an exchange of SyncGroup."""
    code = response.get("error_code", 0)
    member = group.member(asked.get("member_id") or "", session.client_id, session.peers.client[0])
    if member is not None:
        member.failed(code, mark)
        member.sign(mark)
        if response and not code:
            member.synced.add(mark)
            assigned = response.get("assignment")
            member.assigned = assignment_of(assigned) if assigned else {}
    given = few_of(member.assigned) if member is not None and response and not code else ((), 0)
    group.happened(Event(mark, "sync", asked.get("member_id") or "", asked.get("generation_id", -1), code, *given))


def heartbeat(book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body) -> None:
    """Take an exchange of Heartbeat."""
    code = response.get("error_code", 0)
    member = group.member(asked.get("member_id") or "", session.client_id, session.peers.client[0])
    if member is not None:
        member.instance_id = asked.get("group_instance_id") or member.instance_id
        member.beats.add(mark)
        member.sign(mark)
        member.failed(code, mark)
    if code:
        group.happened(Event(mark, "heartbeat", asked.get("member_id") or "", asked.get("generation_id", -1), code))


def leave(book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body) -> None:
    """Take an exchange of LeaveGroup: of the member itself, or of an administrator who removes members."""
    code = response.get("error_code", 0)
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
    book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body
) -> None:
    """Take an exchange of ConsumerGroupHeartbeat (KIP-848)."""
    group.new_protocol = True
    code, epoch = response.get("error_code", 0), asked.get("member_epoch", 0)
    member_id = response.get("member_id") or asked.get("member_id") or ""
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
    assignment = response.get("assignment")
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
        group.happened(Event(mark, kind, member_id, response.get("member_epoch", -1), code))
    if isinstance(assignment, dict):
        group.happened(Event(mark, "sync", member_id, response.get("member_epoch", -1), code, *few_of(member.assigned)))
    if not code and response.get("member_epoch", -1) > 0:
        group.generations.setdefault(response["member_epoch"], mark)


def commit(book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body) -> None:
    """Take an exchange of OffsetCommit."""
    group.commits.add(mark)
    member_id = asked.get("member_id") or ""
    member = group.members.get(member_id)
    if member is not None:
        member.connections.add(mark.connection)
    codes = {place: partition.get("error_code", 0) for place, partition in _partitions(book, response)}
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


def acknowledge(
    book: Accounts, group: Group, session: KafkaConnection, mark: Mark, asked: Body, response: Body
) -> None:
    """Take what a ShareFetch or ShareAcknowledge acknowledges (KIP-932): a range of records has one type, or each."""
    for topic in asked.get("topics") or ():
        for partition in topic.get("partitions") or ():
            for batch in partition.get("acknowledgement_batches") or ():
                types = list(map(int, batch.get("acknowledge_types") or ()))
                count = batch.get("last_offset", 0) - batch.get("first_offset", 0) + 1 if len(types) == 1 else 1
                group.acknowledged += count * sum(one in (ACCEPT, REJECT) for one in types)
                if RELEASE in types:
                    name = book.topic(topic.get("topic"), topic.get("topic_id"))
                    group.released.setdefault(name, Occurrences()).add(mark)


def offset_fetch(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of OffsetFetch: the groups that a broker knows, and where they have no offset."""
    for entry in response.get("groups") or ([{**response, "group_id": asked.get("group_id")}] if response else ()):
        if entry.get("error_code") or not entry.get("group_id") or (group := book.group(entry["group_id"])) is None:
            continue
        for (topic, number), partition in _partitions(book, entry):
            if partition.get("committed_offset", 0) < 0 and not partition.get("error_code"):
                place = session.client_id, topic, number
                was = group.committed.get((topic, number))
                for found in (
                    (group.missing, group.lost) if was is not None and was[1] < mark.time else (group.missing,)
                ):
                    if (seen := found.entry(place, Occurrences)) is not None:
                        seen.add(mark)


def delete_groups(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of DeleteGroups: the groups that there were."""
    for entry in response.get("results") or ():
        if not entry.get("error_code") and (group := book.group(entry.get("group_id", ""))) is not None:
            group.deleted = session


def in_transaction(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
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


IN_GROUP = {
    8: commit, 11: join, 12: heartbeat, 13: leave, 14: sync, 68: consumer_heartbeat, 78: acknowledge, 79: acknowledge,
}  # fmt: skip
"""Readers of exchanges about one group, by API key; OffsetDelete only names the group."""
READERS: dict[int, Any] = {
    9: offset_fetch, 28: in_transaction, 42: delete_groups,
    **{key: partial(in_group, key) for key in (*IN_GROUP, OFFSET_DELETE)},
}  # fmt: skip

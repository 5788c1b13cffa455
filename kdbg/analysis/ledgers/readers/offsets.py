"""OffsetCommit, OffsetFetch, OffsetDelete, DeleteGroups, TxnOffsetCommit: the groups, and what they commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....exchanges.messages.exchange import Exchange
from ..accounts import Accounts
from ..evidence import Mark
from ..groups import Event
from ..sessions import KafkaConnection
from .groups import group_of

Body = dict[str, Any]


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
    codes = dict(_results(book, told))
    epoch: int = asked.get("generation_id_or_member_epoch", -1)
    for topic, index, offset in _asked(book, asked):
        if codes.get((topic, index)) == 0:
            before = group.committed.get((topic, index), (0, 0, 0))
            group.committed[topic, index] = offset, mark.time, before[2] + 1
    for code in {code for code in codes.values() if code}:
        group.failed(8, code, mark)
        if member is not None:
            member.failed(code, mark)
        group.happened(Event(mark, "commit", member_id, epoch, code))


def fetch(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
    """Take an exchange of OffsetFetch: the groups that a broker knows."""
    for entry in told.get("groups") or ([{**told, "group_id": asked.get("group_id")}] if told else ()):
        if not entry.get("error_code") and entry.get("group_id"):
            book.group(entry["group_id"])


def delete(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange) -> None:
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


def _asked(book: Accounts, asked: Body) -> Iterator[tuple[str, int, int]]:
    """Yield topic, partition and offset of what is to be committed."""
    for topic in asked.get("topics") or ():
        name = book.topic(topic.get("name"), topic.get("topic_id"))
        for partition in topic.get("partitions") or ():
            yield name, partition.get("partition_index", -1), partition.get("committed_offset", -1)


def _results(book: Accounts, told: Body) -> Iterator[tuple[tuple[str, int], int]]:
    """Yield topic and partition with the error code that each got."""
    for topic in told.get("topics") or ():
        name = book.topic(topic.get("name"), topic.get("topic_id"))
        for partition in topic.get("partitions") or ():
            yield (name, partition.get("partition_index", -1)), partition.get("error_code", 0)


READERS = {8: commit, 9: fetch, 28: in_transaction, 42: delete_groups, 47: delete}

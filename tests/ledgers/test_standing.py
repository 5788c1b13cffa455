"""How groups, producers and transactions stand at the end, by what the ledgers hold; and what is not known of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kdbg.analysis.ledgers import Ledgers, standing
from kdbg.analysis.ledgers.evidence import Mark
from kdbg.analysis.ledgers.groups import Group, Member, Offset
from kdbg.analysis.ledgers.producers import Began, Kept, Producer, Transaction, Transactional
from kdbg.analysis.ledgers.sessions import KafkaConnection
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.peers import Peers

SECOND = 1_000_000_000
NOW = 100 * SECOND


def mark(time: int = 0) -> Mark:
    return Mark(1, time, time, 1)


def classic(**facts: Any) -> Group:
    """A group of the classic protocol, in generation 4 with the members a and b."""
    group = Group("sums")
    found = group.formed(4, mark(50))
    assert found is not None
    found.listed, found.given, found.protocol = (
        facts.get("listed", {"a": None, "b": "i2"}),
        facts.get("given", True),
        "range",
    )
    for name in facts.get("members", "ab"):
        member = group.member(name, f"client-{name}", "10.0.0.1")
        assert member is not None
        member.confirm(4, mark(50))
        member.assigned, member.assigned_in = {"orders": (1,)}, facts.get("assigned_in", 4)
        member.session_timeout_ms, member.last_sign = facts.get("timeout", 0), NOW - SECOND
    group.moved, group.alone, group.deleted = facts.get("moved", 0), facts.get("alone", 0), facts.get("deleted", 0)
    return group


def stands(group: Group) -> tuple[Any, ...]:
    """State, epoch, protocol, ids of members, what is not known."""
    now = standing.group_now(group, NOW)
    return now.state, now.epoch, now.protocol, "".join(one.member_id for one in now.members), set(now.unknown)


def test_a_classic_group() -> None:
    for facts, expected in (
        ({}, ("Stable", 4, "range", "ab", set())),
        ({"assigned_in": 3}, ("Stable", 4, "range", "ab", {"assignments"})),
        ({"given": False}, ("CompletingRebalance", 4, "range", "ab", set())),
        ({"given": False, "listed": None}, (None, 4, "range", "ab", {"beginning"})),
        ({"moved": 50}, ("Stable", 4, "range", "ab", set())),
        ({"moved": 51}, ("PreparingRebalance", 4, "range", "ab", set())),
        ({"moved": 51, "listed": None, "members": ""}, (None, None, "range", "", {"beginning"})),
        ({"listed": {}, "members": ""}, ("Empty", 5, "", "", set())),
        ({"alone": 50}, ("Stable", 4, "range", "ab", set())),
        ({"alone": 51}, ("Empty", 4, "range", "", set())),
        ({"alone": 51, "moved": 51}, ("PreparingRebalance", 4, "range", "ab", set())),
        ({"deleted": 50}, ("Stable", 4, "range", "ab", set())),
        ({"deleted": 51}, ("Dead", None, "", "", set())),
        ({"timeout": 1000}, (None, 4, "range", "ab", {"session"})),
        ({"timeout": 1001}, ("Stable", 4, "range", "ab", set())),
        ({"listed": None}, ("Stable", 4, "range", "ab", {"beginning"})),
        ({"members": "a"}, ("Stable", 4, "range", "ab", {"assignments"})),
    ):  # fmt: skip
        assert stands(classic(**facts)) == expected, facts
    assert stands(Group("sums")) == (None, None, None, "", {"beginning"})
    alone = Group("sums")
    alone.alone = 1
    assert stands(alone) == ("Empty", None, None, "", set())


def test_the_members_of_a_classic_group() -> None:
    group = classic(members="ab")
    group.members["a"].go(mark(51))
    older = group.member("c", "client-c")
    assert older is not None
    older.confirm(3, mark(50))
    (member,) = standing.group_now(group, NOW).members
    assert member == ("b", "i2", "client-b", "10.0.0.1", 4, {"orders": (1,)})
    found = standing.group_now(classic(members="a"), NOW).members
    assert found[1] == ("b", "i2", None, None, None, None)


def newer(*members: tuple[str, int, int], begun: bool = True, before: int = -1, moved: int = 0) -> Group:
    """A group of the protocol of KIP-848: members with their epochs and when these were confirmed last."""
    group = Group("sums")
    group.new_protocol, group.begun, group.moved, group.epoch_before = True, begun, moved, before
    for name, epoch, confirmed in members:
        member = group.member(name, "shop", "10.0.0.1")
        assert member is not None
        member.confirm(epoch, mark(confirmed))
        member.assigned = {}
    return group


def test_a_group_of_the_newer_protocol() -> None:
    for group, expected in (
        (newer(("a", 3, 50), ("b", 3, 50)), ("Stable", 3, None, "ab", set())),
        (newer(("b", 3, 50), ("a", 3, 50), begun=False), (None, 3, None, "ab", {"beginning"})),
        (newer(("a", 3, 50), ("b", 4, 50)), (None, None, None, "ab", {"settling"})),
        (newer(("a", 3, 49), ("b", 3, 50)), (None, None, None, "ab", {"settling"})),
        (newer(("a", 3, 50), before=3), (None, None, None, "a", {"settling"})),
        (newer(("a", 3, 50), before=2), ("Stable", 3, None, "a", set())),
        (newer(("a", 3, 50), moved=49), ("Stable", 3, None, "a", set())),
        (newer(("a", 3, 50), moved=50), (None, None, None, "a", {"settling"})),
        (newer(), ("Empty", None, None, "", set())),
        (newer(begun=False), (None, None, None, "", {"beginning", "settling"})),
    ):  # fmt: skip
        assert stands(group) == expected, expected
    group = newer(("a", 3, 50))
    group.members["a"].assigned = None
    assert stands(group) == ("Stable", 3, None, "a", {"assignments"})
    group.deleted = 50
    assert stands(group)[0] == "Stable"
    group.deleted = 51
    assert stands(group) == ("Dead", None, None, "", set())
    group = newer(("a", 3, 50))
    group.members["a"].go(mark(60))
    assert stands(group) == ("Empty", 4, None, "", set())
    group = newer(("a", 3, 50), ("b", 3, 50))
    for member in group.members.values():
        member.go(mark(60))
    assert stands(group) == ("Empty", None, None, "", set())


def test_offsets_by_the_name_of_their_topic() -> None:
    group = classic()
    group.offsets.update({("id", 0): Offset(5, 10), ("orders", 0): Offset(6, 10), ("id", 1): Offset(7, 11),
                          ("orders", 1): Offset(8, 10), ("orders", 2): Offset(-1, 10), ("orders", 3): Offset(0, 10)}
                         )  # fmt: skip
    group.members["a"].assigned = {"id": (2,)}
    now = standing.group_now(group, NOW, {"id": "orders"})
    assert now.offsets == {("orders", 0): (6, 10), ("orders", 1): (7, 11), ("orders", 3): (0, 10)}
    assert now.members[0].assigned == {"orders": (2,)}
    assert (now.group, now.newer) == ("sums", False)
    assert standing.group_now(newer(), NOW).newer


def transactional(**facts: Any) -> Transactional:
    """A transactional id whose transaction is open, or ended at 50."""
    txn = Transactional("books")
    txn.who(7, 2)
    if facts.get("begun", True):
        txn.now = Began(mark(facts.get("at", 10)), "shop", "10.0.0.1", 7, 2, 900, 0)
    if "ended" in facts:
        txn.ended = (50, facts["ended"])
    txn.transactions = [Transaction(mark(20), mark(50) if "ended" in facts else None)] if facts.get("any", True) else []
    txn.partitions, txn.marked = facts.get("partitions", {("orders", 0)}), facts.get("marked", set())
    txn.groups_added = facts.get("groups", False)
    return txn


def test_transactions() -> None:
    orders = {("orders", 0)}
    for facts, state, partitions, unknown in (
        ({}, "Ongoing", orders, set()),
        ({"begun": False}, "Ongoing", orders, {"beginning"}),
        ({"groups": True}, "Ongoing", orders, {"offsets-partition"}),
        ({"groups": True, "partitions": {("__consumer_offsets", 3)}}, "Ongoing", {("__consumer_offsets", 3)}, set()),
        ({"ended": True}, None, set(), {"markers"}),
        ({"ended": True, "marked": orders}, "CompleteCommit", set(), set()),
        ({"ended": False, "marked": orders}, "CompleteAbort", set(), set()),
        ({"ended": True, "partitions": set()}, None, set(), {"markers"}),
        ({"ended": True, "at": 50}, "Empty", set(), set()),
        ({"ended": True, "at": 49}, None, set(), {"markers"}),
        ({"any": False}, "Empty", set(), set()),
        ({"any": False, "begun": False}, None, set(), {"beginning"}),
    ):  # fmt: skip
        now = standing.transaction_now(transactional(**facts))
        assert (now.state, now.partitions, now.unknown) == (state, partitions, unknown), facts
        assert now[2:5] == (7, 2, 900 if facts.get("begun", True) else None)
    nobody = standing.transaction_now(Transactional("books"))
    assert nobody == ("books", None, None, None, None, frozenset(), {"beginning"})
    zero = Transactional("books")
    zero.who(0, 0)
    assert standing.transaction_now(zero)[2:4] == (0, 0)


def produced(txn: Transactional | None = None, *kept: tuple[str, Kept], sampled: bool = False) -> Ledgers:
    ledgers = Ledgers(Engine().names_then)
    session = ledgers.sessions[1] = KafkaConnection(Peers(1, ("a", 1), ("b", 2)), None)
    session.sampled = sampled
    producer = ledgers.producers.by_id[7] = Producer(7)
    producer.transactional_id = txn.name if txn is not None else None
    if txn is not None:
        ledgers.producers.transactional[txn.name] = txn
    for topic, one in kept:
        producer.kept[topic, 0] = one
    return ledgers


def test_what_partitions_remember_of_producers() -> None:
    kept = Kept(2, 5, 90, 30, 40, 1)
    for ledgers, expected in (
        (produced(None, ("orders", kept)), (2, 5, 90, set())),
        (produced(None, ("orders", kept._replace(sequence=None))), (2, None, 90, {"answer"})),
        (produced(None, ("orders", kept), sampled=True), (2, None, 90, {"closely"})),
        (produced(transactional(), ("orders", kept)), (2, 5, 90, set())),
        (produced(transactional(begun=False), ("orders", kept)), (2, 5, None, {"beginning"})),
        (produced(transactional(ended=True), ("orders", kept)), (2, 5, None, {"markers"})),
        (produced(transactional(ended=True), ("orders", kept._replace(since=50))), (2, 5, 90, set())),
        (produced(transactional(ended=True), ("orders", kept._replace(start=-1))), (2, 5, -1, set())),
        (produced(transactional(ended=True), ("orders", kept._replace(epoch=1))), (None, None, None, {"markers"})),
    ):  # fmt: skip
        (now,) = standing.producers(ledgers)
        assert now[:3] == ("orders", 0, 7)
        assert (now.epoch, now.sequence, now.start, now.unknown) == expected
    topic_id = UUID(int=5)
    ledgers = produced(None, ("orders", kept), (str(topic_id), kept._replace(epoch=3)), ("bills", kept))
    ledgers.names.topics[topic_id] = "orders"
    assert [(one.topic, one.epoch) for one in standing.producers(ledgers)] == [("bills", 2), ("orders", 3)]
    ledgers.producers.by_id[7].kept[str(topic_id), 0] = kept._replace(epoch=3, time=39)
    assert [one.epoch for one in standing.producers(ledgers)] == [2, 2]
    ledgers.groups["b"], ledgers.groups["a"] = Group("b"), Group("a")
    assert [one.group for one in standing.groups(ledgers)] == ["a", "b"]
    ledgers.producers.transactional["x"] = Transactional("x")
    assert [one.transactional_id for one in standing.transactions(ledgers)] == ["x"]


def test_a_member_without_a_timeout_is_never_silent() -> None:
    group = classic(timeout=0)
    assert isinstance(group.members["a"], Member)
    assert stands(group)[0] == "Stable"

"""What JoinGroup, SyncGroup, Heartbeat, LeaveGroup and ConsumerGroupHeartbeat tell of members and generations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.ledgers.evidence import Mark
from kdbg.analysis.ledgers.groups import Event, Group, Member
from kdbg.analysis.ledgers.ledgers import READERS
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.peers import Peers

JOIN, HEARTBEAT, LEAVE, SYNC, CONSUMER = 11, 12, 13, 14, 68
Body = dict[str, Any]


def opened(value: Any) -> Any:
    """A payload that was opened."""
    return SimpleNamespace(value=value)


def half(body: Body | None) -> Any:
    """A message whose body is this; None for none."""
    if body is None:
        return None
    return SimpleNamespace(message=lambda shallow: SimpleNamespace(misaligned=False, body=body))


class Coordinator:
    """A group as a coordinator tells of it: the exchanges of its members, ten nanoseconds each."""

    def __init__(self) -> None:
        self.book = Ledgers(Engine().names_then)
        self.number = 0

    def does(self, key: int, asked: Body, told: Body | None, client: str = "shop", connection: int = 1) -> Mark:
        """Take one exchange; the first is from 10 to 15, the next from 20 to 25."""
        self.number += 1
        mark = Mark(self.number, self.number * 10, self.number * 10 + (0 if told is None else 5), connection)
        session = self.book.session(Peers(connection, ("10.0.0.1", connection), ("10.0.0.2", 9092), connection))
        assert session is not None
        session.client_ids[client] += 1
        exchange = SimpleNamespace(request=half(asked), response=half(told), errors=[], latency=None)
        READERS[key](self.book, session, mark, {"group_id": "sums", **asked}, told or {}, exchange)
        return mark

    @property
    def group(self) -> Group:
        return self.book.groups["sums"]

    def member(self, name: str = "m1") -> Member:
        return self.group.members[name]


JOINS = {"group_id": "sums", "member_id": "", "protocol_type": "consumer", "session_timeout_ms": 900,
         "rebalance_timeout_ms": 700, "group_instance_id": "i1", "reason": "r" * 300,
         "protocols": [{"name": "range", "metadata": opened({"topics": ["orders"]})}, {"name": "sticky"}]}  # fmt: skip
JOINED = {"error_code": 0, "generation_id": 4, "member_id": "m1", "leader": "m1", "protocol_name": "range",
          "members": [{"member_id": "m1", "group_instance_id": "i1"}, {"member_id": "m2"}]}  # fmt: skip


def test_who_joins() -> None:
    broker = Coordinator()
    mark = broker.does(JOIN, JOINS, JOINED)
    group, member = broker.group, broker.member()
    assert (group.generations, group.errors) == ({4: mark}, {})
    assert group.events == [Event(mark, "join", "m1", 4, 0, reason="r" * 200)]
    assert (member.instance_id, member.session_timeout_ms, member.rebalance_timeout_ms) == ("i1", 900, 700)
    assert (member.protocols, member.topics, member.client_id, member.host) == (
        ("range", "sticky"), ("orders",), "shop", "10.0.0.1")  # fmt: skip
    assert (member.joined.count, member.last_sign) == (1, 15)
    told = {"error_code": 0, "generation_id": 4, "leader": "m2", "member_id": "m1", "members": [{"member_id": "x"}]}
    again = broker.does(JOIN, {"group_id": "sums", "member_id": "m1", "session_timeout_ms": 800}, told)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, member.topics) == (800, 800, ("orders",))
    assert (group.generations, group.events[1].mark, member.joined.count) == ({4: mark}, again, 2)


def test_who_is_refused_to_join_or_waits() -> None:
    broker = Coordinator()
    broker.does(JOIN, JOINS, {"error_code": 79, "member_id": "m7", "generation_id": -1})
    group, member = broker.group, broker.member("m7")
    assert (group.errors[11, 79].count, group.generations, member.joined.count) == (1, {}, 0)
    assert member.errors[79].count == 1
    broker.does(JOIN, {**JOINS, "member_id": "m7"}, None)
    assert (group.events[1].member_id, group.events[1].code) == ("m7", 0)
    broker.does(JOIN, {**JOINS, "member_id": "m7"}, {"error_code": 0, "generation_id": 0, "member_id": "m7"})
    assert list(group.generations) == [0]


def test_what_is_handed_out() -> None:
    broker = Coordinator()
    given = opened({"assigned_partitions": [{"topic": "orders", "partitions": [0, 1]}]})
    asked = {"group_id": "sums", "member_id": "m1", "generation_id": 4}
    mark = broker.does(SYNC, asked, {"error_code": 0, "protocol_name": "range", "assignment": given})
    group, member = broker.group, broker.member()
    assert member.assigned == {"orders": (0, 1)}
    assert (member.synced.count, member.last_sign) == (1, 15)
    assert group.events == [Event(mark, "sync", "m1", 4, 0, (("orders", (0, 1)),), 2)]
    broker.does(SYNC, asked, {"error_code": 27, "assignment": b""})
    assert (member.synced.count, member.errors[27].count, group.errors[14, 27].count) == (1, 1, 1)
    assert (group.events[1].code, group.events[1].assigned, group.events[1].partitions) == (27, (), 0)
    broker.does(SYNC, {**asked, "generation_id": 5}, {"error_code": 0, "assignment": b""})
    assert member.assigned == {}
    broker.does(SYNC, asked, None)
    assert (member.synced.count, group.events[-1].code) == (2, 0)
    fresh = Coordinator()
    fresh.does(SYNC, {"group_id": "sums"}, {"error_code": 25})
    assert (fresh.group.events[0].member_id, fresh.group.events[0].generation) == ("", -1)


def test_heartbeats() -> None:
    broker = Coordinator()
    asked = {"group_id": "sums", "member_id": "m1", "generation_id": 4}
    broker.does(HEARTBEAT, asked, {"error_code": 0})
    group, member = broker.group, broker.member()
    assert (member.beats.count, group.events) == (1, [])
    mark = broker.does(HEARTBEAT, {**asked, "group_instance_id": "i"}, {"error_code": 27})
    assert member.instance_id == "i"
    assert group.events == [Event(mark, "heartbeat", "m1", 4, 27)]
    broker.does(HEARTBEAT, {**asked, "generation_id": 3}, {"error_code": 27})
    assert group.errors[12, 27].count == 2
    broker.does(HEARTBEAT, asked, {"error_code": 22})
    broker.does(HEARTBEAT, asked, {"error_code": 25})
    assert member.errors[25].count == 1
    broker.does(HEARTBEAT, asked, None)
    assert (member.beats.count, member.last_sign) == (6, 60)
    assert list(group.errors) == [(12, 27), (12, 22), (12, 25)], "without a response there is no error"
    assert member.longest_pause == (5, 15)


def test_who_leaves() -> None:
    broker = Coordinator()
    for name, client in (("m1", "shop"), ("m2", "till")):
        broker.does(HEARTBEAT, {"member_id": name, "group_instance_id": f"i-{name}", "generation_id": 4}, {
            "error_code": 0}, client, 1 if client == "shop" else 2)  # fmt: skip
    group = broker.group
    mark = broker.does(LEAVE, {"group_id": "sums", "member_id": "m1"}, {"error_code": 0})
    assert (broker.member().left, broker.member().left_by_other) == (mark, False)
    assert group.events == [Event(mark, "leave", "m1", -1, 0)]
    removes = {"members": [{"member_id": "", "group_instance_id": "i-m2", "reason": "x" * 300}, {"member_id": "m9"}]}
    mark = broker.does(LEAVE, removes, {"error_code": 0})
    other = broker.member("m2")
    assert (other.left, other.left_by_other, other.reason) == (mark, True, "x" * 300)
    assert group.events[1:] == [Event(mark, "leave", "m2", -1, 0, reason="x" * 200), Event(mark, "leave", "m9", -1, 0)]
    broker.does(LEAVE, {"member_id": "m1"}, {"error_code": 25})
    broker.does(LEAVE, {"member_id": "m1"}, None)
    assert (group.errors[13, 25].count, len(broker.member().lefts)) == (1, 3)


BEATS = {"group_id": "sums", "member_id": "m1", "member_epoch": 0, "rebalance_timeout_ms": 700, "instance_id": "i",
         "subscribed_topic_names": ["orders"]}  # fmt: skip


def given(epoch: int, *partitions: int) -> Body:
    rows = [{"topic_id": "orders", "partitions": list(partitions)}] if partitions else []
    return {"error_code": 0, "member_id": "m1", "member_epoch": epoch, "assignment": {"topic_partitions": rows}}


def test_members_of_the_newer_protocol() -> None:
    broker = Coordinator()
    mark = broker.does(CONSUMER, BEATS, given(1, 0, 2))
    group, member = broker.group, broker.member()
    assert (group.new_protocol, group.generations) == (True, {1: mark})
    assert group.events == [Event(mark, "join", "m1", 1, 0), Event(mark, "sync", "m1", 1, 0, (("orders", (0, 2)),), 2)]
    assert (member.rebalance_timeout_ms, member.instance_id, member.topics) == (700, "i", ("orders",))
    assert (member.assigned, member.synced.count) == ({"orders": (0, 2)}, 1)
    assert (member.joined.count, member.beats.count) == (1, 1)
    beat = {"group_id": "sums", "member_id": "m1", "member_epoch": 1, "rebalance_timeout_ms": -1}
    broker.does(CONSUMER, beat, {"error_code": 0, "member_epoch": 1, "assignment": None})
    assert (len(group.events), member.beats.count) == (2, 2)
    assert (member.rebalance_timeout_ms, member.topics) == (700, ("orders",))
    broker.does(CONSUMER, beat, given(2))
    assert (member.assigned, list(group.generations)) == ({}, [1, 2])
    mark = broker.does(CONSUMER, beat, {"error_code": 110, "member_epoch": 0})
    assert (group.events[-1], group.errors[68, 110].count) == (Event(mark, "heartbeat", "m1", 0, 110), 1)
    assert member.errors[110].count == 1
    mark = broker.does(CONSUMER, {**beat, "member_epoch": -1}, {"error_code": 0, "member_epoch": -1})
    assert (member.left, group.events[-1]) == (mark, Event(mark, "leave", "m1", -1, 0))
    assert list(group.generations) == [1, 2]


def test_a_member_of_the_newer_protocol_that_is_refused() -> None:
    refused = Coordinator()
    refused.does(CONSUMER, BEATS, {"error_code": 16, "member_epoch": 0, "member_id": "m1"})
    assert (refused.group.generations, refused.member().joined.count) == ({}, 0)
    assert refused.group.events[0][1:5] == ("join", "m1", 0, 16)


def test_a_request_without_a_group_is_of_none() -> None:
    broker = Coordinator()
    for key in (JOIN, HEARTBEAT, LEAVE, SYNC, CONSUMER):
        broker.does(key, {"group_id": ""}, {"error_code": 0})
    assert not broker.book.groups
    for number in range(300):
        broker.does(HEARTBEAT, {"member_id": "m"}, {"error_code": 0}, f"c{number}", number + 2)
    assert (len(broker.group.clients), broker.group.clients["c0"].count) == (256, 1)

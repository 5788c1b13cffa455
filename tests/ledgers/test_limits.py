"""What accounts take and what they forget: both sides of each bound, the order of times, what counts as how many."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kdbg.analysis.ledgers import Ledgers, accounts, flows, groups
from kdbg.analysis.ledgers.clusters import Clusters, Led
from kdbg.analysis.ledgers.evidence import Bounded, Occurrences
from kdbg.analysis.ledgers.flows import (
    Fetched,
    Gap,
    PartitionWrites,
    Polls,
    Producer,
    Sample,
    Samples,
    Transaction,
    Transactional,
)
from kdbg.analysis.ledgers.groups import Event, Group, Member, assignment_of, few_of, subscription_of
from kdbg.analysis.ledgers.sessions import KafkaConnection, Slow, offered_by
from kdbg.exchanges.engine.engine import Engine

from .facts import BROKER, PEERS, book, mark, seen


def test_what_was_seen_is_counted_and_the_first_six_and_the_last_are_named() -> None:
    nothing = Occurrences()
    assert (nothing.count, nothing.since, nothing.until, nothing.numbers, bool(nothing)) == (0, 0, 0, (), False)
    one = seen(10)
    assert (one.count, one.since, one.until, one.numbers, bool(one)) == (1, 10, 11, (1,), True)
    many = seen(*range(10, 18))
    assert (many.count, many.since, many.until, many.numbers) == (8, 10, 18, (1, 2, 3, 4, 5, 6, 8))
    other = Occurrences()
    other.add(mark(20, 5, 99))
    other.add(mark(21, 30, 40))
    both = Occurrences.of([many, other, Occurrences()])
    assert (both.count, both.since, both.until, both.numbers) == (10, 5, 40, (20, 1, 2, 3, 4, 5, 21))
    assert Occurrences.of([other, many]).numbers == both.numbers
    tie = Occurrences.of([seen(7), seen(7)])
    assert (tie.first, tie.last) == (mark(1, 7, 8), mark(1, 7, 8))


def test_a_bounded_dict_refuses_what_is_too_many() -> None:
    few: Bounded[str, list[int]] = Bounded(2)
    first = few.entry("a", list)
    assert few.entry("b", list) == []
    assert few.entry("c", list) is None
    assert few.entry("a", list) is first
    assert list(few) == ["a", "b"]


def test_samples_over_a_long_time_are_every_other_one() -> None:
    samples = Samples()
    for number in range(1000):
        samples.add(Sample(number, number, number, number))
    assert (samples.first, samples.last) == (Sample(0, 0, 0, 0), Sample(999, 999, 999, 999))
    times = [sample.time for sample in samples.found]
    assert len(times) < flows.MOST_SAMPLES == 128
    assert (times[:3], times[-3:]) == ([0, 8, 16], [983, 991, 999])
    short = Samples()
    for number in range(127):
        short.add(Sample(number, 0, 0, 0))
    assert [sample.time for sample in short.found] == list(range(127))
    short.add(Sample(127, 0, 0, 0))
    assert [sample.time for sample in short.found] == list(range(0, 128, 2))
    short.add(Sample(128, 0, 0, 0))
    short.add(Sample(129, 0, 0, 0))
    assert [sample.time for sample in short.found][-2:] == [126, 129]


def test_what_begins_empty() -> None:
    fetched, polls, written = Fetched(), Polls(), PartitionWrites()
    assert [fetched.records, fetched.bytes, fetched.log_start, fetched.out_of_range, fetched.limit, fetched.stuck_at,
            fetched.first_offset, fetched.isolation] == [0, 0, -1, -1, 0, -1, -1, 0]  # fmt: skip
    assert [polls.max_wait_ms, polls.min_bytes, polls.replica, polls.partitions, polls.idle, polls.last_end] == [
        0, 0, -1, 0, 0, 0]  # fmt: skip
    assert [written.batches, written.records, written.bytes, written.singles, written.uncompressed] == [0] * 5
    member, group, txn = Member("m"), Group("g"), Transactional("t")
    assert [member.session_timeout_ms, member.rebalance_timeout_ms, member.longest_pause, member.last_sign,
            member.left_by_other, member.reason] == [0, 0, (0, 0), 0, False, ""]  # fmt: skip
    assert [group.events_lost, group.new_protocol] == [0, False]
    assert [txn.producer_id, txn.epoch, txn.now] == [-1, -1, None]
    session = KafkaConnection(PEERS, None)
    assert [session.lifetime, session.exchanges, session.last_asked, session.unanswered_count, session.throttle_ms,
            session.sampled, session.client_id, session.closed_first, session.opened, session.client_side] == [
        0, 0, 0, 0, 0, False, "", "", False, 0]  # fmt: skip
    ledgers = Ledgers(Engine().names_then)
    assert (ledgers.exchanges, ledgers.first_time, ledgers.last_time) == (0, 0, 0)


def test_bounds_are_those_that_the_guide_counts_on() -> None:
    assert (accounts.MOST_SESSIONS, accounts.MOST_ERRORS, accounts.MOST_FLOWS) == (65_536, 8192, 16_384)
    ledgers = Ledgers(Engine().names_then)
    assert [one.most for one in (ledgers.sessions, ledgers.failures, ledgers.fetched, ledgers.polls, ledgers.written,
                                 ledgers.groups)] == [65_536, 8192, 16_384, 65_536, 16_384, 1024]  # fmt: skip
    assert (groups.MOST_MEMBERS, groups.MOST_EVENTS, groups.MOST_LEFT) == (4096, 4096, 64)
    assert (flows.MOST, flows.MOST_EVENTS) == (8192, 256)


def test_silences_of_a_broker_last_a_second_or_more() -> None:
    pulse = accounts.Pulse()
    second = accounts.SILENT
    assert second == 1_000_000_000
    for time in (5, 5 + second, 4 + 2 * second, 3, 4 + 3 * second):
        pulse.beat(time)
    assert pulse.silences == [(5, 5 + second), (4 + 2 * second, 4 + 3 * second)]
    for number in range(2000):
        pulse.beat((10 + 2 * number) * second)
    assert len(pulse.silences) == accounts.MOST_SILENCES == 1024


def test_errors_are_counted_by_code_api_subject_and_connection() -> None:
    ledgers, session = book()
    for partition in (3, 3, 0, -1):
        ledgers.failed(6, 0, "orders", session, mark(partition + 2), partition)
    ledgers.failed(6, 1, "orders", session, mark(9))
    assert [(one.code, one.api_key, one.subject, one.seen.count, one.partitions) for one in ledgers.failures.values()
            ] == [(6, 0, "orders", 4, {0, 3}), (6, 1, "orders", 1, set())]  # fmt: skip
    for partition in range(100):
        ledgers.failed(7, 0, "orders", session, mark(), partition)
    assert len(ledgers.failures[7, 0, "orders", 1].partitions) == 64
    assert ledgers.topic("orders") == "orders"
    assert (ledgers.topic(None, 7), ledgers.topic("", 7)) == ("7", "7")


def test_a_connection_is_counted_by_api_and_version() -> None:
    session = KafkaConnection(PEERS, None)
    for number, (time, key, version, client, size) in enumerate(
        ((5, 3, 9, "shop", 40), (9, 3, 9, "shop", 30), (7, 3, 12, "till", 50), (8, 0, 9, None, 0)), 1
    ):
        session.heard(mark(number, time), key, version, client, size)
    assert (session.exchanges, session.last_asked, session.client_id) == (4, 9, "shop")
    assert (session.first, session.last) == (mark(1, 5), mark(4, 8))
    use = session.used(3)
    assert (use.seen.count, use.size, use.versions) == (3, 50, {9: mark(1, 5), 12: mark(3, 7)})
    assert not use.transactional
    assert session.used(99).seen.count == 0
    assert 99 not in session.apis
    session.odd("crc-mismatch", mark())
    session.odd("crc-mismatch", mark())
    assert session.findings["crc-mismatch"].count == 2
    assert offered_by({"api_keys": [{"api_key": 3, "min_version": 1, "max_version": 9}, {"api_key": 4}]}) == {3: (1, 9)}
    assert offered_by({}) == {}
    assert [Slow(mark(), 1, 10, first, 99, 30, None).late for first in (39, 40, 41)] == [0, 0, 1]


def test_what_metadata_tells_of_topics() -> None:
    clusters = Clusters()
    asked: dict[str, Any] = {"topics": [{"name": "orders"}, {"name": None}, "bills"], "allow_auto_topic_creation": True}
    replicas = {"replica_nodes": [1, 2, 3], "isr_nodes": [1, 2]}
    told = {
        "cluster_id": "c1",
        "brokers": [{"node_id": 1, "host": "k1", "port": 9092}, {"node_id": 2, "host": None}],
        "topics": [
            {"name": "orders", "error_code": 0, "partitions": [{"partition_index": 4, "leader_id": 1, **replicas}, {}]},
            {"name": "bills", "error_code": 3}, {"name": None, "error_code": 0},
        ],
    }  # fmt: skip
    clusters.metadata(asked, told, BROKER, "shop", "10.0.0.1", mark(1, 10))
    clusters.metadata({"topics": [{"name": "orders"}], "allow_auto_topic_creation": False}, told, BROKER, "shop",
                      "10.0.0.1", mark(2, 20))  # fmt: skip
    clusters.metadata({"topics": ["orders"]}, {}, BROKER, "", "10.0.0.1", mark(3, 30))
    orders, bills = clusters.topics["orders"], clusters.topics["bills"]
    assert list(clusters.topics) == ["orders", "bills"]
    assert {name: one.count for name, one in orders.asked.items()} == {"shop": 2, "": 1}
    assert (orders.creating.count, orders.found.count, orders.errors) == (2, 2, {})
    assert (bills.creating.count, bills.found.count, bills.errors[3].count) == (1, 0, 2)
    assert orders.partitions == {4: [Led(10, 1, 3, 2)], -1: [Led(10, -1, 0, 0)]}
    assert (orders.leader(4), orders.leader(-1), orders.leader(0), bills.leader(0)) == (1, -1, None, None)
    assert {key: (one.seen.count, one.told_by, one.clients) for key, one in clusters.advertised.items()} == {
        (1, "k1", 9092): (2, Counter({BROKER: 2}), Counter(shop=2)), (2, "", 0): (2, {BROKER: 2}, {"shop": 2}),
    }  # fmt: skip
    assert (clusters.ids["c1"].count, clusters.ids_by_broker[BROKER]) == (2, {"c1": 2})
    assert {client: list(ids) for client, ids in clusters.ids_by_client.items()} == {("shop", "10.0.0.1"): ["c1"]}
    assert dict(clusters.refreshed) == {"shop": [10, 20], "": [30]}


def test_leaders_that_change_and_nodes_that_move() -> None:
    clusters = Clusters()
    for time, leader in enumerate([1, 1, 2, *(number % 2 for number in range(100))]):
        told = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "leader_id": leader}]}]}
        clusters.metadata({}, told, BROKER, "shop", "10.0.0.1", mark(1, time))
    led = clusters.topics["orders"].partitions[0]
    assert (len(led), led[-1], led[0]) == (64, Led(102, 1, 0, 0), Led(39, 0, 0, 0))
    assert len(clusters.refreshed["shop"]) == 64
    for host, times in (("k1", 1), ("k2", 2), ("k3", 2)):
        for _ in range(times):
            clusters.advertise(7, host, 9092, BROKER, "shop", "10.0.0.1", mark())
    assert clusters.node(7, BROKER) == ("k2", 9092)
    assert clusters.node(8, BROKER) is None
    for number in range(70):
        clusters.topics["orders"].asked_by(f"c{number}", mark())
    assert len(clusters.topics["orders"].asked) == 64
    clusters.topics["orders"].asked_by("c1", mark())
    assert clusters.topics["orders"].asked["c1"].count == 2


def test_signs_of_life_of_a_member() -> None:
    member = Member("m")
    for time, end in ((10, 12), (20, 21), (25, 40), (30, 31), (48, 49)):
        member.sign(mark(1, time, end, connection=time % 3))
    assert (member.longest_pause, member.last_sign, member.connections) == ((8, 12), 49, {0, 1, 2})
    for number in range(100):
        member.go(mark(number))
    assert (len(member.lefts), member.lefts[0].number) == (64, 36)
    member.failed(0, mark())
    member.failed(25, mark())
    assert list(member.errors) == [25]


def test_members_and_events_of_a_group() -> None:
    group = Group("sums")
    member = group.member("m", "shop", "10.0.0.1")
    assert member is not None
    group.member("m", "till", "10.0.0.9")
    group.member("")
    assert (member.client_id, member.host, group.known_members()) == ("shop", "10.0.0.1", [member])
    for number in range(5000):
        group.happened(Event(mark(number), "join", "m", 1, 0))
    assert (len(group.events), group.events_lost) == (4096, 904)
    group.failed(11, 0, mark())
    group.failed(11, 25, mark())
    assert list(group.errors) == [(11, 25)]


def test_assignments_as_consumers_write_them() -> None:
    for value, expected in (
        (None, None), (b"x", None), ({}, {}),
        ({"assigned_partitions": [{"topic": "a", "partitions": [1, 0]}]}, {"a": (1, 0)}),
        ({"topic_partitions": [{"topic_name": "b"}, 7]}, {"b": ()}),
        ({"topic_partitions": [{"topic_id": 9, "partitions": [2]}]}, {"9": (2,)}),
    ):  # fmt: skip
        assert assignment_of(value) == expected
    many = {"a": tuple(range(30)), "b": (), "c": (1, 2), "d": (3,)}
    assert few_of(many) == ((("a", tuple(range(30))), ("b", ()), ("c", (1,))), 33)
    assert few_of({"a": tuple(range(40))}) == ((("a", tuple(range(32))),), 40)
    assert few_of(None) == few_of({}) == ((), 0)

    class Opened:
        def __init__(self, value: Any) -> None:
            self.value = value

    assert subscription_of([{}, {"metadata": Opened(b"?")}, {"metadata": Opened({"topics": ["a", "b"]})}]) == ("a", "b")
    assert subscription_of([{"metadata": Opened({"topics": []})}, {"metadata": Opened({"topics": ["b"]})}]) == ()
    assert subscription_of([]) is None


def test_sequences_of_a_producer() -> None:
    producer = Producer(7)
    assert (producer.client_id, producer.transactional_id) == ("", None)
    top = 0x7FFF_FFFF
    for number, (epoch, sequence, records) in enumerate(
        ((0, 0, 5), (0, 5, 2), (0, 5, 2), (0, 9, 1), (0, 10, 1), (1, 3, 1), (0, top, 1), (0, 0, 1)), 1
    ):
        producer.wrote("orders", 2, epoch, sequence, records, mark(number, number))
    assert producer.gaps == [Gap(mark(4, 4), "orders", 2, 7, 9), Gap(mark(7, 7), "orders", 2, 11, top)]
    assert {epoch: one.count for epoch, one in producer.epochs.items()} == {0: 7, 1: 1}
    assert producer.next == {("orders", 2, 0): 1, ("orders", 2, 1): 4}
    for number in range(600):
        producer.wrote("bills", 0, 0, number * 2, 1, mark(number))
    assert len(producer.gaps) == 256


def test_who_has_a_transactional_id() -> None:
    txn = Transactional("books")
    for producer_id, epoch, expected in ((7, 1, (7, 1)), (7, 0, (7, 1)), (7, 2, (7, 2)), (8, 0, (8, 0)),
                                         (-1, 9, (8, 0)), (0, 0, (0, 0))):  # fmt: skip
        txn.who(producer_id, epoch)
        assert (txn.producer_id, txn.epoch) == expected
    txn.failed(24, 0, mark())
    txn.failed(24, 47, mark())
    assert list(txn.errors) == [(24, 47)]


def test_transactions_begin_and_end() -> None:
    txn = Transactional("books")
    txn.closed(mark(1, 1), True, 0)
    assert txn.transactions == []
    txn.opened(mark(2, 10))
    txn.opened(mark(3, 11))
    assert txn.transactions == [Transaction(mark(2, 10))]
    txn.closed(mark(4, 12), True, 51)
    txn.closed(mark(4, 9), True, 0)
    assert txn.transactions[0].ended is None
    txn.closed(mark(5, 20), True, 0)
    txn.closed(mark(6, 20), False, 0)
    txn.closed(mark(6, 21), False, 0)
    assert txn.transactions == [Transaction(mark(2, 10), mark(5, 20), True)]
    txn.closed(mark(7, 15), False, 0, by_coordinator=True)
    assert txn.transactions == [Transaction(mark(2, 10), mark(7, 15), False, True)]
    txn.opened(mark(8, 14))
    assert len(txn.transactions) == 1
    txn.opened(mark(8, 15))
    assert len(txn.transactions) == 2
    txn.closed(mark(9, 50), False, 7, by_coordinator=True)
    assert txn.transactions[-1] == Transaction(mark(8, 15), mark(9, 50), False, True)

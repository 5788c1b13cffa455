"""Both sides of each limit of the rules about transactions, offsets, clusters and topics: what is enough."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.diagnosis.rules.topics import alike
from kdbg.analysis.diagnosis.text import sentence
from kdbg.analysis.ledgers.evidence import Occurrences
from kdbg.analysis.ledgers.flows import Began, Gap, Transaction, Transactional
from kdbg.protocol.findings import Severity

from .facts import BROKER, SECOND, START, Facts, cases, check, mark, sampled, seen

FETCH, COMMIT, HEARTBEAT = 1, 8, 12


def test_a_transaction_that_hangs() -> None:
    def build(case: tuple[int, int, tuple[int, ...], int]) -> Facts:
        lasts, isolation, stables, high = case
        facts = Facts()
        flow = facts.reads(facts.client(), "orders", 1, isolation=isolation, requests=seen(3))
        for place, stable in enumerate(stables):
            sampled(flow, (SECOND + lasts * place // (len(stables) - 1), 0, high, stable))
        return facts

    check("hanging-transaction", build,
          found=[(2 * SECOND, 1, (5, 5, 5), 9), (4 * SECOND, 1, (4, 5, 5), 6)],
          not_found=[(2 * SECOND - 1, 1, (5, 5, 5), 9), (2 * SECOND, 0, (5, 5, 5), 9), (2 * SECOND, 1, (9, 9, 9), 9),
                     (4 * SECOND - 2, 1, (4, 5, 5), 9), (9 * SECOND, 1, (4, 4, 5), 9)])  # fmt: skip
    facts = build((2 * SECOND, 1, (5, 5, 5), 9))
    (case,) = cases(facts, "hanging-transaction")
    assert (case.certainty, case.facts["behind"], case.facts["stable"], case.facts["reader"]) == (
        "likely",
        4,
        5,
        "shop",
    )
    txn = facts.producers.transactional["books"] = Transactional("books")
    txn.transactions.append(Transaction(mark(1)))
    txn.begun.append(Began(mark(1, connection=2), "till", "10.0.0.1", 7, 0, 9, 0))
    facts.client("till")
    (case,) = cases(facts, "hanging-transaction")
    assert (case.certainty, case.who.client_id, case.who.transactional_id) == ("certain", "till", "books")
    assert case.facts["writer"] == "client till (transactional id books)"
    assert (case.since, case.until, case.count) == (START + SECOND, START + 3 * SECOND, 3)
    txn.transactions[-1] = Transaction(mark(1), mark(2))
    assert cases(facts, "hanging-transaction")[0].certainty == "likely"


def test_a_transaction_that_times_out() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        txn = facts.producers.transactional["books"] = Transactional("books")
        for client in case.get("clients", ["till"]):
            txn.begun.append(Began(mark(3), client, "10.0.0.1", 7, 0, case.get("timeout", 1000), 0))
        ended = mark(5, at=case.get("ended", 2 * SECOND))
        txn.transactions = [Transaction(mark(4, at=0), mark(4, at=1)),
                            Transaction(mark(4, at=SECOND), ended, by_coordinator=case.get("by", False))]  # fmt: skip
        txn.failed(24, case.get("code", 47), mark(6, at=case.get("fenced", 9 * SECOND)))
        txn.markers = [(mark(), committed) for committed in case.get("markers", [])]
        return facts

    check("transaction-timed-out", build,
          found=[{}, {"code": 90}, {"ended": SECOND, "markers": [True, False]}, {"ended": 2 * SECOND - 1, "by": True}],
          not_found=[{"code": 48}, {"ended": 2 * SECOND - 1}, {"ended": SECOND, "markers": [True]}, {"timeout": 0},
                     {"clients": ["till", "shop"]}, {"clients": []}, {"fenced": 2 * SECOND - 1, "by": True}],
          )  # fmt: skip
    (case,) = cases(build({"ended": 3 * SECOND}), "transaction-timed-out")
    assert (case.facts, case.certainty) == ({"timeout": SECOND, "open": 2 * SECOND}, "likely")
    assert (case.since, case.until, case.evidence.exchanges) == (START + SECOND, START + 9 * SECOND, (3, 6))
    assert cases(build({"markers": [False]}), "transaction-timed-out")[0].certainty == "certain"


def test_a_transactional_id_of_two() -> None:
    def build(case: tuple[tuple[tuple[str, int, int], ...], int]) -> Facts:
        begun, code = case
        facts = Facts()
        txn = facts.producers.transactional["books"] = Transactional("books")
        for epoch, (client, connection, refused) in enumerate(begun):
            txn.begun.append(Began(mark(3 + epoch, at=epoch, connection=connection), client, "10.0.0.1", 7, epoch, 9,
                                   refused))  # fmt: skip
        txn.failed(24, code, mark(9, at=9))
        return facts

    two, alike_ = (("till", 1, 0), ("shop", 2, 0)), (("till", 1, 0), ("till", 2, 0))
    check("transactional-id-shared", build, found=[(two, 47), (alike_, 90)],
          not_found=[(two, 48), ((("till", 1, 0), ("till", 1, 0)), 47), ((("till", 1, 0), ("shop", 2, 53)), 47)],
          )  # fmt: skip
    for begun, certainty, clients in (
        (two, "certain", "clients till, shop"),
        (alike_, "likely", "two instances of client till"),
    ):
        (case,) = cases(build((begun, 47)), "transactional-id-shared")
        assert (case.certainty, case.facts) == (certainty, {"clients": clients, "epochs": "0, 1"})
        assert (case.count, case.since, case.until, case.evidence.exchanges) == (1, START, START + 9, (3, 4, 9))


def test_a_gap_in_the_sequence() -> None:
    facts = Facts()
    facts.fails(facts.client(), 45, 0, "orders", seen(2))
    assert cases(facts, "producer-sequence-gap")[0].facts["gap"] == "the batch before it is not in the capture"
    for client, topic in (("till", "orders"), ("shop", "bills"), ("shop", "orders")):
        producer = facts.producers.producer(len(facts.producers.by_id))
        assert producer is not None
        producer.client_id = client
        producer.gaps.append(Gap(mark(), topic, 3, 7, 8 + len(facts.producers.by_id)))
    (case,) = cases(facts, "producer-sequence-gap")
    assert case.facts["gap"] == "the sequence number on partition 3 is 11, expected 7"
    assert (case.count, case.who.topic, case.weight) == (2, "orders", 2.5)


def test_a_producer_that_is_fenced_is_told_once() -> None:
    facts = Facts()
    session, other = facts.client(), facts.client("till")
    facts.fails(session, 47, 24, "books", seen(2))
    facts.fails(session, 90, 26, "books", seen(3))
    facts.fails(other, 90, 26, "books", seen(4))
    assert [(case.who.client_id, case.count) for case in cases(facts, "producer-fenced")] == [("shop", 2), ("till", 4)]


def test_a_record_that_a_consumer_does_not_get_over() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        for number in range(case.get("connections", 1)):
            session = facts.client()
            session.heard(mark(1, connection=1), FETCH, case.get("version", 11), "shop", 40)
            served = {3: 1, case.get("at", 7): case.get("stuck", 0)}
            facts.reads(session, "orders", first_offset=case.get("first", 7), with_data=seen(2, number, number, 10),
                        served=served, stuck=seen(case.get("stuck", 0)), stuck_at=case.get("at", 7))  # fmt: skip
            facts.polls_of(session, replica=case.get("replica", -1))
        if case.get("group", True):
            facts.member()
        return facts

    check("poison-record", build,
          found=[{"connections": 3}, {"stuck": 5}, {"stuck": 5, "group": False}, {"connections": 3, "first": 0}],
          not_found=[{"connections": 2}, {"stuck": 4}, {"connections": 3, "group": False}, {"stuck": 5, "version": 2},
                     {"stuck": 5, "replica": 0}, {"stuck": 5, "at": 2}, {"connections": 3, "first": -1}])  # fmt: skip
    facts = build({"stuck": 6})
    (case,) = cases(facts, "poison-record")
    assert (case.certainty, case.facts["offset"], case.count, case.who.group) == ("likely", 7, 6, "sums")
    (case,) = cases(build({"connections": 3, "first": 4}), "poison-record")
    assert (case.facts["offset"], case.count, case.since, case.until) == (4, 3, START, START + 2)
    facts.sessions[1].odd("crc-mismatch", mark())
    assert cases(facts, "poison-record")[0].certainty == "certain"
    for code, api, certainty in ((2, 1, "certain"), (87, 1, "certain"), (2, 0, "likely"), (3, 1, "likely")):
        facts = build({"stuck": 6})
        facts.fails(facts.sessions[1], code, api, "orders", seen())
        assert cases(facts, "poison-record")[0].certainty == certainty


def test_offsets_that_are_gone() -> None:
    def build(case: tuple[int, int, str]) -> Facts:
        asked, start, topic = case
        facts = Facts()
        session = facts.client()
        facts.fails(session, 1, FETCH, topic, seen(2))
        facts.reads(session, "orders", 4, errors={1: seen(2)}, out_of_range=asked, log_start=start)
        facts.reads(session, "orders", 3, out_of_range=1, log_start=9)
        facts.member()
        return facts

    assert cases(build((1, 2, "")), "offset-out-of-range-data-loss") == []
    gone = "the partition does not have that offset"
    for asked, start, lost in (
        (4, 1500, "the oldest offset is 1500, 1,496 offsets later"),
        (0, 5, "the oldest offset is 5, 5 offsets later"),
        (5, 5, gone), (-1, 5, gone), (9, 5, gone),
    ):  # fmt: skip
        (case,) = cases(build((asked, start, "orders")), "offset-out-of-range-data-loss")
        assert (case.facts, case.who.partition, case.who.group) == ({"asked": asked, "lost": lost}, 4, "sums")


def test_two_clusters() -> None:
    def build(told: tuple[tuple[str, tuple[str, int], str], ...]) -> Facts:
        facts = Facts()
        facts.client()
        for number, (client, broker, cluster) in enumerate(told, 1):
            facts.clusters.metadata({}, {"cluster_id": cluster}, broker, client, "10.0.0.1", mark(number, at=number))
        return facts

    other = ("10.0.0.3", 9092)
    check("two-clusters-mixed", build, found=[(("shop", BROKER, "a"), ("shop", other, "b")),
                                              (("shop", BROKER, "a"), ("till", BROKER, "b"))],
          not_found=[(("shop", BROKER, "a"), ("till", other, "b")), (("shop", BROKER, "a"), ("shop", other, "a"))],
          )  # fmt: skip
    (case,) = cases(build((("shop", BROKER, "a"), ("shop", other, "b"))), "two-clusters-mixed")
    assert (case.facts, case.certainty, case.count) == ({"ids": "clusters a, b"}, "likely", 2)
    (case,) = cases(build((("shop", BROKER, "a"), ("till", BROKER, "b"))), "two-clusters-mixed")
    assert (case.facts, case.certainty) == ({"ids": "clusters a, b"}, "certain")
    assert (
        sentence(case) == "broker address 10.0.0.2:9092 leads to two clusters: it returns the metadata of clusters a, b"
    )


def test_a_topic_that_is_written_in_another_cluster() -> None:
    def build(case: tuple[int, str, str, int]) -> Facts:
        data, here, there, replica = case
        facts = Facts()
        writer, reader = facts.client("till"), facts.client(broker=("10.0.0.3", 9092))
        facts.clusters.metadata({}, {"cluster_id": here}, BROKER, "till", "10.0.0.1", mark())
        facts.clusters.metadata({}, {"cluster_id": there}, ("10.0.0.3", 9092), "shop", "10.0.0.1", mark())
        facts.writes(writer, "orders")
        facts.reads(reader, "orders", 0, requests=seen(3), with_data=seen(data))
        facts.reads(reader, "orders", 1, requests=seen(3))
        facts.polls_of(reader, replica=replica)
        return facts

    check("two-clusters-mixed", build, found=[(0, "a", "b", -1)],
          not_found=[(0, "a", "a", -1), (0, "a", "b", 0), (0, "", "b", -1), (0, "a", "", -1)])  # fmt: skip
    (case,) = cases(build((0, "a", "b", -1)), "two-clusters-mixed")
    assert sentence(case) == (
        "client shop is probably connected to the wrong cluster: it reads topic orders from cluster b, but the topic "
        "is written in cluster a by client till"
    )
    assert (case.count, case.who.cluster_id, case.certainty) == (3, "b", "likely")


def test_names_that_differ_by_two_letters() -> None:
    for one, other, expected in (
        ("orders", "order", True), ("orders", "ordres", True), ("orders", "oders", True), ("orders", "orbers", True),
        ("orders", "Orders", True), ("orders", "ordersxy", True), ("orders", "ordersxyz", False),
        ("orders", "xxders", True), ("orders", "xxxers", False), ("orders", "rodesr", True), ("orders", "bills", False),
        ("orders-1", "orders-2", False), ("orders1", "orders12", False), ("orders-1", "order-2", True),
        ("abcd", "badc", True), ("abcdef", "badcfe", False), ("payments", "payment-s", True),
    ):  # fmt: skip
        assert alike(one, other) is expected, (one, other)


def test_a_topic_that_a_mistyped_name_made() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        wrong, right = facts.clusters.topic(case.get("name", "oders")), facts.clusters.topic("orders")
        assert wrong is not None
        assert right is not None
        wrong.errors.setdefault(case.get("code", 3), Occurrences()).add(mark(2, at=SECOND))
        wrong.asked_by("shop", mark(2, at=SECOND))
        for name, at in (("found", 2 * SECOND), ("creating", 0), ("created", None)):
            if (time := case.get(name, at)) is not None:
                getattr(wrong, name).add(mark(3, at=time))
        right.found.add(mark(1, at=case.get("right", 0)))
        if "right_missing" in case:
            right.errors.setdefault(3, Occurrences()).add(mark(at=case["right_missing"]))
        facts.client()
        return facts

    check("mistyped-topic-auto-created", build,
          found=[{}, {"code": 5}, {"found": SECOND}, {"right": 1, "right_missing": 1}],
          not_found=[{"code": 4}, {"found": None}, {"found": SECOND - 1}, {"creating": None}, {"created": 0},
                     {"name": "ord"}, {"right": 2, "right_missing": 1}, {"name": "bills"}])  # fmt: skip
    assert cases(build({"name": "ords"}), "mistyped-topic-auto-created")
    (case,) = cases(build({}), "mistyped-topic-auto-created")
    assert (case.facts, case.who.client_id, case.severity) == ({"other": "orders"}, "shop", Severity.WARNING)
    assert (case.since, case.until) == (START + SECOND, START + 2 * SECOND)

"""Both sides of each limit of the rules about groups, transactions and what is read: what is enough for a cause."""

from __future__ import annotations

from typing import Any

from kdbg.diagnosis import Who
from kdbg.diagnosis.rules.mistyped_topic_auto_created import alike
from kdbg.findings.kinds import Severity
from kdbg.ledgers.clusters import Led
from kdbg.ledgers.producers import Began, Gap, Transaction, Transactional

from .facts import BROKER, MS, SECOND, START, Facts, cases, happened, mark, sampled, seen
from .test_limits_of_clients import check

FETCH, COMMIT, HEARTBEAT = 1, 8, 12


def test_a_commit_after_a_member_left() -> None:
    def build(case: tuple[int, int | None, int, int]) -> Facts:
        code, left, beats_until, answers = case
        facts = Facts()
        facts.client()
        member = facts.member(beats=seen(2, 0, beats_until))
        group = facts.groups["sums"]
        for number in (3, 4):
            happened(group, "commit", code=code, number=number, at=SECOND + number)
        member.errors = {code: seen(answers)}
        if left is not None:
            member.left = mark(2, at=left)
        return facts

    last = SECOND + 4
    check(
        "commit-after-leaving-group", build,
        found=[(22, SECOND + 3, last, 2), (25, SECOND, last, 2), (113, None, SECOND, 2), (25, None, SECOND + 3, 2),
               (25, None, last, 3), (25, SECOND + 4, SECOND, 2)],
        not_found=[(27, SECOND, 0, 2), (25, None, last, 2), (25, SECOND + 4, last, 2)],
    )  # fmt: skip
    for left, certainty, numbers in ((SECOND, "certain", (2, 3, 4)), (None, "likely", (3, 4))):
        (case,) = cases(build((25, left, 0, 2)), "commit-after-leaving-group")
        assert (case.certainty, case.count, case.evidence.exchanges) == (certainty, 2, numbers)
        assert case.who == Who("shop", "10.0.0.1", group="sums")
        assert (case.since, case.until) == (START + SECOND + 3, START + SECOND + 4)


def test_commits_that_fail_for_another_reason() -> None:
    def build(case: tuple[int, int]) -> Facts:
        code, api = case
        facts = Facts()
        facts.fails(facts.client(), code, api, "orders", seen(2))
        facts.member()
        facts.groups["sums"].failed(COMMIT, code, mark())
        return facts

    ours = [0, 14, 16, 22, 25, 27, 29, 30, 47, 82, 90, 113]
    check("offset-commit-failing", build, found=[(12, 8), (12, 28), (3, 8)],
          not_found=[(12, 9), *((code, 8) for code in ours)])  # fmt: skip
    (case,) = cases(build((12, 8)), "offset-commit-failing")
    assert (case.facts, case.who.group, case.count) == ({"error": "OFFSET_METADATA_TOO_LARGE"}, "sums", 2)


def test_commits_of_a_member_that_lives_are_wrong_themselves() -> None:
    def build(case: tuple[int, int, bool]) -> Facts:
        commits, refused, left = case
        facts = Facts()
        member = facts.member(beats=seen(3, 0, 9 * SECOND), errors={25: seen(refused, SECOND, SECOND)})
        for number in range(commits):
            happened(facts.groups["sums"], "commit", code=25, number=number, at=SECOND)
        facts.fails(facts.client(), 25, COMMIT, "orders", seen(commits))
        member.left = mark() if left else None
        return facts

    check("offset-commit-failing", build, found=[(2, 2, False)], not_found=[(1, 2, False), (0, 0, False), (2, 2, True)])


def test_a_consumer_that_is_paused() -> None:
    def build(case: tuple[int, int, int, int, bool]) -> Facts:
        silent, writes, written_until, elsewhere, beats = case
        facts = Facts()
        session = facts.client()
        facts.member(assigned={"bills": (0,), "orders": (0,)}, beats=seen(3, 0, SECOND + silent) if beats else seen(0))
        facts.polls_of(facts.client("till"), times=[START + 9 * SECOND])
        facts.reads(session, requests=seen(2, 0, SECOND))
        facts.polls_of(session, times=[START, START + elsewhere])
        facts.writes(facts.client("till"), requests=seen(writes, 0, written_until))
        return facts

    usual = (3 * SECOND, 5, SECOND + 1, SECOND, True)
    check(
        "consumer-paused", build, found=[usual],
        not_found=[(3 * SECOND - 1, *usual[1:]), (usual[0], 4, *usual[2:]), (*usual[:2], SECOND, *usual[3:]),
                   (*usual[:3], SECOND + 1, True), (*usual[:4], False)],
    )  # fmt: skip
    (case,) = cases(build(usual), "consumer-paused")
    assert (case.facts, case.count, case.weight, case.certainty) == ({"silent": 3 * SECOND}, 5, 1.6, "likely")
    assert (case.since, case.until) == (START + SECOND, START + 4 * SECOND)


def test_a_group_without_a_coordinator() -> None:
    def build(case: tuple[int, int | None]) -> Facts:
        lasts, better = case
        facts = Facts()
        facts.fails(facts.client(), 15, 10, "sums", seen(2, SECOND, SECOND + lasts))
        facts.member()
        if better is not None:
            facts.groups["sums"].coordinators.append((START + better, 1))
        return facts

    check("coordinator-unavailable", build, found=[(5 * SECOND, None), (5 * SECOND, 6 * SECOND)],
          not_found=[(5 * SECOND - 1, None), (5 * SECOND, 6 * SECOND + 1)])  # fmt: skip


def test_a_group_of_two_programs() -> None:
    def build(case: tuple[str, tuple[str, ...], int, int]) -> Facts:
        other, topics, since, last = case
        facts = Facts()
        for client, names, first, sign in (("shop", ("orders",), SECOND, 5 * SECOND), (other, topics, since, last)):
            facts.member(client, client_id=client, topics=names, joined=seen(2, first, first + 1),
                         beats=seen(1, first + 2, first + 2, 8), last_sign=START + sign)  # fmt: skip
        return facts

    check(
        "group-id-shared", build,
        found=[("shop-2", ("bills",), SECOND, SECOND), ("till", ("orders",), SECOND, SECOND),
               ("shop-2", ("bills",), 5 * SECOND, 6 * SECOND), ("sho", ("bills",), SECOND, SECOND),
               ("shx", ("orders",), SECOND, SECOND)],
        not_found=[("shop-2", ("orders", "bills"), SECOND, SECOND), ("SHOes", ("orders",), SECOND, SECOND),
                   ("shop-2", ("bills",), 5 * SECOND + 1, 6 * SECOND), ("shop-2", ("bills",), 0, SECOND - 1),
                   ("shop-2", (), SECOND, SECOND)],
    )  # fmt: skip
    for case, certainty in (
        (("shop-2", ("bills", "lists"), SECOND, SECOND), "likely"), (("till", ("orders",), SECOND, SECOND), "guess"),
    ):  # fmt: skip
        (one,) = cases(build(case), "group-id-shared")
        assert (one.certainty, one.count, one.weight) == (certainty, 2, 2.0)
        assert one.facts == {"other": case[0], "topics": "orders", "others": ", ".join(case[1])}
        assert (one.since, one.until) == (START + SECOND, START + SECOND + 2)
        assert (one.evidence.exchanges, one.who) == ((1, 2, 8), Who("shop", "10.0.0.1", topic="orders", group="sums"))


def test_consumers_that_get_nothing() -> None:
    def build(case: tuple[int, int | None, int, int | None]) -> Facts:
        partitions, exist, kept, left = case
        facts = Facts()
        facts.member("m1", topics=("orders",), joined=seen(), assigned={"orders": tuple(range(partitions))},
                     synced=seen(1, SECOND, SECOND), last_sign=START + 9 * SECOND)  # fmt: skip
        idle = facts.member("m2", client_id="till", topics=("orders",), joined=seen(), assigned={},
                            synced=seen(2, SECOND, SECOND, 6), last_sign=START + SECOND + kept)  # fmt: skip
        idle.left = mark(at=left) if left is not None else None
        if exist is not None:
            topic = facts.clusters.topic("orders")
            assert topic is not None
            topic.partitions = {number: [Led(0, 1, 1, 1)] for number in range(exist)}
        return facts

    check("idle-consumers", build, found=[(1, 1, SECOND, None), (1, None, SECOND, None), (1, 1, 0, 2 * SECOND)],
          not_found=[(2, 2, SECOND, None), (1, 2, SECOND, None), (1, 1, SECOND - 1, None),
                     (1, 1, SECOND, 2 * SECOND - 1)])  # fmt: skip
    (case,) = cases(build((1, 1, SECOND, None)), "idle-consumers")
    assert case.facts == {"members": 2, "partitions": 1, "names": "till"}
    assert (case.count, case.who.client_id, case.until) == (1, "till", START + 2 * SECOND)
    facts = build((1, None, SECOND, None))
    facts.member("m3", client_id="late")  # of which nobody saw that it joined
    assert cases(facts, "idle-consumers") == []


def test_a_poll_that_comes_too_late_by_what_a_member_says() -> None:
    def build(case: tuple[str, bool]) -> Facts:
        reason, by_other = case
        facts = Facts()
        facts.member(left=mark(4, at=SECOND), reason=reason, left_by_other=by_other, rebalance_timeout_ms=1000)
        return facts

    check("max-poll-interval-exceeded", build,
          found=[("consumer poll TIMEOUT has expired.", False), ("max.poll.interval.ms passed", False),
                 ("the poll interval", False)],
          not_found=[("closed", False), ("", False), ("consumer poll timeout has expired.", True)])  # fmt: skip
    (case,) = cases(build(("poll timeout", False)), "max-poll-interval-exceeded")
    assert (case.certainty, case.facts, case.evidence.exchanges) == ("certain", {"interval": SECOND}, (4,))
    assert (case.since, case.count, case.weight) == (START + SECOND, 1, 2.6)


def test_a_poll_that_comes_too_late_by_the_last_fetch() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        stopped, timeout, closes = case
        facts = Facts()
        session = facts.client(closed="client", closes=9 * SECOND + closes) if closes else facts.client()
        facts.polls_of(session, times=[START + 9 * SECOND - stopped])
        facts.member(left=mark(4, at=9 * SECOND), rebalance_timeout_ms=timeout, connections={1})
        return facts

    check("max-poll-interval-exceeded", build,
          found=[(850 * MS, 1000, 0), (850 * MS, 1000, 200 * MS)],
          not_found=[(850 * MS - 1, 1000, 0), (SECOND, 0, 0), (850 * MS, 1000, 200 * MS - 1)])  # fmt: skip
    (case,) = cases(build((SECOND, 1000, 0)), "max-poll-interval-exceeded")
    assert (case.certainty, case.since, case.evidence.exchanges) == ("likely", START + 8 * SECOND, (4,))


def test_a_member_that_comes_back_after_a_poll_was_due() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        apart, timeout, again = case
        facts = Facts()
        facts.member(lefts=[mark(4, at=SECOND + apart)], joined=seen(1, SECOND, SECOND), rebalance_timeout_ms=timeout)
        facts.member("m2", joined=seen(1, again, again))
        return facts

    check("max-poll-interval-exceeded", build, found=[(850 * MS, 1000, 5 * SECOND)],
          not_found=[(850 * MS - 1, 1000, 5 * SECOND), (SECOND, 0, 5 * SECOND), (SECOND, 1000, 2 * SECOND)],
          )  # fmt: skip


def test_a_member_that_holds_up_a_rebalance() -> None:
    def build(case: tuple[int, int, int, int, str]) -> Facts:
        refused, waited, ends, code, other = case
        facts = Facts()
        facts.member(errors={27: seen(refused, 9 * SECOND, 9 * SECOND)}, rebalance_timeout_ms=1000)
        happened(facts.groups["sums"], "join", other, code, 7, at=ends - waited, end=ends)
        return facts

    usual = (2, 850 * MS, 9 * SECOND, 0, "m2")
    check("max-poll-interval-exceeded", build, found=[usual],
          not_found=[(1, *usual[1:]), (2, 850 * MS - 1, *usual[2:]), (2, 850 * MS, 9 * SECOND - 1, 0, "m2"),
                     (*usual[:3], 25, "m2"), (*usual[:4], "m1")])  # fmt: skip
    (case,) = cases(build(usual), "max-poll-interval-exceeded")
    assert (case.certainty, case.evidence.exchanges) == ("likely", (1, 2, 7))
    facts = build(usual)
    joined = facts.groups["sums"].members["m1"]
    joined.joined = seen(1, 9 * SECOND, 9 * SECOND)
    assert cases(facts, "max-poll-interval-exceeded")
    joined.joined = seen(1, 9 * SECOND + 1, 9 * SECOND + 1)
    assert cases(facts, "max-poll-interval-exceeded") == []


def test_a_session_timeout_that_a_pause_exceeds() -> None:
    def build(case: tuple[int, int, int | None]) -> Facts:
        pause, timeout, left = case
        facts = Facts()
        facts.member(errors={25: seen(2, SECOND, 2 * SECOND)}, longest_pause=(pause, START), session_timeout_ms=timeout,
                     left=mark(at=left) if left is not None else None)  # fmt: skip
        return facts

    check("session-timeout-too-short", build, found=[(900 * MS, 1000, None), (900 * MS, 1000, SECOND + 1)],
          not_found=[(900 * MS - 1, 1000, None), (900 * MS, 0, None), (900 * MS, 1000, SECOND)])  # fmt: skip
    (case,) = cases(build((SECOND, 1000, None)), "session-timeout-too-short")
    assert (case.facts, case.count) == ({"timeout": SECOND, "pause": SECOND}, 2)
    assert (case.since, case.until) == (START, START + 2 * SECOND)


def test_a_client_that_is_forgotten_again_and_again() -> None:
    def build(case: tuple[int, int, int, bool]) -> Facts:
        members, pause, timeout, left = case
        facts = Facts()
        facts.member("m0")
        facts.groups["sums"].failed(HEARTBEAT, 25, mark(9))
        for number in range(members):
            at = number * 10 * SECOND
            facts.member(f"n{number}", session_timeout_ms=timeout, joined=seen(1, at, at), connections={number // 9},
                         last_sign=START + at + 10 * SECOND - pause, left=mark() if left else None)  # fmt: skip
        return facts

    check("session-timeout-too-short", build, found=[(3, 900 * MS, 1000, False)],
          not_found=[(2, 900 * MS, 1000, False), (3, 900 * MS - 1, 1000, False), (3, 900 * MS, 0, False),
                     (3, 900 * MS, 1000, True)])  # fmt: skip
    (case,) = cases(build((4, SECOND, 1000, False)), "session-timeout-too-short")
    assert (case.facts, case.count, case.since) == ({"timeout": SECOND, "pause": SECOND}, 3, START + 9 * SECOND)


def test_a_session_timeout_that_the_broker_refuses() -> None:
    facts = Facts()
    facts.member(session_timeout_ms=10)
    facts.groups["sums"].failed(11, 26, mark(5, at=3))
    facts.groups["sums"].failed(12, 26, mark(6, at=3))
    (case,) = cases(facts, "session-timeout-too-short")
    assert (case.facts, case.count, case.who) == ({"timeout": 10 * MS, "pause": 0}, 1, Who("shop", group="sums"))
    assert (case.evidence.exchanges, case.weight, case.certainty) == ((5,), 2.3, "certain")


def test_instances_and_strategies_are_named() -> None:
    facts = Facts()
    session = facts.client()
    facts.fails(session, 82, HEARTBEAT, "sums", seen(2))
    facts.fails(session, 23, 11, "sums", seen(2))
    (case,) = cases(facts, "static-member-fenced")
    assert (case.facts["instance"], case.who.group, case.weight) == ("", "sums", 2.5)
    assert cases(facts, "inconsistent-group-protocol")[0].facts["offers"] == "strategies that were not seen"
    facts.member("m0", client_id="till", protocols=("roundrobin",))
    for number, (instance, shown) in enumerate((("a", " (a)"), ("b", " (a)"), ("b", " (b)"))):
        facts.member(f"m{number + 1}", instance_id=instance, protocols=("range", f"sticky{number}"))
        (case,) = cases(facts, "static-member-fenced")
        assert case.facts["instance"] == shown
    assert cases(facts, "inconsistent-group-protocol")[0].facts["offers"] == "range, sticky2"


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
    assert case.facts["writer"] == "till (transactional id books)"
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
    for begun, certainty, clients in ((two, "certain", "till and shop"), (alike_, "likely", "two instances of till")):
        (case,) = cases(build((begun, 47)), "transactional-id-shared")
        assert (case.certainty, case.facts) == (certainty, {"clients": clients, "epochs": "0, 1"})
        assert (case.count, case.since, case.until, case.evidence.exchanges) == (1, START, START + 9, (3, 4, 9))


def test_a_gap_in_the_sequence() -> None:
    facts = Facts()
    facts.fails(facts.client(), 45, 0, "orders", seen(2))
    assert cases(facts, "producer-sequence-gap")[0].facts["gap"] == "the batch before it was not captured"
    for client, topic in (("till", "orders"), ("shop", "bills"), ("shop", "orders")):
        producer = facts.producers.producer(len(facts.producers.by_id))
        assert producer is not None
        producer.client_id = client
        producer.gaps.append(Gap(mark(), topic, 3, 7, 8 + len(facts.producers.by_id)))
    (case,) = cases(facts, "producer-sequence-gap")
    assert case.facts["gap"] == "sequence number 7 of partition 3 was due and 11 came"
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
    facts.sessions[1].odd("crc", mark())
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
    gone = "the partition does not have that offset (any more)"
    for asked, start, lost in (
        (4, 1500, "1,496 offsets were deleted before it read them"),
        (0, 5, "5 offsets were deleted before it read them"),
        (5, 5, gone), (-1, 5, gone), (9, 5, gone),
    ):  # fmt: skip
        (case,) = cases(build((asked, start, "orders")), "offset-out-of-range-data-loss")
        assert (case.facts, case.who.partition, case.who.group) == ({"asked": asked, "lost": lost}, 4, "sums")


def test_two_clusters() -> None:
    def build(told: tuple[tuple[str, tuple[str, int], str], ...]) -> Facts:
        facts = Facts()
        facts.client()
        for number, (client, broker, cluster) in enumerate(told, 1):
            facts.clusters.metadata({}, {"cluster_id": cluster}, broker, client, mark(number, at=number))
        return facts

    other = ("10.0.0.3", 9092)
    check("two-clusters-mixed", build, found=[(("shop", BROKER, "a"), ("shop", other, "b")),
                                              (("shop", BROKER, "a"), ("till", BROKER, "b"))],
          not_found=[(("shop", BROKER, "a"), ("till", other, "b")), (("shop", BROKER, "a"), ("shop", other, "a"))],
          )  # fmt: skip
    (case,) = cases(build((("shop", BROKER, "a"), ("shop", other, "b"))), "two-clusters-mixed")
    assert (case.facts, case.certainty, case.count) == ({"ids": "a and b", "who": "shop"}, "likely", 2)
    (case,) = cases(build((("shop", BROKER, "a"), ("till", BROKER, "b"))), "two-clusters-mixed")
    assert (case.facts, case.certainty) == ({"ids": "a and b", "who": "10.0.0.2:9092"}, "certain")


def test_a_topic_that_is_written_in_another_cluster() -> None:
    def build(case: tuple[int, str, str, int]) -> Facts:
        data, here, there, replica = case
        facts = Facts()
        writer, reader = facts.client("till"), facts.client(broker=("10.0.0.3", 9092))
        facts.clusters.metadata({}, {"cluster_id": here}, BROKER, "till", mark())
        facts.clusters.metadata({}, {"cluster_id": there}, ("10.0.0.3", 9092), "shop", mark())
        facts.writes(writer, "orders")
        facts.reads(reader, "orders", 0, requests=seen(3), with_data=seen(data))
        facts.reads(reader, "orders", 1, requests=seen(3))
        facts.polls_of(reader, replica=replica)
        return facts

    check("two-clusters-mixed", build, found=[(0, "a", "b", -1)],
          not_found=[(0, "a", "a", -1), (0, "a", "b", 0), (0, "", "b", -1), (0, "a", "", -1)])  # fmt: skip
    (case,) = cases(build((0, "a", "b", -1)), "two-clusters-mixed")
    assert case.facts["ids"] == "till writes topic orders to a, shop reads it from b"
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
        wrong.failed(case.get("code", 3), mark(2, at=SECOND))
        wrong.asked_by("shop", mark(2, at=SECOND))
        for name, at in (("found", 2 * SECOND), ("creating", 0), ("created", None)):
            if (time := case.get(name, at)) is not None:
                getattr(wrong, name).add(mark(3, at=time))
        right.found.add(mark(1, at=case.get("right", 0)))
        if "right_missing" in case:
            right.failed(3, mark(at=case["right_missing"]))
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

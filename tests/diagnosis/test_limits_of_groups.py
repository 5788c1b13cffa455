"""Both sides of each limit of the rules about groups, transactions and what is read: what is enough for a cause."""

from __future__ import annotations

from kdbg.analysis.diagnosis import Who
from kdbg.analysis.diagnosis.text import named
from kdbg.analysis.ledgers.clusters import Led

from .facts import MS, SECOND, START, Facts, cases, check, happened, mark, seen

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

    check("coordinator-unavailable", build, found=[(3 * SECOND, None), (3 * SECOND, 4 * SECOND)],
          not_found=[(3 * SECOND - 1, None), (3 * SECOND, 4 * SECOND + 1)])  # fmt: skip


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
        assert one.facts == {"other": case[0], "topics": "topic orders", "others": named("topic", case[1])}
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
    assert case.facts == {"members": 2, "partitions": 1, "topics": "topic orders", "names": "client till"}
    assert (case.count, case.who.client_id, case.until) == (1, "till", START + 2 * SECOND)
    facts = build((1, None, SECOND, None))
    facts.member("m3", client_id="late")  # of which nobody saw that it joined
    assert cases(facts, "idle-consumers") == []
    for number, assigned in enumerate(({"lists": (0,)}, {})):
        facts.member(f"x{number}", "more", topics=("lists",), joined=seen(), assigned=assigned, synced=seen(),
                     last_sign=START + 9 * SECOND)  # fmt: skip
    assert [case.who.group for case in cases(facts, "idle-consumers")] == ["more"]


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


def test_a_member_that_comes_back_where_its_first_join_is_not_in_the_capture() -> None:
    def build(case: tuple[bool, int]) -> Facts:
        opened, again = case
        facts = Facts()
        facts.client(opened=opened)
        facts.member(lefts=[mark(4, at=SECOND)])
        facts.member("m2", joined=seen(1, again, again), rebalance_timeout_ms=1000)
        return facts

    check("max-poll-interval-exceeded", build, found=[(False, 2 * SECOND)],
          not_found=[(True, 2 * SECOND), (False, SECOND // 2)])  # fmt: skip
    (case,) = cases(build((False, 2 * SECOND)), "max-poll-interval-exceeded")
    assert (case.certainty, case.facts) == ("guess", {"interval": SECOND})


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
    assert (case.facts, case.count, case.who) == ({"timeout": 10 * MS}, 1, Who("shop", group="sums"))
    assert (case.evidence.exchanges, case.weight, case.certainty) == ((5,), 2.3, "certain")


def test_instances_and_strategies_are_named() -> None:
    facts = Facts()
    session = facts.client()
    facts.fails(session, 82, HEARTBEAT, "sums", seen(2))
    facts.fails(session, 23, 11, "sums", seen(2))
    (case,) = cases(facts, "static-member-fenced")
    assert (case.facts["instance"], case.who.group, case.weight) == ("", "sums", 2.5)
    assert cases(facts, "inconsistent-group-protocol")[0].facts["offers"] == "not in the capture"
    facts.member("m0", client_id="till", protocols=("roundrobin",))
    for number, (instance, shown) in enumerate((("a", " a"), ("b", " a"), ("b", " b"))):
        facts.member(f"m{number + 1}", instance_id=instance, protocols=("range", f"sticky{number}"))
        (case,) = cases(facts, "static-member-fenced")
        assert case.facts["instance"] == shown
    assert cases(facts, "inconsistent-group-protocol")[0].facts["offers"] == "range, sticky2"

"""How many exchanges and packets stand for a cause that many connections have: the first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kdbg.analysis.ledgers.accounts import Pulse

from .facts import BROKER, MS, SECOND, START, Facts, cases, happened, mark, sampled, seen, slow, unanswered

MANY = 9
BY_USER = ("sasl-wrong-credentials", "sasl-session-expired")
"""Rules that tell users apart."""


def many(code: str, each: Callable[[Facts, int], object]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The exchanges and packets of the only case that a rule finds in what is done nine times, from number 1 on.

    It is of the first connection, whose user is `user 1`.
    """
    facts = Facts()
    for number in range(1, MANY + 1):
        each(facts, number)
        for session in list(facts.sessions.values())[-1:]:
            session.user = f"user {number}" if code not in BY_USER else None
    (case,) = cases(facts, code)
    assert case.who.user in ("user 1", None)
    return case.evidence[:2]


def times(code: str, each: Callable[[Facts, int], object]) -> tuple[int, int, int]:
    """When such a case began and ended, in nanoseconds after the start, and how often it was."""
    facts = Facts()
    for number in range(1, MANY + 1):
        each(facts, number)
    (case,) = cases(facts, code)
    return case.since - START, case.until - START, case.count


def test_the_first_six_of_many_connections() -> None:
    def cut_off(facts: Facts, number: int, api: int = 3, version: int = 9) -> None:
        session = facts.client(at=number, closed="broker", closes=SECOND)
        session.unanswered = [unanswered(api, version, number, number, size=(100 << 20) + 1)]
        session.unanswered_count = session.exchanges = 1

    def writes(facts: Facts, number: int) -> None:
        session = facts.client(closed="broker", closes=SECOND)
        session.heard(mark(number, number), 0, 7, None, 40)
        facts.writes(session, "orders", 1, acks=Counter({0: 1}))
        facts.writes(session, acks=Counter({0: 1}))

    def refused(facts: Facts, number: int, code: int) -> None:
        facts.client().refused = mark(number, number), code, None

    for code, each in (
        ("acks0-silent-loss", writes), ("client-without-sasl", cut_off), ("request-exceeds-socket-limit", cut_off),
        ("api-version-unsupported", lambda facts, number: cut_off(facts, number, 0, 2)),
        ("sasl-wrong-credentials", lambda facts, number: refused(facts, number, 58)),
        ("sasl-mechanism-not-enabled", lambda facts, number: refused(facts, number, 33)),
    ):  # fmt: skip
        assert many(code, each) == ((1, 2, 3, 4, 5, 6), ()), code
        assert times(code, each) == (1, 9, 9), code


def test_the_first_seven_logins_and_answers() -> None:
    def expires(facts: Facts, number: int) -> None:
        session = facts.client(closed="broker", closes=5 * SECOND)
        session.lifetime, session.authenticated = 1000, [mark(99), mark(number, number)]

    def waits(facts: Facts, number: int) -> None:
        facts.pulses[BROKER] = Pulse()
        facts.pulses[BROKER].silences.append((START, START + 5 * SECOND))
        facts.client().slow.append(slow(number, SECOND, 5 * SECOND))

    assert many("sasl-session-expired", expires) == ((1, 2, 3, 4, 5, 6, 7), ())
    assert times("sasl-session-expired", expires) == (1, 9, 9)
    assert many("broker-frozen", waits) == ((1, 2, 3, 4, 5, 6, 7), ())


def test_the_first_six_of_a_group() -> None:
    def idles(facts: Facts, number: int) -> None:
        given = {"orders": (0,)} if number == 1 else {}
        facts.member(f"m{number}", assigned=given, synced=seen(1, 0, 0, number), last_sign=START + 2 * SECOND,
                     joined=seen())  # fmt: skip

    def commits(facts: Facts, number: int) -> None:
        facts.group("sums")
        happened(facts.groups["sums"], "commit", code=25, number=number)

    assert many("idle-consumers", idles) == ((2, 3, 4, 5, 6, 7), ())
    assert many("commit-after-leaving-group", commits) == ((1, 2, 3, 4, 5, 6), ())


def test_the_first_five_short_connections_and_six_attempts() -> None:
    def churns(facts: Facts, number: int) -> None:
        for place in (0, 1):
            facts.client(closed="client", closes=MS).first = mark(2 * number - 1 + place)

    def attempts(facts: Facts, number: int) -> None:
        if number == 1:
            session = facts.client()
            for place in range(4):
                facts.clusters.advertise(7, "k7", 9093, session.broker, "shop", "10.0.0.1", mark(20 + place))
        flow = bytes((10, 0, 0, 1, 10, 9, 9, 9)) + (50000).to_bytes(2, "big") + (9093).to_bytes(2, "big")
        facts.path(flow=flow).syns = 1

    assert many("connection-churn", churns) == ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    assert many("advertised-listener-unreachable", attempts) == ((20, 21, 22), (2, 3, 4, 5, 6, 7))


def test_topics_are_those_of_the_client() -> None:
    """A topic that another connection fetches or writes is not named."""
    facts = Facts()
    other = facts.client("till")
    facts.reads(other, "bills")
    facts.writes(other, "bills")
    session = facts.client()
    facts.reads(session, "orders")
    facts.writes(session, "orders")
    session.throttled, session.throttle_ms = seen(3), 50
    facts.polls_of(session, requests=seen(100), empty=seen(100))
    assert [cases(facts, code)[0].who.topic for code in ("quota-throttled", "busy-fetch-loop")] == ["orders"] * 2


def test_a_client_and_a_topic_are_told_once() -> None:
    facts = Facts()
    for _ in range(2):
        session = facts.client()
        session.heard(mark(), 1, 2, None, 9)
        facts.polls_of(session, idle=9 * SECOND)
        for partition in (0, 1):
            flow = facts.reads(session, "orders", partition, stuck=seen(5), limit=9, isolation=1)
            sampled(flow, *((number * 2 * SECOND, 0, 100 * number, 0) for number in range(4)))
    for code, count in (("fetch-size-too-small", 1), ("consumer-too-slow", 1), ("hanging-transaction", 2)):
        assert len(cases(facts, code)) == count, code
    assert [case.who.partition for case in cases(facts, "hanging-transaction")] == [0, 1]
    assert cases(facts, "consumer-too-slow")[0].who.partition == 0


def test_the_worst_of_many_is_named() -> None:
    """The longest wait, the largest request, the client that is throttled most."""
    facts = Facts()
    for number, size in enumerate((5, 9, 7)):
        session = facts.client(closed="broker", closes=SECOND)
        session.unanswered = [unanswered(0, 9, number, number, size=(100 << 20) + size)]
        session.user, session.throttled, session.throttle_ms = f"u{size}", seen(size), 100 + size
    (case,) = cases(facts, "request-exceeds-socket-limit")
    assert (case.who.user, case.facts["size"], case.evidence.exchanges) == ("u9", (100 << 20) + 9, (0, 1, 2))
    (case,) = cases(facts, "quota-throttled")
    assert (case.who.user, case.facts, case.count) == ("u9", {"longest": 109 * MS}, 21)


def test_short_connections_are_counted_from_the_first_to_the_last() -> None:
    def churns(facts: Facts, number: int) -> None:
        for place in (0, 1):
            facts.client(at=2 * number + place, closed="client", closes=MS + 2 * number + place)

    assert times("connection-churn", churns) == (2, MS + 19, 18)

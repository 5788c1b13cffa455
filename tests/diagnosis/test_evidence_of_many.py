"""How many exchanges and packets stand for a cause that many connections have: the first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kdbg.ledgers.accounts import Pulse

from .facts import BROKER, MS, SECOND, START, Facts, cases, happened, mark, seen, slow, unanswered

MANY = 9


def many(code: str, each: Callable[[Facts, int], object]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The exchanges and packets of the only case that a rule finds in what is done nine times, from number 1 on."""
    facts = Facts()
    for number in range(1, MANY + 1):
        each(facts, number)
    (case,) = cases(facts, code)
    return case.evidence[:2]


def test_the_first_six_of_many_connections() -> None:
    def cut_off(facts: Facts, number: int, api: int = 3, version: int = 9) -> None:
        session = facts.client(at=number, closed="broker", closes=SECOND)
        session.unanswered = [unanswered(api, version, number, size=(100 << 20) + 1)]
        session.unanswered_count = session.exchanges = 1

    def writes(facts: Facts, number: int) -> None:
        session = facts.client(closed="broker", closes=SECOND)
        session.heard(mark(number), 0, 7, None, 40)
        facts.writes(session, acks=Counter({0: 1}))

    def refused(facts: Facts, number: int, code: int) -> None:
        facts.client().refused = mark(number), code, None

    for code, each in (
        ("acks0-silent-loss", writes), ("client-without-sasl", cut_off), ("request-exceeds-socket-limit", cut_off),
        ("api-version-unsupported", lambda facts, number: cut_off(facts, number, 0, 2)),
        ("sasl-wrong-credentials", lambda facts, number: refused(facts, number, 58)),
        ("sasl-mechanism-not-enabled", lambda facts, number: refused(facts, number, 33)),
    ):  # fmt: skip
        assert many(code, each) == ((1, 2, 3, 4, 5, 6), ()), code


def test_the_first_seven_logins_and_answers() -> None:
    def expires(facts: Facts, number: int) -> None:
        session = facts.client(closed="broker", closes=5 * SECOND)
        session.lifetime, session.authenticated = 1000, [mark(number)]

    def waits(facts: Facts, number: int) -> None:
        facts.pulses[BROKER] = Pulse()
        facts.pulses[BROKER].silences.append((START, START + 5 * SECOND))
        facts.client().slow.append(slow(number, SECOND, 5 * SECOND))

    assert many("sasl-session-expired", expires) == ((1, 2, 3, 4, 5, 6, 7), ())
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
                facts.clusters.advertise(7, "k7", 9093, session.broker, "shop", mark(20 + place))
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

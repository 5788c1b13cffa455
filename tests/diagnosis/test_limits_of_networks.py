"""Both sides of each limit of the rules about networks, TLS, and brokers that are slow: what is enough for a cause."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.ledgers.accounts import Pulse
from kdbg.analysis.ledgers.clusters import Led
from kdbg.protocol.findings import Severity
from kdbg.streams.tcp.paths import Stall

from .facts import BROKER, FLOW, MS, SECOND, START, Facts, cases, check, mark, slow

PRODUCE, FETCH, METADATA = 0, 1, 3
LOOPBACK = bytes((127, 0, 0, 1)) * 2 + FLOW[-4:]
KIB = b"\x16\x03\x01"


def stall(since: int, until: int | None, times: int, *, last: int = 0, size: int = 1000) -> Stall:
    return Stall(START + since, None if until is None else START + until, START + last, times, size)


def test_large_packets_that_never_arrive() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        path = facts.path()
        facts.last_time = START + 9 * SECOND
        way, other = path.ways
        way.largest_acked = case.get("acked", 999)
        way.stalls = [stall(0, case.get("until"), case.get("times", 3), size=case.get("size", 1000))]
        other.stalls = [stall(0, case.get("other_until"), case.get("other", 2))]
        return facts

    check("mtu-blackhole", build,
          found=[{}, {"size": 500, "acked": 499}, {"other": 3, "other_until": 5}],
          not_found=[{"times": 2}, {"until": 5}, {"size": 499, "acked": 1}, {"acked": 1000}, {"acked": 0},
                     {"other": 3}])  # fmt: skip
    (case,) = cases(build({}), "mtu-blackhole")
    assert case.facts == {"sender": "host 10.0.0.1", "taker": "broker 10.0.0.2:9092", "size": 1000, "largest": 999,
                          "how": "although it is retransmitted 3 times"}  # fmt: skip
    assert (case.certainty, case.weight, case.count, case.evidence.packets) == ("likely", 3.3, 1, (1,))


def test_large_packets_that_are_not_even_captured() -> None:
    def build(case: tuple[int, int, int, bool]) -> Facts:
        missing, largest, ago, hole = case
        facts = Facts()
        facts.last_time = START + 9 * SECOND
        way = facts.path().ways[1]
        way.largest = largest
        if hole:
            way.acked, way.holes = 70, [(70, 70 + missing, facts.last_time - ago), (9, 99999, 0)]
        else:
            way.announced, way.announced_time = missing, facts.last_time - ago
            way.last_time = way.announced_time - 1
        return facts

    check("mtu-blackhole", build,
          found=[(500, 499, SECOND, hole) for hole in (False, True)],
          not_found=[one for hole in (False, True)
                     for one in ((499, 1, SECOND, hole), (500, 500, SECOND, hole), (500, 1, SECOND - 1, hole))],
          )  # fmt: skip
    (case,) = cases(build((600, 499, SECOND, False)), "mtu-blackhole")
    assert case.facts == {"sender": "broker 10.0.0.2:9092", "taker": "host 10.0.0.1", "size": 600, "largest": 499,
                          "how": "not even at the capture point"}  # fmt: skip
    facts = build((600, 499, SECOND, False))
    facts.held.paths[0].ways[1].last_time += 1
    assert cases(facts, "mtu-blackhole") == []


def test_a_network_that_is_interrupted() -> None:
    def build(stalls: tuple[tuple[int | None, int, int], ...]) -> Facts:
        facts = Facts()
        facts.last_time = START + 99 * SECOND
        facts.client().path.ways[1].stalls = [  # type: ignore[union-attr]
            stall(0, until, times, last=last, size=9) for until, times, last in stalls
        ]
        return facts

    check("network-interruption", build, found=[((1500 * MS, 3, 0),), ((None, 3, 1500 * MS),)],
          not_found=[((1500 * MS - 1, 3, 9 * SECOND),), ((1500 * MS, 2, 0),), ((None, 3, 1500 * MS - 1),)],
          )  # fmt: skip
    (case,) = cases(build(((2 * SECOND, 3, 0), (None, 4, 3 * SECOND), (1, 9, 0))), "network-interruption")
    assert case.facts == {
        "long": 3 * SECOND,
        "retransmissions": 4,
        "end": "and the connection did not resume in the capture",
    }
    assert (case.since, case.until, case.count, case.weight) == (START, START + 3 * SECOND, 4, 3.2)
    facts = build(((2 * SECOND, 3, 0),))
    facts.path().ways[0].stalls = [stall(0, 3 * SECOND, 5)]
    (case,) = cases(facts, "network-interruption")
    assert (case.count, case.facts["long"], case.evidence.packets) == (8, 3 * SECOND, (1, 2))
    assert case.facts["end"] == "then the connection resumed"
    assert (case.who.client_id, case.who.host) == ("shop", "10.0.0.1")


def test_a_network_that_is_slow() -> None:
    def build(trips: tuple[int, ...]) -> Facts:
        facts = Facts()
        for trip in trips:
            path = facts.path()
            path.syns, path.answered, path.established = 1, START + trip // 2, START + trip
        return facts

    check("network-latency", build, found=[(50 * MS, 60 * MS)], not_found=[(50 * MS - 2, 60 * MS)])
    facts = build((70 * MS, 60 * MS))
    (case,) = cases(facts, "network-latency")
    assert (case.facts, case.count, case.weight) == ({"trip": 60 * MS, "clients": "host 10.0.0.1"}, 2, 1.8)
    facts.client("shop").exchanges = 1
    facts.client("till").exchanges = 2
    (case,) = cases(facts, "network-latency")
    assert (case.facts["clients"], case.who.client_id) == ("clients till, shop", "till")


def test_packets_that_get_lost() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        path = facts.path(flow=case.get("flow", FLOW))
        one, other = path.ways
        one.packets, one.resent, other.unseen = case.get("packets", 599), case.get("resent", 5), case.get("unseen", 0)
        other.packets, other.late = 1, case.get("late", 1)
        one.stalls = [stall(0, 1, 1)] * case.get("spells", 5)
        return facts

    check("packet-loss", build,
          found=[{}, {"unseen": 1, "resent": 6, "late": 0, "spells": 6},
                 {"flow": bytes((127, 0, 0, 1)) + FLOW[4:]}],
          not_found=[{"spells": 4}, {"packets": 600}, {"unseen": 1}, {"flow": LOOPBACK}])  # fmt: skip
    (case,) = cases(build({}), "packet-loss")
    assert (case.facts, case.count, case.weight) == ({"share": 0.01, "packets": 600}, 6, 2.0)
    assert case.evidence.packets == (1,)


def test_a_broker_that_stood_still() -> None:
    end = 5 * SECOND

    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        pulse = facts.pulses[BROKER] = Pulse()
        pulse.silences.append((START + 2 * SECOND, START + end))
        for _ in range(case.get("connections", 2)):
            session = facts.client(broker=case.get("broker", BROKER))
            session.throttle_ms = case.get("throttle", 0)
            start, first = case.get("start", 4 * SECOND), end + case.get("after", 0)
            session.slow.append(slow(7, start, first, api=case.get("api", METADATA), acks=case.get("acks"),
                                     held=case.get("held", 0)))  # fmt: skip
            if "stall" in case:
                session.path.ways[0].stalls.append(stall(*case["stall"]))  # type: ignore[union-attr]
            if "poll" in case:
                since, until, held = case["poll"]
                session.slow.append(slow(6, since, until, until, api=FETCH, held=held))
            if "replicas" in case:
                facts.writes(session, "orders")
                topic = facts.clusters.topic("orders")
                assert topic is not None
                topic.partitions[0] = [Led(0, 1, case["replicas"], 1)]
        return facts

    check(
        "broker-frozen", build,
        found=[{}, {"start": end - 500 * MS - 1}, {"after": 700 * MS - 1}, {"after": 1 - 700 * MS, "start": SECOND},
               {"start": 4 * SECOND, "held": 250 * MS - 1}, {"api": PRODUCE, "acks": 1}, {"api": PRODUCE, "acks": 0},
               {"api": PRODUCE, "acks": -1, "replicas": 1}, {"throttle": 249}, {"stall": (end, None, 2)},
               {"stall": (0, 2 * SECOND, 2)}, {"stall": (3 * SECOND, None, 1)},
               {"poll": (4 * SECOND, end, SECOND)}, {"poll": (SECOND, 4 * SECOND, 3 * SECOND)},
               {"poll": (3 * SECOND, end, 0)}, {"poll": (3 * SECOND, end, 1500 * MS)}],
        not_found=[{"start": end - 500 * MS}, {"after": 700 * MS}, {"after": -700 * MS, "start": SECOND},
                   {"held": 250 * MS}, {"connections": 1}, {"broker": ("10.0.0.3", 9092)}, {"throttle": 250},
                   {"api": PRODUCE, "acks": -1}, {"api": PRODUCE, "acks": -1, "replicas": 2},
                   *({"api": key} for key in (11, 14, 19, 20, 43)),
                   {"stall": (end - 1, None, 2)}, {"stall": (0, 2 * SECOND + 1, 2)},
                   {"poll": (4 * SECOND - 1, 4 * SECOND + 1, SECOND)}, {"poll": (3 * SECOND, end, 1500 * MS + 1)}],
    )  # fmt: skip
    (case,) = cases(build({"connections": 1, "start": 3 * SECOND}), "broker-frozen")
    found = {"silent": 2 * SECOND, "clients": "client shop", "connections": 1}
    assert (case.certainty, case.facts) == ("likely", found)
    (case,) = cases(build({}), "broker-frozen")
    assert (case.certainty, case.count, case.facts["connections"]) == ("certain", 2, 2)
    assert (case.since, case.until, case.evidence.exchanges) == (START + 4 * SECOND, START + end, (7,))


def test_a_follower_that_is_slow() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for number in range(case.get("writes", 3)):
            lasts = case.get("worst", 1500 * MS) if not number else case.get("late", 500 * MS)
            start = 10 * SECOND
            session.slow.append(slow(number + 1, start, start + lasts, api=PRODUCE, acks=case.get("acks", -1)))
        facts.writes(session, "orders")
        if case.get("answers", True):
            facts.client("till").heard(mark(9, at=case.get("other", 11 * SECOND)), METADATA, 9, "till", 40)
        if "times" in case:
            follower = facts.client("broker-2")
            facts.polls_of(follower, replica=case.get("replica", 2), times=[START + one for one in case["times"]])
        return facts

    check(
        "slow-follower", build,
        found=[{}, {"times": [9 * SECOND, 10 * SECOND, 11500 * MS]}, {"times": [10500 * MS]},
               {"times": [10 * SECOND, 11 * SECOND, 11500 * MS]}, {"times": [10 * SECOND], "replica": -1},
               {"times": [8 * SECOND, 9 * SECOND, 9 * SECOND + 1, 10 * SECOND + 1]}],
        not_found=[{"writes": 2}, {"late": 500 * MS - 1}, {"worst": 1500 * MS - 1}, {"acks": 1}, {"answers": False},
                   {"other": 11500 * MS}, {"other": 10 * SECOND},
                   {"times": [10 * SECOND, 11 * SECOND - 1, 11500 * MS]}, {"times": [10500 * MS + 1]}],
    )  # fmt: skip
    (case,) = cases(build({}), "slow-follower")
    assert (case.certainty, case.severity, case.count) == ("guess", Severity.WARNING, 3)
    assert (case.facts["pause"], case.facts["follower"]) == (1500 * MS, "a follower (not in the capture)")
    facts = build({"times": [9 * SECOND, 11 * SECOND, 11400 * MS]})
    (case,) = cases(facts, "slow-follower")
    assert (case.certainty, case.severity, case.who.broker) == ("certain", Severity.ERROR, "10.0.0.2:9092")
    assert case.facts == {"longest": 1500 * MS, "follower": "broker 2", "leader": "10.0.0.2:9092", "pause": 2 * SECOND,
                          "checked": "broker 2"}  # fmt: skip
    facts.clusters.advertise(2, "k2", 9094, BROKER, "shop", "10.0.0.1", mark())
    (case,) = cases(facts, "slow-follower")
    assert (case.who.broker, case.who.topic, case.until) == ("k2:9094", "orders", START + 11500 * MS)


def test_requests_that_wait_behind_others() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for number in range(case.get("pairs", 3)):
            at = number * 10 * SECOND
            until = at + case.get("lasts", SECOND)
            session.slow.append(slow(number * 2 + 1, at, until, api=FETCH, held=case.get("held", SECOND)))
            start = at + case.get("start", 100 * MS)
            session.slow.append(slow(number * 2 + 2, start, until + case.get("after", 0), api=case.get("api", METADATA),
                                     held=case.get("mine", 0)))  # fmt: skip
        return facts

    check("head-of-line-blocking", build,
          found=[{}, {"start": 800 * MS}, {"after": 50 * MS}, {"start": 1}, {"mine": 700 * MS - 1}],
          not_found=[{"pairs": 2}, {"start": 800 * MS + 1}, {"after": 50 * MS + 1}, {"after": -1}, {"start": 0},
                     {"mine": 700 * MS}, {"api": FETCH}])  # fmt: skip
    for start, severity in ((200 * MS, Severity.WARNING), (200 * MS + 1, Severity.NOTE)):
        (case,) = cases(build({"start": start, "lasts": 1300 * MS}), "head-of-line-blocking")
        assert (case.severity, case.count) == (severity, 3)
        assert case.facts == {"longest": 1300 * MS - start, "api": "Metadata", "first": "Fetch",
                              "hold": ", which the broker may hold for 1 s"}  # fmt: skip
        assert case.evidence.exchanges == (1, 2, 3, 4, 5, 6)


def test_a_request_that_waits_behind_several_counts_once() -> None:
    facts = Facts()
    session = facts.client()
    for number in range(3):
        at = number * 10 * SECOND
        session.slow += [slow(1, at, at + SECOND, api=FETCH), slow(2, at + 1, at + SECOND, api=FETCH),
                         slow(3, at + 2, at + SECOND)]  # fmt: skip
    (case,) = cases(facts, "head-of-line-blocking")
    assert (case.count, case.facts["hold"], case.facts["first"]) == (6, "", "Fetch")

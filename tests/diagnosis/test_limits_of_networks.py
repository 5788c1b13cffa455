"""Both sides of each limit of the rules about networks, TLS, and brokers that are slow: what is enough for a cause."""

from __future__ import annotations

from typing import Any

from kdbg.diagnosis import Who
from kdbg.diagnosis.advertised import answers, leads_to
from kdbg.findings.kinds import Severity
from kdbg.ledgers.accounts import Pulse
from kdbg.ledgers.clusters import Led
from kdbg.tcp.paths import Path, Stall

from .facts import BROKER, FLOW, MS, SECOND, START, Facts, cases, mark, seen, slow, unanswered
from .test_limits_of_clients import check

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
    assert case.facts == {"sender": "10.0.0.1", "taker": "10.0.0.2:9092", "size": 1000, "largest": 999,
                          "how": "though they are sent again 3 times"}  # fmt: skip
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
    assert case.facts == {"sender": "10.0.0.2:9092", "taker": "10.0.0.1", "size": 600, "largest": 499,
                          "how": "not even here"}  # fmt: skip
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
    assert case.facts == {"long": 3 * SECOND, "times": 4, "end": "and never again"}
    assert (case.since, case.until, case.count, case.weight) == (START, START + 3 * SECOND, 4, 3.2)
    facts = build(((2 * SECOND, 3, 0),))
    facts.path().ways[0].stalls = [stall(0, 3 * SECOND, 5)]
    (case,) = cases(facts, "network-interruption")
    assert (case.count, case.facts["long"], case.evidence.packets) == (8, 3 * SECOND, (1, 2))
    assert case.facts["end"] == "then all went on on the same connection"
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
    assert (case.facts, case.count, case.weight) == ({"trip": 60 * MS, "clients": "10.0.0.1"}, 2, 1.8)
    facts.client("shop").exchanges = 1
    facts.client("till").exchanges = 2
    (case,) = cases(facts, "network-latency")
    assert (case.facts["clients"], case.who.client_id) == ("till, shop", "till")


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
        for _ in range(case.get("connections", 1)):
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
               {"start": 4 * SECOND, "held": 500 * MS - 1}, {"api": PRODUCE, "acks": 1}, {"api": PRODUCE, "acks": 0},
               {"api": PRODUCE, "acks": -1, "replicas": 1}, {"throttle": 249}, {"stall": (end, None, 2)},
               {"stall": (0, 2 * SECOND, 2)}, {"stall": (3 * SECOND, None, 1)},
               {"poll": (4 * SECOND, end, SECOND)}, {"poll": (SECOND, 4 * SECOND, 3 * SECOND)},
               {"poll": (3 * SECOND, end, 0)}, {"poll": (3 * SECOND, end, 1500 * MS)}],
        not_found=[{"start": end - 500 * MS}, {"after": 700 * MS}, {"after": -700 * MS, "start": SECOND},
                   {"held": 500 * MS}, {"broker": ("10.0.0.3", 9092)}, {"throttle": 250},
                   {"api": PRODUCE, "acks": -1}, {"api": PRODUCE, "acks": -1, "replicas": 2},
                   *({"api": key} for key in (11, 14, 19, 20, 43)),
                   {"stall": (end - 1, None, 2)}, {"stall": (0, 2 * SECOND + 1, 2)},
                   {"poll": (4 * SECOND - 1, 4 * SECOND + 1, SECOND)}, {"poll": (3 * SECOND, end, 1500 * MS + 1)}],
    )  # fmt: skip
    (case,) = cases(build({}), "broker-frozen")
    assert (case.certainty, case.facts) == ("likely", {"silent": SECOND, "clients": "shop", "connections": 1})
    (case,) = cases(build({"connections": 2}), "broker-frozen")
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
    assert (case.facts["pause"], case.facts["follower"]) == (1500 * MS, "a replica")
    facts = build({"times": [9 * SECOND, 11 * SECOND, 11400 * MS]})
    (case,) = cases(facts, "slow-follower")
    assert (case.certainty, case.severity, case.who.broker) == ("certain", Severity.ERROR, "10.0.0.2:9092")
    assert case.facts == {"longest": 1500 * MS, "follower": "broker 2", "leader": "10.0.0.2:9092", "pause": 2 * SECOND,
                          "said": "did not fetch"}  # fmt: skip
    facts.clusters.advertise(2, "k2", 9094, BROKER, "shop", mark())
    (case,) = cases(facts, "slow-follower")
    assert (case.who.broker, case.who.topic, case.until) == ("k2:9094", "orders", START + 11500 * MS)


def test_requests_that_wait_behind_others() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for number in range(case.get("pairs", 3)):
            at = number * 10 * SECOND
            until = at + SECOND
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
        (case,) = cases(build({"start": start}), "head-of-line-blocking")
        assert (case.severity, case.count) == (severity, 3)
        assert case.facts == {"longest": SECOND - start, "api": "Metadata", "first": "Fetch", "held": SECOND}
        assert case.evidence.exchanges == (1, 2, 3, 4, 5, 6)


def test_a_request_that_waits_behind_several_counts_once() -> None:
    facts = Facts()
    session = facts.client()
    for number in range(3):
        at = number * 10 * SECOND
        session.slow += [slow(1, at, at + SECOND, api=FETCH), slow(2, at + 1, at + SECOND, api=FETCH),
                         slow(3, at + 2, at + SECOND)]  # fmt: skip
    (case,) = cases(facts, "head-of-line-blocking")
    assert (case.count, case.facts["held"], case.facts["first"]) == (6, 0, "Fetch")


def test_answers_that_are_mixed_up() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client(opened=case.get("opened", True))
        session.first = mark(1)
        session.unasked = seen(case.get("unasked", 0), first=5)
        session.unanswered_count = case.get("unanswered", 0)
        session.unanswered = [unanswered(number=9 + one, at=one) for one in range(session.unanswered_count)]
        for kind in case.get("odd", ()):
            session.odd(kind, mark(3))
        assert session.path is not None
        session.path.ways[1].unseen = case.get("unseen", 0)
        return facts

    both = {"unasked": 1, "unanswered": 1}
    check("correlation-mismatch-middlebox", build,
          found=[both, {"odd": ["order"]}, {"odd": ["unasked"], "unanswered": 1}],
          not_found=[{"unasked": 1}, {"unanswered": 1}, {**both, "opened": False}, {**both, "unseen": 1},
                     {**both, "odd": ["gap"]}, {"odd": ["unasked"]}])  # fmt: skip
    (case,) = cases(build({"unasked": 2, "unanswered": 3}), "correlation-mismatch-middlebox")
    assert (case.count, case.evidence.exchanges, case.since, case.until) == (2, (5, 6, 9, 10), START, START + 1)


def test_batches_that_are_damaged() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for key in case.get("apis", [FETCH]):
            session.heard(mark(), key, 9, "shop", 40)
        session.odd(case.get("kind", "crc"), mark(4))
        facts.reads(session, "empty", requests=seen())
        facts.reads(session, "orders", with_data=seen())
        return facts

    check("corrupt-batch", build, found=[{}],
          not_found=[{"kind": "null"}, {"apis": [FETCH, PRODUCE]}, {"apis": [METADATA]}])  # fmt: skip
    (case,) = cases(build({}), "corrupt-batch")
    assert (case.who.topic, case.count, case.weight) == ("orders", 1, 2.5)
    facts = Facts()
    facts.fails(facts.client(), 2, FETCH, "orders", seen(2))
    assert cases(facts, "corrupt-batch") == []
    facts.fails(facts.client(), 2, PRODUCE, "orders", seen(2))
    assert cases(facts, "corrupt-batch")[0].count == 2


def heads(client: bytes, broker: bytes, *, closed: str = "broker", speaks: bool = False) -> Facts:
    """One connection, by how its ends begin."""
    facts = Facts()
    path = facts.client(closed=closed, closes=SECOND).path if speaks else facts.path(closed=closed, closes=SECOND)
    assert path is not None
    path.ways[0].head, path.ways[1].head = client, broker
    path.ways[0].bytes, path.ways[1].bytes = len(client), len(broker)
    return facts


def test_who_speaks_another_protocol() -> None:
    kafka = b"\0\0\0\x20\0\x12"
    for method in (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"PRI "):
        (case,) = cases(heads(method + b"/", b""), "http-to-kafka-port")
        assert case.facts == {"number": int.from_bytes(method, "big"), "method": method.decode().strip()}
        assert cases(heads(method, b"HTTP/1.1"), "http-to-kafka-port") == []
        assert cases(heads(method, b"HTTP/1.1", speaks=True), "kafka-client-to-http-server") == []
    assert cases(heads(kafka, b""), "http-to-kafka-port") == []
    (case,) = cases(heads(kafka, b"HTTP/1.1", speaks=True), "kafka-client-to-http-server")
    assert (case.who, case.count, case.weight) == (Who("shop", "10.0.0.1", "10.0.0.2:9092"), 1, 2.0)
    for client, broker, speaks in ((kafka, b"HTTP/1.1", False), (b"", b"HTTP/1.1", True), (kafka, b"HTT", True)):
        assert cases(heads(client, broker, speaks=speaks), "kafka-client-to-http-server") == []


def test_tls_on_one_side_alone() -> None:
    alert = b"\x15\x03\x03\0\x02"
    (case,) = cases(heads(b"\0\0\0\x20", alert), "plaintext-client-to-tls-listener")
    assert (case.facts, case.weight) == ({"number": 0x15030300}, 3.0)
    for client, broker in ((KIB, alert), (b"", alert), (b"\0", b"\x15\x04"), (b"\0", b"\x16\x03")):
        assert cases(heads(client, broker), "plaintext-client-to-tls-listener") == []
    for closed, speaks, certainty in (("broker", False, "certain"), ("client", False, "likely"),
                                      ("client", True, "certain")):  # fmt: skip
        (case,) = cases(heads(KIB + b"\x02", b"", closed=closed, speaks=speaks), "tls-client-to-plaintext-listener")
        assert (case.certainty, case.facts) == (certainty, {"number": 0x16030102})
    for client, broker, closed in ((KIB, b"\x16", "broker"), (KIB, b"", ""), (b"\x16\x04", b"", "broker")):
        assert cases(heads(client, broker, closed=closed), "tls-client-to-plaintext-listener") == []


def test_a_certificate_that_a_client_refuses() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = heads(case.get("client", KIB + b"\0\x10"), case.get("broker", KIB))
        way = facts.held.paths[0].ways[0]
        way.bytes = 16 + 5 + case.get("rest", 52)
        way.tail, way.tail_length = case.get("tail", b"\x17"), case.get("length", 30)
        return facts

    check("tls-untrusted-certificate", build,
          found=[{}, {"tail": b"\x14"}, {"rest": 1}, {"tail": b"\x15", "length": 7, "rest": 99}],
          not_found=[{"rest": 53}, {"rest": 0}, {"tail": b"\x16"}, {"tail": b"\x15"}, {"client": b"\0\0"},
                     {"broker": b"\x15"}, {"tail": b"\x15", "length": 8, "rest": 99}])  # fmt: skip
    (case,) = cases(build({}), "tls-untrusted-certificate")
    assert (case.certainty, case.weight) == ("likely", 3.0)
    assert case.facts == {"alert": "an encrypted alert", "names": "names that are encrypted"}


def test_an_address_that_leads_nowhere() -> None:
    away = bytes((10, 0, 0, 1, 10, 9, 9, 9)) + (50000).to_bytes(2, "big") + (9093).to_bytes(2, "big")

    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for _ in range(case.get("looks", 1)):
            session.heard(mark(), METADATA, 9, "shop", 40)
        for key in case.get("apis", ()):
            session.heard(mark(), key, 9, "shop", 40)
        host, port = case.get("host", "10.9.9.9"), case.get("port", 9093)
        for other in case.get("beside", ()):
            facts.clusters.advertise(1, *other, BROKER, "till", mark())
        facts.clusters.advertise(7, host, port, case.get("by", BROKER), "shop", mark(3, at=5 * SECOND))
        if "at" in case:
            path = facts.path(flow=case.get("flow", away), at=case["at"])
            path.syns = case.get("syns", 1)
            path.answered = case.get("answered")
            path.ways[1].bytes = case.get("bytes", 0)
        return facts

    check("advertised-listener-unreachable", build,
          found=[{"at": 4 * SECOND}, {"looks": 2}, {"at": 4 * SECOND - 1, "looks": 2}, {"looks": 2, "apis": [10]},
                 {"host": "k7", "at": 4 * SECOND},
                 {"looks": 2, "beside": [("", 1), ("k1", 0), ("localhost", 9092), ("10.9.9.8", 1)]},
                 {"host": "localhost", "port": 9092, "at": 4 * SECOND, "flow": LOOPBACK, "by": ("127.0.0.1", 9092)}],
          not_found=[{"at": 4 * SECOND - 1}, {"looks": 1}, {"host": ""},
                     {"host": "localhost", "port": 9092, "at": 4 * SECOND, "flow": LOOPBACK},
                     {"at": 4 * SECOND, "port": 9094},
                     {"at": 4 * SECOND, "answered": 1}, {"at": 4 * SECOND, "bytes": 1}, {"at": 4 * SECOND, "syns": 0},
                     {"looks": 2, "port": 0}, {"looks": 2, "host": "k7"},
                     *({"looks": 2, "apis": [key]} for key in (0, 1, 2, 11, 68))])  # fmt: skip
    check("advertised-listener-unresolvable", build, found=[{"looks": 2, "host": "k7"},
                 {"looks": 2, "host": "k7", "beside": [("localhost", 9092), ("10.9.9.8", 1), ("k2", 5)]}],
          not_found=[{"host": "k7"}, {"looks": 2}, {"looks": 2, "host": "localhost"},
                     {"looks": 2, "host": "k7", "at": 4 * SECOND}])  # fmt: skip
    local = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "localhost.localdomain")
    check("advertised-listener-localhost", build, found=[{"host": host, "beside": [("k2", 5)]} for host in local],
          not_found=[{"host": "127.0.0.2"}, *({"host": host, "by": ("127.0.0.1", 9092)} for host in local)],
          )  # fmt: skip
    (case,) = cases(build({"at": 4 * SECOND}), "advertised-listener-unreachable")
    assert (case.certainty, case.weight, case.count) == ("certain", 4.0, 1)
    assert case.who == Who("shop", "10.0.0.1", "10.0.0.2:9092", listener="10.9.9.9:9093")
    assert (case.facts, case.evidence.exchanges) == ({"node_id": 7, "answers": "nothing answers"}, (3,))
    (case,) = cases(build({"looks": 2}), "advertised-listener-unreachable")
    assert (case.certainty, case.facts["answers"]) == ("likely", "it never even asks for a connection there")
    (case,) = cases(build({"host": "localhost"}), "advertised-listener-localhost")
    assert (case.certainty, case.who.client_id, case.since) == ("likely", "shop", START + 5 * SECOND)


def test_where_a_host_leads_to() -> None:
    facts = Facts()
    path, local = facts.path(), facts.path(flow=LOOPBACK)
    assert leads_to("10.0.0.2", path, set())
    assert not leads_to("10.0.0.3", path, set())
    assert leads_to("localhost", local, set())
    assert not leads_to("localhost", path, set())
    assert leads_to("k7", path, set())
    assert not leads_to("k7", path, {BROKER})
    path.ways[1].bytes = 1
    assert leads_to("k7", path, {BROKER})


def test_what_attempts_came_to() -> None:
    def attempt(refused: int | None) -> Path:
        path = Facts().path()
        path.refused = refused
        return path

    assert answers([attempt(1), attempt(2)]) == "every attempt is refused"
    assert answers([attempt(None)]) == "nothing answers"
    assert answers([attempt(None), attempt(1)]) == "attempts are refused or not answered"


def test_errors_that_speak_for_themselves() -> None:
    """By rule: codes and APIs of theirs, one that is not, what they are about, and how much they weigh."""
    for code, errors, apis, other, about, weight in (
        ("cluster-authorization-failed", (31,), (3, 19), None, None, 2.0),
        ("group-authorization-failed", (30,), (8, 11), None, "group", 2.0),
        ("topic-authorization-failed", (29,), (0, 1), None, "topic", 2.0),
        ("transactional-id-authorization-failed", (53,), (22, 24), None, "transactional_id", 2.0),
        ("invalid-record", (87,), (0,), 1, "topic", 2.0), ("invalid-timestamp", (32,), (0,), 1, "topic", 2.0),
        ("invalid-transaction-timeout", (50,), (22,), None, "transactional_id", 2.5),
        ("kafka-storage-error", (56,), (0, 1), None, "topic", 2.0),
        ("message-too-large", (10, 18), (0,), 1, "topic", 2.0),
        ("not-enough-replicas", (19, 20), (0,), 1, "topic", 2.0),
    ):  # fmt: skip
        for error in errors:
            for api in apis:
                facts = Facts()
                facts.fails(facts.client(), error, api, "x", seen(2, 1, 5))
                (case,) = cases(facts, code)
                assert case.who == Who("shop", "10.0.0.1", "10.0.0.2:9092")._replace(**{about: "x"} if about else {})
                assert (case.count, case.since, case.until, case.weight) == (2, START + 1, START + 5, weight)
                assert (case.evidence.exchanges, case.facts["principal"]) == ((1, 2), "ANONYMOUS")
        facts = Facts()
        session = facts.client()
        facts.fails(session, max(errors) + 1, apis[0], "x", seen())
        facts.fails(session, min(errors) - 1, apis[0], "x", seen())
        if other is not None:
            facts.fails(session, errors[0], other, "x", seen())
        assert cases(facts, code) == []


def test_the_largest_request_is_named() -> None:
    facts = Facts()
    session = facts.client()
    session.heard(mark(), PRODUCE, 9, "shop", 4321)
    facts.fails(session, 18, PRODUCE, "x", seen())
    session.user = "mara"
    assert cases(facts, "message-too-large")[0].facts == {
        "principal": "mara", "size": 4321, "name": "RECORD_LIST_TOO_LARGE",
    }  # fmt: skip

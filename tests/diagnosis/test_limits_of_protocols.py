"""Both sides of each limit of the rules about other protocols, addresses and plain error codes: what is enough."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.diagnosis import Who
from kdbg.analysis.diagnosis.rules.listeners import answers, leads_to
from kdbg.streams.tcp.paths import Path

from .facts import BROKER, FLOW, SECOND, START, Facts, cases, check, mark, seen, unanswered

PRODUCE, FETCH, METADATA = 0, 1, 3
LOOPBACK = bytes((127, 0, 0, 1)) * 2 + FLOW[-4:]
KIB = b"\x16\x03\x01"


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
          found=[both, {"odd": ["out-of-order"]}, {"odd": ["unsolicited-response"], "unanswered": 1}],
          not_found=[{"unasked": 1}, {"unanswered": 1}, {**both, "opened": False}, {**both, "unseen": 1},
                     {**both, "odd": ["tcp-gap"]}, {"odd": ["unsolicited-response"]}])  # fmt: skip
    (case,) = cases(build({"unasked": 2, "unanswered": 3}), "correlation-mismatch-middlebox")
    assert (case.count, case.evidence.exchanges, case.since, case.until) == (2, (5, 6, 9, 10), START, START + 1)


def test_batches_that_are_damaged() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        for key in case.get("apis", [FETCH]):
            session.heard(mark(), key, 9, "shop", 40)
        session.odd(case.get("kind", "crc-mismatch"), mark(4))
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
    methods = "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE", "PRI"
    for name in methods:
        method = f"{name} /".encode()[:4]
        (case,) = cases(heads(method + b"/", b""), "http-to-kafka-port")
        assert case.facts == {"number": int.from_bytes(method, "big"), "method": name}
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
    assert case.facts == {"alert": "an encrypted TLS alert", "names": "encrypted"}


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
            facts.clusters.advertise(1, *other, BROKER, "till", "10.0.0.1", mark())
        facts.clusters.advertise(7, host, port, case.get("by", BROKER), "shop",
                                 "127.0.0.1" if "flow" in case else "10.0.0.1", mark(3, at=5 * SECOND))  # fmt: skip
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
    assert (case.facts, case.evidence.exchanges) == (
        {"node_id": 7, "answers": "no connection attempt gets a reply"},
        (3,),
    )
    (case,) = cases(build({"looks": 2}), "advertised-listener-unreachable")
    assert (case.certainty, case.facts["answers"]) == ("likely", "the capture has no connection attempt to it")
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

    assert answers([attempt(1), attempt(2)]) == "every connection attempt is refused"
    assert answers([attempt(None)]) == "no connection attempt gets a reply"
    assert answers([attempt(None), attempt(1)]) == "connection attempts are refused or get no reply"


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

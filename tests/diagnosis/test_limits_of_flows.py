"""Both sides of each limit of the rules about what is fetched and written, logins and leaders: what is enough."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.diagnosis import Who
from kdbg.analysis.ledgers.clusters import Led
from kdbg.analysis.ledgers.sessions import BrokenOff
from kdbg.protocol.findings import Severity
from kdbg.streams.tcp.paths import Stall

from .facts import BROKER, FLOW, MS, SECOND, START, Facts, cases, check, mark, seen, slow, unanswered

PRODUCE, FETCH, METADATA = 0, 1, 3


def test_fetch_sessions_that_are_not_to_be_had() -> None:
    def build(case: tuple[int, int, int, int]) -> Facts:
        lost, full, partitions, replica = case
        facts = Facts()
        facts.polls_of(facts.client(), partitions=partitions, replica=replica, full_sessions=seen(full),
                       session_errors={70: seen(lost - lost // 2), 71: seen(lost // 2), 99: seen(20)})  # fmt: skip
        return facts

    check("fetch-sessions-unavailable", build, found=[(10, 0, 1, -1), (0, 10, 1, -1)],
          not_found=[(9, 9, 1, -1), (10, 10, 1, 0)])  # fmt: skip
    for values, severity, count in (
        ((10, 11, 1, -1), Severity.WARNING, 10), ((9, 11, 19, -1), Severity.NOTE, 11),
        ((9, 10, 20, -1), Severity.WARNING, 10),
    ):  # fmt: skip
        (case,) = cases(build(values), "fetch-sessions-unavailable")
        assert (case.severity, case.count, case.facts) == (severity, count, {"partitions": values[2]})


def test_fetches_that_are_too_small() -> None:
    def build(case: tuple[int, int, int, int, int, int]) -> Facts:
        data, over, limit, stuck, version, replica = case
        facts = Facts()
        session = facts.client()
        session.heard(mark(1), FETCH, version, "shop", 40)
        facts.polls_of(session, replica=replica)
        facts.reads(session, with_data=seen(data), oversized=seen(over), limit=limit, stuck=seen(stuck))
        return facts

    kib = 1 << 10
    check(
        "fetch-size-too-small", build,
        found=[(10, 5, 256 * kib, 0, 11, -1), (9, 0, 1, 5, 2, -1), (9, 0, 999 * kib, 5, 0, -1)],
        not_found=[(9, 4, 1, 0, 11, -1), (11, 5, 1, 0, 11, -1), (10, 5, 256 * kib + 1, 0, 11, -1),
                   (9, 0, 1, 4, 2, -1), (9, 0, 1, 5, 3, -1), (10, 5, 1, 0, 11, 0)],
    )  # fmt: skip
    (case,) = cases(build((10, 6, 9, 5, 2, -1)), "fetch-size-too-small")
    assert (case.severity, case.count, case.facts["limit"]) == (Severity.ERROR, 5, 9)
    (case,) = cases(build((10, 6, 9, 5, 3, -1)), "fetch-size-too-small")
    assert (case.severity, case.count, case.facts["limit"]) == (Severity.WARNING, 6, 9)


def test_a_partition_that_is_hot() -> None:
    def build(case: tuple[int, int, int, int, int]) -> Facts:
        hot, others, batches, known, written = case
        facts = Facts()
        session = facts.client()
        facts.writes(session, "orders", 1, records=hot, batches=batches, requests=seen(batches))
        for partition in range(2, 1 + written):
            facts.writes(session, "orders", partition, records=others if partition == 2 else 0, requests=seen())
        topic = facts.clusters.topic("orders")
        assert topic is not None
        topic.partitions = {number: [Led(0, 1, 1, 1)] for number in range(known)}
        return facts

    check(
        "hot-partition", build,
        found=[(75, 25, 20, 3, 2), (100, 0, 20, 3, 1), (75, 25, 20, 0, 3)],
        not_found=[(75, 24, 20, 3, 2), (74, 26, 20, 3, 2), (75, 25, 19, 3, 2), (75, 25, 20, 2, 2)],
    )  # fmt: skip
    (case,) = cases(build((80, 20, 20, 5, 2)), "hot-partition")
    assert case.facts == {"share": 0.8, "total": 100, "partitions": 5}
    assert (case.who.partition, case.count) == (1, 80)


def test_a_producer_that_does_not_batch() -> None:
    def build(case: tuple[int, int, int, int]) -> Facts:
        batches, singles, span, plain = case
        facts = Facts()
        facts.writes(facts.client(), batches=batches, singles=singles, uncompressed=plain,
                     requests=seen(batches, 0, span))  # fmt: skip
        return facts

    check("unbatched-producer", build, found=[(200, 190, SECOND, 0), (200, 200, 0, 0)],
          not_found=[(199, 199, 0, 0), (200, 189, 0, 0), (200, 200, SECOND + 10_000_000, 0)])  # fmt: skip
    for plain, codec in ((200, "uncompressed"), (199, "compressed")):
        (case,) = cases(build((200, 200, SECOND // 2, plain)), "unbatched-producer")
        assert (case.facts, case.count) == ({"rate": 400.0, "codec": codec}, 200)
    (case,) = cases(build((200, 200, 0, 0)), "unbatched-producer")
    assert case.facts["rate"] == 2000


def test_a_client_that_is_throttled() -> None:
    def build(case: tuple[int, int]) -> Facts:
        times, longest = case
        facts = Facts()
        session = facts.client()
        session.throttled, session.throttle_ms = seen(times), longest
        facts.writes(session, "orders")
        return facts

    check("quota-throttled", build, found=[(3, 20), (1, 1000), (2, 1000)],
          not_found=[(3, 19), (2, 999), (0, 2000)])  # fmt: skip
    (case,) = cases(build((3, 20)), "quota-throttled")
    assert (case.facts, case.who.topic, case.count) == ({"longest": 20 * MS}, "orders", 3)


def test_a_request_that_is_larger_than_the_socket_takes() -> None:
    def build(case: tuple[int, int, str]) -> Facts:
        size, missing, by = case
        facts = Facts()
        session = facts.client(closed=by, closes=SECOND)
        session.unanswered = [unanswered(0, 9, 4, size=size, missing=missing)]
        facts.writes(session, "small", bytes=5)
        facts.writes(session, "large", bytes=6)
        return facts

    limit, large = 100 << 20, 64 << 10
    check("request-exceeds-socket-limit", build,
          found=[(limit + 1, 0, "broker"), (large + 1, 1, "broker")],
          not_found=[(limit, 0, "broker"), (large, 1, "broker"), (large + 1, 0, "broker"), (limit + 1, 0, "client")],
          )  # fmt: skip
    for size, certainty in ((limit + 1, "certain"), (limit, "likely")):
        (case,) = cases(build((size, 9, "broker")), "request-exceeds-socket-limit")
        assert case.facts == {"size": size, "came": size - 9, "api": "Produce"}
        assert (case.certainty, case.who.topic, case.evidence.exchanges) == (certainty, "large", (4,))


def test_a_login_that_expired() -> None:
    def build(case: tuple[int, int, str, int]) -> Facts:
        lifetime, closes, by, open_requests = case
        facts = Facts()
        session = facts.client(closed=by, closes=closes)
        session.lifetime, session.authenticated, session.user = lifetime, [mark(2, end=SECOND)], "mara"
        session.last = mark(7, at=2 * SECOND)
        session.unanswered = [unanswered()] * open_requests
        return facts

    check("sasl-session-expired", build, found=[(1000, 1900 * MS, "broker", 0)],
          not_found=[(1000, 1900 * MS - 1, "broker", 0), (0, 9 * SECOND, "broker", 0), (1000, 9 * SECOND, "client", 0)],
          )  # fmt: skip
    for requests, certainty in ((0, "likely"), (1, "certain")):
        (case,) = cases(build((1500, 5 * SECOND, "broker", requests)), "sasl-session-expired")
        assert (case.facts, case.certainty) == ({"lifetime": 1500 * MS, "name": "mara"}, certainty)
        assert (case.evidence.exchanges, case.since, case.until) == ((2, 7), START, START + 2 * SECOND)


def test_logins_that_are_refused() -> None:
    def build(code: int, mechanism: str | None, user: str | None) -> Facts:
        facts = Facts()
        for number in (3, 5):
            session = facts.client()
            session.refused, session.mechanism, session.user = (mark(number), code, "no"), mechanism, user
            session.offered_mechanisms = ("PLAIN", "OAUTHBEARER")
        return facts

    for mechanism, certainty in (
        ("PLAIN", "certain"), ("SCRAM-SHA-256", "certain"), ("SCRAM-SHA-512", "certain"), ("OAUTHBEARER", "likely"),
    ):  # fmt: skip
        (case,) = cases(build(58, mechanism, "mara"), "sasl-wrong-credentials")
        assert (case.certainty, case.count, case.evidence.exchanges) == (certainty, 2, (3, 5))
        assert case.facts == {"mechanism": mechanism, "said": " (no)", "name": "mara"}
    (case,) = cases(build(58, None, None), "sasl-wrong-credentials")
    assert case.facts == {"mechanism": "SASL", "said": " (no)", "name": "(unknown)"}
    (case,) = cases(build(33, "GSSAPI", None), "sasl-mechanism-not-enabled")
    assert (case.facts, case.count) == ({"mechanism": "GSSAPI", "offered": "PLAIN, OAUTHBEARER"}, 2)
    assert cases(build(58, "PLAIN", "mara"), "sasl-mechanism-not-enabled") == []
    assert cases(build(33, "PLAIN", "mara"), "sasl-wrong-credentials") == []


def test_a_topic_that_is_not_there() -> None:
    def build(case: tuple[int, int | None, int]) -> Facts:
        times, found, api = case
        facts = Facts()
        facts.fails(facts.client(), 3, api, "orders", seen(times, 0, SECOND))
        topic = facts.clusters.topic("orders")
        assert topic is not None
        if found is not None:
            topic.found.add(mark(9, at=found))
        return facts

    check("unknown-topic", build, found=[(1, None, api) for api in (0, 1, 2, 3, 9, 23)] + [(2, SECOND - 1, 3)],
          not_found=[(2, SECOND, 3), (2, None, 8), (2, None, 22)])  # fmt: skip
    for times, severity, weight in ((2, Severity.WARNING, 1.0), (3, Severity.ERROR, 2.0)):
        (case,) = cases(build((times, None, 3)), "unknown-topic")
        assert (case.severity, case.weight, case.count) == (severity, weight, times)
        assert case.who == Who("shop", "10.0.0.1", "10.0.0.2:9092", "orders")


def test_a_partition_without_a_leader() -> None:
    def build(case: tuple[int, int, tuple[int, ...] | None]) -> Facts:
        times, lasts, leaders = case
        facts = Facts()
        facts.fails(facts.client(), 5, 3, "orders", seen(times, 0, lasts))
        if leaders is not None:
            topic = facts.clusters.topic("orders")
            assert topic is not None
            topic.partitions = {number: [Led(0, 1, 1, 1), Led(1, node, 1, 1)] for number, node in enumerate(leaders)}
        return facts

    check("partition-offline", build, found=[(4, 2 * SECOND, (1, -1)), (4, 2 * SECOND, None)],
          not_found=[(3, 2 * SECOND, (-1,)), (4, 2 * SECOND - 1, (-1,)), (4, 2 * SECOND, (0, 1))])  # fmt: skip
    (case,) = cases(build((4, 2 * SECOND, (1, -1, 0, -1))), "partition-offline")
    assert (case.facts, case.who.partition, case.count) == ({"partitions": "partitions 1, 3"}, 1, 4)
    (case,) = cases(build((4, 2 * SECOND, None)), "partition-offline")
    assert (case.facts, case.who.partition) == ({"partitions": "partition (unknown)"}, None)


def test_a_leader_that_a_client_does_not_look_for() -> None:
    def build(case: tuple[int, tuple[int, ...], str]) -> Facts:
        times, looks, client = case
        facts = Facts()
        facts.fails(facts.client(client), 6, 0, "orders", seen(times, SECOND, 3 * SECOND), 2, 4)
        facts.clusters.refreshed[client] = [START + look for look in looks]
        return facts

    inside, outside = (SECOND, 3 * SECOND), (SECOND - 1, 3 * SECOND + 1)
    check("stale-leader", build, found=[(8, inside, "shop"), (8, inside + outside, "shop"), (8, (), "shop")],
          not_found=[(7, (), "shop"), (8, (*inside, 2 * SECOND), "shop"), (8, (), "broker-1")])  # fmt: skip
    facts = build((8, inside, "shop"))
    (case,) = cases(facts, "stale-leader")
    assert (case.facts, case.who.partition) == (
        {"asked": 2, "current": "another broker", "error": "NOT_LEADER_OR_FOLLOWER"},
        2,
    )
    topic = facts.clusters.topic("orders")
    assert topic is not None
    facts.clusters.advertise(7, "k7", 9093, BROKER, "shop", "10.0.0.1", mark())
    for time, leader in ((SECOND, "another broker"), (SECOND + 1, "broker k7:9093")):
        topic.partitions[2] = [Led(START + time, 7, 1, 1)]
        assert cases(facts, "stale-leader")[0].facts["current"] == leader
    other = facts.client("till", broker=("10.0.0.3", 9092))
    written = facts.writes(other, "orders", 2, requests=seen(2, 0, SECOND))
    for until, errors, leader in (
        (SECOND, {}, "broker k7:9093"), (SECOND + 1, {6: seen(2)}, "broker k7:9093"),
        (SECOND + 1, {6: seen(1)}, "broker 10.0.0.3:9092"),
    ):  # fmt: skip
        written.requests, written.errors = seen(2, 0, until), errors
        assert cases(facts, "stale-leader")[0].facts["current"] == leader


def test_a_client_that_reads_late() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        lasts, probes, resent = case
        facts = Facts()
        session = facts.client()
        assert session.path is not None
        session.slow.append(slow(4, 0, SECOND, SECOND + lasts, api=FETCH))
        session.path.ways[1].probes = probes
        if resent:
            session.path.ways[1].stalls.append(Stall(0, None, 0, resent, 9))
        facts.reads(session, "orders")
        return facts

    check("slow-client", build, found=[(500 * MS, 1, 0), (500 * MS, 1, 1)],
          not_found=[(500 * MS - 1, 1, 0), (500 * MS, 0, 0), (500 * MS, 1, 2)])  # fmt: skip
    (case,) = cases(build((600 * MS, 1, 0)), "slow-client")
    assert (case.facts, case.who.topic) == ({"longest": 600 * MS, "api": "Fetch"}, "orders")


def test_a_client_that_closes_while_a_large_response_arrives() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        for number in range(case.get("times", 3)):
            session = facts.client(closed=case.get("by", "client"), closes=SECOND)
            begun = START + SECOND - case.get("after", SECOND - 1)
            session.broken_off = BrokenOff(mark(number + 1), FETCH, 5000 + number, begun)
            session.largest = case.get("largest", 4999)
        return facts

    check("response-exceeds-client-limit", build, found=[{}],
          not_found=[{"times": 2}, {"by": "broker"}, {"by": ""}, {"after": SECOND}, {"largest": 5000}])  # fmt: skip
    (case,) = cases(build({}), "response-exceeds-client-limit")
    assert case.facts == {"api": "Fetch", "size": 5000, "largest": 4999}
    assert (case.certainty, case.count) == ("likely", 3)


def test_flows_have_the_ends_that_tests_say() -> None:
    path = Facts().path(flow=FLOW)
    assert (path.initiator, path.acceptor) == (("10.0.0.1", 50000), BROKER)

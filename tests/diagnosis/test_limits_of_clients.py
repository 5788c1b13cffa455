"""Both sides of each limit of the rules about clients and brokers: what is enough for a cause, and what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kdbg.diagnosis import Who
from kdbg.diagnosis.parties import OF_BROKERS, is_broker
from kdbg.diagnosis.rules.api_version_unsupported import BASE
from kdbg.findings.kinds import Severity
from kdbg.grammars import name_of
from kdbg.ledgers.clusters import Led
from kdbg.tcp.paths import Closed, Stall

from .facts import BROKER, FLOW, MS, SECOND, START, Facts, amid_others, cases, mark, sampled, seen, slow, unanswered

PRODUCE, FETCH, METADATA = 0, 1, 3


def check(code: str, build: Callable[[Any], Facts], *, found: Iterable[Any], not_found: Iterable[Any]) -> None:
    """Whether a rule finds a cause in what is built with some values, and in what is built with others does not.

    So it is where others come first who do nothing wrong.
    """
    for value in found:
        assert cases(build(value), code), (code, value)
        assert cases(amid_others(build(value)), code), (code, value)
    for value in not_found:
        assert not cases(build(value), code), (code, value)
        assert not cases(amid_others(build(value)), code), (code, value)


def test_acks_0_is_to_blame_where_no_other_client_was_cut_off_within_a_second() -> None:
    def build(case: tuple[int, str, tuple[str, int], int]) -> Facts:
        apart, other, broker, exchanges_after = case
        facts = Facts()
        one = facts.client(closed="broker", closes=10 * SECOND)
        one.heard(mark(3, at=5, connection=1), PRODUCE, 7, "shop", 40)
        for number in range(exchanges_after):
            one.heard(mark(4 + number, at=6), METADATA, 9, "shop", 40)
        facts.writes(one, acks=Counter({0: 1}))
        facts.client(other, broker=broker, closed="broker", closes=10 * SECOND + apart)
        return facts

    elsewhere = ("10.0.0.3", 9092)
    check(
        "acks0-silent-loss", build,
        found=[(SECOND, "till", BROKER, 0), (-SECOND, "till", BROKER, 0), (0, "till", elsewhere, 0),
               (0, "shop", BROKER, 0)],
        not_found=[(SECOND - 1, "till", BROKER, 0), (1 - SECOND, "till", BROKER, 0), (SECOND, "till", BROKER, 1)],
    )  # fmt: skip
    facts = build((SECOND, "till", BROKER, 0))
    (case,) = cases(facts, "acks0-silent-loss")
    assert (case.certainty, case.count, case.facts) == ("likely", 1, {"leader": "unknown"})
    topic = facts.clusters.topic("orders")
    assert topic is not None
    topic.partitions.update({0: [Led(0, 3, 1, 1), Led(1, 2, 1, 1)], 1: [Led(0, 1, 1, 1)], 2: [Led(0, 2, 1, 1)]})
    again = facts.client(closed="broker", closes=90 * SECOND)
    again.heard(mark(9, connection=3), PRODUCE, 7, "shop", 40)
    facts.writes(again, acks=Counter({0: 1}))
    (case,) = cases(facts, "acks0-silent-loss")
    assert (case.certainty, case.count, case.facts) == ("certain", 2, {"leader": "1, 2"})
    assert case.evidence.exchanges == (3, 9)


def test_versions_that_kafka_4_dropped() -> None:
    """The least versions of KIP-896."""
    assert {name_of(key): least for key, least in BASE.items()} == {
        "Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "JoinGroup": 2,
        "CreateTopics": 2, "DeleteTopics": 1, "DescribeConfigs": 1, "AlterConfigs": 1,
    }  # fmt: skip

    def build(case: tuple[int, int]) -> Facts:
        facts = Facts()
        session = facts.client(closed="broker", closes=SECOND)
        session.unanswered, session.unanswered_count, session.exchanges = [unanswered(*case)], 1, 1
        return facts

    check("api-version-unsupported", build, found=[(key, least - 1) for key, least in BASE.items()],
          not_found=[*BASE.items(), (99, 0), (-1, 0)])  # fmt: skip


def test_a_version_that_a_broker_does_not_offer() -> None:
    def build(case: tuple[int, dict[int, tuple[int, int]], bool]) -> Facts:
        version, offered, here = case
        facts = Facts()
        session = facts.client(closed="broker", closes=SECOND)
        session.unanswered, session.unanswered_count, session.exchanges = [unanswered(3, version)], 1, 3
        (session if here else facts.client("till")).offered = offered
        return facts

    offers = {3: (2, 9)}
    check("api-version-unsupported", build, found=[(1, offers, True), (10, offers, True), (10, offers, False)],
          not_found=[(2, offers, True), (9, offers, True), (2, {}, True)])  # fmt: skip
    for version, offered, said in (
        (1, offers, "versions 2 to 9"), (1, {4: (0, 1)}, "no version of it"), (0, {3: (0, 0)}, None),
    ):  # fmt: skip
        found = cases(build((version, offered, True)), "api-version-unsupported")
        assert [case.facts["offered"] for case in found] == ([said] if said else [])


def test_an_error_of_a_version_names_what_was_sent() -> None:
    facts = Facts()
    session = facts.client()
    for version in (3, 7):
        session.heard(mark(2, connection=1), METADATA, version, "shop", 40)
    facts.fails(session, 35, 18, "", seen(2))
    assert cases(facts, "api-version-unsupported") == []
    facts.fails(session, 35, METADATA, "", seen(2, 0, 5))
    (case,) = cases(facts, "api-version-unsupported")
    assert case.facts == {"api": "Metadata", "version": 7, "offered": "versions that it did not tell",
                          "software": "software of unknown version"}  # fmt: skip
    session.offered, session.software = {METADATA: (0, 7)}, "sarama 1.0"
    (case,) = cases(facts, "api-version-unsupported")
    assert case.facts["offered"] == "versions 0 to 7, as it told, and refuses it all the same"
    assert (case.facts["software"], case.certainty, case.count) == ("sarama 1.0", "certain", 4)


def test_apis_that_brokers_alone_use() -> None:
    assert {name_of(key) for key in OF_BROKERS} == {
        "AllocateProducerIds", "AlterPartition", "BeginQuorumEpoch", "BrokerHeartbeat", "BrokerRegistration",
        "ControlledShutdown", "ControllerRegistration", "EndQuorumEpoch", "Envelope", "FetchSnapshot", "LeaderAndIsr",
        "AssignReplicasToDirs", "StopReplica", "UpdateMetadata", "UpdateRaftVoter", "Vote", "WriteTxnMarkers",
    }  # fmt: skip
    facts = Facts()
    session = facts.client()
    assert not is_broker(facts, session)
    polls = facts.polls_of(session, replica=-1)
    assert not is_broker(facts, session)
    polls.replica = 0
    assert is_broker(facts, session)


def test_a_busy_fetch_loop() -> None:
    def build(case: tuple[int, int, int, int, int, int]) -> Facts:
        empty, requests, span, wait, least, replica = case
        facts = Facts()
        session = facts.client()
        facts.polls_of(session, max_wait_ms=wait, min_bytes=least, replica=replica, requests=seen(requests, 0, span),
                       empty=seen(empty, 0, span))  # fmt: skip
        facts.reads(session, "orders")
        return facts

    check(
        "busy-fetch-loop", build,
        found=[(100, 100, SECOND, 20, 1, -1), (100, 100, SECOND, 500, 0, -1), (100, 200, SECOND, 20, 1, -1),
               (100, 100, 5 * SECOND // 2, 20, 1, -1)],
        not_found=[(99, 100, SECOND, 20, 1, -1), (100, 100, SECOND, 21, 1, -1), (100, 201, SECOND, 20, 1, -1),
                   (100, 100, 5 * SECOND // 2 + 1000, 20, 1, -1), (100, 100, SECOND, 20, 1, 0)],
    )  # fmt: skip
    (case,) = cases(build((100, 100, 0, 7, 1, -1)), "busy-fetch-loop")
    assert case.facts == {"rate": 200.0, "wait": 7 * MS, "min_bytes": 1}
    assert (case.who.topic, case.count, case.weight) == ("orders", 100, 1.2)


def test_a_client_that_gives_up_a_long_poll() -> None:
    def build(case: tuple[int, int, int, int, str, int]) -> Facts:
        held, closes, asked, times, by, replica = case
        facts = Facts()
        for _ in range(times):
            session = facts.client(closed=by, closes=closes)
            session.slow.append(slow(5, SECOND, 3 * SECOND, held=held, api=FETCH))
            session.last_asked = START + asked
            facts.polls_of(session, replica=replica)
            facts.reads(session, "orders")
        return facts

    usual = (500 * MS, 2 * SECOND, 0, 3, "client", -1)

    def but(**more: Any) -> tuple[Any, ...]:
        names = ("held", "closes", "asked", "times", "by", "replica")
        return tuple(more.get(name, value) for name, value in zip(names, usual, strict=True))

    check(
        "client-timeout-below-max-wait", build,
        found=[usual, but(closes=SECOND + 50 * MS + 1), but(closes=3 * SECOND - 1),
               but(closes=3 * SECOND, asked=2 * SECOND), but(closes=3 * SECOND + 300 * MS - 1, asked=2 * SECOND),
               but(closes=3 * SECOND, asked=SECOND + 50 * MS + 1), but(closes=3 * SECOND, asked=3 * SECOND - 1)],
        not_found=[but(held=500 * MS - 1), but(times=2), but(by="broker"), but(replica=0),
                   but(closes=SECOND + 50 * MS), but(closes=3 * SECOND),
                   but(closes=3 * SECOND + 300 * MS, asked=2 * SECOND),
                   but(closes=3 * SECOND, asked=SECOND + 50 * MS), but(closes=3 * SECOND, asked=3 * SECOND)],
    )  # fmt: skip
    (case,) = cases(build(but(asked=0)), "client-timeout-below-max-wait")
    assert case.facts == {"wait": 500 * MS, "patience": SECOND}
    (case,) = cases(build(but(closes=3 * SECOND, asked=2500 * MS)), "client-timeout-below-max-wait")
    assert (case.facts["patience"], case.who.topic, case.count) == (1500 * MS, "orders", 3)


def test_a_client_that_gives_up_each_time_after_about_as_long() -> None:
    def build(waits: tuple[int, ...]) -> Facts:
        facts = Facts()
        for wait in waits:
            session = facts.client(closed="client", closes=wait * MS)
            session.slow.append(slow(5, 0, 9 * SECOND, held=SECOND))
        return facts

    check("client-timeout-below-max-wait", build, found=[(700, 1000, 1300), (1000, 1000, 1000, 8000)],
          not_found=[(699, 1000, 1300), (700, 1000, 1301), (200, 1000, 8000)])  # fmt: skip


def test_connections_that_churn() -> None:
    def build(case: tuple[int, int, int, int]) -> Facts:
        count, lasts, exchanges, apart = case
        facts = Facts()
        for number in range(count):
            session = facts.client(at=number * apart, closed="client", closes=number * apart + lasts)
            session.exchanges, session.first = exchanges, mark(number + 1)
        return facts

    check(
        "connection-churn", build,
        found=[(15, 3 * SECOND - 1, 12, 1), (15, 0, 12, 15 * SECOND // 14 - 1)],
        not_found=[(14, 1, 12, 1), (15, 3 * SECOND, 12, 1), (15, 1, 13, 1), (15, 0, 12, 15 * SECOND // 14 + 1)],
    )  # fmt: skip
    (case,) = cases(build((30, SECOND, 1, 0)), "connection-churn")
    assert (case.facts, case.count, case.evidence[:2]) == ({"rate": 30.0}, 30, ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5)))
    (case,) = cases(build((30, SECOND, 1, SECOND // 29)), "connection-churn")
    assert round(case.facts["rate"], 3) == 15


def test_more_connections_than_a_broker_allows() -> None:
    def build(case: tuple[int, int, bytes, int, int, int]) -> Facts:
        turned, lasts, head, sent, told, served = case
        facts = Facts()
        for number in range(served):
            facts.client(at=number).path.ways[1].bytes = 1  # type: ignore[union-attr]
        for _ in range(turned):
            path = facts.path(at=SECOND, closed="broker", closes=2 * SECOND + lasts)
            path.answered = START + 2 * SECOND
            path.closes.append(Closed(START + 3 * SECOND, 0, False))
            path.ways[0].head, path.ways[0].bytes, path.ways[1].bytes = head, sent, told
        return facts

    check(
        "connection-limit", build,
        found=[(3, 200 * MS - 1, b"", 1000, 0, 1)],
        not_found=[(2, 1, b"", 0, 0, 1), (3, 200 * MS, b"", 0, 0, 1), (3, 1, b"\x16\x03", 9, 0, 1),
                   (3, 1, b"GET / HT", 9, 0, 1), (3, 1, b"", 1001, 0, 1), (3, 1, b"", 0, 1, 1), (3, 1, b"", 0, 0, 0)],
    )  # fmt: skip
    (case,) = cases(build((4, 1, b"", 0, 0, 2)), "connection-limit")
    assert (case.facts, case.count, case.who.client_id) == ({"open": 2}, 4, "shop")


def test_a_client_that_does_not_log_in() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client(closed=case.get("by", "broker"), closes=SECOND, opened=case.get("opened", True))
        session.heard(mark(1, connection=1), 18, 3, "shop", 40)
        asked = case.get("asked", unanswered(3, 9, 2))
        session.heard(mark(2, connection=1), asked.api_key, asked.version, "shop", 40)
        session.unanswered, session.unanswered_count = [asked], 1
        session.offered = case.get("offered", {3: (0, 9)})
        for key in case.get("apis", ()):
            session.heard(mark(3, connection=1), key, 1, "shop", 40)
            session.unanswered_count += 1
        for mechanism in case.get("mechanisms", ()):
            facts.client("till").mechanism = mechanism
        if case.get("served"):
            other = facts.client("till")
            other.heard(mark(4, connection=2), 3, 9, "till", 40)
        return facts

    check(
        "client-without-sasl", build,
        found=[{}, {"asked": unanswered(3, 0, 2)}, {"offered": {}}, {"apis": [99]}, {"asked": unanswered(0, 3, 2)}],
        not_found=[{"by": "client"}, {"by": ""}, {"opened": False}, {"apis": [17]}, {"apis": [36]},
                   {"asked": unanswered(18, 3, 2)}, {"asked": unanswered(3, 9, 2, missing=1)},
                   {"asked": unanswered(0, 2, 2)}, {"offered": {3: (0, 8)}}, {"offered": {3: (10, 12)}},
                   {"served": True}],
    )  # fmt: skip
    for case, certainty, mechanisms in (
        ({"offered": {}}, "guess", "PLAIN, SCRAM-SHA-512 …"), ({}, "likely", "PLAIN, SCRAM-SHA-512 …"),
        ({"mechanisms": ["SCRAM-SHA-256", "PLAIN"]}, "certain", "PLAIN, SCRAM-SHA-256"),
        ({"mechanisms": ["PLAIN"], "offered": {}}, "guess", "PLAIN"),
    ):  # fmt: skip
        (one,) = cases(build(case), "client-without-sasl")  # type: ignore[arg-type]
        assert (one.certainty, one.facts) == (certainty, {"mechanisms": mechanisms})
        assert (one.evidence.exchanges, one.count, one.weight) == ((2,), 1, 3.0)


def test_a_consumer_that_is_too_slow() -> None:
    def build(case: tuple[tuple[int, int, int], int, int, int]) -> Facts:
        lags, span, idle, replica = case
        facts = Facts()
        session = facts.client()
        facts.polls_of(session, idle=idle, replica=replica)
        flow = facts.reads(session, "orders", 2, requests=seen(4))
        first, middle, last = lags
        for place, lag in enumerate((first, first, middle, last, last)):
            sampled(flow, (span * place // 4, 100, 100 + lag, 100))
        return facts

    span = 2 * SECOND
    check(
        "consumer-too-slow", build,
        found=[((25, 30, 50), span, SECOND, -1), ((0, 0, 50), span, SECOND, -1), ((25, 50, 50), span, SECOND, -1),
               ((25, 25, 50), span, SECOND, -1)],
        not_found=[((20, 30, 49), span, SECOND, -1), ((26, 30, 51), span, SECOND, -1), ((25, 24, 50), span, SECOND, -1),
                   ((25, 51, 50), span, SECOND, -1), ((25, 30, 50), span - 1, SECOND, -1),
                   ((25, 30, 50), span, SECOND - 1, -1), ((25, 30, 50), span, SECOND, 0)],
    )  # fmt: skip
    facts = build(((25, 30, 60), span, 5 * SECOND, -1))
    (case,) = cases(facts, "consumer-too-slow")
    assert (case.facts, case.count) == ({"before": 25, "now": 60, "idle": 1.0}, 4)
    assert (case.who.topic, case.who.partition) == ("orders", 2)
    (case,) = cases(build(((25, 30, 60), span, 3 * SECOND // 2, -1)), "consumer-too-slow")
    assert case.facts["idle"] == 0.75
    found = facts.fetched[1, "orders", 2].samples.found
    del found[:2]
    assert cases(facts, "consumer-too-slow")
    found.pop()
    assert cases(facts, "consumer-too-slow") == []


def test_a_coordinator_that_moved() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        errors, before, after = case
        facts = Facts()
        session = facts.client()
        facts.fails(session, 16, 8, "sums", seen(errors, SECOND, 2 * SECOND))
        for number in range(before + after):
            at = SECOND if number < before else SECOND + 1
            session.heard(mark(50 + number, at=at, connection=1), 10, 4, "shop", 40)
        facts.member()
        return facts

    check("coordinator-moved", build, found=[(5, 0, 0), (5, 1, 2), (6, 3, 3), (14, 0, 7)],
          not_found=[(4, 0, 0), (5, 0, 3), (13, 0, 7), (13, 7, 0)])  # fmt: skip
    (case,) = cases(build((6, 1, 2)), "coordinator-moved")
    assert (case.facts, case.count, case.who.group) == ({"looked": 2}, 6, "sums")


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
        assert case.facts == {"mechanism": mechanism, "said": "no", "name": "mara"}
    (case,) = cases(build(58, None, None), "sasl-wrong-credentials")
    assert case.facts == {"mechanism": "SASL", "said": "no", "name": "of unknown name"}
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
    assert (case.facts, case.who.partition, case.count) == ({"partitions": "1, 3"}, 1, 4)
    (case,) = cases(build((4, 2 * SECOND, None)), "partition-offline")
    assert (case.facts, case.who.partition) == ({"partitions": "of unknown number"}, None)


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
    assert (case.facts, case.who.partition) == ({"asked": 2, "leader": "another broker"}, 2)
    topic = facts.clusters.topic("orders")
    assert topic is not None
    facts.clusters.advertise(7, "k7", 9093, BROKER, "shop", mark())
    for time, leader in ((SECOND, "another broker"), (SECOND + 1, "k7:9093")):
        topic.partitions[2] = [Led(START + time, 7, 1, 1)]
        assert cases(facts, "stale-leader")[0].facts["leader"] == leader
    other = facts.client("till", broker=("10.0.0.3", 9092))
    written = facts.writes(other, "orders", 2, requests=seen(2, 0, SECOND))
    for until, errors, leader in (
        (SECOND, {}, "k7:9093"), (SECOND + 1, {6: seen(2)}, "k7:9093"), (SECOND + 1, {6: seen(1)}, "10.0.0.3:9092"),
    ):  # fmt: skip
        written.requests, written.errors = seen(2, 0, until), errors
        assert cases(facts, "stale-leader")[0].facts["leader"] == leader


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


def test_flows_have_the_ends_that_tests_say() -> None:
    path = Facts().path(flow=FLOW)
    assert (path.initiator, path.acceptor) == (("10.0.0.1", 50000), BROKER)

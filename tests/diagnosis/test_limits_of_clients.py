"""Both sides of each limit of the rules about clients and brokers: what is enough for a cause, and what is not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kdbg.analysis.diagnosis.queries import OF_BROKERS, is_broker
from kdbg.analysis.diagnosis.rules.versions import OLDEST
from kdbg.analysis.ledgers.clusters import Led
from kdbg.protocol.grammars import name_of
from kdbg.streams.tcp.paths import Closed

from .facts import BROKER, MS, SECOND, START, Facts, cases, check, mark, sampled, seen, slow, unanswered

PRODUCE, FETCH, METADATA = 0, 1, 3


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
    assert (case.certainty, case.count, case.facts) == ("likely", 1, {"leaders": "broker (unknown)"})
    topic = facts.clusters.topic("orders")
    assert topic is not None
    topic.partitions.update({0: [Led(0, 3, 1, 1), Led(1, 2, 1, 1)], 1: [Led(0, 1, 1, 1)], 2: [Led(0, 2, 1, 1)]})
    again = facts.client(closed="broker", closes=90 * SECOND)
    again.heard(mark(9, connection=3), PRODUCE, 7, "shop", 40)
    facts.writes(again, acks=Counter({0: 1}))
    (case,) = cases(facts, "acks0-silent-loss")
    assert (case.certainty, case.count, case.facts) == ("certain", 2, {"leaders": "brokers 1, 2"})
    assert case.evidence.exchanges == (3, 9)


def test_versions_that_kafka_4_dropped() -> None:
    """The least versions of KIP-896."""
    assert {name_of(key): least for key, least in OLDEST.items()} == {
        "Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "JoinGroup": 2,
        "CreateTopics": 2, "DeleteTopics": 1, "DescribeConfigs": 1, "AlterConfigs": 1,
    }  # fmt: skip

    def build(case: tuple[int, int]) -> Facts:
        facts = Facts()
        session = facts.client(closed="broker", closes=SECOND)
        session.unanswered, session.unanswered_count, session.exchanges = [unanswered(*case)], 1, 1
        return facts

    check("api-version-unsupported", build, found=[(key, least - 1) for key, least in OLDEST.items()],
          not_found=[*OLDEST.items(), (99, 0), (-1, 0)])  # fmt: skip


def test_an_old_version_that_a_broker_answers_is_not_why_it_closes() -> None:
    def build(case: tuple[int, str, tuple[str, int]]) -> Facts:
        answered, mechanism, broker = case
        facts = Facts()
        session = facts.client(closed="broker", closes=SECOND)
        session.unanswered, session.unanswered_count, session.exchanges = [unanswered(PRODUCE, 2)], 1, 3
        session.mechanism = mechanism or None
        facts.client("till", broker=broker).heard(mark(1, connection=2), PRODUCE, answered, "till", 40)
        return facts

    elsewhere = ("10.0.0.3", 9092)
    check("api-version-unsupported", build, found=[(3, "", BROKER), (2, "", elsewhere)],
          not_found=[(2, "", BROKER), (0, "", BROKER), (3, "PLAIN", BROKER)])  # fmt: skip


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
        (1, offers, "the broker supports v2 to v9"), (0, {3: (0, 0)}, None),
        (1, {4: (0, 1)}, "the broker does not support this API"),
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
    assert case.facts == {"api": "Metadata", "version": 7, "software": "unknown software",
                          "offered": "the supported versions are not in the capture"}  # fmt: skip
    session.offered, session.software = {METADATA: (0, 7)}, "sarama 1.0"
    (case,) = cases(facts, "api-version-unsupported")
    assert case.facts["offered"] == "the broker supports v0 to v7 according to its ApiVersions response"
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
        facts.client()  # a connection that stays open: the client goes on
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
        facts.client()
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
    def build(case: tuple[int, int, bytes, int, int, int], reset: bool = True) -> Facts:
        turned, lasts, head, sent, told, served = case
        facts = Facts()
        for number in range(served):
            facts.client(at=number).path.ways[1].bytes = 1  # type: ignore[union-attr]
        for _ in range(turned):
            path = facts.path(at=SECOND, closed="broker", closes=2 * SECOND + lasts)
            path.answered = START + 2 * SECOND
            path.closes += [Closed(START + 3 * SECOND, 0, False), Closed(START + 4 * SECOND, 1, reset)]
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
    assert not cases(build((3, 1, b"", 1000, 0, 1), reset=False), "connection-limit"), "the broker read the request"
    assert cases(build((3, 1, b"", 0, 0, 1), reset=False), "connection-limit"), "there was nothing to read"


def test_a_client_that_does_not_log_in() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client(closed=case.get("by", "broker"), closes=SECOND, opened=case.get("opened", True))
        if case.get("versions", True):
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
        found=[{}, {"asked": unanswered(3, 0, 2)}, {"offered": {}}, {"apis": [99]}, {"asked": unanswered(0, 3, 2)},
               {"opened": False}, {"versions": False}],
        not_found=[{"by": "client"}, {"by": ""}, {"opened": False, "versions": False}, {"apis": [17]}, {"apis": [36]},
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

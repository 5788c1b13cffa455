"""Both sides of each limit of the rules about assignments, positions, and records one by one."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.diagnosis.text import sentence
from kdbg.analysis.ledgers.clusters import Led

from .facts import MS, SECOND, START, Facts, cases, check, happened, mark, seen

FETCH, LIST_OFFSETS, OFFSET_FETCH = 1, 2, 9


def test_members_without_a_partition_although_there_are_enough() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        topic = facts.clusters.topic("orders")
        assert topic is not None
        topic.partitions.update({number: [Led(0, 1, 1, 1)] for number in range(case.get("exist", 2))})
        stays = case.get("stays", 3 * SECOND)
        for name, given in (("m1", {"orders": tuple(range(case.get("given", 2)))}), ("m2", {})):
            facts.member(name, client_id=name, topics=("orders",), assigned=given, synced=seen(1, SECOND, SECOND),
                         joined=seen(1), protocols=("range",), last_sign=START + SECOND + stays)  # fmt: skip
        return facts

    check("assignment-skewed", build, found=[{}, {"given": 5, "exist": 5}],
          not_found=[{"stays": 3 * SECOND - 1}, {"given": 1, "exist": 1}, {"exist": 3}])  # fmt: skip
    check("idle-consumers", build, found=[{"given": 1, "exist": 1}, {"given": 1, "exist": 1, "stays": SECOND}],
          not_found=[{}, {"given": 1, "exist": 1, "stays": SECOND - 1}])  # fmt: skip
    (case,) = cases(build({}), "assignment-skewed")
    assert sentence(case).endswith("partitions of topic orders, but assignor range assigns no partition to client m2")


def test_a_subscription_that_matches_no_topic() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        facts.member(subscribes=case.get("subscribes", False), assigned=case.get("assigned"))
        facts.clusters.all_topics["shop"] = seen(case.get("times", 3))
        if "reads" in case:
            facts.reads(session)
        return facts

    check("pattern-without-topic", build, found=[{}, {"assigned": {}}],
          not_found=[{"times": 2}, {"subscribes": True}, {"assigned": {"a": (1,)}}, {"reads": True}])  # fmt: skip


def test_a_group_that_waits_for_a_member() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        facts.client()
        facts.client("other")
        group = [facts.member(name, client_id=name) for name in ("shop", "other")] and facts.groups["sums"]
        for number in range(case.get("beats", 4)):
            happened(
                group, "heartbeat", "shop", case.get("code", 27), 5 + number, at=number * case.get("pause", SECOND)
            )
        happened(
            group, "join", "other", number=9, at=case.get("join", 0), end=case.get("until", 3 * SECOND), connection=2
        )
        return facts

    check("rebalance-blocked", build, found=[{}, {"beats": 3, "pause": 1500 * MS}, {"until": SECOND}],
          not_found=[{"beats": 2, "pause": 3 * SECOND}, {"pause": SECOND - 1}, {"code": 0}, {"until": SECOND - 1},
                     {"join": 3 * SECOND, "until": 9 * SECOND}])  # fmt: skip
    (case,) = cases(build({}), "rebalance-blocked")
    assert sentence(case).startswith("group sums waits 3 s for client shop to rejoin")
    assert case.facts["other"] == "other"


def test_partitions_that_nobody_reads() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        reader, writer = facts.client(), facts.client("till", broker=case.get("broker", ("10.0.0.2", 9092)))
        facts.reads(reader, partition=0, requests=seen(4, 0, case.get("until", SECOND)))
        for partition in (0, 1):
            facts.writes(writer, partition=partition, batches=case.get("batches", 5),
                         requests=seen(5, 0, case.get("lasts", 3 * SECOND)))  # fmt: skip
        if case.get("other"):
            facts.reads(facts.client(case["other"]), partition=case.get("partition", 1), requests=seen(4))
        if "member" in case:
            facts.member()
        return facts

    check("partitions-not-consumed", build, found=[{}, {"other": "shop", "partition": 0}],
          not_found=[{"batches": 4}, {"lasts": 3 * SECOND - 1}, {"other": "shop"}, {"other": "count", "partition": 0},
                     {"member": True}, {"until": 0}, {"broker": ("10.0.0.3", 9092)}])  # fmt: skip
    (case,) = cases(build({}), "partitions-not-consumed")
    assert "reads 1 partition of topic orders, but no client reads partition 1" in sentence(case)


def test_a_group_without_an_offset_to_start_from() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client(opened=case.get("opened", True))
        session.heard(mark(), OFFSET_FETCH, 8, "shop", 40)
        for key in case.get("apis", ()):
            session.heard(mark(), key, 8, "shop", 40)
        facts.member(joined=seen(case.get("joined", 1)))
        facts.groups["sums"].missing["shop", "orders", 0] = seen(case.get("times", 2))
        if "reads" in case:
            facts.reads(session, case["reads"])
        return facts

    check("offset-reset-none", build, found=[{}, {"opened": False, "times": 3}, {"reads": "bills"}],
          not_found=[{"times": 1}, {"opened": False}, {"apis": [LIST_OFFSETS]}, {"joined": 0}, {"reads": "orders"}],
          )  # fmt: skip


def test_committed_offsets_that_are_gone() -> None:
    def build(case: bool) -> Facts:
        facts = Facts()
        facts.client()
        facts.member()
        facts.groups["sums"].lost["shop", "orders", 0] = seen(1)
        facts.groups["sums"].deleted = facts.client("janitor") if case else None
        return facts

    texts = [sentence(cases(build(deleted), "committed-offsets-lost")[0]) for deleted in (True, False)]
    assert ["later (client janitor deleted the group): it" in texts[0], "finds none later: it" in texts[1]] == [
        True
    ] * 2
    assert not cases(Facts(), "committed-offsets-lost")


def test_records_that_wait_for_others() -> None:
    def build(case: tuple[int, int]) -> Facts:
        facts = Facts()
        facts.polls_of(facts.client(), held=seen(case[0]), max_wait_ms=case[1], min_bytes=4096)
        return facts

    check("fetch-min-bytes-too-large", build, found=[(2, 1000)], not_found=[(1, 1000), (2, 999)])


def test_records_one_by_one() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts, count = Facts(), case.get("count", 50)
        session = facts.client()
        session.heard(mark(), 0, 9, "shop", 40)
        path = session.path
        assert path is not None
        path.answered, path.established = START, START + case.get("way", 0)
        facts.writes(session, batches=count, singles=case.get("singles", count), waited=case.get("waited", 5 * SECOND),
                     requests=seen(count, 1, 10 * SECOND + 1))  # fmt: skip
        return facts

    check("synchronous-producer", build,
          found=[{}, {"waited": 10 * SECOND}, {"waited": 0, "way": 100 * MS}, {"count": 100, "singles": 95}],
          not_found=[{"count": 49}, {"waited": 5 * SECOND - 1}, {"waited": 10 * SECOND + 1},
                     {"waited": 0, "way": 100 * MS - 1}, {"count": 100, "singles": 94}, {"count": 2000}])  # fmt: skip


def test_a_clock_that_is_wrong() -> None:
    minute = 60_000

    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        oldest, newest = case.get("ages", (minute, minute))
        facts.writes(facts.client(), batches=case.get("batches", 3), oldest=oldest, newest=newest,
                     requests=seen(3, 1, case.get("lasts", SECOND) + 1))  # fmt: skip
        if "other" in case:
            facts.writes(facts.client("till"), batches=3, oldest=case["other"], newest=0, requests=seen(3, 1, SECOND))
        return facts

    check("clock-skew", build,
          found=[{}, {"ages": (-minute, -minute)}, {"ages": (minute + 499, minute)}],
          not_found=[{"batches": 2}, {"lasts": SECOND - 1}, {"ages": (minute, minute - 1)},
                     {"ages": (minute + 500, minute)}])  # fmt: skip
    claims = [cases(build(case), "clock-skew")[0].certainty for case in ({}, {"other": 10}, {"other": minute})]
    assert claims == ["guess", "likely", "guess"]


def test_a_client_that_reads_what_it_writes() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        facts.reads(session, records=case.get("read", 20), with_data=seen(20, 1, SECOND))
        facts.writes(facts.client(case.get("writer", "shop")), records=case.get("written", 20),
                     requests=seen(20, case.get("since", 2), SECOND))  # fmt: skip
        return facts

    check("feedback-loop", build, found=[{}, {"written": 16}, {"written": 25}],
          not_found=[{"read": 19}, {"written": 15}, {"written": 26}, {"since": 1}, {"writer": "till"}])  # fmt: skip


def test_an_acknowledgement_that_comes_too_late() -> None:
    def build(case: tuple[int, int]) -> Facts:
        facts = Facts()
        facts.fails(facts.client(), *case, "orders", seen(1))
        facts.member(group="jobs")
        return facts

    check("share-lock-expired", build, found=[(121, 78), (121, 79)], not_found=[(121, 1), (122, 79)])
    (case,) = cases(build((121, 79)), "share-lock-expired")
    assert case.who.group == "jobs"


def test_a_broker_that_is_down_from_the_start() -> None:
    def build(case: dict[str, Any]) -> Facts:
        facts = Facts()
        session = facts.client()
        session.exchanges, session.unanswered_count = 2, case.get("unanswered", 0)
        facts.clusters.ids_by_broker.setdefault(session.broker, {})["c1"] = 1  # type: ignore[arg-type, index]
        for node, host in ((1, "10.0.0.2"), (2, "10.9.9.9")):
            facts.clusters.advertise(node, host, 9092, session.broker, "shop", case.get("host", "10.0.0.1"), mark())
        flow = bytes((10, 0, 0, 1, 10, 9, 9, 9)) + (50000).to_bytes(2, "big") + (9092).to_bytes(2, "big")
        for _ in range(case.get("attempts", 3)):
            path = facts.path(flow=flow, at=SECOND)
            path.syns, path.refused = 1, START + SECOND
        return facts

    check("broker-down", build, found=[{}], not_found=[{"attempts": 2}, {"unanswered": 2}])
    assert not cases(build({}), "advertised-listener-unreachable")
    assert cases(build({"unanswered": 2}), "advertised-listener-unreachable")

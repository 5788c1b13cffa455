"""Both sides of each limit of `kdbg lint`, of readiness and of the words of stories, on facts made by hand."""

from __future__ import annotations

from typing import Any

from kdbg.analysis.diagnosis import Evidence, Who
from kdbg.analysis.diagnosis.lint import Linter
from kdbg.analysis.diagnosis.queries import api_name, by_ends, clients_of_host, evidence, failures, on_paths, span
from kdbg.analysis.diagnosis.readiness import Missing, client_object, readiness
from kdbg.analysis.diagnosis.stories import Subject, tell
from kdbg.analysis.diagnosis.stories.text import SENTENCES, about, given_to, spans
from kdbg.analysis.diagnosis.text import duration, named
from kdbg.analysis.ledgers.flows import Gap, Transaction
from kdbg.exchanges.messages.peers import Decrypted, endpoint

from .facts import BROKER, MS, SECOND, START, Facts, filled, mark, seen


def linted(facts: Facts) -> list[tuple[str, str, int]]:
    return [(one.lint.code, one.about, one.seen.count) for one in Linter(facts).remarks()]


def test_heartbeats_that_are_too_seldom() -> None:
    def beats(count: int, apart: int, pause: int, timeout: int = 3000) -> Facts:
        facts = Facts()
        facts.client()
        whole = (count - 2) * apart + pause
        facts.member(beats=seen(count, 0, whole), session_timeout_ms=timeout, longest_pause=(pause, 0))
        return facts

    told = [("heartbeat-interval-too-long", "group sums", 1)]
    assert linted(beats(4, 1500 * MS + 1, 5)) == told
    for count, apart, pause, timeout in ((4, 1500 * MS, 5, 3000), (3, 9 * SECOND, 5, 3000), (4, 9 * SECOND, 5, 0)):
        assert linted(beats(count, apart, pause, timeout)) == []


def test_what_the_whole_tells_of_connections() -> None:
    def asks(keys: tuple[int, ...], client: str = "shop", **more: Any) -> Facts:
        facts = Facts()
        session = facts.client(client, opened=more.pop("opened", True))
        for key in keys:
            session.heard(mark(2), key, 1, None, 9)
        filled(session, more)
        return facts

    unasked = [("no-api-versions-request", "", 1)]
    assert linted(asks((3,))) == unasked
    assert linted(asks((3, 18))) == linted(asks(())) == linted(asks((3,), opened=False)) == []
    assert linted(asks((3, 4))) == []  # of a broker
    assert linted(asks((18, 3), "")) == [("no-client-id", "", 1)]
    assert linted(asks((18, 17, 36), "")) == []
    plain = asks((18, 17), mechanism="PLAIN")
    assert linted(plain) == [("plain-without-tls", "", 1)]
    assert linted(asks((18, 17), mechanism="SCRAM-SHA-256")) == []
    session = plain.sessions[1]
    session.peers = session.peers._replace(tls=Decrypted("TLS 1.3", "x", "", ()))
    assert linted(plain) == []
    two = asks((18, 3))
    two.sessions[1].client_ids["till"] += 1
    assert linted(two) == [("client-id-changes", "", 1)]
    other = asks((18,))
    again = other.client()
    again.heard(mark(3, connection=2), 3, 1, None, 9)
    assert linted(other) == []  # it asked on another connection


def test_what_the_whole_tells_of_producers() -> None:
    facts = Facts()
    facts.client()
    producer = facts.producers.producer(7)
    assert producer is not None
    producer.epochs = {2: seen(1, 10, 10), 1: seen(2, 0, 10)}
    assert linted(facts) == []
    producer.epochs[1] = seen(2, 0, 11)
    assert linted(facts) == [("producer-epoch-decreased", "producer id 7", 1)]
    producer.gaps += [Gap(mark(5), "orders", 2, 3, 4)] * 2
    assert linted(facts) == [("sequence-gap", "orders/2", 2), ("producer-epoch-decreased", "producer id 7", 1)]


def test_clients_that_another_release_stops() -> None:
    def client(versions: dict[int, tuple[int, ...]], offered: dict[int, tuple[int, int]] | None = None) -> Facts:
        facts = Facts()
        session = facts.client()
        if offered is not None:
            session.heard(mark(1), 18, 3, None, 9)
            session.offered = offered
        for key, some in versions.items():
            for number, version in enumerate(some, 4):
                session.heard(mark(number, number), key, version, None, 9)
        return facts

    for facts, verdict, missing in (
        (client({3: (9,)}), "fine", []), (client({0: (2,)}), "stops", [(0, 2, False)]),
        (client({0: (2, 9)}, {0: (0, 2)}), "unclear", [(0, 2, True)]),
        (client({0: (2,)}, {0: (0, 9)}), "stops", [(0, 2, False)]),
        (client({0: (2, 1)}, {0: (0, 2)}), "stops", [(0, 1, False), (0, 2, True)]),
        (client({18: (99,)}), "fine", []), (client({0: (2,), 4: (1,)}), "broker", []),
    ):  # fmt: skip
        (found,) = readiness(facts, "4.0")
        assert found.verdict == verdict
        assert [(one.api_key, one.version, one.negotiable) for one in found.missing] == missing
    facts = client({0: (2,)})
    again = facts.client()
    again.heard(mark(2, 1, connection=2), 0, 2, None, 9)
    facts.client("till", broker=("10.0.0.3", 9092)).heard(mark(1), 3, 9, None, 9)
    shop, till = readiness(facts, "4.0")
    assert (shop.client_id, shop.connections, shop.exchanges, shop.brokers) == ("shop", 2, 2, ("10.0.0.2:9092",))
    assert (till.client_id, till.verdict) == ("till", "fine")
    first, highest = mark(2, 1, connection=2), shop.missing[0].highest
    assert shop.missing == (Missing("Produce", 0, 2, 3, highest, "0.10.0", "3.9", first, 2, False),)
    shown = client_object(shop, "4.0")
    assert (shown["kafka"], shown["verdict"], shown["client_id"], shown["software"]) == ("4.0", "stops", "shop", None)
    assert shown["missing"][0] | {"has": None} == {
        "api": "Produce", "api_key": 0, "version": 2, "has": None, "since_release": "0.10.0", "until_release": "3.9",
        "since": (START + 1) / 1e9, "exchange": 2, "count": 2, "negotiable": False,
    }  # fmt: skip


def test_software_is_told_where_all_connections_agree() -> None:
    for programs, expected in ((("a 1", None), ["a 1"]), (("a 1", "a 2", None), ["", "a 1", "a 2"])):
        facts = Facts()
        for software in programs:
            session = facts.client()
            session.software = software
            session.heard(mark(), 3, 9, None, 9)
        assert sorted(one.software for one in readiness(facts, "4.0")) == expected


def test_what_rules_look_for() -> None:
    facts = Facts()
    shop, again, till = facts.client(), facts.client(), facts.client("till")
    facts.fails(shop, 3, 1, "orders", seen(2, 10, 20), 4)
    facts.fails(again, 3, 0, "orders", seen(1, 5, 5), 2, 4)
    facts.fails(till, 3, 0, "orders", seen(3, 7, 7))
    facts.fails(till, 5, 0, "orders", seen(4, 7, 7))
    mine, others = failures(facts, (3,))
    assert (mine.client_id, mine.seen.count, mine.partitions, mine.session) == ("shop", 3, [2, 4], again)
    assert (others.client_id, others.seen.count, others.partitions) == ("till", 3, [])
    assert [one.seen.count for one in failures(facts, (3, 5), (0,))] == [1, 3, 4]
    assert failures(facts, (4,)) == []
    marks = [mark(number) for number in (1, 1, *range(2, 12))]
    assert evidence(marks, "a", "b", packets=[5]) == Evidence((1, 2, 3, 4, 5, 6, 7), (5,), ("a", "b"))
    assert evidence(seen(3), "a") == Evidence((1, 2, 3), (), ("a",))
    paths = [facts.path(at=number) for number in range(8)]
    assert on_paths(paths) == Evidence((), tuple(path.first_packet for path in paths[:7]))
    paths[3].last_time = START + 99
    assert span(paths) == (START, START + 99)
    assert [(ends, len(some)) for ends, some in by_ends(facts, paths)] == [(("10.0.0.1", BROKER), 8)]
    shop.exchanges, again.exchanges, till.exchanges = 2, 3, 4
    assert clients_of_host(facts, "10.0.0.1") == ["shop", "till"]
    till.exchanges = 6
    assert clients_of_host(facts, "10.0.0.1") == ["till", "shop"]
    assert clients_of_host(facts, "10.0.0.9") == []
    assert (api_name(3), api_name(999), endpoint(BROKER)) == ("Metadata", "API 999", "10.0.0.2:9092")


def test_durations_in_words() -> None:
    for value, text in (
        (0, "0 ms"), (1_500_000, "1.5 ms"), (240 * MS, "240 ms"),
        (999 * MS, "999 ms"), (SECOND - 1, "1 s"), (SECOND, "1 s"),
        (3_520 * MS, "3.5 s"), (10 * SECOND - 1, "10 s"), (10 * SECOND, "10 s"), (45_600 * MS, "46 s"),
        (120 * SECOND - 1, "120 s"), (120 * SECOND, "2 min"), (200 * SECOND, "3.33 min"),
        (7199 * SECOND, "120 min"), (7200 * SECOND, "2 h"), (3_600_000 * SECOND, "1,000 h"),
    ):  # fmt: skip
        assert duration(value) == text


def test_names_have_their_noun() -> None:
    names = [f"n{number}" for number in range(10)]
    assert named("topic", names[:8], 8) == "topics " + ", ".join(names[:8])
    assert named("topic", names, 8) == "topics " + ", ".join(names[:8]) + " and 2 more"
    assert named("topic", names[:5]) == "topics n0, n1, n2, n3 and 1 more"
    assert named("topic", ["a"]) == "topic a"
    assert (named("client", [""]), named("client", []), named("topic", [])) == (
        "client (no client.id)", "client (no client.id)", "topic (unknown)",
    )  # fmt: skip


def test_partitions_are_written_in_short() -> None:
    assert spans([3, 1, 2, 7, 9, 10]) == "1-3, 7, 9-10"
    assert spans(range(0, 16, 2)) == "0, 2, 4, 6, 8, 10, 12, 14"
    assert spans(range(0, 18, 2)) == "0, 2, 4, 6, 8, 10, 12, 14 …"
    assert spans([]) == ""
    some = [["orders", [0, 1]], ["refunds", [3]]]
    assert given_to({"member": "a", "partitions": 4, "first": some}) == (
        "member a is assigned topic orders, partitions 0-1 and topic refunds, partition 3 …"
    )
    assert (
        given_to({"member": "a", "partitions": 2, "first": some[:1]})
        == "member a is assigned topic orders, partitions 0-1"
    )
    assert given_to({"member": "a", "partitions": 0, "first": []}) == "member a is assigned no partition"


def test_sentences_of_events() -> None:
    """Each kind of event with its facts, and its sentence."""
    base = {"client": "shop", "group": "sums", "topic": "orders", "member": "m", "count": 3, "for_ns": 2 * SECOND}
    for kind, facts, text in (
        ("metadata-request", {"count": 1}, "client shop sends Metadata for topic orders"),
        ("metadata-request", {}, "client shop sends Metadata for topic orders, 3 times in 2 s"),
        ("api-requests", {"api": "Fetch", "versions": [3, 4]}, "client shop sends Fetch v3-4, 3 times"),
        ("closes", {"by": "client", "reset": False, "unanswered": 0, "exchanges": 1, "connection": 7, "broker": "b"},
         "client shop closes connection 7 after 1 exchange"),
        ("closes", {"by": "broker", "reset": True, "unanswered": 2, "exchanges": 0, "connection": 7, "broker": "b"},
         "broker b resets connection 7 after 0 exchanges, 2 requests without a response"),
        ("commits", {"last": [["a", 0, 1234]], "partitions": 1},
         "3 offset commits of group sums: topic a, partition 0 at offset 1234"),
        ("commits", {"last": [["a", 0, 5]] * 9, "partitions": 9},
         "3 offset commits of group sums: " + "; ".join(["topic a, partition 0 at offset 5"] * 8) + " …"),
        ("commits", {"last": [], "partitions": 0, "count": 1}, "1 offset commit of group sums; none succeeded"),
        ("coordinator", {"node": 2, "before": None}, "broker 2 coordinates group sums"),
        ("coordinator", {"node": 2, "before": 0}, "broker 2 coordinates group sums (previously broker 0)"),
        ("topic-created", {}, "topic orders is created"),
        ("end", {"exchanges": 1}, "the capture ends after 1 exchange"),
        ("epoch", {"producer_id": 7, "batches": 2, "epoch": 1}, "producer id 7 begins epoch 1: 2 batches"),
        ("error", {"error": "X", "api": "Fetch", "subject": "orders", "subject_kind": "topic"},
         "client shop receives X in a response to Fetch for topic orders, 3 times in 2 s"),
        ("error", {"error": "X", "api": "Fetch", "subject": "", "count": 1, "client": ""},
         "client (no client.id) receives X in a response to Fetch"),
        ("events-lost", {}, "3 more events dropped (memory limit)"),
        ("topic-found", {"late": True, "partitions": 2}, "topic orders now exists: 2 partitions"),
        ("topic-found", {"late": False, "partitions": 1}, "topic orders exists: 1 partition"),
        ("joins", {}, "client shop joins group sums"),
        ("leader", {"partition": 1, "leader": 2, "before": -1, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "topic orders, partition 1: leader 2 (previously no leader)"),
        ("leader", {"partition": 1, "leader": -1, "before": 0, "in_sync": 1, "in_sync_before": 2, "replicas": 3},
         "topic orders, partition 1: no leader (previously leader 0); 1 of 3 replicas in sync (previously 2)"),
        ("leader", {"partition": 1, "leader": 0, "before": 0, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "topic orders, partition 1: other replicas"),
        ("leader", {"partition": 1, "leader": 0, "before": 1, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "topic orders, partition 1: leader 0 (previously leader 1)"),
        ("leaves", {"by_other": True, "reason": "x."}, "client shop is removed from group sums: x"),
        ("leaves", {"by_other": False, "reason": ""}, "client shop leaves group sums"),
        ("authentication", {"lifetime_ms": 5000, "user": "mara", "mechanism": None, "connection": 7},
         "client shop is authenticated as user mara for 5 s with SASL on connection 7"),
        ("authentication-failed", {"user": None, "message": "no", "mechanism": "PLAIN", "error": "X"},
         "client shop fails to authenticate with PLAIN: X (no)"),
        ("member-joins", {"session_timeout_ns": 5 * SECOND, "rebalance_timeout_ns": 0, "topics": ["a", "b"],
                          "instance_id": "i"},
         "member m starts to join as group.instance.id i for topics a, b (session timeout 5 s)"),
        ("member-joins", {"session_timeout_ns": 0, "rebalance_timeout_ns": 5 * SECOND, "topics": [],
                          "instance_id": None}, "member m starts to join (rebalance timeout 5 s)"),
        ("member-leaves", {"reason": "", "cause": "slow-client", "by_other": False},
         "member m leaves: see slow-client"),
        ("member-leaves", {"reason": "consumer poll timeout.", "cause": None, "by_other": True},
         "member m is removed: max.poll.interval.ms exceeded"),
        ("more-connections", {"connections": 2}, "2 more connections not listed"),
        ("topic-not-found", {"error": "X"}, "Metadata responses contain X for topic orders, 3 times"),
        ("producer-id", {"producer_id": 7, "epoch": 1, "transactional_id": "t"},
         "client shop receives producer id 7, epoch 1 for transactional id t"),
        ("reads", {"partitions": [0, 1], "records": 1, "bytes": 1234, "requests": 2},
         "client shop begins to read topic orders, partitions 0-1: 1 record, 1,234 bytes in 2 requests"),
        ("reads-last", {}, "last Fetch request of client shop for topic orders"),
        ("sequence-gap", {"partition": 1, "found": 9999, "expected": 7},
         "client shop sends sequence number 9999 to topic orders, partition 1, expected 7"),
        ("slow", {"api": "Fetch", "took_ns": 2 * SECOND, "late_ns": SECOND},
         "the response to Fetch of client shop takes 2 s, 1 s above the allowed wait"),
        ("throttled", {"throttle_ms": 250}, "client shop is throttled, 3 times, for up to 250 ms"),
        ("transaction", {"transaction": 1, "transactional_id": "t"}, "transaction 1 of transactional id t begins"),
        ("transaction-ends", {"transaction": 1, "committed": True, "by_coordinator": False},
         "transaction 1 is committed after 2 s"),
        ("transaction-ends", {"transaction": 1, "committed": False, "by_coordinator": True},
         "transaction 1 is aborted by the coordinator after 2 s"),
        ("transaction-open", {"transaction": 1}, "transaction 1 is still open after 2 s"),
        ("transactional-id", {"code": 53, "error": "X", "transactional_id": "t"},
         "client shop receives no producer id for transactional id t: X"),
        ("transactional-id", {"code": 0, "transactional_id": "t", "producer_id": 7, "epoch": 1, "fences": "",
                              "timeout_ns": 5 * SECOND},
         "client shop receives producer id 7, epoch 1 for transactional id t, transaction timeout 5 s, which fences "
         "client (no client.id)"),
        ("transactional-id", {"code": 0, "transactional_id": "t", "producer_id": 7, "epoch": 1, "fences": None,
                              "timeout_ns": 0}, "client shop receives producer id 7, epoch 1 for transactional id t"),
        ("no-response", {"api": "Fetch", "version": 4}, "Fetch v4 of client shop receives no response"),
        ("writes-last", {}, "last Produce request of client shop to topic orders"),
        ("generation", {"generation": 4, "left": [{"member": "a", "reason": "x"}], "missing": ["b"], "new": ["c"],
                        "again": ["d", "e"], "given": [{"member": "c", "partitions": 0, "first": []}],
                        "took_ns": SECOND, "pause_ns": 300 * MS},
         "generation 4: member a left: x; member b did not rejoin; member c joins; members d, e rejoin; member c is "
         "assigned no partition; the rebalance took 1 s; no Fetch request for 300 ms"),
        ("generation", {"generation": 4, "left": [], "missing": [], "new": [], "again": [], "given": [],
                        "took_ns": SECOND - 1, "pause_ns": 0}, "generation 4: no change"),
    ):  # fmt: skip
        assert SENTENCES[kind]({**base, **facts}) == text


def test_many_connections_are_not_told_one_by_one() -> None:
    facts = Facts()
    for number in range(23):
        facts.client(at=number).first = mark(number + 1, number)
    events = tell(facts, "client", "shop", [])
    assert events is not None
    assert [event.kind for event in events].count("connects") == 20
    (more,) = [event for event in events if event.kind == "more-connections"]
    assert (more.facts, more.time) == ({"connections": 3}, START + 20)
    assert more.who == Who("shop", "10.0.0.1", "10.0.0.2:9092")


def test_how_much_there_is_to_tell() -> None:
    assert about(Subject("x", {"batches": 1, "epochs": 2000})) == "1 batch, 2,000 epochs"
    assert about(Subject("x", {"batches": 2, "members": 1})) == "2 batches, 1 member"


def test_a_transaction_that_is_open_at_the_end() -> None:
    facts = Facts()
    facts.last_time = START + 9 * SECOND
    txn = facts.producers.transactions_of("books")
    assert txn is not None
    txn.transactions = [Transaction(mark(1), mark(2, SECOND, 2 * SECOND), True), Transaction(mark(3, 4 * SECOND))]
    events = tell(facts, "transaction", "books", []) or []
    assert [(event.kind, event.time - START, event.facts.get("for_ns")) for event in events] == [
        ("transaction", 0, None), ("transaction-ends", 2 * SECOND, 2 * SECOND), ("transaction", 4 * SECOND, None),
        ("transaction-open", 9 * SECOND, 5 * SECOND), ("end", 9 * SECOND, None)]  # fmt: skip

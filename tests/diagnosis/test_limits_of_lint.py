"""Both sides of each limit of `kdbg lint`, of readiness and of the words of stories, on facts made by hand."""

from __future__ import annotations

from typing import Any

from kdbg.diagnosis import Evidence, Who
from kdbg.diagnosis.lint import Linter
from kdbg.diagnosis.looking import api_name, by_ends, clients_of_host, evidence, failures, on_paths, span
from kdbg.diagnosis.readiness import Missing, client_object, readiness, would_stop
from kdbg.diagnosis.stories import Subject, tell
from kdbg.diagnosis.stories.text import SENTENCES, about, given_to, listed, spans
from kdbg.diagnosis.text import duration
from kdbg.ledgers.producers import Gap, Transaction
from kdbg.messages.peers import Decrypted, endpoint

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
        assert would_stop([found]) is (verdict == "stops")
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
    assert on_paths(paths, "x") == Evidence((), tuple(path.first_packet for path in paths[:7]), ("x",))
    paths[3].last_time = START + 99
    assert span(paths) == (START, START + 99)
    assert [(ends, len(some)) for ends, some in by_ends(paths)] == [(("10.0.0.1", BROKER), 8)]
    shop.exchanges, again.exchanges, till.exchanges = 2, 3, 4
    assert clients_of_host(facts, "10.0.0.1") == ["shop", "till"]
    till.exchanges = 6
    assert clients_of_host(facts, "10.0.0.1") == ["till", "shop"]
    assert clients_of_host(facts, "10.0.0.9") == []
    assert (api_name(3), api_name(999), endpoint(BROKER)) == ("Metadata", "API 999", "10.0.0.2:9092")


def test_durations_in_words() -> None:
    for value, text in (
        (0, "0 ms"), (1_500_000, "1.5 ms"), (240 * MS, "240 ms"), (SECOND - 1, "1e+03 ms"), (SECOND, "1 s"),
        (3_520 * MS, "3.5 s"), (10 * SECOND - 1, "10 s"), (10 * SECOND, "10 s"), (45_600 * MS, "46 s"),
        (120 * SECOND - 1, "120 s"), (120 * SECOND, "2 min"), (200 * SECOND, "3.33 min"),
    ):  # fmt: skip
        assert duration(value) == text


def test_lists_and_spans_in_words() -> None:
    names = [f"n{number}" for number in range(10)]
    assert listed(names[:8]) == ", ".join(names[:8])
    assert listed(names) == ", ".join(names[:8]) + " and 2 more"
    assert spans([3, 1, 2, 7, 9, 10]) == "1-3, 7, 9-10"
    assert spans(range(0, 16, 2)) == "0, 2, 4, 6, 8, 10, 12, 14"
    assert spans(range(0, 18, 2)) == "0, 2, 4, 6, 8, 10, 12, 14 …"
    assert spans([]) == ""
    assert given_to({"member": "a", "partitions": 3, "first": [["orders", [0, 1]]]}) == "a gets orders/0-1 …"
    assert given_to({"member": "a", "partitions": 2, "first": [["orders", [0, 1]]]}) == "a gets orders/0-1"
    assert given_to({"member": "a", "partitions": 0, "first": []}) == "a gets nothing"


def test_sentences_of_events() -> None:
    """Each kind of event with its facts, and what is said of it."""
    base = {"client": "shop", "group": "sums", "topic": "orders", "member": "m", "count": 3, "for_ns": 2 * SECOND}
    for kind, facts, text in (
        ("asked-for", {"count": 1}, "shop asks for topic orders"),
        ("asked-for", {}, "shop asks for topic orders, 3 times in 2 s"),
        ("asks", {"api": "Fetch", "versions": [3, 4]}, "shop asks Fetch v3-4, 3 times"),
        ("closes", {"by": "client", "reset": False, "unanswered": 0, "exchanges": 1, "connection": 7, "broker": "b"},
         "shop closes connection 7 after 1 exchange"),
        ("closes", {"by": "broker", "reset": True, "unanswered": 2, "exchanges": 0, "connection": 7, "broker": "b"},
         "b resets connection 7 after 0 exchanges, 2 requests unanswered"),
        ("commits", {"last": [["a", 0, 1234]], "partitions": 1}, "sums has committed 3 times: a/0 at 1,234"),
        ("commits", {"last": [["a", 0, 5]] * 9, "partitions": 9},
         "sums has committed 3 times: " + ", ".join(["a/0 at 5"] * 8) + " …"),
        ("commits", {"last": [], "partitions": 0, "count": 1}, "sums has committed once; none succeeded"),
        ("coordinator", {"node": 2, "before": None}, "node 2 coordinates sums"),
        ("coordinator", {"node": 2, "before": 0}, "node 2 coordinates sums, before it node 0"),
        ("created", {}, "topic orders is created"), ("end", {"exchanges": 1}, "the capture ends, after 1 exchange"),
        ("epoch", {"producer_id": 7, "batches": 2, "epoch": 1}, "producer id 7 writes 2 batches in epoch 1"),
        ("error", {"error": "X", "api": "Fetch", "subject": "orders"},
         "shop is told X by Fetch about orders, 3 times in 2 s"),
        ("error", {"error": "X", "api": "Fetch", "subject": "", "count": 1, "client": ""},
         "a client is told X by Fetch"),
        ("events-lost", {}, "3 events more were not kept"),
        ("found", {"late": True, "partitions": 2}, "topic orders is there now, 2 partitions"),
        ("found", {"late": False, "partitions": 1}, "topic orders is there, 1 partition"),
        ("joins", {}, "shop joins group sums"),
        ("leader", {"partition": 1, "leader": 2, "before": -1, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "orders/1: leader 2, before none"),
        ("leader", {"partition": 1, "leader": -1, "before": 0, "in_sync": 1, "in_sync_before": 2, "replicas": 3},
         "orders/1: no leader, before 0; 1 of 3 replicas in sync (previously 2)"),
        ("leader", {"partition": 1, "leader": 0, "before": 0, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "orders/1: other replicas"),
        ("leader", {"partition": 1, "leader": 0, "before": 1, "in_sync": 1, "in_sync_before": 1, "replicas": 3},
         "orders/1: leader 0, before 1"),
        ("leaves", {"by_other": True, "reason": "x."}, "shop is removed from group sums: x"),
        ("leaves", {"by_other": False, "reason": ""}, "shop leaves group sums"),
        ("login", {"lifetime_ms": 5000, "user": "mara", "mechanism": None, "connection": 7},
         "shop is logged in as mara for 5 s by SASL (connection 7)"),
        ("login-refused", {"user": None, "message": "no", "mechanism": "PLAIN", "error": "X"},
         "shop is refused to log in by PLAIN: X (no)"),
        ("member-joins", {"session_timeout_ns": 5 * SECOND, "rebalance_timeout_ns": 0, "topics": ["a", "b"],
                          "instance_id": "i"}, "m asks to join as instance i for a, b (session timeout 5 s)"),
        ("member-joins", {"session_timeout_ns": 0, "rebalance_timeout_ns": 5 * SECOND, "topics": [],
                          "instance_id": None}, "m asks to join (poll interval 5 s)"),
        ("member-leaves", {"reason": "", "cause": "slow-client", "by_other": False}, "m leaves: slow client"),
        ("member-leaves", {"reason": "consumer poll timeout.", "cause": None, "by_other": True},
         "m is removed: poll interval exceeded"),
        ("more-connections", {"connections": 2}, "2 more connections follow, not told one by one"),
        ("not-found", {"error": "X"}, "metadata says X of topic orders, 3 times"),
        ("producer-id", {"producer_id": 7, "epoch": 1, "transactional_id": "t"},
         "shop gets producer id 7 epoch 1 for t"),
        ("reads", {"partitions": [0, 1], "records": 1, "bytes": 1234, "requests": 2},
         "shop begins to read orders/0-1: 1 record, 1,234 bytes in 2 requests"),
        ("reads-last", {}, "shop reads orders for the last time"),
        ("sequence-gap", {"partition": 1, "found": 9, "expected": 7},
         "shop sends sequence 9 to orders/1, expected 7"),
        ("slow", {"api": "Fetch", "took_ns": 2 * SECOND, "late_ns": SECOND},
         "Fetch of shop takes 2 s, 1 s above the allowed wait"),
        ("throttled", {"throttle_ms": 250}, "shop is throttled, 3 times, up to 250 ms"),
        ("transaction", {"transaction": 1, "transactional_id": "t"}, "transaction 1 of t begins"),
        ("transaction-ends", {"transaction": 1, "committed": True, "by_coordinator": False},
         "transaction 1 is committed after 2 s"),
        ("transaction-ends", {"transaction": 1, "committed": False, "by_coordinator": True},
         "transaction 1 is aborted by the coordinator after 2 s"),
        ("transaction-open", {"transaction": 1}, "transaction 1 is still open, 2 s old"),
        ("transactional-id", {"code": 53, "error": "X", "transactional_id": "t"},
         "shop asks for transactional id t: X"),
        ("transactional-id", {"code": 0, "transactional_id": "t", "producer_id": 7, "epoch": 1, "fences": "",
                              "timeout_ns": 5 * SECOND},
         "shop gets producer id 7 epoch 1 for t, transaction timeout 5 s, which fences another client"),
        ("transactional-id", {"code": 0, "transactional_id": "t", "producer_id": 7, "epoch": 1, "fences": None,
                              "timeout_ns": 0}, "shop gets producer id 7 epoch 1 for t"),
        ("unanswered", {"api": "Fetch", "version": 4}, "Fetch v4 of shop is never answered"),
        ("writes-last", {}, "shop writes to orders for the last time"),
        ("generation", {"generation": 4, "left": [{"member": "a", "reason": "x"}], "missing": ["b"], "new": ["c"],
                        "again": ["d", "e"], "given": [{"member": "c", "partitions": 0, "first": []}],
                        "took_ns": SECOND, "pause_ns": 300 * MS},
         "gen 4: a left: x; b did not come back; c joins; d, e join again; c gets nothing; it took 1 s; "
         "300 ms without consumption"),
        ("generation", {"generation": 4, "left": [], "missing": [], "new": [], "again": [], "given": [],
                        "took_ns": SECOND - 1, "pause_ns": 0}, "gen 4: begins"),
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

"""What each API adds to the ledgers: what is fetched, written, committed and begun, who coordinates, who logs in."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from kdbg.analysis.ledgers.flows import Began, Fetched, Gap, PartitionWrites, Polls, Sample, Transaction
from kdbg.analysis.ledgers.groups import Event, Group
from kdbg.analysis.ledgers.ledgers import READERS
from kdbg.analysis.ledgers.readers.flows import COUNTERS
from kdbg.protocol.grammars.errors import ERRORS

from .facts import book, mark


def test_polls_and_their_pauses() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"errors": []})
    row = {"partition": 2, "fetch_offset": 5, "partition_max_bytes": 100}
    request = {"max_wait_ms": 500, "min_bytes": 1, "replica_id": -1, "session_epoch": 0,
               "topics": [{"topic": "orders", "partitions": [row]}]}  # fmt: skip
    answer: dict[str, Any] = {"session_id": 0, "error_code": 0, "responses": []}
    for number, (time, end) in enumerate(((10, 20), (25, 30), (42, 50), (49, 60)), 1):
        READERS[1](ledgers, session, mark(number, time, end), request, answer, exchange)
    polls, flow = ledgers.polls[1], ledgers.fetched[1, "orders", 2]
    assert (polls.idle, polls.last_end, polls.times) == (17, 60, [10, 25, 42, 49])
    assert (polls.max_wait_ms, polls.min_bytes, polls.replica, polls.partitions) == (500, 1, -1, 1)
    assert (polls.requests.count, polls.empty.count, polls.full_sessions.count) == (4,) * 3
    assert polls.session_errors == {}
    assert (flow.requests.count, flow.limit, flow.isolation, flow.first_offset) == (4, 100, 0, 5)
    follower = {"replica_state": {"replica_id": 3}, "isolation_level": 1, "session_epoch": 1, "topics": []}
    READERS[1](ledgers, session, mark(5, 70, 80), follower, {"session_id": 7}, exchange)
    assert (polls.replica, polls.empty.count, polls.full_sessions.count) == (3, 5, 4)
    READERS[1](ledgers, session, mark(6, 90, 91), request, {"error_code": 70}, exchange)
    assert ({code: one.count for code, one in polls.session_errors.items()}, polls.empty.count) == ({70: 1}, 5)


def fetched(offset: int, size: int, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fetch of one partition from an offset, and an answer of so many bytes."""
    asked = {"topics": [{"topic": "orders", "partitions": [
        {"partition": 2, "fetch_offset": offset, "partition_max_bytes": 112}]}]}  # fmt: skip
    batch = {"batch_length": size, "base_offset": offset, "last_offset_delta": 3, "records_count": 4}
    told = {"partition_index": 2, "records": [batch] if size else [], "high_watermark": 90, **more}
    return asked, {"responses": [{"topic": "orders", "partitions": [told]}]}


def test_what_is_fetched_and_where_it_stays() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"latency": None, "errors": []})
    for number, (offset, size, more) in enumerate(
        ((7, 100, {}), (7, 101, {"last_stable_offset": 80}), (11, 0, {"log_start_offset": 3}), (7, 100, {}),
         (2, 0, {"error_code": 1, "high_watermark": -1}), (1, 0, {"error_code": 1, "high_watermark": -1})), 1
    ):  # fmt: skip
        asked, told = fetched(offset, size, **more)
        READERS[1](ledgers, session, mark(number, number * 10, number * 10 + 1), asked, told, exchange)
    flow, polls = ledgers.fetched[1, "orders", 2], ledgers.polls[1]
    assert (flow.records, flow.bytes, flow.with_data.numbers, flow.oversized.numbers) == (12, 337, (1, 2, 4), (2,))
    assert (flow.served, flow.stuck.numbers, flow.stuck_at, flow.log_start, flow.out_of_range) == (
        {7: 3},
        (2, 4),
        7,
        3,
        2,
    )
    assert flow.errors[1].numbers == (5, 6)
    assert flow.samples.found == [Sample(10, 11, 90, 90), Sample(20, 11, 90, 80), Sample(30, 11, 90, 90),
                                  Sample(40, 11, 90, 90)]  # fmt: skip
    assert (polls.empty.numbers, polls.requests.count) == ((3,), 6)
    for offset in range(1000, 1200):
        asked, told = fetched(offset, 9)
        READERS[1](ledgers, session, mark(9, 99), asked, told, exchange)
    assert len(flow.served) == 128
    assert 7 not in flow.served


def test_what_is_written() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"request": None, "latency": None, "errors": []})

    def produce(number: int, code: int, transactional: str | None = None, **batch: Any) -> None:
        rows = [{"index": 2, "records": [{"records_count": 1, "attributes": 0, **batch}, 7]}]
        asked = {
            "acks": -1,
            "transactional_id": transactional,
            "topic_data": [{"name": "orders", "partition_data": rows}],
        }
        results = [{"index": 2, "error_code": code, "base_offset": 50 + number}]
        told = {"responses": [{"name": "orders", "partition_responses": results}]}
        READERS[0](ledgers, session, mark(number, number, number + 1), asked, told, exchange)

    produce(1, 0, batch_length=90, base_timestamp=5, max_timestamp=9)
    produce(2, 0, batch_length=100, records_count=3, attributes=0x12, base_timestamp=4, max_timestamp=8)
    produce(3, 6, message_size=30, records_count=None, records=[{"key": b"1"}, {"key": None}])
    produce(4, 0, records_count=None)
    flow = ledgers.written[1, "orders", 2]
    assert (flow.batches, flow.records, flow.bytes, flow.singles, flow.uncompressed) == (4, 7, 220, 2, 3)
    assert flow.acks == {-1: 4}
    assert (flow.requests.count, flow.errors[6].numbers, session.used(0).transactional) == (4, (3,), False)
    ids = {"producer_id": 7, "producer_epoch": 1}
    session.heard(mark(), 0, 9, "shop", 9)
    produce(5, 0, "books", **ids, base_sequence=0, records_count=2, last_offset_delta=1)
    produce(6, 0, "books", **ids, base_sequence=2)
    produce(7, 47, "books", **ids, base_sequence=9)
    producer, txn = ledgers.producers.by_id[7], ledgers.producers.transactional["books"]
    assert session.used(0).transactional
    assert (producer.client_id, producer.transactional_id, producer.produced.numbers) == ("shop", "books", (5, 6, 7))
    assert producer.gaps == [Gap(mark(7, 7, 8), "orders", 2, 3, 9)]
    assert txn.transactions == [Transaction(mark(5, 5, 6))]
    assert (txn.errors[0, 47].numbers, txn.producer_id, txn.epoch) == ((7,), 7, 1)


def test_what_is_not_read_closely_is_counted() -> None:
    ledgers, session = book()
    row: Any = ("orders", 2, None, 3)
    everyday: Any = ([row, ("bills", None, None, 1)],)
    COUNTERS[0](ledgers, session, mark(1), (everyday, everyday))
    COUNTERS[1](ledgers, session, mark(1), (everyday, everyday))
    assert (len(ledgers.written), len(ledgers.fetched)) == (0, 0)
    wrote = ledgers.written.entry((1, "orders", 2), PartitionWrites)
    got = ledgers.fetched.entry((1, "orders", 2), Fetched)
    polls = ledgers.polls.entry(1, Polls)
    assert wrote is not None
    assert got is not None
    assert polls is not None
    wrote.batches, wrote.records, wrote.bytes, wrote.uncompressed = 1, 4, 100, 1
    single: Any = ([("orders", 2, None, 1)],)
    none: Any = ([("orders", 2, None, 0)],)
    for facts in (everyday, single, none):
        COUNTERS[0](ledgers, session, mark(2), (facts, facts))
        COUNTERS[1](ledgers, session, mark(2, 20, 30), (facts, facts))
    COUNTERS[1](ledgers, session, mark(3, 35, 40), (none, none))
    assert (wrote.batches, wrote.records, wrote.singles, wrote.uncompressed, wrote.requests.count) == (3, 8, 1, 3, 3)
    assert wrote.bytes == 100 + 100 // 2 + 150 // 3
    assert (got.records, got.with_data.count, got.requests.count) == (4, 2, 4)
    assert (polls.empty.count, polls.idle, polls.last_end) == (2, 5, 40)


def test_producer_ids_and_their_ends() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"latency": None, "errors": []})

    def does(key: int, number: int, asked: dict[str, Any], told: dict[str, Any]) -> None:
        READERS[key](ledgers, session, mark(number, number * 10, number * 10 + 5), asked, told, exchange)

    books = {"transactional_id": "books"}
    begins = {**books, "transaction_timeout_ms": 900}
    does(22, 1, begins, {"error_code": 0, "producer_id": 7, "producer_epoch": 0})
    txn, producer = ledgers.producers.transactional["books"], ledgers.producers.by_id[7]
    now = Began(mark(1, 10, 15), "shop", "10.0.0.1", 7, 0, 900, 0)
    assert (txn.now, txn.begun, producer.begun) == (now, [now], [now])
    does(22, 2, begins, {"error_code": 51})
    assert (txn.now, len(txn.begun), txn.begun[1].code, txn.begun[1].producer_id) == (now, 2, 51, -1)
    does(24, 3, {"v3_and_below_transactional_id": "books", "v3_and_below_producer_id": 7,
                 "v3_and_below_producer_epoch": 0,
                 "v3_and_below_topics": [{"name": "orders", "partitions": [0, 1]}]}, {"error_code": 0})  # fmt: skip
    does(25, 4, {**books, "producer_id": 7, "producer_epoch": 0, "group_id": "sums"}, {"error_code": 0})
    exchange.errors = [ERRORS[48]]
    for key in (24, 25):
        does(key, 4, books if key == 24 else {**books, "group_id": "sums"}, {"error_code": 48})
    exchange.errors = []
    assert list(txn.errors) == [(22, 51), (24, 48), (25, 48)]
    does(26, 5, {**books, "committed": True, "producer_id": 7, "producer_epoch": 0}, {"error_code": 51})
    assert txn.transactions == [Transaction(mark(3, 30, 35))]
    does(26, 6, {**books, "committed": True, "producer_id": 7, "producer_epoch": 0}, {"producer_epoch": 1,
                                                                                     "producer_id": 7})  # fmt: skip
    assert (txn.transactions, txn.epoch) == ([Transaction(mark(3, 30, 35), mark(6, 60, 65), True)], 1)
    assert {key: one.count for key, one in txn.errors.items()} == {(22, 51): 1, (24, 48): 1, (25, 48): 1, (26, 51): 1}
    for number, epoch in ((7, 0), (8, 1)):
        does(27, number, {"markers": [{"producer_id": 7, "producer_epoch": epoch, "transaction_result": True}]}, {})
    does(26, 9, {**books, "committed": False, "producer_id": 7, "producer_epoch": 4}, {"error_code": 0})
    assert txn.epoch == 4
    fresh = ledgers.producers.transactions_of("fresh")
    assert fresh is not None
    fresh.who(7, 0)
    does(27, 10, {"markers": [{"producer_id": 7, "producer_epoch": 5, "transaction_result": True}]}, {})
    assert fresh.epoch == 5
    fresh.markers.clear()
    txn.markers.pop()
    assert txn.markers == [(mark(7, 70, 75), True), (mark(8, 80, 85), True)]


def test_offsets_that_are_committed_and_groups_that_are_known() -> None:
    ledgers, session = book()
    errors: list[Any] = []
    exchange: Any = type("Exchange", (), {"latency": None, "errors": errors})

    def does(key: int, number: int, asked: dict[str, Any], told: dict[str, Any]) -> None:
        READERS[key](ledgers, session, mark(number, number * 10, number * 10 + 5), asked, told, exchange)

    def commit(*offsets: int) -> dict[str, Any]:
        rows = [{"partition_index": place, "committed_offset": offset} for place, offset in enumerate(offsets)]
        return {"group_id": "sums", "topics": [{"name": "tills", "partitions": rows}]}

    def codes(*found: int) -> dict[str, Any]:
        rows = [{"partition_index": place, "error_code": code} for place, code in enumerate(found)]
        return {"topics": [{"name": "tills", "partitions": rows}]}

    member = ledgers.groups.entry("sums", lambda: Group("sums")).member("m1")  # type: ignore[union-attr]
    does(8, 1, {**commit(5, 6), "member_id": "m1", "generation_id_or_member_epoch": 3}, codes(0, 25))
    group = ledgers.groups["sums"]
    assert group.committed == {("tills", 0): (5, 10, 1)}
    assert (group.commits.count, group.errors[8, 25].count, member.errors[25].count) == (1, 1, 1)
    assert group.events == [Event(mark(1, 10, 15), "commit", "m1", 3, 25)]
    assert (member.connections, group.clients["shop"].count) == ({1}, 1)
    does(8, 2, commit(7), codes(0))
    assert group.committed["tills", 0] == (7, 20, 2)
    does(9, 4, {"group_id": "fetched"}, {"topics": []})
    does(9, 5, {}, {"groups": [{"group_id": "named"}, {"group_id": "lost", "error_code": 15}]})
    does(47, 6, {"group_id": "emptied"}, codes(0, 25))
    errors.append(type("Error", (), {"code": 47}))
    does(28, 8, {**commit(50), "group_id": "books", "transactional_id": "books"}, codes(0))
    txn = ledgers.producers.transactional["books"]
    assert txn.errors[28, 47].numbers == (8,)
    does(42, 9, {}, {"results": [{"group_id": "deleted"}, {"group_id": "other", "error_code": 68}]})
    assert list(ledgers.groups) == ["sums", "fetched", "named", "emptied", "books", "deleted"]


def test_coordinators_clusters_and_topics_that_are_made() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"request": None})

    def does(key: int, number: int, asked: dict[str, Any], told: dict[str, Any]) -> None:
        READERS[key](ledgers, session, mark(number, number * 10), asked, told, exchange)

    does(10, 1, {"key": "sums"}, {"error_code": 0, "node_id": 3, "host": "k3", "port": 9093})
    does(10, 2, {"key": "sums"}, {"error_code": 15, "node_id": -1, "host": "", "port": -1})
    does(10, 3, {"key": "books", "key_type": 1}, {"node_id": 4, "host": "k4", "port": 9094})
    both = [{"key": "a", "node_id": 5, "host": "k5", "port": 1}, {"error_code": 16, "node_id": 6, "host": "k6"}]
    does(10, 4, {"coordinator_keys": ["a", "b"]}, {"coordinators": both})
    sums = ledgers.groups["sums"]
    assert (sums.coordinators, sums.errors[10, 15].count, sums.clients["shop"].count) == ([(10, 3)], 1, 2)
    assert list(ledgers.groups) == ["sums", "a", "b"]
    assert (ledgers.groups["a"].coordinators, ledgers.groups["b"].coordinators) == ([(40, 5)], [])
    assert list(ledgers.clusters.advertised) == [(3, "k3", 9093), (4, "k4", 9094), (5, "k5", 1)]
    does(60, 5, {}, {"brokers": [{"broker_id": 8, "host": "k8", "port": 2}, {}]})
    assert list(ledgers.clusters.advertised)[3:] == [(8, "k8", 2), (-1, "", 0)]
    does(19, 6, {}, {"topics": [{"name": "orders"}, {"name": "bills", "error_code": 36}, {}]})
    assert {name: one.created.count for name, one in ledgers.clusters.topics.items()} == {"orders": 1}
    does(18, 7, {}, {"api_keys": [{"api_key": 3, "min_version": 0, "max_version": 9}]})
    does(18, 8, {}, {})
    assert session.offered == {3: (0, 9)}
    for number in range(300):
        session.client_ids = Counter({f"c{number}": 1})
        does(10, number, {"key": "many"}, {"node_id": number})
    many = ledgers.groups["many"]
    assert (len(many.coordinators), many.coordinators[0], len(many.clients)) == (64, (2360, 236), 256)


def test_logins() -> None:
    ledgers, session = book()
    exchange: Any = type("Exchange", (), {"request": None})

    def does(key: int, number: int, asked: dict[str, Any], told: dict[str, Any]) -> None:
        READERS[key](ledgers, session, mark(number, number * 10), asked, told, exchange)

    does(17, 1, {"mechanism": "PLAIN"}, {"error_code": 0, "mechanisms": ["PLAIN"]})
    does(17, 2, {}, {})
    assert (session.mechanism, session.offered_mechanisms, session.refused) == ("PLAIN", ("PLAIN",), None)
    does(36, 3, {}, {"error_code": 0, "session_lifetime_ms": 900})
    does(36, 4, {}, {"error_code": 0})
    does(36, 5, {}, {})
    assert (session.lifetime, session.authenticated) == (900, [mark(3, 30), mark(4, 40)])
    does(36, 6, {}, {"error_code": 58, "error_message": "no"})
    does(17, 7, {}, {"error_code": 33})
    assert session.refused == (mark(6, 60), 58, "no")
    for number in range(100):
        does(36, number, {}, {"error_code": 0})
    assert len(session.authenticated) == 64


def test_who_logs_in_by_what_a_token_calls_the_user() -> None:
    for name in ("user", "username", "n", "authentication_id"):
        ledgers, session = book()
        token = SimpleNamespace(value={name: "mara", "password": "x"})
        message = SimpleNamespace(body={"auth_bytes": token})
        exchange: Any = SimpleNamespace(request=SimpleNamespace(message=lambda shallow=False, message=message: message))
        READERS[36](ledgers, session, mark(), {}, {"error_code": 0}, exchange)
        token.value = {}
        READERS[36](ledgers, session, mark(), {}, {"error_code": 0}, exchange)
        assert session.user == "mara"

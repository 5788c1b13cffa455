"""What is said of an exchange and of its connection, whole."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.scale.signals.attributes import SpanSubject, clean, known_attributes, of_connection, of_exchange, of_peers

from ..live.test_replaying import OLD, exchange

PEERS = {
    "messaging.system": "kafka", "network.protocol.name": "kafka", "network.transport": "tcp", "network.type": "ipv4",
    "server.address": "127.0.0.1", "server.port": 9092, "client.address": "127.0.0.1", "client.port": 1,
    "network.peer.address": "127.0.0.1", "network.peer.port": 9092,
    "kafka.connection": 1,
}  # fmt: skip
RECORDS = [{"records": [{"key": None, "value": b"x"}, {"key": None, "value": b"y"}]}]


def produced(*topics: str, code: int = 0, parts: int = 1, transactional_id: str | None = "tx") -> Exchange:
    asked = [{"name": name, "partition_data": [{"index": index, "records": RECORDS} for index in range(parts)]}
             for name in topics]  # fmt: skip
    answer = [{"name": name, "partition_responses": [{"index": index, "error_code": code, "base_offset": 0}
                                                     for index in range(parts)]} for name in topics]  # fmt: skip
    body = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 1, "topic_data": asked}
    return exchange("Produce", 7, body, {"responses": answer}, sent=5_000_000, came=7_000_000)


def of(one: Exchange, names: dict[UUID, str] | None = None) -> dict[str, Any]:
    return of_exchange(one, SpanSubject(one, names or {}))


def test_a_produce_request_is_told_by_the_names_of_the_conventions() -> None:
    one = produced("orders", code=6)
    one.number = 17
    assert one.request is not None
    assert one.response is not None
    assert of(one) == PEERS | {
        "messaging.client.id": "me", "messaging.operation.name": "send", "messaging.operation.type": "send",
        "messaging.destination.name": "orders", "messaging.destination.partition.id": "0",
        "messaging.batch.message_count": 2, "error.type": "NOT_LEADER_OR_FOLLOWER", "kafka.exchange": 17,
        "kafka.api": "Produce", "kafka.api_key": 0, "kafka.api_version": 7, "kafka.correlation_id": 1,
        "kafka.topics": ("orders",), "kafka.transactional_id": "tx", "kafka.errors": ("NOT_LEADER_OR_FOLLOWER",),
        "kafka.error_codes": (6,), "kafka.request.size": one.request.size, "kafka.response.size": one.response.size,
        "kafka.latency_ms": 2.0,
    }  # fmt: skip


def test_what_is_one_of_several_has_no_name_of_its_own() -> None:
    two = of(produced("a", "b"))
    assert (two["kafka.topics"], two["messaging.batch.message_count"]) == (("a", "b"), 4)
    assert not two.keys() & {"messaging.destination.name", "messaging.destination.partition.id", "error.type"}
    parts = of(produced("a", parts=2, transactional_id=None))
    assert parts["messaging.destination.name"] == "a"
    assert not parts.keys() & {"messaging.destination.partition.id", "kafka.transactional_id"}
    many = of(produced(*(f"t{number}" for number in range(101))))
    assert (len(many["kafka.topics"]), many["kafka.topics"][-1]) == (100, "t99")


def test_operations_are_those_of_the_conventions() -> None:
    kinds = {}
    for api, version, body in (
        ("Fetch", 4, {"max_wait_ms": 1, "min_bytes": 1, "topics": []}),
        ("OffsetCommit", 2, {"group_id": "g", "topics": []}),
        ("TxnOffsetCommit", 0, {"transactional_id": "t", "group_id": "g", "producer_id": 1, "producer_epoch": 0,
                                "topics": []}),
        ("ShareFetch", 1, {"group_id": "g"}),
        ("ShareAcknowledge", 1, {"group_id": "g"}),
        ("Metadata", 1, {"topics": []}),
    ):  # fmt: skip
        found = of(exchange(api, version, body))
        kinds[api] = found.get("messaging.operation.name"), found.get("messaging.operation.type")
    assert kinds == {
        "Fetch": ("poll", "receive"), "OffsetCommit": ("commit", "settle"), "TxnOffsetCommit": ("commit", "settle"),
        "ShareFetch": ("poll", "receive"), "ShareAcknowledge": ("acknowledge", "settle"), "Metadata": (None, None),
    }  # fmt: skip
    group = of(exchange("OffsetCommit", 2, {"group_id": "g", "topics": []}))
    assert (group["messaging.consumer.group.name"], group["kafka.groups"]) == ("g", ("g",))


def test_a_single_message_has_its_offset() -> None:
    one = [{"records": [{"key": None, "value": b"x"}]}]

    def produce(records: Any, base: int | None, code: int = 0) -> Exchange:
        body = {"transactional_id": None, "acks": 0 if base is None else 1, "timeout_ms": 1,
                "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]}  # fmt: skip
        answer = {"responses": [{"name": "t", "partition_responses": [
            {"index": 0, "error_code": code, "base_offset": base}]}]}  # fmt: skip
        return exchange("Produce", 7, body, None if base is None else answer)

    offset = "messaging.kafka.offset"
    assert of(produce(one, 41))[offset] == 41
    assert "messaging.batch.message_count" not in of(produce(one, 41))
    for other in (produce(RECORDS, 41), produce(one, -1, code=6), produce(one, None)):
        assert offset not in of(other)
    fetched = {"max_wait_ms": 1, "min_bytes": 1, "topics": [{"topic": "t", "partitions": [
        {"partition": 0, "fetch_offset": 7, "partition_max_bytes": 9}]}]}  # fmt: skip
    answer = {"responses": [{"topic": "t", "partitions": [{"partition_index": 0, "error_code": 0, "high_watermark": 9,
              "last_stable_offset": 9, "aborted_transactions": [], "records": [
                  {"base_offset": 8, "records": [{"key": None, "value": b"x"}]}]}]}]}  # fmt: skip
    assert of(exchange("Fetch", 4, fetched, answer))[offset] == 8
    body = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": "m", "retention_time_ms": -1, "topics": [
        {"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]}  # fmt: skip
    assert of(exchange("OffsetCommit", 2, body))[offset] == 5


def test_topics_have_their_names_where_these_are_known() -> None:
    topics = [{"topic_id": OLD, "partitions": [{"partition": 4, "fetch_offset": 0, "partition_max_bytes": 1}]}]
    one = exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": topics})
    assert of(one, {OLD: "orders"})["messaging.destination.name"] == "orders"
    found = of(one)
    assert (found["kafka.topics"], found["messaging.destination.partition.id"]) == ((str(OLD),), "4")


def test_of_what_nothing_is_known_nothing_is_said() -> None:
    one = exchange("Heartbeat", 0, {"group_id": "g", "generation_id": 1, "member_id": "m"})
    one.api, one.client_id = None, None
    assert one.request is not None
    assert of(one) == PEERS | {
        "kafka.correlation_id": 1, "kafka.request.size": one.request.size, "kafka.groups": ("g",),
        "messaging.consumer.group.name": "g",
    }  # fmt: skip
    assert known_attributes({"a": None, "b": (), "c": "", "d": 0, "e": False}) == {"d": 0, "e": False}
    nowhere = of_peers(Peers(0, ("", 0), ("::1", 9)))
    assert nowhere == {"messaging.system": "kafka", "network.protocol.name": "kafka", "network.transport": "tcp",
                       "network.type": "ipv6", "server.address": "::1", "server.port": 9,
                       "network.peer.address": "::1", "network.peer.port": 9}  # fmt: skip
    assert of_connection(one) == PEERS
    assert [clean("x" * size) for size in (256, 257)] == ["x" * 256, "x" * 256 + "…"]

"""Names of topic ids are learnt from the records of Kafka's own topics, wherever those stand in a message."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.engine.names import SEARCHED, Learner
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.known import Known
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol import grammars

from ..cases import for_each

PEERS = Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))
ORDERS = UUID("00112233-4455-6677-8899-aabbccddeeff")
METADATA = UUID(int=1)
TOLD = b"\1\2\0" + b"\7orders" + ORDERS.bytes + b"\0"
"""A TopicRecord in its frame: the name of a topic and its id."""


def batch(value: bytes) -> dict[str, Any]:
    record = {"offset": 0, "timestamp": 0, "attributes": 0, "key": None, "value": value, "headers": []}
    return {
        "base_offset": 0, "partition_leader_epoch": 0, "magic": 2, "attributes": 0, "last_offset_delta": 0,
        "base_timestamp": 0, "max_timestamp": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
        "records": [record],
    }  # fmt: skip


def fetched(version: int, topics: list[dict[str, Any]]) -> Exchange:
    """A fetch of a session: the request does not say again which topics it wants."""
    api = grammars.by_key(1)
    assert api is not None
    exchange = Exchange(PEERS, api, version, 7, "me")
    bodies = {
        "request": {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0,
                    "session_id": 5, "session_epoch": 2, "topics": [], "forgotten_topics_data": [], "rack_id": ""},
        "response": {"throttle_time_ms": 0, "error_code": 0, "session_id": 5, "responses": topics},
    }  # fmt: skip
    for side in ("request", "response"):
        header = {"correlation_id": 7} | ({"client_id": "me"} if side == "request" else {})
        data = kdbg.encode(bodies[side], api=1, version=version, direction=side, header=header)
        half = CapturedMessage(data, (1, 1), (1, 1), side)  # type: ignore[arg-type]
        half.api, half.version, half.known = api, version, Known.nothing()
        setattr(exchange, side, half)
    return exchange


def topic(version: int, name: str, topic_id: UUID, value: bytes) -> dict[str, Any]:
    partition = {
        "partition_index": 0, "error_code": 0, "high_watermark": 1, "last_stable_offset": 1, "log_start_offset": 0,
        "aborted_transactions": None, "preferred_read_replica": -1, "records": [batch(value)],
    }  # fmt: skip
    return ({"topic": name} if version < 13 else {"topic_id": topic_id}) | {"partitions": [partition]}


@for_each("version", [11, 12, 13])
@for_each("before", [10, 5000, SEARCHED + 1])
def test_names_behind_the_records_of_another_topic_are_learnt(version: int, before: int) -> None:
    others = topic(version, "__others", UUID(int=5), b"x" * before)
    own = topic(version, "__cluster_metadata", METADATA, TOLD)
    learnt = {METADATA: "__cluster_metadata"}
    Learner(learnt).learn_from(fetched(version, [others, own]))
    assert learnt.get(ORDERS) == "orders"


@pytest.mark.parametrize("version", [11, 13])
def test_of_other_topics_nothing_is_read(version: int) -> None:
    learnt = {METADATA: "__cluster_metadata"}
    exchange = fetched(version, [topic(version, "others", UUID(int=5), b"__cluster_metadata" * SEARCHED)])
    exchange.response.data += b"\0"  # type: ignore[union-attr]
    Learner(learnt).learn_from(exchange)
    assert list(learnt) == [METADATA]


def test_of_the_kraft_log_nothing_is_opened_that_breaks() -> None:
    """Its records hold secrets, and nobody knows where those stand then."""
    own = topic(11, "__cluster_metadata", METADATA, TOLD)
    exchange = fetched(11, [topic(11, "others", UUID(int=5), b"x" * SEARCHED), own, own])
    exchange.response.data = exchange.response.data[:-40]  # type: ignore[union-attr]
    learnt = {METADATA: "__cluster_metadata"}
    Learner(learnt).learn_from(exchange)
    assert ORDERS not in learnt

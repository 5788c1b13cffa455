"""Where requests go, told from their bodies alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.live.client.routes import (
    CONTROLLER,
    GROUP,
    LEADER,
    SHARE,
    TRANSACTION,
    Route,
    completed,
    partitions_of,
    route,
)
from kdbg.protocol import grammars

from ..cases import for_each

ID = UUID("12345678-1234-1234-1234-123456789abc")
ANY = Route("any")


def to(api: str, **body: Any) -> Route:
    return route(grammars.api(api), body)


PARTITIONS = {"partitions": [{"partition_index": 3}]}


@for_each(
    ("api", "body"),
    [
        ("produce", {"topic_data": [{"name": "t", "partition_data": [{"index": 3}]}]}),
        ("produce", {"acks": 0, "topic_data": [{"name": "t", "partition_data": [{"index": 3, "records": b"x"}]}]}),
        ("fetch", {"topics": [{"topic": "t", "partitions": [{"partition": 3, "fetch_offset": 9}]}]}),
        ("offsets", {"topics": [{"name": "t", **PARTITIONS}]}),
        ("delete-records", {"topics": [{"name": "t", **PARTITIONS}]}),
        ("offset-for-leader-epoch", {"topics": [{"topic": "t", "partitions": [{"partition": 3}]}]}),
        ("describe-producers", {"topics": [{"name": "t", "partition_indexes": [3, 4]}]}),
    ],
)
def test_what_a_partition_s_leader_answers(api: str, body: dict[str, Any]) -> None:
    assert to(api, **body) == Route("leader", ("t", 3))


@for_each("api", ["describe-configs", "alter-configs", "incremental-alter-configs"])
@for_each("kind", [4, 8, "broker", "Broker-Logger"])
def test_a_brokers_own_settings(api: str, kind: int | str) -> None:
    """Another one refuses, or does not know them."""
    others = [{"resource_type": 2, "resource_name": "7"}, {"resource_type": kind, "resource_name": "3"}]
    assert to(api, resources=others) == Route("broker", 3)
    assert to(api, resources=[{"resource_type": kind, "resource_name": ""}]) == ANY, "what holds for all brokers"
    assert to(api, resources=others[:1]) == ANY
    assert to(api, resources=[{"resource_type": "topik", "resource_name": "3"}]) == ANY


@pytest.mark.parametrize("key", sorted(SHARE))
def test_a_share_groups_partition_by_its_key(key: int) -> None:
    """As Kafka writes it: group, topic id in base64, partition."""
    topics = [{"topic_id": ID, "partitions": [{"partition": 3}, {"partition": 4}]}]
    found = route(grammars.api(key), {"group_id": "g", "topics": topics})
    assert found == Route("share", "g:EjRWeBI0EjQSNBI0VniavA:3")
    for nothing in ([], [{}], [{"topic_id": ID}], [{"topic_id": str(UUID(int=0)), "partitions": [{}]}]):
        assert route(grammars.api(key), {"group_id": "g", "topics": nothing}) == ANY


def test_every_partition_of_a_request() -> None:
    topics = [{"name": "t", "partitions": [{"partition_index": 2}, {"partition_index": 1}]}]
    assert partitions_of(grammars.api("offsets"), {"topics": topics}) == [("t", 2), ("t", 1)]
    assert partitions_of(grammars.api("offsets"), {}) == []


@pytest.mark.parametrize("topic_id", [ID, str(ID)])
def test_a_topic_by_its_id(topic_id: UUID | str) -> None:
    """As a program or as JSON has it."""
    partitions = [{"partition": 3}]
    assert to("fetch", topics=[{"topic_id": topic_id, "partitions": partitions}]) == Route("leader", (ID, 3))
    assert to("share-fetch", topics=[{"topic_id": topic_id, "partitions": [{}]}]) == Route("leader", (ID, 0))


def test_what_is_left_out_has_its_default() -> None:
    assert to("produce", topic_data=[{"name": "t", "partition_data": [{}]}]) == Route("leader", ("t", 0))


def test_the_first_partition_decides() -> None:
    topics = [
        {"name": "t", "partitions": [{"partition_index": 2}, {"partition_index": 1}]},
        {"name": "a", "partitions": [{"partition_index": 0}]},
    ]
    assert to("offsets", topics=topics) == Route("leader", ("t", 2))


@for_each("api", sorted(grammars.by_key(key).name for key in LEADER))
def test_no_partition_in_sight(api: str) -> None:
    assert to(api) == ANY
    assert to(api, topics=[], topic_data=[]) == ANY
    assert to(api, topics=[{}], topic_data=[{}]) == ANY
    assert to(api, topics=[{"topic_id": UUID(int=0), "partitions": [{}]}]) == ANY


@for_each(
    ("api", "body"),
    [
        ("offset-commit", {"group_id": "g"}),
        ("offset-fetch", {"group_id": "g", "topics": None}),
        ("offset-fetch", {"groups": [{"group_id": "g"}, {"group_id": "h"}]}),
        ("join-group", {"group_id": "g"}),
        ("sync-group", {"group_id": "g"}),
        ("heartbeat", {"group_id": "g"}),
        ("leave-group", {"group_id": "g"}),
        ("describe-groups", {"groups": ["g", "h"]}),
        ("delete-groups", {"groups_names": ["g"]}),
        ("txn-offset-commit", {"transactional_id": "t", "group_id": "g"}),
        ("offset-delete", {"group_id": "g"}),
        ("consumer-group-heartbeat", {"group_id": "g"}),
        ("consumer-group-describe", {"group_ids": ["g"]}),
        ("share-group-heartbeat", {"group_id": "g"}),
        ("streams-group-heartbeat", {"group_id": "g"}),
    ],
)
def test_what_a_group_s_coordinator_answers(api: str, body: dict[str, Any]) -> None:
    assert to(api, **body) == Route("group", "g")


@for_each(
    ("api", "body"),
    [
        ("init-producer-id", {"transactional_id": "t"}),
        ("add-partitions-to-txn", {"v3_and_below_transactional_id": "t"}),
        ("add-partitions-to-txn", {"transactions": [{"transactional_id": "t"}]}),
        ("add-offsets-to-txn", {"transactional_id": "t", "group_id": "g"}),
        ("end-txn", {"transactional_id": "t"}),
        ("describe-transactions", {"transactional_ids": ["t", "u"]}),
    ],
)
def test_what_a_transaction_s_coordinator_answers(api: str, body: dict[str, Any]) -> None:
    assert to(api, **body) == Route("transaction", "t")


@pytest.mark.parametrize("name", [None, "", 7, ["t"], {}])
def test_names_that_are_none(name: Any) -> None:
    assert to("init-producer-id", transactional_id=name) == ANY
    assert to("describe-transactions", transactional_ids=name) in (ANY, Route("transaction", "t"))
    assert to("heartbeat", group_id=name) == ANY
    assert to("produce", topic_data=[{"name": name, "partition_data": [{"index": 0}]}]) == ANY


@pytest.mark.parametrize("api", ["create-topics", "delete-topics", "create-partitions", "elect-leaders"])
def test_what_the_controller_answers(api: str) -> None:
    assert to(api) == Route("controller")


@pytest.mark.parametrize("api", ["metadata", "api-versions", "find-coordinator", "list-groups", "describe-configs"])
def test_what_anybody_answers(api: str) -> None:
    assert to(api) == ANY


def test_every_api_has_one_place() -> None:
    sets = [LEADER, GROUP, TRANSACTION, CONTROLLER]
    assert sum(map(len, sets)) == len(frozenset().union(*sets))
    assert frozenset().union(*sets) < set(grammars.ENTRIES)


@given(st.sampled_from(sorted(LEADER | GROUP | TRANSACTION)), st.recursive(
    st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=5
))  # fmt: skip
def test_rubbish_goes_anywhere_or_to_a_name_in_it(key: int, rubbish: Any) -> None:
    api = grammars.by_key(key)
    names = {name for version in api.versions for name in api.at("request", version).keys}
    found = route(api, dict.fromkeys(names, rubbish))
    assert found == ANY or (isinstance(found.subject, str) and found.subject)


@for_each("key", sorted(LEADER | GROUP | TRANSACTION))
def test_a_body_and_what_is_read_back_of_it_go_the_same_way(key: int) -> None:
    api = grammars.by_key(key)
    for version in api.versions:
        body = api.at("request", version).default()
        data = kdbg.encode(body, api=key, version=version, direction="request")
        again = kdbg.decode(data, api=key, version=version, direction="request", header=False).body
        assert route(api, body) == route(api, again)


def test_completed_is_what_would_be_read_back() -> None:
    grammar = grammars.api("fetch").at("request", 13)
    body = {"max_wait_ms": 5, "topics": [{"topic_id": str(ID), "partitions": [{"partition": 1}]}]}
    data = kdbg.encode(body, api="fetch", version=13, direction="request")
    again = kdbg.decode(data, api="fetch", version=13, direction="request", header=False).body
    assert completed(grammar, body) == again

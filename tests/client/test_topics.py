"""Names of topics that become ids where a version has no place for names."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from uuid import UUID

import pytest

from kdbg.live.client.bodies import by_id, unnamed
from kdbg.protocol import grammars
from kdbg.protocol.wire.nodes import WireStruct, build

from ..cases import for_each

ORDERS, OTHER = UUID("12345678-1234-1234-1234-123456789abc"), UUID(int=7)
IDS = {"orders": ORDERS}


def grammar(api: str, version: int) -> WireStruct:
    return grammars.api(api).at("request", version)


def fetch(**topic: Any) -> dict[str, Any]:
    return {"topics": [topic | {"partitions": [{"partition": 0}]}]}


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [
        ("fetch", 13, fetch(topic="orders")),
        ("fetch", 17, fetch(name="orders")),
        ("produce", 13, {"topic_data": [{"name": "orders", "partition_data": [{"index": 0}]}]}),
        ("offset-commit", 10, {"topics": [{"name": "orders", "partitions": []}]}),
        ("offset-fetch", 10, {"groups": [{"group_id": "g", "topics": [{"name": "orders"}]}]}),
    ],
)
def test_a_name_that_has_no_place(api: str, version: int, body: dict[str, Any]) -> None:
    before = deepcopy(body)
    assert unnamed(grammar(api, version), body) == {"orders"}
    found = by_id(grammar(api, version), body, IDS)
    assert str(ORDERS) in str(found)
    assert "'orders'" not in str(found)
    assert body == before, "the caller's body stays as it is"
    assert unnamed(grammar(api, version), found) == set()


@pytest.mark.parametrize(
    ("api", "version", "body", "key"),
    [
        ("fetch", 12, fetch(name="orders"), "topic"),
        ("list-offsets", 1, {"topics": [{"topic": "orders", "partitions": []}]}, "name"),
    ],
)
def test_a_name_under_another_versions_key(api: str, version: int, body: dict[str, Any], key: str) -> None:
    (found,) = by_id(grammar(api, version), body, {})["topics"]
    assert found[key] == "orders"
    assert unnamed(grammar(api, version), body) == set()
    build(grammar(api, version), {"topics": [found]})


@for_each(
    ("api", "version", "body"),
    [
        ("fetch", 12, fetch(topic="orders")),
        ("fetch", 13, fetch(topic_id=ORDERS)),
        ("fetch", 13, {"topics": []}),
        ("fetch", 13, {}),
        ("fetch", 13, {"topics": None}),
        ("produce", 12, {"topic_data": [{"name": "orders"}]}),
        ("metadata", 12, {"topics": [{"name": "orders"}]}),
        ("metadata", 12, {"topics": None}),
        ("offset-fetch", 9, {"groups": [{"group_id": "g", "topics": [{"name": "orders"}]}]}),
        ("delete-topics", 6, {"topics": [{"name": "orders", "topic_id": None}]}),
    ],
)
def test_what_stays_as_it_is(api: str, version: int, body: dict[str, Any]) -> None:
    assert unnamed(grammar(api, version), body) == set()
    assert by_id(grammar(api, version), body, IDS) == body


def test_a_name_without_a_known_id_stays() -> None:
    """So that the refusal names it."""
    body = {"topics": [{"topic": "orders"}, {"topic": "other"}]}
    found = by_id(grammar("fetch", 13), body, IDS)
    assert found == {"topics": [{"topic_id": ORDERS}, {"topic": "other"}]}


def test_an_id_that_is_given_wins() -> None:
    body = fetch(topic="orders", topic_id=OTHER)
    assert by_id(grammar("fetch", 13), body, IDS) == body


@for_each("rubbish", [5, "topics", [5], [[]], [None], {"topic": "orders"}])
def test_rubbish_stays_rubbish(rubbish: Any) -> None:
    """What does not fit is said where it is built, with its path."""
    body = {"topics": rubbish}
    assert by_id(grammar("fetch", 13), body, IDS) == body
    assert unnamed(grammar("fetch", 13), body) == set()

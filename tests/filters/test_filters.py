"""Every condition by itself, all together, and what they do with exchanges that are not whole."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kdbg.errors import UnknownApi
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import Exchange

from ..cases import for_each
from ..engine.playbook import Playbook, answer, flow, opaque, request, response

ORDERS, NOBODY = UUID(int=0xABC), UUID(int=0xDEF)


def topic(name: str, topic_id: UUID, error: int = 0) -> dict[str, Any]:
    return {"error_code": error, "name": name, "topic_id": topic_id, "is_internal": False, "partitions": []}


def fetch(topic_id: UUID) -> list[dict[str, Any]]:
    return [{"topic_id": topic_id, "partitions": [{"partition": 0}]}]


def produced(error: int) -> list[dict[str, Any]]:
    return [{"name": "payments", "partition_responses": [{"index": 0, "error_code": error}]}]


@pytest.fixture
def session() -> Engine:
    return Engine()


@pytest.fixture
def exchanges(session: Engine) -> list[Exchange]:
    """Two connections; packet n is n microseconds after the epoch."""
    one = Playbook(path=flow(40001), session=session)
    one >> request(1, 3, 12, topics=[{"name": "orders"}]) << response(1, 3, 12, topics=[topic("orders", ORDERS)])
    one >> request(2, 1, 13, topics=fetch(ORDERS)) << response(2, 1, 13)
    one >> request(3, 1, 13, topics=fetch(NOBODY)) << response(3, 1, 13)
    one >> request(
        4, 0, 9, acks=1, topic_data=[{"name": "payments", "partition_data": [{"index": 0, "records": None}]}]
    )
    one << response(4, 0, 9, responses=produced(6))
    one >> request(5, 12, 0, group_id="billing", member_id="m")
    for _ in range(10):
        one.packet(False, 0x10)
    one << response(5, 12, 0)
    two = Playbook(path=flow(40002), session=session)
    two.number = 100
    two >> request(6, 12, 0, client="other", group_id="shipping", member_id="m") << response(6, 12, 0, error_code=27)
    two >> opaque(7, 31999, 0, b"?", "other") << answer(7, b"?")
    two >> request(8, 18, 0, client="other")
    return one.exchanges + two.exchanges + session.close()


@for_each(
    ("filters", "found"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"api": "fetch"}, [2, 3]),
        ({"api": ["Fetch", "send"]}, [2, 3, 4]),
        ({"api": ("Fetch", "12")}, [2, 3, 5, 6]),
        ({"api": 12}, [5, 6]),
        ({"client_id": "other"}, [6, 7, 8]),
        ({"client_id": ["kdbg", "other"]}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"client_id": ""}, []),
        ({"topic": "orders"}, [1, 2]),
        ({"topic": str(ORDERS)}, [2]),
        ({"topic": str(NOBODY)}, [3]),
        ({"topic": ["orders", "payments"]}, [1, 2, 4]),
        ({"group": "billing"}, [5]),
        ({"group": ("billing", "shipping")}, [5, 6]),
        ({"errors": True}, [4, 7, 8]),
        ({"errors": "all"}, [4, 6, 7, 8]),
        ({"connection": 2}, [6, 7, 8]),
        ({"connection": [1, 2]}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"connection": 3}, []),
        ({"slower_than": 0.005}, [5]),
        ({"slower_than": 0}, [1, 2, 3, 4, 5, 6, 7]),
        ({"slower_than": 0.011}, []),
        ({"since": 0.0001}, [6, 7, 8]),
        ({"until": 0.000006}, [1, 2]),
        ({"since": 0.000006, "until": 0.000008}, [2, 3]),
        ({"api": "!fetch"}, [1, 4, 5, 6, 7, 8]),
        ({"api": ["!fetch", "!heart*"]}, [1, 4, 7, 8]),
        ({"api": "heart*"}, [5, 6]),
        ({"api": "api-v*"}, [8]),
        ({"api": "*e*"}, [1, 2, 3, 4, 5, 6, 8]),
        ({"topic": "ord*"}, [1, 2]),
        ({"topic": "o?ders"}, [1, 2]),
        ({"topic": "!orders"}, [3, 4, 5, 6, 7, 8]),
        ({"topic": ["pay*", "!orders"]}, [4]),
        ({"topic": "\\!orders"}, []),
        ({"topic": "or\\*"}, []),
        ({"client_id": "oth*"}, [6, 7, 8]),
        ({"client_id": "!other"}, [1, 2, 3, 4, 5]),
        ({"group": "[b]illing"}, []),
        ({"partition": 0}, [2, 3, 4]),
        ({"partition": 7}, []),
        ({"partition": 0, "topic": "payments"}, [4]),
        ({"error": "NOT_LEADER_OR_FOLLOWER"}, [4]),
        ({"error": "not-leader-for-partition"}, [4]),
        ({"error": 6}, [4]),
        ({"error": ["6", "27"]}, [4, 6]),
        ({"error": "*LEADER*"}, [4]),
        ({"error": "!REBALANCE_IN_PROGRESS"}, [1, 2, 3, 4, 5, 7, 8]),
        ({"error": -1}, []),
        ({"host": "10.0.0.1:40002"}, [6, 7, 8]),
        ({"host": "10.0.0.*"}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"host": "!10.0.0.1:40002"}, [1, 2, 3, 4, 5]),
        ({"correlation_id": [2, 8]}, [2, 8]),
        ({"correlation_id": -1}, []),
        ({"exchange": 0 + 1}, [1]),
        ({"exchange": "2-3"}, [2, 3]),
        ({"exchange": [(1, 1), "3"]}, [1, 3]),
        ({"packet": 4}, [1]),
        ({"packet": [5, 6]}, [1, 2]),
        ({"packet": 10**9}, []),
        (
            {
                "api": ["fetch", "heartbeat"], "client_id": "other", "group": "shipping", "errors": "all",
                "connection": 2, "slower_than": 0, "since": 0.0001, "until": 1, "limit": 5,
            },
            [6],
        ),
    ],
)  # fmt: skip
def test_conditions(session: Engine, exchanges: list[Exchange], filters: dict[str, Any], found: list[int]) -> None:
    fits = Filters(**filters).check(session.topic_names) or bool
    chosen = filter(fits, sorted(exchanges, key=lambda e: e.correlation_id))
    assert [exchange.correlation_id for exchange in chosen] == found


def test_names_given_by_an_iterator_hold_for_every_exchange(exchanges: list[Exchange]) -> None:
    fits = Filters(client_id=iter(["other"])).check()
    assert fits is not None
    assert len(list(filter(fits, exchanges))) == 3


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(UnknownApi):
        Filters(api="Fetsch").check()


@pytest.mark.parametrize("condition", [{"topic": "orders"}, {"group": "billing"}, {"errors": True}, {"slower_than": 1}])
def test_exchanges_that_are_not_whole_do_no_harm(condition: dict[str, Any]) -> None:
    playbook = Playbook() >> request(1) << response(1) << response(2) << response(3)
    playbook >> opaque(4, 0, 9, b"\xff" * 9) << answer(4, b"\xff" * 9) >> opaque(5, 3, 12, b"\x05\xff")
    playbook.close()
    assert len(playbook.exchanges) == 5
    fits = Filters(**condition).check()
    assert fits is not None
    assert {fits(exchange) for exchange in playbook.exchanges} <= {True, False}

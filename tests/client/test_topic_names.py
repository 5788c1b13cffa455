"""Topic ids have names in a session: those that any of its messages told, and those that metadata can tell."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from .brokers import ORDERS_ID, Brokers
from .clusters import produce, started
from .servers import Request, in_loop

pytestmark = pytest.mark.usefixtures("impatient")
OTHER_ID = UUID(int=77)


def assigned(*topics: UUID) -> Any:
    """An answer to ConsumerGroupHeartbeat: a partition of each of these topics, which it tells by id alone."""
    partitions = [{"topic_id": topic, "partitions": [0]} for topic in topics]
    return lambda brokers, node, request: request.response({"assignment": {"topic_partitions": partitions}})


@in_loop
async def test_names_are_learnt_from_what_the_user_asks() -> None:
    async with started() as (brokers, cluster):
        brokers.leaders["orders", 0] = 1
        exchange = await cluster.send("metadata", {"topics": [{"name": "orders"}]})
        assert cluster.topics[ORDERS_ID] == "orders"
        brokers.log.clear()
        await cluster.learn_topics(exchange)
        assert brokers.log == []


@in_loop
async def test_they_are_known_to_every_connection() -> None:
    """Payloads inside messages are told by topics too."""
    async with started(2) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        exchange = await cluster.send("produce", produce())
        assert exchange.request is not None
        assert exchange.request.known is not None
        assert exchange.request.known.topics is cluster.topics
        assert exchange.request.context.topics[ORDERS_ID] == "orders"


@in_loop
async def test_an_answer_with_ids_alone_is_asked_for() -> None:
    async with started() as (brokers, cluster):
        brokers.versions["ConsumerGroupHeartbeat"] = (0, 1)
        brokers.answers["ConsumerGroupHeartbeat"] = assigned(ORDERS_ID, OTHER_ID)
        brokers.leaders["orders", 0] = 1
        exchange = await cluster.send("consumer-group-heartbeat", {"group_id": "g"})
        assert not cluster.topics.keys() & {ORDERS_ID, OTHER_ID}
        brokers.log.clear()
        brokers.answers["Metadata"] = told
        await cluster.learn_topics(exchange)
        assert brokers.log == [(1, "Metadata", 12)], "both at once"
        assert OTHER_ID not in cluster.topics, "it is gone, or never was"
        assert cluster.topics[ORDERS_ID] == "orders"


def told(brokers: Brokers, node: int, request: Request) -> bytes:
    """Metadata of the topics that are asked for by id, of which one is unknown."""
    named = [(topic["topic_id"], topic["name"]) for topic in request.body["topics"]]
    assert named == [(ORDERS_ID, None), (OTHER_ID, None)]
    known = {"topic_id": ORDERS_ID, "name": "orders"}
    return request.response({"topics": [known, {"topic_id": OTHER_ID, "name": None, "error_code": 100}]})


@in_loop
async def test_old_brokers_cannot_be_asked() -> None:
    async with started() as (brokers, cluster):
        brokers.versions |= {"ConsumerGroupHeartbeat": (0, 1), "Metadata": (0, 11)}
        brokers.answers["ConsumerGroupHeartbeat"] = assigned(ORDERS_ID)
        exchange = await cluster.send("consumer-group-heartbeat", {})
        await cluster.learn_topics(exchange)
        assert not brokers.asked("Metadata")


@in_loop
async def test_no_answer_is_no_trouble() -> None:
    """What was asked for has been answered."""
    steps: list[str] = []

    def hang_up(brokers: Brokers, node: int, request: Request) -> None:
        return None

    async with started(trace=steps.append) as (brokers, cluster):
        brokers.versions["ConsumerGroupHeartbeat"] = (0, 1)
        brokers.answers |= {"ConsumerGroupHeartbeat": assigned(ORDERS_ID), "Metadata": hang_up}
        exchange = await cluster.send("consumer-group-heartbeat", {})
        await cluster.learn_topics(exchange)
    assert any(step.startswith("topic names are unknown: ") for step in steps)

"""A cluster: where requests go, and what happens when what was known turns out to be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.errors import CannotConnect, Closed, NoTopicId, WrongAnswer
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client import cluster as room
from kdbg.live.client.cluster import Cluster
from kdbg.protocol import grammars

from .brokers import ORDERS_ID, Brokers
from .clusters import SETTINGS, errors, hangs_up, port_of, produce, started
from .servers import Request, in_loop, server

pytestmark = pytest.mark.usefixtures("impatient")


# Routing


@in_loop
async def test_produce_goes_to_the_leader() -> None:
    async with started(3) as (brokers, cluster):
        brokers.leaders |= {("orders", 0): 3, ("orders", 1): 1, ("orders", 2): 2}
        for partition, node in enumerate((3, 1, 2)):
            exchange = await cluster.send("produce", produce(partition))
            assert port_of(exchange) == brokers.addresses[node][1]
            assert errors(exchange) == []
        assert cluster.partitions["orders"] == [0, 1, 2]
    assert brokers.asked("Metadata") == [(1, "Metadata")], "what was learned is kept"
    assert brokers.asked("Produce") == [(3, "Produce"), (1, "Produce"), (2, "Produce")]


@in_loop
async def test_groups_and_transactions_go_to_their_coordinators() -> None:
    async with started(3) as (brokers, cluster):
        brokers.coordinators |= {"g": 2, "t": 3}
        for _ in range(2):
            assert errors(await cluster.send("heartbeat", {"group_id": "g", "member_id": "m"})) == []
            assert errors(await cluster.send("end-txn", {"transactional_id": "t"})) == []
    assert brokers.asked("Heartbeat", "EndTxn") == [(2, "Heartbeat"), (3, "EndTxn")] * 2
    assert len(brokers.asked("FindCoordinator")) == 2


@pytest.mark.parametrize("version", [0, 3, 4])
@in_loop
async def test_coordinators_are_found_in_every_form_of_the_answer(version: int) -> None:
    async with started(2) as (brokers, cluster):
        brokers.versions["FindCoordinator"] = (0, version)
        brokers.coordinators["g"] = 2
        assert await cluster.coordinator("group", "g") == brokers.addresses[2]


@in_loop
async def test_topics_are_created_by_the_controller() -> None:
    async with started(2) as (brokers, cluster):
        brokers.controller = 2
        exchange = await cluster.send("create-topics", {"topics": [{"name": "new", "num_partitions": 1}]})
    assert errors(exchange) == []
    assert port_of(exchange) == brokers.addresses[2][1]


@in_loop
async def test_names_become_ids_where_a_version_wants_them() -> None:
    async with started() as (brokers, cluster):
        brokers.leaders["orders", 0] = 1
        wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0}]}]}
        exchange = await cluster.send("fetch", wanted)
    assert exchange.version == 13
    assert exchange.messages()[0].body["topics"][0]["topic_id"] == ORDERS_ID


@in_loop
async def test_a_body_made_for_each_version() -> None:
    asked: list[int] = []

    def body(version: int) -> dict[str, Any]:
        asked.append(version)
        return produce()

    async with started(2) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        assert errors(await cluster.send("produce", body)) == []
    assert asked == [grammars.api("produce").versions[-1], 9]


@in_loop
async def test_direct_goes_to_the_named_broker_whatever_happens() -> None:
    async with started(2, direct=True) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        exchange = await cluster.send("produce", produce(), version=8)
    assert errors(exchange) == [6]
    assert brokers.log == [(1, "Produce", 8)]


@in_loop
async def test_a_request_that_is_sent_again_is_said() -> None:
    """The broker may have done it before it hung up."""
    chances = iter([False])
    notes: list[str] = []

    def restarting(brokers: Brokers, node: int, request: Request) -> bytes | None:
        return brokers.answer(node, request) if next(chances, True) else None

    async with started(note=notes.append) as (brokers, cluster):
        brokers.leaders["orders", 0] = 1
        brokers.answers["Produce"] = restarting
        assert errors(await cluster.send("produce", produce())) == []
    assert notes == [f"{brokers.bootstrap}: the broker closed the connection without a response; sending Produce again"]


@in_loop
async def test_direct_does_not_try_again() -> None:
    async with server(hangs_up) as (host, port), Cluster(f"{host}:{port}", SETTINGS, direct=True) as cluster:
        with pytest.raises(Closed):
            await cluster.send("metadata", version=1)


# Out of date


@in_loop
async def test_another_leader() -> None:
    steps: list[str] = []
    async with started(2, trace=steps.append) as (brokers, cluster):
        brokers.leaders["orders", 0] = 1
        assert errors(await cluster.send("produce", produce())) == []
        brokers.leaders["orders", 0] = 2
        exchange = await cluster.send("produce", produce())
        assert errors(exchange) == []
        assert port_of(exchange) == brokers.addresses[2][1]
    assert brokers.asked("Produce") == [(1, "Produce"), (1, "Produce"), (2, "Produce")]
    assert "Produce: NOT_LEADER_OR_FOLLOWER (retriable); requesting metadata again" in steps


@in_loop
async def test_an_error_that_stays_is_handed_over() -> None:
    async with started() as (brokers, cluster):
        brokers.leaders["orders", 0] = 7
        exchange = await cluster.send("produce", produce())
    assert errors(exchange) == [6]
    assert len(brokers.asked("Produce")) == len(room.PAUSES)


@in_loop
async def test_another_coordinator() -> None:
    async with started(2) as (brokers, cluster):
        brokers.coordinators["g"] = 1
        await cluster.send("heartbeat", {"group_id": "g"})
        brokers.coordinators["g"] = 2
        assert errors(await cluster.send("heartbeat", {"group_id": "g"})) == []
    assert brokers.asked("Heartbeat") == [(1, "Heartbeat"), (1, "Heartbeat"), (2, "Heartbeat")]


@in_loop
async def test_another_controller() -> None:
    async with started(2) as (brokers, cluster):
        await cluster.refresh()
        brokers.controller = 2
        exchange = await cluster.send("create-topics", {"topics": [{"name": "new", "num_partitions": 1}]})
        assert errors(exchange) == []
    assert brokers.asked("CreateTopics") == [(1, "CreateTopics"), (2, "CreateTopics")]


@in_loop
async def test_the_leader_is_stopped() -> None:
    async with started(3) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        await cluster.send("produce", produce())
        await brokers.stop(2)
        brokers.leaders["orders", 0] = 3
        exchange = await cluster.send("produce", produce())
        assert errors(exchange) == []
        assert port_of(exchange) == brokers.addresses[3][1]


@in_loop
async def test_the_leader_hangs_up_instead_of_answering() -> None:
    def dies(brokers: Brokers, node: int, request: Request) -> bytes | None:
        if node == 2:
            brokers.leaders["orders", 0] = 1
            return None
        return brokers.answer(node, request)

    steps: list[str] = []
    async with started(2, trace=steps.append) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        brokers.answers["Produce"] = dies
        assert errors(await cluster.send("produce", produce())) == []
    assert any(
        "closed the connection without a response" in step and ("requesting metadata again") in step for step in steps
    )


@in_loop
async def test_a_socket_that_was_closed_while_idle() -> None:
    async with started() as (brokers, cluster):
        await cluster.send("metadata")
        await brokers.stop(1)
        await brokers.start(1)
        assert (await cluster.send("metadata")).response is not None


@in_loop
async def test_a_given_version_is_sent_once() -> None:
    """The user wants to see the refusal, not to have it hidden by trying again."""

    def refuse(brokers: Brokers, node: int, request: Request) -> None:
        return None

    async with started() as (brokers, cluster):
        brokers.answers["Metadata"] = refuse
        with pytest.raises(Closed):
            await cluster.send("metadata", version=12)
    assert brokers.log == [(1, "Metadata", 12)]


@in_loop
async def test_a_leader_at_an_address_that_is_none() -> None:
    """What a broker advertises may be wrong: that is said with its name."""

    def wrong(brokers: Brokers, node: int, request: Request) -> bytes:
        body = brokers.metadata(request)
        body["brokers"].append({"node_id": 9, "host": "a..b", "port": 9092})
        return request.response(body)

    async with started() as (brokers, cluster):
        brokers.leaders["orders", 0] = 9
        brokers.answers["Metadata"] = wrong
        with pytest.raises(CannotConnect, match=r"a\.\.b:9092: not a valid host and port"):
            await cluster.send("produce", produce())


@pytest.mark.parametrize("rubbish", [b"", b"\0\0\0\5", b"\xff" * 60])
@in_loop
async def test_metadata_that_cannot_be_read(rubbish: bytes) -> None:
    def answer(brokers: Brokers, node: int, request: Request) -> bytes:
        return request.correlation_id.to_bytes(4, "big") + rubbish

    async with started() as (brokers, cluster):
        brokers.answers["Metadata"] = answer
        with pytest.raises(WrongAnswer, match="response to Metadata v12 cannot be decoded"):
            await cluster.send("produce", produce())
        exchange = await cluster.send("metadata")
        assert exchange.all_findings(), "to the user it is delivered as it is"


@pytest.mark.parametrize(("api", "creates"), [("produce", True), ("list-offsets", False)])
@in_loop
async def test_only_produce_may_create_a_topic_by_asking_for_it(api: str, creates: bool) -> None:
    """A mistyped name is an error to a reader; the wish stands in Metadata from version 4."""
    partitions = [{"partition_index": 0, "timestamp": -1}]
    body = produce(0, "new") if creates else {"topics": [{"name": "new", "partitions": partitions}]}
    asked: list[Exchange] = []
    async with started(1, seen=asked.append) as (brokers, cluster):
        brokers.versions["Metadata"] = (0, 9)
        await cluster.send(api, body)
    (metadata, *_) = [exchange.messages()[0].body for exchange in asked if exchange.api and exchange.api.key == 3]
    assert metadata["allow_auto_topic_creation"] is creates


@in_loop
async def test_a_topic_that_has_no_id() -> None:
    async with started() as (brokers, cluster):
        brokers.versions["Metadata"] = (0, 9)
        with pytest.raises(
            NoTopicId, match=r"Fetch v13 requires topic ids, and the brokers report none for topic 'nowhere'"
        ):
            await cluster.send("fetch", {"topics": [{"topic": "nowhere", "partitions": []}]}, version=13)

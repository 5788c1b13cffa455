"""Versions are a connection's: asked anew on each, done without where a broker does not tell, and heeded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kdbg.errors import Closed, NotServed, TimedOut
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.settings import show

from .brokers import Brokers
from .clusters import QUICK, SETTINGS, errors, port_of, produce, started
from .servers import Peer, Request, api_versions, in_loop, server

pytestmark = pytest.mark.usefixtures("impatient")
CONTROLLERS_OWN = {
    "ApiVersions": (0, 4), "CreateTopics": (2, 7), "DescribeCluster": (0, 2), "Vote": (0, 2), "Fetch": (4, 18),
    "BrokerRegistration": (0, 4), "DescribeQuorum": (0, 2), "DeleteTopics": (1, 6), "ElectLeaders": (0, 2),
}  # fmt: skip


# One connection, one answer


@in_loop
async def test_a_broker_is_asked_again_after_a_reconnect() -> None:
    """It was downgraded meanwhile, behind the same address."""
    async with started() as (brokers, cluster):
        assert (await cluster.send("metadata")).version == 12
        await brokers.stop(1)
        brokers.versions["Metadata"] = (0, 5)
        await brokers.start(1)
        brokers.log.clear()
        assert (await cluster.send("metadata")).version == 5
        assert brokers.log == [(1, "ApiVersions", 3), (1, "Metadata", 5)]


@in_loop
async def test_a_broker_that_does_not_tell_is_asked_again_after_a_reconnect() -> None:
    """Upgraded behind the same address: it is spared the question on one connection, not for ever."""
    notes: list[str] = []

    def ignorant(brokers: Brokers, node: int, request: Request) -> None:
        return None

    async with started(note=notes.append) as (brokers, cluster):
        brokers.answers["ApiVersions"] = ignorant
        for _ in range(2):
            assert (await cluster.send("metadata")).version == 0
            await brokers.stop(1)
            await brokers.start(1)
        del brokers.answers["ApiVersions"]
        assert (await cluster.send("metadata")).version == 12
    assert [name for _, name, _ in brokers.log] == ["ApiVersions", "Metadata"] * 3
    assert len(notes) == 1, "said once"


@in_loop
async def test_many_at_once_ask_once() -> None:
    async with started() as (brokers, cluster):
        await asyncio.gather(*(cluster.send("metadata") for _ in range(5)))
    assert brokers.asked("ApiVersions") == [(1, "ApiVersions")]


# Brokers that do not tell


async def deaf(peer: Peer) -> None:
    """A broker that ignores ApiVersions, and knows all else in version 0."""
    while True:
        request = await peer.request()
        if request.api.name == "Metadata":
            host, port = peer.writer.get_extra_info("sockname")[:2]
            partitions = [{"partition_index": 0, "leader_id": 1}]
            topics = [{"name": "orders", "partitions": partitions}]
            peer.tell(request.response({"brokers": [{"node_id": 1, "host": host, "port": port}], "topics": topics}))
        elif request.api.name != "ApiVersions":
            peer.tell(request.response())


@in_loop
async def test_a_broker_that_ignores_the_question() -> None:
    async with server(deaf) as address, Cluster(show(address), QUICK) as cluster:
        with pytest.raises(TimedOut) as caught:
            await cluster.send("metadata")
    line = str(caught.value)
    assert "ApiVersions: no response within 0.5 s; use --version N to skip ApiVersions, which brokers" in line
    assert "\n" not in line


@in_loop
async def test_a_version_needs_no_answer_to_the_question() -> None:
    """What leads to the leader is asked in version 0."""
    notes: list[str] = []
    async with (
        server(deaf) as address,
        Cluster(show(address), QUICK, fallback=True, note=notes.append) as cluster,
    ):
        exchange = await cluster.send("produce", produce(), version=3)
    assert (exchange.version, exchange.response is not None) == (3, True)
    assert notes == [
        f"broker {show(address)} sends no response to ApiVersions, as some brokers before 0.10; using version 0"
    ]


@in_loop
async def test_of_several_brokers_one_that_answers_is_taken() -> None:
    """A silent one may be none at all."""
    async with (
        Brokers().running() as brokers,
        server(Peer.silence) as address,
        Cluster(f"{show(address)},{brokers.bootstrap}", QUICK, fallback=True) as cluster,
    ):
        assert port_of(await cluster.send("metadata", version=1)) == brokers.addresses[1][1]


@in_loop
async def test_of_several_brokers_that_keep_silent_the_first_is_taken_for_an_old_one() -> None:
    notes: list[str] = []
    async with (
        server(deaf) as one,
        server(deaf) as other,
        Cluster(f"{show(one)},{show(other)}", QUICK, fallback=True, note=notes.append) as cluster,
    ):
        assert port_of(await cluster.send("metadata", version=0)) == one[1]
    assert [note.partition(" sends ")[0] for note in notes] == [f"broker {show(one)}"]


@in_loop
async def test_a_version_that_the_broker_does_not_speak_is_said() -> None:
    notes: list[str] = []
    async with started(note=notes.append) as (brokers, cluster):
        assert (await cluster.send("produce", produce(), versions=range(2))).version == 1
    assert notes == [f"broker {brokers.bootstrap} supports Produce v3 to v9; sending v1 anyway"]


@in_loop
async def test_a_broker_that_hangs_up_on_every_version() -> None:
    async def hangs_up(peer: Peer) -> None:
        await peer.reader.read(1)

    async with server(hangs_up) as address, Cluster(show(address), SETTINGS) as cluster:
        with pytest.raises(
            Closed,
            match=r"closed the connection without a response; .*; use --version N to send another version than 0$",
        ):
            await cluster.send("metadata")


# Listeners that do not offer everything


def controllers(*nodes: int) -> Any:
    """An answer to ApiVersions: these nodes are controllers."""
    return lambda brokers, node, request: api_versions(
        request, CONTROLLERS_OWN if node in nodes else brokers.versions
    )  # fmt: skip


@in_loop
async def test_a_controller_does_not_serve_metadata() -> None:
    async with started() as (brokers, cluster):
        brokers.answers["ApiVersions"] = controllers(1)
        for api, body in (("metadata", {}), ("produce", produce())):
            with pytest.raises(NotServed) as caught:
                await cluster.send(api, body)
            assert str(caught.value) == (
                f"{brokers.bootstrap}: this is a controller listener, which does not support Metadata; it supports "
                "DescribeCluster, DescribeQuorum, CreateTopics, DeleteTopics, Fetch and 4 more (kdbg send "
                "api-versions); use a broker's listener, or --direct --version N to send it anyway"
            )
    assert {name for _, name, _ in brokers.log} == {"ApiVersions"}, "nothing was sent in vain"


@in_loop
async def test_another_listener_serves_it() -> None:
    async with Brokers(2).running() as brokers, Cluster(brokers.bootstrap, SETTINGS) as cluster:
        brokers.answers["ApiVersions"] = controllers(1)
        brokers.leaders["orders", 0] = 2
        assert port_of(await cluster.send("metadata")) == brokers.addresses[2][1]
        assert errors(await cluster.send("produce", produce())) == []


@pytest.mark.parametrize("direct", [False, True])
@in_loop
async def test_the_user_may_insist(direct: bool) -> None:
    async with started(direct=direct) as (brokers, cluster):
        brokers.answers["ApiVersions"] = controllers(1)
        assert (await cluster.send("metadata", version=9)).version == 9


@in_loop
async def test_what_controllers_serve_goes_to_the_active_one() -> None:
    """Nobody there tells of brokers, but DescribeCluster does of controllers (KIP-919)."""

    def described(brokers: Brokers, node: int, request: Request) -> bytes:
        assert request.body["endpoint_type"] == 2
        nodes = [{"broker_id": n, "host": h, "port": p} for n, (h, p) in brokers.addresses.items()]
        return request.response({"endpoint_type": 2, "controller_id": 2, "brokers": nodes})

    async with started(2) as (brokers, cluster):
        brokers.controller = 2
        brokers.answers |= {"ApiVersions": controllers(1, 2), "DescribeCluster": described}
        exchange = await cluster.send("create-topics", {"topics": [{"name": "orders"}]})
    assert errors(exchange) == []
    assert brokers.asked("DescribeCluster", "CreateTopics") == [(1, "DescribeCluster"), (2, "CreateTopics")]


@in_loop
async def test_what_a_broker_does_not_offer_is_said_and_sent() -> None:
    notes: list[str] = []
    async with started(note=notes.append) as (brokers, cluster):
        assert (await cluster.send("list-groups", versions=range(3))).version == 2
    assert notes == [f"broker {brokers.bootstrap} does not support ListGroups; sending v2 anyway"]

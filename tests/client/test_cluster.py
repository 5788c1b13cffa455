"""A cluster: bootstrap, versions, and many requests at once. Where requests go: test_cluster_routes.py."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kdbg.errors import CannotConnect, Closed, InputError, TimedOut, WrongAnswer
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster, fitting
from kdbg.live.client.mock import mock_cluster
from kdbg.live.client.settings import Settings, Tls
from kdbg.protocol import grammars

from .brokers import UNSUPPORTED_VERSION, Brokers
from .clusters import QUICK, SETTINGS, errors, hangs_up, port_of, produce, started
from .servers import HOST, Peer, Request, dead_port, in_loop, server

pytestmark = pytest.mark.usefixtures("impatient")


# Bootstrap


@in_loop
async def test_the_first_broker_is_dead() -> None:
    steps: list[str] = []
    async with Brokers().running() as brokers:
        bootstrap = f"{HOST}:{dead_port()},{brokers.bootstrap}"
        async with Cluster(bootstrap, SETTINGS, trace=steps.append) as cluster:
            exchange = await cluster.send("metadata")
    assert port_of(exchange) == brokers.addresses[1][1]
    assert any("connection refused" in step and step.endswith("trying the next broker") for step in steps)


async def speaks_http(peer: Peer) -> None:
    await peer.reader.read(100)
    peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("serve", [Peer.silence, hangs_up, speaks_http])
@in_loop
async def test_the_first_broker_is_none(serve: Any) -> None:
    """To be connected is no answer yet."""
    async with (
        Brokers().running() as brokers,
        server(serve) as (host, port),
        Cluster(f"{host}:{port},{brokers.bootstrap}", QUICK) as cluster,
    ):
        exchange = await cluster.send("metadata")
    assert port_of(exchange) == brokers.addresses[1][1]


@in_loop
async def test_no_broker_at_all() -> None:
    async with Cluster(f"{HOST}:{dead_port()}", SETTINGS) as cluster:
        with pytest.raises(CannotConnect, match="connection refused; check that"):
            await cluster.send("metadata")


@in_loop
async def test_none_of_several_brokers() -> None:
    first, second = dead_port(), dead_port()
    async with Cluster(f"{HOST}:{first},{HOST}:{second}", SETTINGS) as cluster:
        with pytest.raises(CannotConnect) as caught:
            await cluster.send("metadata")
    wanted = f"{HOST}:{first}, {HOST}:{second}: no broker is reachable (last error: connection refused)"
    assert str(caught.value).startswith(wanted)


@pytest.mark.parametrize("text", ["", ",", "host:0", "host:99999", "host:http"])
def test_a_bootstrap_that_makes_no_sense(text: str) -> None:
    with pytest.raises(InputError):
        Cluster(text, SETTINGS)


@in_loop
async def test_a_silent_broker() -> None:
    async with server(Peer.silence) as (host, port), Cluster(f"{host}:{port}", QUICK) as cluster:
        with pytest.raises(TimedOut, match=r"no response within 0.5 s"):
            await cluster.send("metadata")


@in_loop
async def test_a_port_that_hangs_up_on_everything() -> None:
    """As a TLS port does in plaintext. It may have been chance, so it is tried again, but not for ever."""
    steps: list[str] = []
    async with server(hangs_up) as (host, port), Cluster(f"{host}:{port}", SETTINGS, trace=steps.append) as cluster:
        with pytest.raises(Closed, match=r"closed the connection without a response; use --tls or --sasl-mechanism if"):
            await cluster.send("metadata")
    assert sum(step.startswith("Metadata v0") for step in steps) == 2


@in_loop
async def test_a_broker_that_comes_up_later_on_the_known_ports() -> None:
    """All the bootstrap brokers are gone, but others are known by now."""
    async with started(2) as (brokers, cluster):
        await cluster.refresh()
        await brokers.stop(1)
        exchange = await cluster.send("metadata")
        assert port_of(exchange) == brokers.addresses[2][1]


# Versions


@pytest.mark.parametrize(("offered", "version"), [((0, 5), 5), ((0, 99), 13), ((3, 4), 4), ((99, 100), 13)], ids=str)
@in_loop
async def test_the_highest_version_that_both_know(offered: tuple[int, int], version: int) -> None:
    async with started() as (brokers, cluster):
        brokers.versions["Metadata"] = offered
        exchange = await cluster.send("metadata", {"topics": []})
    assert exchange.version == version
    assert brokers.log == [(1, "ApiVersions", 3), (1, "Metadata", version)]


@in_loop
async def test_versions_are_asked_for_once_a_broker() -> None:
    async with started() as (brokers, cluster):
        for _ in range(3):
            await cluster.send("metadata")
    assert brokers.asked("ApiVersions") == [(1, "ApiVersions")]


@in_loop
async def test_a_given_version_is_sent_without_asking() -> None:
    async with started() as (brokers, cluster):
        exchange = await cluster.send("metadata", version=1)
    assert exchange.version == 1
    assert brokers.log == [(1, "Metadata", 1)]


@pytest.mark.parametrize(("versions", "wanted"), [(range(2, 5), 4), (range(10, 14), 12), (range(1), 0)])
@in_loop
async def test_versions_can_be_narrowed(versions: range, wanted: int) -> None:
    async with started() as (_, cluster):
        assert (await cluster.send("metadata", versions=versions)).version == wanted


@in_loop
async def test_an_api_that_the_broker_does_not_offer_is_sent_all_the_same() -> None:
    def refuse(brokers: Brokers, node: int, request: Request) -> None:
        return None

    async with started() as (brokers, cluster):
        brokers.answers["DescribeCluster"] = refuse
        with pytest.raises(Closed, match="closed the connection without a response"):
            await cluster.send("describe-cluster")
    assert ("DescribeCluster", grammars.api("describe-cluster").versions[-1]) in {entry[1:] for entry in brokers.log}


@in_loop
async def test_a_broker_that_refuses_the_version_of_the_question() -> None:
    """Error 35 in version 0, whatever was asked (KIP-511): asked again in version 0."""

    def old(brokers: Brokers, node: int, request: Request) -> bytes | None:
        if request.version > 0:
            return request.response({"error_code": UNSUPPORTED_VERSION, "api_keys": []}, version=0)
        return brokers.answer(node, request)

    async with started() as (brokers, cluster):
        brokers.answers["ApiVersions"] = old
        brokers.versions["Metadata"] = (0, 4)
        assert (await cluster.send("metadata")).version == 4
    assert brokers.log == [(1, "ApiVersions", 3), (1, "ApiVersions", 0), (1, "Metadata", 4)]


@in_loop
async def test_a_broker_of_the_time_before_versions_hangs_up_on_the_question() -> None:
    steps: list[str] = []

    def ignorant(brokers: Brokers, node: int, request: Request) -> None:
        return None

    async with started(note=steps.append) as (brokers, cluster):
        brokers.answers["ApiVersions"] = ignorant
        for _ in range(2):
            assert (await cluster.send("metadata")).version == 0
    assert brokers.log == [(1, "ApiVersions", 3), (1, "Metadata", 0), (1, "Metadata", 0)]
    assert any(
        "closes the connection after ApiVersions, as brokers before 0.10 do; using version 0" in step for step in steps
    )


@in_loop
async def test_a_broker_that_hung_up_once_is_not_taken_for_an_old_one_for_ever() -> None:
    chances = iter([False])

    def restarting(brokers: Brokers, node: int, request: Request) -> bytes | None:
        return brokers.answer(node, request) if next(chances, True) else None

    def modern(brokers: Brokers, node: int, request: Request) -> bytes | None:
        return brokers.answer(node, request) if request.version else None

    async with started() as (brokers, cluster):
        brokers.answers |= {"ApiVersions": restarting, "Metadata": modern}
        assert (await cluster.send("metadata")).version == 12


@in_loop
async def test_versions_that_cannot_be_read() -> None:
    def rubbish(brokers: Brokers, node: int, request: Request) -> bytes:
        return request.correlation_id.to_bytes(4, "big") + b"\0\0\0\0\0\x09"

    async with started() as (brokers, cluster):
        brokers.answers["ApiVersions"] = rubbish
        with pytest.raises(WrongAnswer, match="response to ApiVersions v3 cannot be decoded"):
            await cluster.send("metadata")


# Many at once


@in_loop
async def test_many_requests_at_once_share_the_connections() -> None:
    async with started(2) as (brokers, cluster):
        brokers.leaders |= {("orders", n): n % 2 + 1 for n in range(20)}
        exchanges = await asyncio.gather(*(cluster.send("produce", produce(n)) for n in range(20)))
        assert len(cluster.pool.connections) == 2
    assert all(errors(exchange) == [] for exchange in exchanges)
    assert {exchange.peers.broker for exchange in exchanges} == set(brokers.addresses.values())


@in_loop
async def test_seen_and_tap_are_told_of_all() -> None:
    seen: list[Exchange] = []
    tapped: set[int] = set()
    async with started(
        2, seen=seen.append, tap=lambda connection, ours, data, time: tapped.add(connection.broker[1])
    ) as (brokers, cluster):
        brokers.leaders["orders", 0] = 2
        await cluster.send("produce", produce())
    names = [exchange.api.name for exchange in seen if exchange.api]
    assert names == ["ApiVersions", "Metadata", "ApiVersions", "Produce"]
    assert tapped == {address[1] for address in brokers.addresses.values()}


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 50])
@in_loop
async def test_leaving_while_something_is_under_way(turns: int) -> None:
    """A request that waits for its response, or for a connection."""
    async with server(Peer.silence) as (host, port):
        async with Cluster(f"{host}:{port}", SETTINGS) as cluster:
            task = asyncio.create_task(cluster.send("metadata", version=1))
            for _ in range(turns):
                await asyncio.sleep(0)
        with pytest.raises(Closed, match="closed"):
            await task


@in_loop
async def test_tls_is_used_for_every_broker() -> None:
    async with started(settings=Settings(timeout=0.2, tls=Tls())) as (_, cluster):
        with pytest.raises((CannotConnect, TimedOut), match="TLS"):
            await cluster.send("metadata")


@in_loop
async def test_a_black_hole_among_the_brokers() -> None:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(5)
        hole = f"{HOST}:{listening.getsockname()[1]}"
        async with Brokers().running() as brokers, Cluster(f"{hole},{brokers.bootstrap}", QUICK) as cluster:
            assert (await cluster.send("metadata")).response is not None


def test_fields_of_other_versions_are_left_out() -> None:
    metadata = grammars.api("metadata")
    body = {"topics": [], "allow_auto_topic_creation": True}
    assert fitting(metadata, 1, body) == {"topics": []}
    assert fitting(metadata, 4, body) == body
    assert fitting(metadata, 99, body) == body, "nobody knows what fits"


# librdkafka's mock cluster: no broker of ours


@in_loop
async def test_a_cluster_that_was_not_written_by_us() -> None:
    pytest.importorskip("confluent_kafka")
    with mock_cluster("mock:3") as bootstrap:
        async with Cluster(bootstrap, SETTINGS) as cluster:
            await cluster.send("metadata", {"topics": [{"name": "orders"}]})
            await cluster.refresh("orders")
            exchanges = [await cluster.send("produce", produce(n)) for n in cluster.partitions["orders"]]
            assert all(errors(exchange) == [] for exchange in exchanges)
            leaders = {cluster.brokers[cluster.leaders["orders", n]] for n in cluster.partitions["orders"]}
            assert {e.peers.broker for e in exchanges} == leaders
        led = [n for n in cluster.partitions["orders"] if cluster.brokers[cluster.leaders["orders", n]] != leaders]
        async with Cluster(bootstrap.partition(",")[0], SETTINGS, direct=True) as cluster:
            codes = {code for n in led for code in errors(await cluster.send("produce", produce(n)))}
    assert codes <= {6}
    assert len(leaders) == 1 or codes, "sent to the wrong broker"

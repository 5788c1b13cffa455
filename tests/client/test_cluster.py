"""A cluster: bootstrap, versions, routing, and what happens when what was known turns out to be wrong."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kdbg import grammars
from kdbg.client import Cluster, Settings, Tls
from kdbg.client import cluster as room
from kdbg.client.cluster import fitting
from kdbg.client.mock import mock_cluster
from kdbg.errors import CannotConnect, Closed, InputError, TimedOut, WrongAnswer
from kdbg.session.exchange import Exchange
from kdbg.wire.outline import outline

from .brokers import ORDERS_ID, UNSUPPORTED_VERSION, Brokers
from .servers import HOST, Peer, Request, dead_port, in_loop, server

SETTINGS = Settings(timeout=10)
QUICK = Settings(timeout=0.5)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many attempts as ever, without the pauses between them."""
    monkeypatch.setattr(room, "PAUSES", tuple(0.001 if pause else 0 for pause in room.PAUSES))


@asynccontextmanager
async def started(count: int = 1, **told: Any) -> AsyncIterator[tuple[Brokers, Cluster]]:
    """Brokers, and a client that knows the first of them."""
    async with Brokers(count).running() as brokers:
        bootstrap = brokers.bootstrap.partition(",")[0]
        async with Cluster(bootstrap, told.pop("settings", SETTINGS), **told) as cluster:
            yield brokers, cluster


def produce(partition: int = 0, topic: str = "orders") -> dict[str, Any]:
    records = [{"magic": 2, "records": [{"value": b"x"}]}]
    partitions = [{"index": partition, "records": records}]
    return {"acks": 1, "topic_data": [{"name": topic, "partition_data": partitions}]}


def errors(exchange: Exchange) -> list[int]:
    message = exchange.messages()[1]
    return outline(message.grammar)(message.body).errors


def port_of(exchange: Exchange) -> int:
    return exchange.peers.broker[1]


# Bootstrap


@in_loop
async def test_the_first_broker_is_dead() -> None:
    steps: list[str] = []
    async with Brokers().running() as brokers:
        bootstrap = f"{HOST}:{dead_port()},{brokers.bootstrap}"
        async with Cluster(bootstrap, SETTINGS, trace=steps.append) as cluster:
            exchange = await cluster.send("metadata")
    assert port_of(exchange) == brokers.addresses[1][1]
    assert any("connection refused" in step and step.endswith("trying the next") for step in steps)


async def hangs_up(peer: Peer) -> None:
    await peer.reader.read(1)


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
        with pytest.raises(CannotConnect, match="connection refused; see whether"):
            await cluster.send("metadata")


@in_loop
async def test_none_of_several_brokers() -> None:
    first, second = dead_port(), dead_port()
    async with Cluster(f"{HOST}:{first},{HOST}:{second}", SETTINGS) as cluster:
        with pytest.raises(CannotConnect) as caught:
            await cluster.send("metadata")
    wanted = f"{HOST}:{first}, {HOST}:{second}: none of these brokers answers (the last: connection refused)"
    assert str(caught.value).startswith(wanted)


@pytest.mark.parametrize("text", ["", ",", "host:0", "host:99999", "host:http"])
def test_a_bootstrap_that_makes_no_sense(text: str) -> None:
    with pytest.raises(InputError):
        Cluster(text, SETTINGS)


@in_loop
async def test_a_silent_broker() -> None:
    async with server(Peer.silence) as (host, port), Cluster(f"{host}:{port}", QUICK) as cluster:
        with pytest.raises(TimedOut, match=r"no answer within 0.5 s"):
            await cluster.send("metadata")


@in_loop
async def test_a_port_that_hangs_up_on_everything() -> None:
    """As a TLS port does in plaintext. It may have been chance, so it is tried again, but not for ever."""
    steps: list[str] = []
    async with server(hangs_up) as (host, port), Cluster(f"{host}:{port}", SETTINGS, trace=steps.append) as cluster:
        with pytest.raises(Closed, match=r"hung up without an answer; brokers do so when .* want TLS or SASL"):
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
        with pytest.raises(Closed, match="hung up without an answer"):
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

    async with started(trace=steps.append) as (brokers, cluster):
        brokers.answers["ApiVersions"] = ignorant
        for _ in range(2):
            assert (await cluster.send("metadata")).version == 0
    assert brokers.log == [(1, "ApiVersions", 3), (1, "Metadata", 0), (1, "Metadata", 0)]
    assert any("hangs up on ApiVersions, as brokers before 0.10 do; version 0 it is" in step for step in steps)


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
        with pytest.raises(WrongAnswer, match="answer to ApiVersions v3 cannot be read"):
            await cluster.send("metadata")


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
    assert "Produce: NOT_LEADER_OR_FOLLOWER (retriable); asking for the metadata again" in steps


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
    assert any("hung up without an answer" in step and "asking for the metadata again" in step for step in steps)


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
        with pytest.raises(CannotConnect, match=r"a\.\.b:9092: this is no host and port that can"):
            await cluster.send("produce", produce())


@pytest.mark.parametrize("rubbish", [b"", b"\0\0\0\5", b"\xff" * 60])
@in_loop
async def test_metadata_that_cannot_be_read(rubbish: bytes) -> None:
    def answer(brokers: Brokers, node: int, request: Request) -> bytes:
        return request.correlation_id.to_bytes(4, "big") + rubbish

    async with started() as (brokers, cluster):
        brokers.answers["Metadata"] = answer
        with pytest.raises(WrongAnswer, match="answer to Metadata v12 cannot be read"):
            await cluster.send("produce", produce())
        exchange = await cluster.send("metadata")
        assert exchange.all_findings(), "to the user it is delivered as it is"


# Many at once


@in_loop
async def test_many_requests_at_once_share_the_connections() -> None:
    async with started(2) as (brokers, cluster):
        brokers.leaders |= {("orders", n): n % 2 + 1 for n in range(20)}
        exchanges = await asyncio.gather(*(cluster.send("produce", produce(n)) for n in range(20)))
        assert len(cluster.connections) == 2
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


@in_loop
async def test_leaving_while_something_is_under_way() -> None:
    async with server(Peer.silence) as (host, port):
        async with Cluster(f"{host}:{port}", SETTINGS) as cluster:
            task = asyncio.create_task(cluster.send("metadata", version=1))
            await asyncio.sleep(0.02)
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

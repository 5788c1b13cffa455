"""Requests that one broker alone can answer, or that none can; and how long their answers are waited for."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kdbg.errors import CannotConnect, ClientError, TimedOut
from kdbg.live.client.bodies import waits
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.settings import Sasl, Settings, show
from kdbg.protocol import grammars

from ..cases import for_each
from .brokers import Brokers
from .clusters import QUICK, SETTINGS, errors, port_of, produce, started
from .servers import HOST, Peer, Request, dead_port, in_loop, metadata, server

pytestmark = pytest.mark.usefixtures("impatient")


@in_loop
async def test_a_brokers_settings_are_asked_of_itself() -> None:
    async with started(3) as (brokers, cluster):
        brokers.versions["DescribeConfigs"] = (1, 4)
        resource = {"resource_type": "broker", "resource_name": "3"}
        assert port_of(await cluster.send("describe-configs", {"resources": [resource]})) == brokers.addresses[3][1]
        unknown = {"resource_type": "broker", "resource_name": "9"}
        assert port_of(await cluster.send("describe-configs", {"resources": [unknown]})) == brokers.addresses[1][1]


@in_loop
async def test_partitions_with_several_leaders() -> None:
    """One request goes to one broker; asking again would not help."""
    notes: list[str] = []

    def half(brokers: Brokers, node: int, request: Request) -> bytes:
        codes = [0 if brokers.leaders["orders", index] == node else 6 for index in (0, 1)]
        partitions = [{"partition_index": index, "error_code": code} for index, code in enumerate(codes)]
        return request.response({"topics": [{"name": "orders", "partitions": partitions}]})

    partitions = [{"partition_index": 0}, {"partition_index": 1}]
    async with started(2, note=notes.append) as (brokers, cluster):
        brokers.leaders |= {("orders", 0): 1, ("orders", 1): 2}
        brokers.answers["ListOffsets"] = half
        exchange = await cluster.send("list-offsets", {"topics": [{"name": "orders", "partitions": partitions}]})
    assert errors(exchange) == [6]
    assert brokers.asked("ListOffsets") == [(1, "ListOffsets")]
    where = show(brokers.addresses[1])
    assert notes == [
        f"ListOffsets: the partitions have different leaders; sending only to {where}, the leader of the first"
    ]


@in_loop
async def test_an_address_that_brokers_advertise() -> None:
    """The user never wrote it, and looks for it in vain on the command line."""
    nowhere = (HOST, dead_port())

    async def misled(peer: Peer) -> None:
        while True:
            request = await peer.request()
            partitions = [{"partition_index": 0, "leader_id": 1}]
            topics = [{"name": "orders", "partitions": partitions}]
            versions = [{"api_key": key, "min_version": 0, "max_version": 9} for key in (0, 3, 18)]
            told = {"api_keys": versions} if request.api.name == "ApiVersions" else None
            peer.tell(request.response(told) if told else metadata(request, (1, nowhere), topics=topics))

    async with server(misled) as address, Cluster(show(address), SETTINGS) as cluster:
        with pytest.raises(CannotConnect) as caught:
            await cluster.send("produce", produce())
    assert str(caught.value) == (
        f"{show(nowhere)}: connection refused; use --direct; the address is in advertised.listeners of the broker and "
        "must be reachable from here"
    )


@in_loop
async def test_the_users_own_address_is_no_brokers_fault() -> None:
    async with Cluster(f"{HOST}:{dead_port()}", SETTINGS) as cluster:
        with pytest.raises(CannotConnect, match="check that the broker is running and listening there"):
            await cluster.send("metadata")


# How long


@for_each(
    ("api", "body", "seconds"),
    [
        ("fetch", {"max_wait_ms": 1500}, 1.5), ("share-fetch", {"max_wait_ms": 20}, 0.02), ("fetch", {}, 0),
        ("fetch", {"max_wait_ms": -1}, 0), ("fetch", {"max_wait_ms": "soon"}, 0), ("produce", {"timeout_ms": 9000}, 0),
        ("join-group", {"rebalance_timeout_ms": 4000, "session_timeout_ms": 1000}, 4),
        ("join-group", {"session_timeout_ms": 1000}, 1),
    ],
)  # fmt: skip
def test_what_a_request_lets_the_broker_wait(api: str, body: dict[str, Any], seconds: float) -> None:
    assert waits(grammars.api(api), body) == seconds


@in_loop
async def test_a_broker_may_wait_for_records_as_long_as_it_is_told() -> None:
    """Longer than it may take for an answer otherwise."""

    async def slow(peer: Peer) -> None:
        while True:
            request = await peer.request()
            await asyncio.sleep(0.2)
            peer.tell(request.response())

    async with server(slow) as address, Cluster(show(address), Settings(timeout=0.1), direct=True) as cluster:
        exchange = await cluster.send("fetch", {"max_wait_ms": 5000}, version=4)
        assert exchange.response is not None
        with pytest.raises(TimedOut, match=r"no response within 0.1 s"):
            await cluster.send("fetch", {"max_wait_ms": 0}, version=4)


@in_loop
async def test_a_request_that_lets_the_broker_take_longer_than_it_is_waited_for() -> None:
    async with server(Peer.silence) as address, Cluster(show(address), QUICK, direct=True) as cluster:
        with pytest.raises(TimedOut) as caught:
            await cluster.send("create-topics", {"timeout_ms": 20_000}, version=2)
        told = "no response within 0.5 s; use --timeout 25; timeout_ms of the request allows 20,000 ms"
        assert str(caught.value).endswith(told)
        with pytest.raises(TimedOut, match=r"no response within 0.5 s; try a longer --timeout"):
            await cluster.send("create-topics", {"timeout_ms": 400}, version=2)


class TestHostsThatBrokersName:
    """A broker that lies about where the others are gets the user's password sent anywhere."""

    async def send(self, settings: Settings, notes: list[str], host: str = "localhost") -> list[str]:
        """What a host got that the user did not name, though its port is that of somebody he named."""
        got: list[str] = []

        async def other(peer: Peer) -> None:
            while True:
                got.append((await peer.request()).api.name)

        async def misled(peer: Peer) -> None:
            while True:
                request = await peer.request()
                topics = [{"name": "orders", "partitions": [{"partition_index": 0, "leader_id": 1}]}]
                versions = [{"api_key": key, "min_version": 0, "max_version": 1} for key in (0, 3, 17, 18, 36)]
                told = {"ApiVersions": {"api_keys": versions}, "SaslHandshake": {"mechanisms": ["PLAIN"]},
                        "SaslAuthenticate": {}}  # fmt: skip
                name = request.api.name
                peer.tell(request.response(told[name]) if name in told else metadata(
                    request, (1, (host, elsewhere[1])), topics=topics))  # fmt: skip

        async with (
            server(other) as elsewhere,
            server(misled) as address,
            Cluster(show(address), settings, note=notes.append) as cluster,
        ):
            with pytest.raises(ClientError) as caught:
                await cluster.send("produce", produce())
        self.said = str(caught.value)
        return got

    @in_loop
    async def test_whoever_gets_credentials_is_told(self) -> None:
        notes: list[str] = []
        settings = Settings(timeout=0.5, sasl=Sasl("PLAIN", "alice", "hunter2"))
        assert await self.send(settings, notes)
        assert any(note.startswith("sending credentials to localhost:") for note in notes)
        assert not any(HOST in note for note in notes)

    @in_loop
    async def test_hosts_of_another_domain_get_none(self) -> None:
        settings = Settings(timeout=0.5, sasl=Sasl("PLAIN", "alice", "hunter2"))
        assert await self.send(settings, [], "elsewhere.test") == []
        assert "elsewhere.test" in self.said
        assert "sends it no credentials; add it to --broker, or use --trust-advertised" in self.said

    @in_loop
    async def test_hosts_of_another_domain_get_any_that_all_may_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        look_up = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *given, **more: look_up("127.0.0.1", *given, **more))
        settings = Settings(timeout=0.5, sasl=Sasl("PLAIN", "alice", "hunter2"), trust_advertised=True)
        notes: list[str] = []
        assert await self.send(settings, notes, "elsewhere.test")
        assert any(note.startswith("sending credentials to elsewhere.test:") for note in notes)

    @in_loop
    async def test_only_named_ones_get_any(self) -> None:
        notes: list[str] = []
        settings = Settings(timeout=0.5, sasl=Sasl("PLAIN", "alice", "hunter2"), only_named=True)
        assert await self.send(settings, notes) == []
        assert "--only-named" in self.said
        assert "\n" not in self.said

"""What a live session saved is what `kdbg.read` finds: the same exchanges, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.capture.write import CaptureWriter
from kdbg.errors import Closed
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Settings, show
from kdbg.protocol import grammars

from .brokers import Brokers
from .saslbroker import MECHANISMS, SaslBroker, good
from .servers import Peer, in_loop, server


def to(writer: CaptureWriter) -> Callable[[Connection, bool, bytes, int], None]:
    return lambda connection, ours, data, time: writer.tap(connection.client, connection.broker, ours, data, time)


def facts(exchange: Exchange) -> tuple[Any, ...]:
    """What must be the same."""
    halves = [half and (half.data, half.first_time, half.last_time) for half in (exchange.response,)]
    asked = exchange.request and exchange.request.data
    findings = [finding.kind for finding in exchange.all_findings()]
    return (
        exchange.peers.client,
        exchange.peers.broker,
        exchange.api,
        exchange.version,
        exchange.correlation_id,
        asked,
        halves,
        findings,
    )


def same(path: Path, seen: list[Exchange]) -> bool:
    """Connections end at the end of the file, so that what stayed unanswered comes last."""
    return sorted(map(repr, map(facts, kdbg.read(path)))) == sorted(map(repr, map(facts, seen)))


@in_loop
async def test_a_session_with_several_brokers(tmp_path: Path) -> None:
    seen: list[Exchange] = []
    path = tmp_path / "session.pcap"
    async with Brokers(3).running() as brokers:
        brokers.leaders |= {("orders", n): n + 1 for n in range(3)}
        with CaptureWriter(path) as writer:
            async with Cluster(brokers.bootstrap, Settings(), seen=seen.append, tap=to(writer)) as cluster:
                for n in range(3):
                    parts = [{"index": n, "records": [{"magic": 2, "records": [{"value": b"x" * 90_000}]}]}]
                    body = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": parts}]}
                    await cluster.send("produce", body)
    assert len(seen) >= 7
    assert same(path, seen)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@in_loop
async def test_a_session_with_sasl(tmp_path: Path, mechanism: str, raw: bool) -> None:
    seen: list[Exchange] = []
    path = tmp_path / "session.pcap"
    settings = Settings(sasl=good(mechanism, raw=raw))
    async with server(SaslBroker()) as address:
        with CaptureWriter(path) as writer:
            async with Cluster(show(address), settings, seen=seen.append, tap=to(writer)) as cluster:
                await cluster.send("metadata")
    assert same(path, seen)


@in_loop
async def test_a_session_that_breaks_off(tmp_path: Path) -> None:
    async def some(peer: Peer) -> None:
        for _ in range(3):
            peer.tell((await peer.request()).response())
        await peer.request()

    seen: list[Exchange] = []
    path = tmp_path / "session.pcap"
    with CaptureWriter(path) as writer:
        async with server(some) as address:
            connection = await Connection.open(address, Settings(), seen=seen.append, tap=to(writer))
            futures = [connection.send(grammars.api("metadata"), 1) for _ in range(5)]
            with pytest.raises(Closed):
                await connection.answer(futures[-1])
            await connection.close()
    assert [exchange.response is None for exchange in seen] == [False] * 3 + [True] * 2
    assert same(path, seen)

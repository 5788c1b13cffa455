"""A client beside the scripted brokers of `brokers.py`, and what to ask of the exchanges it made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.settings import Settings
from kdbg.protocol.wire.readings.outline import outline

from .brokers import Brokers
from .servers import Peer

SETTINGS = Settings(timeout=10)
QUICK = Settings(timeout=0.5)


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
    return outline(message.grammar)(message.body)[2]


def port_of(exchange: Exchange) -> int:
    return exchange.peers.broker[1]


async def hangs_up(peer: Peer) -> None:
    await peer.reader.read(1)

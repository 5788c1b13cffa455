"""Scripted brokers that make up a cluster: they share who leads, coordinates and controls, and write down who asks.

async with Brokers(2).running() as brokers:
    brokers.leaders["orders", 0] = 2
    async with Cluster(brokers.bootstrap, Settings()) as cluster: ...
    assert brokers.log == [(1, "ApiVersions", 3), ...]
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

from kdbg.live.client.settings import Address, show

from .servers import Peer, Request, api_versions, dead_port, server

VERSIONS = {
    "ApiVersions": (0, 3), "Metadata": (0, 12), "FindCoordinator": (0, 4), "Produce": (3, 9), "Fetch": (4, 13),
    "ListOffsets": (1, 7), "OffsetFetch": (1, 8), "Heartbeat": (0, 4), "CreateTopics": (2, 7), "EndTxn": (0, 3),
}  # fmt: skip
NOT_LEADER, NOT_COORDINATOR, NOT_CONTROLLER, UNSUPPORTED_VERSION = 6, 16, 41, 35
ORDERS_ID = UUID("12345678-1234-1234-1234-123456789abc")
Answer = Callable[["Brokers", int, Request], bytes | None]
"""What a broker (by number) answers; None hangs up."""


class Brokers:
    """So many brokers, numbered from 1. `answers` overrides what they say to an API of this name."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self.addresses: dict[int, Address] = {}
        self.leaders: dict[tuple[str, int], int] = {}
        self.coordinators: dict[str, int] = {}
        self.controller = 1
        self.versions = dict(VERSIONS)
        self.answers: dict[str, Answer] = {}
        self.log: list[tuple[int, str, int]] = []
        self.arrived = asyncio.Event()
        self._running: dict[int, AsyncExitStack] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Brokers]:
        try:
            for node in range(1, self.count + 1):
                await self.start(node)
            yield self
        finally:
            for node in list(self._running):
                await self.stop(node)

    async def start(self, node: int) -> None:
        """On the port it had before, if it had one."""
        stack = self._running[node] = AsyncExitStack()
        port = self.addresses[node][1] if node in self.addresses else dead_port()
        self.addresses[node] = await stack.enter_async_context(server(lambda peer: self._serve(node, peer), port=port))

    async def stop(self, node: int) -> None:
        """Close its connections and its port."""
        await self._running.pop(node).aclose()

    @property
    def bootstrap(self) -> str:
        return ",".join(show(self.addresses[node]) for node in sorted(self.addresses))

    def asked(self, *names: str) -> list[tuple[int, str]]:
        """Who was asked for what, of these APIs."""
        return [(node, name) for node, name, _ in self.log if name in names]

    async def _serve(self, node: int, peer: Peer) -> None:
        while True:
            request = await peer.request()
            self.log.append((node, request.api.name, request.version))
            self.arrived.set()
            frame = self.answers.get(request.api.name, Brokers.answer)(self, node, request)
            if frame is None:
                return
            peer.tell(frame)

    def answer(self, node: int, request: Request) -> bytes | None:
        """What a good broker says."""
        if request.api.name == "ApiVersions":
            return api_versions(request, self.versions)
        if request.api.name == "Metadata":
            return request.response(self.metadata(request))
        if request.api.name == "FindCoordinator":
            return request.response(self.found(request))
        return request.response(self.result(node, request))

    def metadata(self, request: Request) -> dict[str, Any]:
        nodes = sorted(self._running)
        brokers = [{"node_id": n, "host": self.addresses[n][0], "port": self.addresses[n][1]} for n in nodes]
        wanted = {topic.get("name") or "orders" for topic in request.body["topics"] or ()}
        topics = []
        for name in sorted(wanted):
            led = [(index, leader) for (topic, index), leader in self.leaders.items() if topic == name]
            partitions = [{"partition_index": index, "leader_id": leader} for index, leader in led]
            topics.append({"name": name, "partitions": partitions, "error_code": 0 if partitions else 3})
            if request.version >= 10:
                topics[-1]["topic_id"] = ORDERS_ID
        body: dict[str, Any] = {"brokers": brokers, "topics": topics}
        return body | ({"controller_id": self.controller} if request.version else {})

    def found(self, request: Request) -> dict[str, Any]:
        body = request.body
        name = body.get("key") or body["coordinator_keys"][0]
        node = self.coordinators.get(name, 1)
        found = {"node_id": node, "host": self.addresses[node][0], "port": self.addresses[node][1]}
        return {"coordinators": [{"key": name, **found}]} if request.version >= 4 else found

    def result(self, node: int, request: Request) -> dict[str, Any]:
        """Right answers from the right broker, errors from any other."""
        body, name = request.body, request.api.name
        if name == "Produce":
            topic = body["topic_data"][0]
            index = topic["partition_data"][0]["index"]
            code = 0 if self.leaders.get((topic["name"], index)) == node else NOT_LEADER
            return {
                "responses": [{"name": topic["name"], "partition_responses": [{"index": index, "error_code": code}]}]
            }
        if name == "Heartbeat":
            return {"error_code": 0 if self.coordinators.get(body["group_id"]) == node else NOT_COORDINATOR}
        if name == "EndTxn":
            return {"error_code": 0 if self.coordinators.get(body["transactional_id"]) == node else NOT_COORDINATOR}
        if name == "CreateTopics":
            code = 0 if self.controller == node else NOT_CONTROLLER
            return {"topics": [{"name": topic["name"], "error_code": code} for topic in body["topics"]]}
        return {}

"""Servers on loopback that behave, well or badly, as a test says; and event loops in which nothing may leak.

@in_loop
async def test_...() -> None:
    async with server(serve) as address: ...
"""

from __future__ import annotations

import asyncio
import functools
import gc
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any, ParamSpec

import kdbg
from kdbg.exchanges.engine.requests import begins
from kdbg.live.client.settings import Address
from kdbg.protocol import grammars

HOST = "127.0.0.1"
WATCHDOG = 20.0
"""Seconds after which a test is given up: none comes near."""
P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs a test in an event loop of its own; whatever the loop complains of fails it."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        complaints: list[dict[str, Any]] = []

        async def watched() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            async with asyncio.timeout(WATCHDOG):
                await test(*args, **kwargs)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks are left over: {left}"
            gc.collect()

        asyncio.run(watched())
        gc.collect()
        assert not complaints, complaints

    return run


class Request:
    """A request as a server sees it."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        header = begins(struct.pack(">i", len(frame)) + frame)
        assert header is not None, frame
        self.api, self.version, self.correlation_id, self.client_id, self.known, _ = header

    @property
    def body(self) -> dict[str, Any]:
        return kdbg.decode(self.frame, api=self.api.key, version=self.version, direction="request").body

    def response(self, body: dict[str, Any] | None = None, *, version: int | None = None) -> bytes:
        """The answer's frame, without its size; in another version if one is given, as ApiVersions answers may be."""
        at = self.version if version is None else version
        header = {"correlation_id": self.correlation_id}
        return kdbg.encode(body or {}, api=self.api.key, version=at, direction="response", header=header)


class Peer:
    """The server's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def frame(self) -> bytes:
        """The next frame, without its size."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def request(self) -> Request:
        return Request(await self.frame())

    def tell(self, frame: bytes) -> None:
        """Send a frame."""
        self.send(struct.pack(">i", len(frame)) + frame)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)

    def reset(self) -> None:
        """End the connection by a RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def silence(self) -> None:
        """Say nothing more until the client hangs up."""
        with suppress(ConnectionError):
            while await self.reader.read(1 << 16):
                pass

    async def stop_reading(self) -> None:
        """Let the client's bytes pile up, for ever."""
        self.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()


Serve = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve, *, ssl: SSLContext | None = None, port: int = 0) -> AsyncIterator[Address]:
    """A server that does this with each connection, and closes it then."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(Peer(reader, writer))
        except (ConnectionError, EOFError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            writer.transport.abort()

    listening = await asyncio.start_server(accept, HOST, port, ssl=ssl)
    try:
        yield listening.sockets[0].getsockname()[:2]
    finally:
        await _settled()  # asyncio leaks what it accepts while it closes
        listening.close()
        await _settled()
        for task in list(tasks):
            task.cancel()
        while tasks:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)


async def _settled() -> None:
    """Some steps of the loop: more than it takes from accepting to serving."""
    for _ in range(10):
        await asyncio.sleep(0)


def dead_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        return int(sock.getsockname()[1])


def metadata(request: Request, *brokers: tuple[int, Address], **body: Any) -> bytes:
    """An answer to a Metadata request that names these brokers."""
    entries = [{"node_id": node, "host": host, "port": port} for node, (host, port) in brokers]
    return request.response({"brokers": entries} | body)


def api_versions(request: Request, versions: dict[str, tuple[int, int]]) -> bytes:
    """An answer to an ApiVersions request: API name -> (lowest, highest)."""
    entries = [
        {"api_key": grammars.api(name).key, "min_version": lowest, "max_version": highest}
        for name, (lowest, highest) in versions.items()
    ]
    return request.response({"api_keys": entries})

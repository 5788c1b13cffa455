"""A proxy in a thread, with any of its parts; and peers for it that do as a test tells them."""

from __future__ import annotations

import io
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import kdbg
from kdbg.live.client.settings import Settings
from kdbg.live.embedded import LoopThread, Recorded
from kdbg.live.listeners import Listening
from kdbg.live.proxy import Proxy

PATIENCE = 20.0
RESET = struct.pack("ii", 1, 0)


class Stage:
    """A proxy that is running: `address` is the first broker's, `said` its lines, `proxy` the proxy itself."""

    def __init__(self, proxy: Proxy, said: list[str], recorded: Recorded) -> None:
        self.proxy, self.said, self._recorded = proxy, said, recorded
        self.address = ("", 0)

    def connect(self, tls: ssl.SSLContext | None = None) -> socket.socket:
        sock = socket.create_connection(self.address)
        sock.settimeout(PATIENCE)
        return tls.wrap_socket(sock) if tls is not None else sock

    def exchanges(self) -> list[kdbg.Exchange]:
        with kdbg.read_capture(io.BytesIO(self._recorded.capture)) as reading:
            return list(reading)

    def wait(self, done: Callable[[], object]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, f"waited for nothing; said: {self.said}"
            threading.Event().wait(0.01)

    def wait_until_empty(self) -> None:
        self.wait(lambda: not self.proxy._sessions and not self.proxy._tasks)


@contextmanager
def running(*brokers: tuple[str, int], tls: ssl.SSLContext | None = None, settings: Settings | None = None,
            also: Recorded | None = None, **given: Any) -> Iterator[Stage]:  # fmt: skip
    said: list[str] = []
    recorded, thread = Recorded(), LoopThread("proxy of a test")

    async def begin() -> Stage:
        taps = (recorded,) if also is None else (recorded, also)
        proxy = Proxy(Listening(tls=tls), settings or Settings(), taps=taps, say=said.append, **given)
        stage = Stage(proxy, said, recorded)
        stage.address = proxy.listen(brokers)[0]
        return stage

    thread.start()
    stage = thread.do(begin())
    try:
        yield stage
    finally:
        thread.do(stage.proxy.close())
        thread.close()


@contextmanager
def broker(answer: Callable[[socket.socket], None], tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    """A peer: `answer` gets each connection, in a thread of its own."""

    def serve(sock: socket.socket) -> None:
        with (
            suppress(OSError, threading.BrokenBarrierError),
            tls.wrap_socket(sock, server_side=True) if tls is not None else sock as found,
        ):
            answer(found)

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = server.accept()
                sock.settimeout(PATIENCE)
                threading.Thread(target=serve, args=(sock,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[:2]
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # without it, `accept` keeps the port


def frame(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def asked(number: int, version: int = 1) -> bytes:
    """A Metadata request."""
    header = {"correlation_id": number, "client_id": "me"}
    return frame(kdbg.encode({"topics": None}, api="Metadata", version=version, direction="request", header=header))


def answered(number: int, *brokers: tuple[str, int], version: int = 1) -> bytes:
    """Its response, with these brokers."""
    named = [{"node_id": i, "host": host, "port": port, "rack": None} for i, (host, port) in enumerate(brokers)]
    body = {"brokers": named, "controller_id": 0, "topics": []}
    header = {"correlation_id": number}
    return frame(kdbg.encode(body, api="Metadata", version=version, direction="response", header=header))


def read_frame(sock: socket.socket) -> bytes:
    """The next frame, without its size; what follows it is left to be received."""
    return received(sock, int.from_bytes(received(sock, 4)))


def received(sock: socket.socket, size: int) -> bytes:
    """So many bytes."""
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise ConnectionError(f"{len(data)} bytes, then the end")
        data += more
    return data


def reset(sock: socket.socket) -> None:
    """Close a connection by a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()


def files(pid: int | str = "self") -> int:
    """How many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))

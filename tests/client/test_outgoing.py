"""When bytes leave: a request's time is before the broker has it, and latency holds all that the broker took."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.capture.write import CaptureWriter
from kdbg.errors import Closed, TimedOut
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.connection import Connection
from kdbg.live.client.frames import TimedSocket
from kdbg.live.client.settings import Address, Settings, Tls, show
from kdbg.protocol import grammars

from .certificates import Authority
from .servers import HOST, Peer, in_loop, server

METADATA, PRODUCE = grammars.api("metadata"), grammars.api("produce")
LARGE = bytes(8 << 20)
"""More than the kernel takes at once."""
PAUSE = 0.03


class Clock:
    """What a broker saw of a request, by the same clock as the client's (ns)."""

    begun = received = answered = 0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=["plaintext", "TLS"])
def secure(request: pytest.FixtureRequest) -> Authority | None:
    """Both ways to talk: with an authority, or none."""
    return request.getfixturevalue("authority") if request.param == "TLS" else None


def settings(authority: Authority | None) -> Settings:
    return Settings(tls=Tls(ca=str(authority.ca)) if authority is not None else None)


async def read_late(peer: Peer, clock: Clock) -> None:
    """A broker that reads a request only after a pause, and answers only after another."""
    transport = peer.writer.transport
    transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(PAUSE)
    clock.begun = time.time_ns()
    transport.resume_reading()  # type: ignore[attr-defined]
    (number,) = struct.unpack_from(">i", await peer.frame(), 4)
    clock.received = time.time_ns()
    await asyncio.sleep(PAUSE)
    clock.answered = time.time_ns()
    peer.tell(struct.pack(">i", number))
    await peer.silence()


@in_loop
async def test_a_large_request_leaves_with_its_last_part(secure: Authority | None) -> None:
    """The kernel takes its first part at once, and its last only when the broker reads."""
    clock = Clock()
    context = secure.server() if secure is not None else None
    async with server(lambda peer: read_late(peer, clock), ssl=context) as address:
        connection = await Connection.open(address, settings(secure))
        before = time.time_ns()
        exchange = await connection.answer(connection.send(METADATA, 1, data=LARGE))
        await connection.close()
    assert exchange.request is not None
    assert exchange.latency is not None
    assert before <= exchange.request.first_time < clock.begun < exchange.request.last_time <= clock.received
    assert exchange.latency >= clock.answered - clock.received


@in_loop
async def test_each_of_many_leaves_at_its_own_time(secure: Authority | None) -> None:
    """Small requests behind a large one wait for it."""
    clock = Clock()
    context = secure.server() if secure is not None else None
    async with server(lambda peer: read_all_late(peer, clock), ssl=context) as address:
        connection = await Connection.open(address, settings(secure))
        futures = [connection.send(METADATA, 1, data=data) for data in (b"", LARGE, b"", b"")]
        exchanges = [await connection.answer(future) for future in futures]
        await connection.close()
    halves = [exchange.request for exchange in exchanges]
    times = [(half.first_time, half.last_time) for half in halves if half is not None]
    assert times[0][1] < clock.begun, "the first one did not have to wait"
    assert all(clock.begun < last <= clock.received for _, last in times[1:])
    assert all(clock.begun < first for first, _ in times[2:])
    flat = [moment for pair in times for moment in pair]
    assert flat == sorted(flat)


async def read_all_late(peer: Peer, clock: Clock) -> None:
    """A broker that reads four requests after a pause and answers them at once."""
    peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(PAUSE)
    clock.begun = time.time_ns()
    peer.writer.transport.resume_reading()  # type: ignore[attr-defined]
    numbers = [(await peer.frame())[4:8] for _ in range(4)]
    clock.received = time.time_ns()
    for number in numbers:
        peer.tell(number)
    await peer.silence()


@contextmanager
def prompt_broker(clock: Clock, pause: float) -> Iterator[Address]:
    """A broker in a thread of its own, which answers one request after this pause and looks at the clock."""
    listener = socket.create_server((HOST, 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            frame = connection.recv(4096)
            clock.received = time.time_ns()
            time.sleep(pause)
            clock.answered = time.time_ns()
            connection.sendall(struct.pack(">i", 4) + frame[8:12])
            connection.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[:2]
    finally:
        listener.close()
        thread.join()


@pytest.mark.parametrize("pause", [0, PAUSE])
def test_the_time_is_that_before_the_write(monkeypatch: pytest.MonkeyPatch, pause: float) -> None:
    """The client may be stopped the moment that the kernel has the bytes: that is no time of the broker's."""
    clock = Clock()
    counted = TimedSocket._count

    def late(self: TimedSocket, count: int, offered: int) -> int:
        time.sleep(PAUSE)
        return counted(self, count, offered)

    async def main(address: Address) -> Exchange:
        connection = await Connection.open(address, Settings())
        exchange = await connection.answer(connection.send(METADATA, 1))
        await connection.close()
        return exchange

    monkeypatch.setattr(TimedSocket, "_count", late)
    with prompt_broker(clock, pause) as address:
        exchange = asyncio.run(main(address))
    assert exchange.request is not None
    assert exchange.latency is not None
    assert exchange.request.last_time <= clock.received
    assert exchange.latency >= clock.answered - clock.received


def to(writer: CaptureWriter) -> Callable[[Connection, bool, bytes, int], None]:
    return lambda connection, ours, data, when: writer.tap(connection.client, connection.broker, ours, data, when)


@in_loop
async def test_what_is_saved_has_the_same_times(tmp_path: Path, secure: Authority | None) -> None:
    """A capture of the session says the same latency, also where a request went in parts."""
    clock, path = Clock(), tmp_path / "session.pcap"
    context = secure.server() if secure is not None else None
    with CaptureWriter(path) as writer:
        async with server(lambda peer: read_late(peer, clock), ssl=context) as address:
            connection = await Connection.open(address, settings(secure), tap=to(writer))
            exchange = await connection.answer(connection.send(METADATA, 1, data=LARGE))
            await connection.close()
    (saved,) = kdbg.read(path)
    assert saved.latency == exchange.latency
    assert saved.request is not None
    assert exchange.request is not None
    assert saved.request.data == exchange.request.data


@in_loop
async def test_only_what_left_is_saved() -> None:
    """The broker stops reading in the middle of a request."""
    heard: list[bytes] = []
    async with server(Peer.stop_reading) as address:
        connection = await Connection.open(
            address, Settings(timeout=0.1), tap=lambda c, ours, data, when: heard.append(data)
        )
        futures = [connection.send(METADATA, 1, data=data) for data in (b"", LARGE, LARGE)]
        with pytest.raises(TimedOut, match="the broker stopped reading"):
            await connection.answer(futures[0])
        await connection.close()
    small, cut = heard
    assert len(small) < 100
    assert 0 < len(cut) < len(LARGE)


def unacknowledged() -> dict[str, Any]:
    """A large record that nobody shall acknowledge."""
    partitions = [{"index": 0, "records": [{"magic": 2, "records": [{"value": LARGE}]}]}]
    return {"acks": 0, "topic_data": [{"name": "orders", "partition_data": partitions}]}


async def one_byte(peer: Peer) -> None:
    await peer.reader.read(1)
    peer.reset()


@in_loop
async def test_an_exchange_without_an_answer_keeps_the_times_it_was_delivered_with() -> None:
    """acks=0: it is done before its last part has left, and does not change any more."""
    clock = Clock()
    async with server(lambda peer: read_late(peer, clock)) as address:
        connection = await Connection.open(address, Settings())
        (exchange,) = [await connection.send(PRODUCE, 8, unacknowledged())]
        assert exchange.request is not None
        told = exchange.request.first_time, exchange.request.last_time
        await connection.close()
        assert (exchange.request.first_time, exchange.request.last_time) == told


@in_loop
async def test_what_no_answer_is_due_to_is_done_when_it_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hangs up at once cuts nothing off, however slowly the broker reads."""
    monkeypatch.setattr("kdbg.live.client.connection.GRACE", 0.001)
    clock = Clock()
    async with server(lambda peer: read_late(peer, clock)) as address:
        async with Cluster(show(address), Settings(), direct=True) as cluster:
            exchange = await cluster.send("produce", unacknowledged(), version=8)
        async with asyncio.timeout(10):
            while not clock.received:
                await asyncio.sleep(0.01)
    assert exchange.response is None


@pytest.mark.parametrize(("serve", "error"), [(Peer.stop_reading, TimedOut), (one_byte, Closed)])
@in_loop
async def test_what_never_left_is_not_sent(serve: Any, error: type[Exception]) -> None:
    async with server(serve) as address:
        connection = await Connection.open(address, Settings(timeout=0.3))
        with pytest.raises(error):
            await connection.answer(connection.send(PRODUCE, 8, unacknowledged()))
        await connection.close()


@in_loop
async def test_a_tap_that_fails_later_ends_the_connection() -> None:
    """A full disk, say, when the last part of a request leaves."""
    clock = Clock()

    def full(connection: Connection, ours: bool, data: bytes, when: int) -> None:
        raise OSError("no space left")

    async with server(lambda peer: read_late(peer, clock)) as address:
        connection = await Connection.open(address, Settings(), tap=full)
        future = connection.send(METADATA, 1, data=LARGE)
        with pytest.raises(OSError, match="no space left"):
            await connection.answer(future)
        await connection.close()

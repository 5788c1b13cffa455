"""Brokers that are not there, silent or gone: each ends in one clear line, in time, and nothing leaks."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from kdbg.errors import CannotConnect, Closed, TimedOut
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Address, Settings, Tls

from ..cases import for_each
from .faults import HTTP, METADATA, PATIENT, QUICK, answered, ask, fails
from .servers import HOST, Peer, Serve, dead_port, in_loop, metadata, server

# Nobody there


@in_loop
async def test_a_dead_port() -> None:
    with fails(CannotConnect, "connection refused", "check that the broker is running and listening there"):
        await ask((HOST, dead_port()))


@in_loop
async def test_a_dead_port_of_a_name_with_two_addresses() -> None:
    with fails(CannotConnect, ": connection refused;"):
        await ask(("localhost", dead_port()))


@in_loop
async def test_a_host_that_drops_packets() -> None:
    """A full backlog: the kernel answers no SYN any more."""
    with socket.socket() as listening, socket.socket() as one, socket.socket() as two:
        listening.bind((HOST, 0))
        listening.listen(0)
        for filler in (one, two):
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        await asyncio.sleep(0.01)
        with fails(TimedOut, "no connection within 0.25 s", "check the host, the port and the firewalls"):
            await ask(listening.getsockname(), QUICK)


@in_loop
async def test_a_host_that_never_accepts() -> None:
    """The kernel does for it, but nobody reads."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(5)
        with fails(TimedOut, "no response within 0.25 s"):
            await ask(listening.getsockname(), QUICK)


@for_each(
    ("address", "words"),
    [
        (("a..b", 9092), "not a valid host and port"),
        (("x" * 64, 9092), "not a valid host and port"),
        (("a\0b", 9092), "cannot resolve the host name ("),
        (("", 9092), "not a valid host and port"),
        ((HOST, 70_000), "not a valid host and port"),
        ((HOST, -1), "not a valid host and port"),
    ],
)
@in_loop
async def test_an_address_that_is_none(address: Address, words: str) -> None:
    """Users mistype, and brokers may advertise anything."""
    with fails(CannotConnect, words):
        await ask(address)


# Answers that do not come


@in_loop
async def test_a_host_that_stays_silent() -> None:
    async with server(Peer.silence) as address:
        with fails(TimedOut, "no response within 0.25 s", "the broker accepted the request", "--timeout"):
            await ask(address, QUICK)


@in_loop
async def test_a_time_limit_for_one_answer() -> None:
    async with server(Peer.silence) as address:
        connection = await Connection.open(address, PATIENT)
        with fails(TimedOut, "no response within 0.1 s"):
            await connection.answer(connection.send(METADATA, 1), timeout=0.1)
        assert not connection.open_
        await connection.close()


@in_loop
async def test_a_slow_drip() -> None:
    """A byte now and then is no answer: the limit is for the whole."""

    async def drip(peer: Peer) -> None:
        frame = metadata(await peer.request(), (1, (HOST, 9092)))
        for byte in struct.pack(">i", len(frame)) + frame:
            peer.send(bytes([byte]))
            await asyncio.sleep(0.05)

    async with server(drip) as address:
        with fails(TimedOut, "incomplete response after 0.25 s", " bytes; try"):
            await ask(address, QUICK)


@in_loop
async def test_a_size_that_never_comes_whole() -> None:
    async def begin(peer: Peer) -> None:
        await peer.request()
        peer.send(b"\0\0")
        await peer.silence()

    async with server(begin) as address:
        with fails(TimedOut, "incomplete response after 0.25 s: received 2 bytes"):
            await ask(address, QUICK)


@in_loop
async def test_a_broker_that_stops_reading() -> None:
    async with server(Peer.stop_reading) as address:
        connection = await Connection.open(address, QUICK)
        futures = [connection.send(METADATA, 1, data=bytes(4 << 20)) for _ in range(8)]
        with fails(TimedOut, "the broker stopped reading", "bytes not sent within 0.25 s"):
            await connection.answer(futures[0])
        with fails(TimedOut, "stopped reading"):
            await connection.answer(futures[7])
        await connection.close()


@in_loop
async def test_hanging_up_on_a_broker_that_stops_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.live.client.connection.GRACE", 0.1)
    async with server(Peer.stop_reading) as address:
        connection = await Connection.open(address, PATIENT)
        future = connection.send(METADATA, 1, data=bytes(16 << 20))
        await connection.close()
        with fails(Closed, "closed"):
            await connection.answer(future)


# Hanging up


async def at_once(peer: Peer) -> None:
    pass


async def at_once_by_reset(peer: Peer) -> None:
    peer.reset()


async def without_answer(peer: Peer) -> None:
    await peer.request()


async def by_reset(peer: Peer) -> None:
    await peer.request()
    peer.reset()


async def half_way(peer: Peer) -> None:
    frame = metadata(await peer.request(), (1, (HOST, 9092)))
    peer.send(struct.pack(">i", len(frame)) + frame[:10])


async def half_way_through_the_size(peer: Peer) -> None:
    await peer.request()
    peer.send(b"\0\0\0")


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (
            without_answer,
            (
                "the broker closed the connection without a response; use --tls or --sasl-mechanism if the "
                "listener requires it"
            ),
        ),
        (by_reset, "the broker reset the connection; use --tls"),
        (half_way, "the broker closed the connection in the middle of a response, after 14 bytes"),
        (half_way_through_the_size, "the broker closed the connection in the middle of a response, after 3 bytes"),
    ],
)
@in_loop
async def test_a_broker_that_hangs_up(serve: Serve, words: str) -> None:
    async with server(serve) as address:
        with fails(Closed, words):
            await ask(address)


@pytest.mark.parametrize("serve", [at_once, at_once_by_reset])
@in_loop
async def test_a_broker_that_hangs_up_at_once(serve: Serve) -> None:
    """Whether that is noticed while connecting, before sending or after is a matter of luck."""
    async with server(serve) as address:
        with pytest.raises((Closed, CannotConnect), match=r"closed the connection|reset"):
            await ask(address)


@in_loop
async def test_a_broker_that_hangs_up_between_requests() -> None:
    async def once(peer: Peer) -> None:
        peer.tell(metadata(await peer.request()))

    async with server(once) as address:
        connection = await Connection.open(address, PATIENT)
        await connection.answer(connection.send(METADATA, 1))
        while connection.open_:
            await asyncio.sleep(0.001)
        with fails(Closed, "the broker closed the connection"):
            await connection.answer(connection.send(METADATA, 1))
        await connection.close()


@in_loop
async def test_many_in_flight_when_the_broker_hangs_up() -> None:
    async def three(peer: Peer) -> None:
        for _ in range(3):
            peer.tell(metadata(await peer.request()))

    seen: list[Exchange] = []
    async with server(three) as address:
        connection = await Connection.open(address, PATIENT, seen=seen.append)
        futures = [connection.send(METADATA, 1) for _ in range(50)]
        results = await asyncio.gather(*map(connection.answer, futures), return_exceptions=True)
        await connection.close()
    assert [type(result) for result in results] == [Exchange] * 3 + [Closed] * 47
    assert [exchange.correlation_id for exchange in seen] == list(range(1, 51)), "the unanswered ones are shown too"
    assert [exchange.response is None for exchange in seen] == [False] * 3 + [True] * 47
    assert seen[-1].findings[0].kind == "no-response"


# TLS where there is none, and the reverse (with certificates: test_tls.py)


async def like_a_broker(peer: Peer) -> None:
    """A broker takes a TLS handshake for a request of 369 MB, and hangs up."""
    (size,) = struct.unpack(">i", await peer.reader.readexactly(4))
    assert size > 100 << 20


async def like_a_broker_by_reset(peer: Peer) -> None:
    await like_a_broker(peer)
    peer.reset()


async def like_a_web_server(peer: Peer) -> None:
    await peer.reader.read(100)
    peer.send(HTTP)


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (like_a_broker, "the server closed the connection during the TLS handshake; omit --tls"),
        (like_a_broker_by_reset, "the server closed the connection during the TLS handshake; omit --tls"),
        (like_a_web_server, "the server does not use TLS; omit --tls"),
    ],
)
@in_loop
async def test_tls_where_there_is_none(serve: Serve, words: str) -> None:
    async with server(serve) as address:
        with fails(CannotConnect, words):
            await ask(address, Settings(tls=Tls()))


@in_loop
async def test_tls_where_nobody_answers() -> None:
    async with server(Peer.silence) as address:
        with fails(TimedOut, "connected, but the TLS handshake got no response within 0.25 s", "omit --tls"):
            await ask(address, Settings(timeout=0.25, tls=Tls()))


# Giving up


@asynccontextmanager
async def silent() -> AsyncIterator[Connection]:
    async with server(Peer.silence) as address:
        connection = await Connection.open(address, PATIENT)
        yield connection
        await connection.close()


@in_loop
async def test_giving_up_an_answer_leaves_the_connection_alone() -> None:
    async with silent() as connection:
        future = connection.send(METADATA, 1)
        task = asyncio.create_task(connection.answer(future))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.open_
        assert not future.done()


@in_loop
async def test_giving_up_a_connection_that_is_being_made() -> None:
    async with server(Peer.silence) as address:
        task = asyncio.create_task(Connection.open(address, Settings(tls=Tls())))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@in_loop
async def test_a_future_that_somebody_cancelled() -> None:
    async with server(answered) as address:
        connection = await Connection.open(address, PATIENT)
        connection.send(METADATA, 1).cancel()
        assert (await connection.answer(connection.send(METADATA, 1))).correlation_id == 2
        await connection.close()


@in_loop
async def test_nobody_waits_for_what_fails() -> None:
    async with server(without_answer) as address:
        connection = await Connection.open(address, PATIENT)
        connection.send(METADATA, 1)
        while connection.open_:
            await asyncio.sleep(0.001)
        connection.send(METADATA, 1)
        await connection.close()


@pytest.mark.parametrize("close_first", [True, False])
@in_loop
async def test_closing_twice(close_first: bool) -> None:
    async with server(Peer.silence) as address:
        connection = await Connection.open(address, PATIENT)
        future = connection.send(METADATA, 1)
        await asyncio.gather(connection.close(), connection.close())
        await connection.close()
        with fails(Closed, "closed"):
            await connection.answer(future)
        with fails(Closed, "closed"):
            await connection.answer(connection.send(METADATA, 1))


@in_loop
async def test_what_seen_raises_is_not_lost() -> None:
    """Such as a pipe that was closed while exchanges are printed."""

    def broken(exchange: Exchange) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    async with server(answered) as address:
        connection = await Connection.open(address, PATIENT, seen=broken)
        futures = [connection.send(METADATA, 1) for _ in range(3)]
        for future in futures:
            with pytest.raises(BrokenPipeError):
                await connection.answer(future)
        await connection.close()


@pytest.mark.parametrize("what", [lambda: None, lambda: Tls(ca="x")], ids=["plain", "tls"])
@in_loop
async def test_a_dead_port_needs_no_cleaning_up(what: Callable[[], Tls | None]) -> None:
    for _ in range(3):
        with pytest.raises((CannotConnect, ValueError)):
            await Connection.open((HOST, dead_port()), Settings(tls=what()))

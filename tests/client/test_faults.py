"""Brokers that are none, or misbehave: each ends in one clear line, within the time limit, and nothing leaks."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from kdbg import grammars
from kdbg.client import Connection, Settings, Tls
from kdbg.client.settings import Address
from kdbg.errors import CannotConnect, ClientError, Closed, TimedOut, WrongAnswer
from kdbg.session.exchange import Exchange

from .servers import HOST, Peer, Serve, dead_port, in_loop, metadata, server

QUICK = Settings(timeout=0.25)
PATIENT = Settings(timeout=10)
METADATA = grammars.api("metadata")


async def ask(address: Address, settings: Settings = PATIENT, **kwargs: object) -> Exchange:
    """One Metadata request on a connection of its own."""
    connection = await Connection.open(address, settings, **kwargs)  # type: ignore[arg-type]
    try:
        return await connection.answer(connection.send(METADATA, 1, {"topics": []}))
    finally:
        await connection.close()


@contextmanager
def fails(kind: type[ClientError], *words: str) -> Iterator[None]:
    """What follows ends in one line that names the address, what happened, and what to try."""
    with pytest.raises(kind) as caught:
        yield
    error, line = caught.value, str(caught.value)
    assert type(error) is kind
    assert "\n" not in line
    assert line.startswith(f"{error.address}: {error.problem}")
    for word in words:
        assert word in line


async def answered(peer: Peer, *brokers: tuple[int, Address]) -> None:
    """Answer every request as a broker would."""
    while True:
        peer.tell(metadata(await peer.request(), *brokers))


# Nobody there


@in_loop
async def test_a_dead_port() -> None:
    with fails(CannotConnect, "connection refused", "see whether the broker runs and listens there"):
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
        with fails(TimedOut, "no connection within 0.25 s", "no firewall drops packets"):
            await ask(listening.getsockname(), QUICK)


@in_loop
async def test_a_host_that_never_accepts() -> None:
    """The kernel does for it, but nobody reads."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(5)
        with fails(TimedOut, "no answer within 0.25 s"):
            await ask(listening.getsockname(), QUICK)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (("a..b", 9092), "no host and port that can be connected to"),
        (("x" * 64, 9092), "no host and port that can be connected to"),
        (("a\0b", 9092), "no address is known for this host"),
        (("", 9092), "no host and port that can be connected to"),
        ((HOST, 70_000), "no host and port that can be connected to"),
        ((HOST, -1), "no host and port that can be connected to"),
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
        with fails(TimedOut, "no answer within 0.25 s", "kept silent", "--timeout"):
            await ask(address, QUICK)


@in_loop
async def test_a_time_limit_for_one_answer() -> None:
    async with server(Peer.silence) as address:
        connection = await Connection.open(address, PATIENT)
        with fails(TimedOut, "no answer within 0.1 s"):
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
        with fails(TimedOut, "no whole answer within 0.25 s", "bytes came"):
            await ask(address, QUICK)


@in_loop
async def test_a_size_that_never_comes_whole() -> None:
    async def begin(peer: Peer) -> None:
        await peer.request()
        peer.send(b"\0\0")
        await peer.silence()

    async with server(begin) as address:
        with fails(TimedOut, "no whole answer within 0.25 s: 2 of an answer's bytes came"):
            await ask(address, QUICK)


@in_loop
async def test_a_broker_that_stops_reading() -> None:
    async with server(Peer.stop_reading) as address:
        connection = await Connection.open(address, QUICK)
        futures = [connection.send(METADATA, 1, data=bytes(4 << 20)) for _ in range(8)]
        with fails(TimedOut, "the broker stopped reading", "bytes could not be sent within 0.25 s"):
            await connection.answer(futures[0])
        with fails(TimedOut, "stopped reading"):
            await connection.answer(futures[7])
        await connection.close()


@in_loop
async def test_hanging_up_on_a_broker_that_stops_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.client.connection.GRACE", 0.1)
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
        (without_answer, "the broker hung up without an answer; brokers do so when they do not understand a request"),
        (by_reset, "the broker reset the connection; brokers do so when"),
        (half_way, "the broker hung up in the middle of an answer, after 14 bytes"),
        (half_way_through_the_size, "the broker hung up in the middle of an answer, after 3 bytes"),
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
        with pytest.raises((Closed, CannotConnect), match=r"hung up|reset"):
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
        with fails(Closed, "the broker hung up"):
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
    assert seen[-1].findings[0].kind == "unanswered"


# Answers that are none


def saying(data: bytes) -> Serve:
    """A server that answers anything with these bytes."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        peer.send(data)
        await peer.silence()

    return serve


HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request"
ALERT = bytes.fromhex("15030300020246")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (struct.pack(">i", 0x7FFFFFFF), "2,147,483,647 bytes long (0x7fffffff), at most 104,857,600 are taken; --max-"),
        (struct.pack(">i", 0x06400001), "104,857,601 bytes long"),
        (struct.pack(">i", -1), "-1 bytes long (0xffffffff), which no answer is; see whether this is a Kafka broker"),
        (struct.pack(">i", -(2**31)), "-2,147,483,648 bytes long"),
        (struct.pack(">i", 0), "0 bytes long"),
        (struct.pack(">i", 3) + b"abc", "3 bytes long"),
        (struct.pack(">iii", 8, 99, 0), "an answer with correlation id 99 came, 1 was due; this is no answer to what"),
        (struct.pack(">iii", 8, -1, 0), "correlation id -1 came, 1 was due"),
        (HTTP, "the answer is an HTTP response; this is no Kafka broker"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is an SSH banner"),
        (ALERT, "the answer is TLS (alert, TLS 1.2 or 1.3); the port speaks TLS: use --tls"),
    ],
)
@in_loop
async def test_an_answer_that_is_none(data: bytes, words: str) -> None:
    async with server(saying(data)) as address:
        with fails(WrongAnswer, words):
            await ask(address)


@in_loop
async def test_a_server_that_speaks_first() -> None:
    async def greet(peer: Peer) -> None:
        peer.send(b"220 mail.example.org ESMTP\r\n")
        await peer.silence()

    async with server(greet) as address:
        with fails(WrongAnswer, "the answer is an SMTP or FTP greeting"):
            await ask(address)


@in_loop
async def test_an_answer_to_nothing() -> None:
    async def twice(peer: Peer) -> None:
        frame = metadata(await peer.request())
        peer.tell(frame)
        peer.tell(frame)
        await peer.silence()

    seen: list[Exchange] = []
    async with server(twice) as address:
        connection = await Connection.open(address, PATIENT, seen=seen.append)
        assert (await connection.answer(connection.send(METADATA, 1))).response is not None
        while connection.open_:
            await asyncio.sleep(0.001)
        with fails(WrongAnswer, "an answer with correlation id 1 came, none was due"):
            await connection.answer(connection.send(METADATA, 1))
        await connection.close()
    assert [[finding.kind for finding in exchange.findings] for exchange in seen] == [[], ["unasked"]]


@in_loop
async def test_answers_out_of_order() -> None:
    """What came in order before is good; what came out of order is shown, and so is what stays unanswered."""

    async def shuffle(peer: Peer) -> None:
        frames = [metadata(await peer.request()) for _ in range(4)]
        for place in (0, 2, 1, 3):
            peer.tell(frames[place])
        await peer.silence()

    seen: list[Exchange] = []
    async with server(shuffle) as address:
        connection = await Connection.open(address, PATIENT, seen=seen.append)
        futures = [connection.send(METADATA, 1) for _ in range(4)]
        assert (await connection.answer(futures[0])).correlation_id == 1
        for future in futures[1:]:
            with fails(WrongAnswer, "correlation id 3 came, 2 was due", "brokers answer in the order of the requests"):
                await connection.answer(future)
        await connection.close()
    shown = [(e.correlation_id, e.request is not None, e.response is not None) for e in seen]
    assert shown == [(1, True, True), (3, False, True), (2, True, False), (3, True, False), (4, True, False)]


@in_loop
async def test_a_wrong_answer_ends_the_connection() -> None:
    ended = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await saying(HTTP)(peer)
        ended.set()

    async with server(serve) as address:
        connection = await Connection.open(address, PATIENT)
        with fails(WrongAnswer, "HTTP"):
            await connection.answer(connection.send(METADATA, 1))
        await ended.wait()
        with fails(WrongAnswer, "HTTP"):
            await connection.answer(connection.send(METADATA, 1))
        await connection.close()


# Odd, but answers


@pytest.mark.parametrize("size", [1, 3, 50])
@in_loop
async def test_an_answer_in_many_pieces(size: int) -> None:
    async def pieces(peer: Peer) -> None:
        frame = metadata(await peer.request(), (1, ("a" * 100, 9092)))
        data = struct.pack(">i", len(frame)) + frame
        for start in range(0, len(data), size):
            peer.send(data[start : start + size])
            await peer.writer.drain()
            await asyncio.sleep(0)

    async with server(pieces) as address:
        exchange = await ask(address)
    assert exchange.messages()[1].body["brokers"][0]["host"] == "a" * 100
    assert exchange.response is not None
    assert exchange.response.first_time <= exchange.response.last_time


@in_loop
async def test_a_huge_answer_under_the_limit() -> None:
    brokers = [(n, ("h" * 30_000, 9092)) for n in range(700)]
    async with server(lambda peer: answered(peer, *brokers)) as address:
        exchange = await ask(address)
    assert exchange.response is not None
    assert exchange.response.size > 20 << 20
    assert len(exchange.messages()[1].body["brokers"]) == 700


@in_loop
async def test_the_limit_is_the_users() -> None:
    async with server(lambda peer: answered(peer, (1, ("h" * 1000, 9092)))) as address:
        with fails(WrongAnswer, "at most 1,000 are taken; --max-response allows more"):
            await ask(address, Settings(max_response=1000))


@pytest.mark.parametrize("rubbish", [b"", b"\xff" * 40, b"\0" * 3, bytes(range(200))])
@in_loop
async def test_rubbish_in_a_valid_frame(rubbish: bytes) -> None:
    """The exchange is delivered, and its findings say what is wrong with it."""
    async with server(saying(struct.pack(">ii", 4 + len(rubbish), 1) + rubbish)) as address:
        exchange = await ask(address)
    assert exchange.response is not None
    assert exchange.all_findings()


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
        (like_a_broker, "it hung up during the TLS handshake; leave --tls out"),
        (like_a_broker_by_reset, "it hung up during the TLS handshake; leave --tls out"),
        (like_a_web_server, "what answers does not speak TLS; leave --tls out"),
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
        with fails(TimedOut, "connected, but no answer to the TLS handshake within 0.25 s", "leave --tls out"):
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

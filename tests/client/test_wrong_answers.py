"""Answers that are none, and odd ones that are: a wrong one ends in one clear line, within the time limit."""

from __future__ import annotations

import asyncio
import struct

import pytest

from kdbg.errors import WrongAnswer
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Settings

from ..cases import for_each
from .faults import HTTP, METADATA, PATIENT, answered, ask, fails
from .servers import Peer, Serve, in_loop, metadata, server

# Answers that are none


def saying(data: bytes) -> Serve:
    """A server that answers anything with these bytes."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        peer.send(data)
        await peer.silence()

    return serve


ALERT = bytes.fromhex("15030300020246")


@for_each(
    ("data", "words"),
    [
        (
            struct.pack(">i", 0x7FFFFFFF),
            "2,147,483,647 bytes (0x7fffffff), more than the limit of 104,857,600; raise --max-",
        ),
        (struct.pack(">i", 0x06400001), "104,857,601 bytes (0x"),
        (struct.pack(">i", -1), "invalid size of -1 bytes (0xffffffff); check that this is a Kafka broker"),
        (struct.pack(">i", -(2**31)), "invalid size of -2,147,483,648 bytes"),
        (struct.pack(">i", 0), "invalid size of 0 bytes"),
        (struct.pack(">i", 3) + b"abc", "invalid size of 3 bytes"),
        (struct.pack(">iii", 8, 99, 0), "response with correlation id 99, expected 1; the response does not match"),
        (struct.pack(">iii", 8, -1, 0), "correlation id -1, expected 1"),
        (HTTP, "the response is an HTTP response; check that this is a Kafka broker"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the response is an SSH banner"),
        (ALERT, "the response is TLS (alert, TLS 1.2 or 1.3); use --tls"),
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
        with fails(WrongAnswer, "the response is an SMTP or FTP greeting"):
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
        with fails(WrongAnswer, "unexpected response with correlation id 1: no request is pending"):
            await connection.answer(connection.send(METADATA, 1))
        await connection.close()
    assert [[finding.kind for finding in exchange.findings] for exchange in seen] == [[], ["unsolicited-response"]]


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
            with fails(
                WrongAnswer, "correlation id 3, expected 2", "brokers must respond in the order of the requests"
            ):
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
        with fails(WrongAnswer, "more than the limit of 1,000; raise --max-response"):
            await ask(address, Settings(max_response=1000))


@pytest.mark.parametrize("rubbish", [b"", b"\xff" * 40, b"\0" * 3, bytes(range(200))])
@in_loop
async def test_rubbish_in_a_valid_frame(rubbish: bytes) -> None:
    """The exchange is delivered, and its findings say what is wrong with it."""
    async with server(saying(struct.pack(">ii", 4 + len(rubbish), 1) + rubbish)) as address:
        exchange = await ask(address)
    assert exchange.response is not None
    assert exchange.all_findings()

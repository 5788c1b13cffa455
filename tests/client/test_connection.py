"""A connection to a broker that behaves: pairing, pipelining, tokens, raw bytes, and who is told of what."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import kdbg
from kdbg.errors import BuildError, Closed, WrongAnswer
from kdbg.exchanges.engine import in_flight, pairing
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Address, Settings
from kdbg.protocol import grammars

from .servers import HOST, Peer, Serve, in_loop, metadata, server

SETTINGS = Settings(timeout=10)
METADATA, PRODUCE, SASL = (grammars.api(name) for name in ("metadata", "produce", "sasl-handshake"))


async def obliging(peer: Peer) -> None:
    """A broker that answers all but produce requests without acks."""
    while True:
        request = await peer.request()
        if request.api is METADATA:
            peer.tell(
                metadata(request, (1, (HOST, 9092)), topics=[{"name": t["name"]} for t in request.body["topics"]])
            )
        elif request.body.get("acks"):
            peer.tell(request.response())


@asynccontextmanager
async def connected(serve: Serve = obliging, settings: Settings = SETTINGS, **told: Any) -> AsyncIterator[Connection]:
    async with server(serve) as address:
        connection = await Connection.open(address, settings, **told)
        yield connection
        await connection.close()


def produce(acks: int) -> dict[str, Any]:
    partitions = [{"index": 0, "records": [{"magic": 2, "records": [{"value": b"x"}]}]}]
    return {"acks": acks, "topic_data": [{"name": "orders", "partition_data": partitions}]}


def topics(exchange: Exchange) -> list[str]:
    return [topic["name"] for topic in exchange.messages()[1].body["topics"]]


# Exchanges


@in_loop
async def test_a_body_in_the_words_of_kafkas_guides() -> None:
    async with connected() as connection:
        exchange = await connection.answer(connection.send(METADATA, 0, {"TopicName": ["orders"]}))
        assert topics(exchange) == ["orders"]
        with pytest.raises(BuildError, match="TopicName: this version has no such field"):
            connection.send(METADATA, 3, {"TopicName": ["orders"]})


@in_loop
async def test_a_body_in_a_form_that_only_a_guide_has() -> None:
    """OffsetCommit v0 with a time stamp."""
    partition = {"partition_index": 0, "committed_offset": 5, "commit_timestamp": 77}
    body = {"group_id": "g", "topics": [{"name": "orders", "partitions": [partition]}]}

    async def answering(peer: Peer) -> None:
        peer.tell((await peer.request()).response())

    async with connected(answering) as connection:
        exchange = await connection.answer(connection.send(grammars.api("offset-commit"), 0, body))
    sent = exchange.messages()[0]
    assert sent.body["topics"][0]["partitions"][0]["commit_timestamp"] == 77
    assert [finding.kind.value for finding in sent.findings] == ["known-variant"]


@in_loop
async def test_an_exchange() -> None:
    async with connected() as connection:
        exchange = await connection.answer(connection.send(METADATA, 1, {"topics": [{"name": "orders"}]}))
        assert exchange.peers.client == connection.client
        assert exchange.peers.broker == connection.broker == connection.address
    assert (exchange.api, exchange.version, exchange.correlation_id, exchange.client_id) == (METADATA, 1, 1, "kdbg")
    assert topics(exchange) == ["orders"]
    assert exchange.all_findings() == []
    assert exchange.latency is not None
    assert exchange.latency >= 0


@in_loop
async def test_many_in_flight_each_gets_its_own_answer() -> None:
    async with connected() as connection:
        futures = [connection.send(METADATA, 1, {"topics": [{"name": f"t{n}"}]}) for n in range(500)]
        exchanges = await asyncio.gather(*map(connection.answer, reversed(futures)))
    assert [topics(exchange) for exchange in reversed(exchanges)] == [[f"t{n}"] for n in range(500)]


@in_loop
async def test_more_in_flight_than_a_capture_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up for want of room: what waits is up to whoever sends."""
    monkeypatch.setattr(in_flight, "MAX_IN_FLIGHT", 10)
    monkeypatch.setattr(pairing, "LOOK", 2)
    async with connected() as connection:
        futures = [connection.send(METADATA, 1) for _ in range(50)]
        exchanges = await asyncio.gather(*map(connection.answer, futures))
    assert all(exchange.response is not None for exchange in exchanges)


@in_loop
async def test_a_request_that_wants_no_answer_is_done_at_once() -> None:
    async with connected() as connection:
        future = connection.send(PRODUCE, 8, produce(0))
        assert future.done()
        exchange = await connection.answer(future)
    assert not exchange.answered
    assert exchange.response is None
    assert exchange.findings == []


@in_loop
async def test_no_acks_among_others() -> None:
    """Each future is its own request's, though requests without acks are done before those that wait."""
    async with connected() as connection:
        wanted = [(METADATA, {}), (PRODUCE, produce(1)), (PRODUCE, produce(0)), (METADATA, {}), (PRODUCE, produce(0))]
        futures = [connection.send(api, 8 if api is PRODUCE else 1, body) for api, body in wanted]
        exchanges = await asyncio.gather(*map(connection.answer, futures))
    assert [exchange.correlation_id for exchange in exchanges] == [1, 2, 3, 4, 5]
    assert [exchange.response is not None for exchange in exchanges] == [True, True, False, True, False]


@in_loop
async def test_what_was_sent_goes_out_before_the_end() -> None:
    """Produce without acks, then close: the record must arrive."""
    arrived: asyncio.Queue[int] = asyncio.Queue()

    async def count(peer: Peer) -> None:
        while True:
            arrived.put_nowait(len(await peer.frame()))

    async with connected(count) as connection:
        body = produce(0)
        body["topic_data"][0]["partition_data"][0]["records"][0]["records"][0]["value"] = bytes(5 << 20)
        connection.send(PRODUCE, 8, body)
        await connection.close()
        assert await arrived.get() > 5 << 20


@in_loop
async def test_a_body_that_does_not_fit() -> None:
    async with connected() as connection:
        with pytest.raises(BuildError, match="topics"):
            connection.send(METADATA, 1, {"topics": 5})
        assert (await connection.answer(connection.send(METADATA, 1))).response is not None, "it can still be used"


@in_loop
async def test_a_body_of_bytes_and_a_version_nobody_knows() -> None:
    async def echo(peer: Peer) -> None:
        while True:
            frame = await peer.frame()
            peer.tell(frame[4:8] + frame[8:])

    async with connected(echo) as connection:
        known = await connection.answer(connection.send(METADATA, 1, data=b"\0\0\0\0"))
        unknown = await connection.answer(connection.send(METADATA, 99, data=b"who knows"))
    assert known.request is not None
    assert known.request.data.endswith(b"\0\0\0\0")
    assert unknown.version == 99
    assert {finding.kind for finding in unknown.all_findings()} == {"unknown-version"}


@pytest.mark.parametrize("client_id", [None, "", "me"])
@in_loop
async def test_the_client_id_is_the_users(client_id: str | None) -> None:
    async with connected(settings=Settings(client_id=client_id)) as connection:
        exchange = await connection.answer(connection.send(METADATA, 1))
    header = exchange.messages()[0].header
    assert header is not None
    assert header["client_id"] == exchange.client_id == client_id


@in_loop
async def test_connections_are_numbered() -> None:
    async with connected() as one, connected() as other:
        exchanges = [await each.answer(each.send(METADATA, 1)) for each in (one, other, one)]
    assert exchanges[0].peers.number == exchanges[2].peers.number < exchanges[1].peers.number


# Questions of the client's own


@in_loop
async def test_asking() -> None:
    async with connected() as connection:
        body = await connection.ask(METADATA, 1, {"topics": [{"name": "orders"}]})
    assert body["topics"][0]["name"] == "orders"


@pytest.mark.parametrize("rubbish", [b"", b"\0\0\0\1\0", b"\xff\xff\xff\xff", b"\0\0\0\0" * 2 + b"\x7f\xff\xff\xff"])
@in_loop
async def test_asking_and_getting_rubbish(rubbish: bytes) -> None:
    async def serve(peer: Peer) -> None:
        peer.tell(struct.pack(">i", (await peer.request()).correlation_id) + rubbish)
        await peer.silence()

    async with connected(serve) as connection:
        with pytest.raises(WrongAnswer, match=r"the response to Metadata v1 cannot be decoded: .*is a Kafka broker"):
            await connection.ask(METADATA, 1, {})


@in_loop
async def test_asking_and_getting_a_byte_too_many() -> None:
    """As librdkafka's mock cluster answers: odd, but it can be read."""

    async def serve(peer: Peer) -> None:
        peer.tell(metadata(await peer.request(), (1, (HOST, 9092))) + b"\0")
        await peer.silence()

    async with connected(serve) as connection:
        assert (await connection.ask(METADATA, 1, {}))["brokers"][0]["node_id"] == 1


# Who is told


@in_loop
async def test_seen_is_told_of_each_exchange_in_turn() -> None:
    seen: list[Exchange] = []
    async with connected(seen=seen.append) as connection:
        futures = [connection.send(METADATA, 1) for _ in range(5)]
        exchanges = await asyncio.gather(*map(connection.answer, futures))
        assert seen == exchanges
    assert seen == exchanges, "nothing was left at the end"


@in_loop
async def test_tap_is_told_of_every_byte() -> None:
    said: dict[bool, bytes] = {True: b"", False: b""}
    times: list[int] = []

    def tap(connection: Connection, from_client: bool, data: bytes, time: int) -> None:
        assert connection.client[0] == HOST
        said[from_client] += data
        times.append(time)

    async with connected(tap=tap) as connection:
        exchanges = [await connection.answer(connection.send(METADATA, 1)) for _ in range(3)]
    for from_client in (True, False):
        halves = [exchange.request if from_client else exchange.response for exchange in exchanges]
        assert said[from_client] == b"".join(struct.pack(">i", len(half.data)) + half.data for half in halves if half)
    assert times == sorted(times)


@in_loop
async def test_tap_is_told_of_answers_that_break_off() -> None:
    async def half(peer: Peer) -> None:
        await peer.request()
        peer.send(b"\0\0\0\x20 half of it")

    heard = bytearray()
    async with connected(half, tap=lambda _, ours, data, time: None if ours else heard.extend(data)) as connection:
        with pytest.raises(Closed):
            await connection.answer(connection.send(METADATA, 1))
    assert heard == b"\0\0\0\x20 half of it"


# SASL tokens, alone in their frames


@in_loop
async def test_tokens_after_a_handshake() -> None:
    async def serve(peer: Peer) -> None:
        peer.tell((await peer.request()).response({"mechanisms": ["PLAIN"]}))
        for answer in (b"challenge", b"", b"abc"):
            assert await peer.frame() == b"token"
            peer.tell(answer)
        peer.tell(metadata(await peer.request()))
        await peer.silence()

    async with connected(serve) as connection:
        await connection.answer(connection.send(SASL, 0, {"mechanism": "PLAIN"}))
        exchanges = [await connection.answer(connection.send_frame(b"token")) for _ in range(3)]
        last = await connection.answer(connection.send(METADATA, 1))
    assert [exchange.response.data for exchange in exchanges if exchange.response] == [b"challenge", b"", b"abc"]
    assert last.response is not None


# Bytes as they are


def request(number: int) -> bytes:
    header = {"correlation_id": number, "client_id": "kdbg"}
    frame = kdbg.encode({"topics": []}, api="metadata", version=1, direction="request", header=header)
    return struct.pack(">i", len(frame)) + frame


@in_loop
async def test_raw_bytes_and_what_comes_back() -> None:
    async with connected() as connection:
        connection.write(request(7) + request(8))
        first, second = [await connection.read_raw(5) for _ in range(2)]
        assert connection.open_
    assert [int.from_bytes(data[4:8], "big") for data in (first, second)] == [7, 8]
    assert len(first) == 4 + int.from_bytes(first[:4], "big")


@in_loop
async def test_raw_bytes_that_nobody_answers() -> None:
    async with connected(Peer.silence) as connection:
        connection.write(b"\0\0\0\4 who")
        assert await connection.read_raw(0.05) == b""
        assert connection.open_


@pytest.mark.parametrize("said", [b"", b"\0\0", b"\0\0\0\x20 half", b"HTTP/1.1 400 Bad Request", b"\xff" * 9])
@in_loop
async def test_raw_bytes_that_a_broker_hangs_up_on(said: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.reader.read(1)
        peer.send(said)

    async with connected(serve) as connection:
        connection.write(b"?")
        assert await connection.read_raw(5) == said
        assert not connection.open_


@in_loop
async def test_raw_bytes_to_a_broker_that_resets() -> None:
    async def serve(peer: Peer) -> None:
        await peer.reader.read(1)
        peer.reset()

    async with connected(serve) as connection:
        connection.write(b"?")
        assert await connection.read_raw(5) == b""
        assert not connection.open_
        connection.write(b"this goes nowhere")


@in_loop
async def test_raw_bytes_are_taken_only_up_to_the_limit() -> None:
    async def flood(peer: Peer) -> None:
        peer.send(b"\xff" * 100_000)
        await peer.silence()

    async with connected(flood, Settings(max_response=50_000)) as connection:
        connection.write(b"?")
        assert len(await connection.read_raw(5)) >= 50_000


@in_loop
async def test_ipv6() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        peer.tell(metadata(await peer.request()))
        writer.close()

    try:
        listening = await asyncio.start_server(serve, "::1", 0)
    except OSError:
        pytest.skip("no IPv6 here")
    async with listening:
        address: Address = listening.sockets[0].getsockname()[:2]
        connection = await Connection.open(address, SETTINGS)
        assert (await connection.answer(connection.send(METADATA, 1))).peers.broker == address
        await connection.close()

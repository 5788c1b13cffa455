"""What a mock reads of a connection and what it sends, at both sides of its bounds."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kdbg.live.frames import Decision
from kdbg.live.listeners import Listening
from kdbg.live.mocking.answers import Reply
from kdbg.live.mocking.serve import Mock, Talk, judge

from .test_ends import Transport
from .test_mocking import recording
from .test_relay import METADATA, frame

MIB = 1 << 20


def size(number: int) -> bytes:
    return struct.pack(">i", number)


class Answering:
    """A mock that notes what its connections tell it; each request is answered by `reply`."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.got, self.over, self.tap = deque(replies), list[Any](), 0, None
        self.connections = 0
        self.answers = SimpleNamespace(
            reply=self._reply, garbage=self._garbage, cut=lambda data: self.got.append(("cut", data))
        )

    def _reply(self, data: bytes) -> Reply:
        self.got.append(data)
        return self.replies.popleft() if len(self.replies) > 1 else self.replies[0]

    def _garbage(self, data: bytes, waits: bool) -> None:
        self.got.append(("garbage", data, waits))

    def ended(self, talk: Talk) -> None:
        self.over += 1


def talking(*replies: Reply) -> tuple[Talk, Transport, Answering]:
    mock, transport = Answering(*replies), Transport()
    talk = Talk(cast(Any, mock), ("b", 1))
    talk.connection_made(cast(Any, transport))
    return talk, transport, mock


def test_a_mock_closes_after_as_many_bytes_as_a_broker_reads() -> None:
    garbage = b"garbage of no API that there is"
    for announced, waits, done in ((100 * MIB, True, []), (100 * MIB + 1, False, ["abort"]), (-1, False, ["abort"])):
        talk, transport, mock = talking(Reply(b"x"))
        data = size(announced) + b"\xff" * 2000
        talk.data_received(data)
        assert (transport.done, mock.got) == (done, [("garbage", data, waits)])
    talk, transport, mock = talking(Reply(b"x"))
    talk.data_received(size(0))
    assert (transport.done, mock.got) == ([], [b""])
    talk, transport, mock = talking(Reply(b"x"))
    talk.data_received(size(2100) + b"\xff" * 2000)
    talk.data_received(b"\xff" * 99)
    assert transport.done == []
    talk.data_received(b"\xff")
    assert (transport.done, len(mock.got)) == (["abort"], 1)
    talk.data_received(garbage)
    assert len(mock.got) == 1
    talk, transport, mock = talking(Reply(b"x"))
    data = size(2000) + b"\xff" * 2000
    talk.data_received(data)
    assert (transport.done, mock.got) == (["abort"], [("garbage", data, False)]), "all that a broker reads has come"
    assert [judge(len(each), each) for each in (METADATA[4:], garbage, bytes(3))] == [Decision.HOLD] * 3
    assert [judge(5000, each) for each in (b"\xff" * 1024, b"\0", METADATA[4:])] == [
        Decision.NO_FRAME, Decision.MORE, Decision.HOLD]  # fmt: skip


def test_a_mock_reads_no_further_while_1000_answers_wait() -> None:
    talk, transport, mock = talking(Reply(b"late", 60.0))
    loop = asyncio.new_event_loop()

    async def work() -> None:
        talk.data_received(METADATA * 1000)
        assert transport.done == []
        talk.data_received(METADATA)
        assert transport.done == ["pause"]
        talk._go_on()
        assert (transport.written, transport.done[-1]) == (frame(b"late"), "resume")
        talk.connection_lost(None)
        assert mock.over == 1

    loop.run_until_complete(work())
    loop.close()


def test_answers_of_a_mock_go_out_in_their_order_and_a_closed_connection_gets_none() -> None:
    talk, transport, mock = talking(Reply(b"a"), Reply(), Reply(b"b"), Reply(hang_up=True), Reply(b"c"))
    talk.pause_writing()
    talk.data_received(METADATA * 5)
    assert (transport.written, transport.done) == (b"", ["pause"])
    talk.resume_writing()
    assert (transport.written, transport.done) == (frame(b"a") + frame(b"b"), ["pause", "close"])
    talk.data_received(METADATA)
    assert mock.got == [METADATA[4:]] * 5
    talk, transport, mock = talking(Reply(b"a"))
    talk.data_received(METADATA[:20])
    talk.connection_lost(None)
    assert mock.got == [("cut", METADATA[:20])]


# A mock's sockets


def serving(work: Callable[[Mock, list[str], list[socket.socket]], Awaitable[None]]) -> None:
    """Do something with a mock that listens, and with clients of it; all of them are closed then."""

    async def run() -> None:
        said, socks = list[str](), list[socket.socket]()
        mock = Mock(recording("first-contact"), Listening(), say=said.append)
        (address,) = mock.listen([("kafka", 9092)])
        assert said == [f"listening on 127.0.0.1:{address[1]} for broker kafka:9092"]
        for _ in range(5):
            socks.append(socket.create_connection(address))
        await work(mock, said, socks)
        for sock in socks:
            sock.close()
        await mock.close()

    asyncio.run(run())


@pytest.mark.parametrize(("files", "room"), [(24, 2), (25, 3)])
def test_connections_of_a_mock_leave_16_descriptors(files: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 are open, 1 is the listener's, each connection has 1; one that ends makes room for another."""
    monkeypatch.setattr("kdbg.live.listeners.open_files", lambda: 5)
    monkeypatch.setattr("kdbg.live.listeners.allow_many_files", lambda: files)

    async def work(mock: Mock, said: list[str], socks: list[socket.socket]) -> None:
        while mock.connections < room or len(said) < 2:
            await asyncio.sleep(0.001)
        assert said[1].startswith(
            f"new connections are closed at once: {room} are open, and the limit is {files} open files"
        )
        assert len(mock._sessions) == mock.connections == room
        for sock in socks:
            sock.close()
        while mock._sessions or mock._tasks:
            await asyncio.sleep(0.001)
        socks.append(socket.create_connection(mock.addresses.stand_ins["kafka", 9092]))
        while mock.connections == room:
            await asyncio.sleep(0.001)

    serving(work)


def test_a_broker_that_a_mock_cannot_stand_for_is_named_once() -> None:
    async def work(mock: Mock, said: list[str], socks: list[socket.socket]) -> None:
        assert mock.addresses.change("kafka-2", 9092)[0] == "127.0.0.1"
        mock._ports._listening = Listening("192.0.2.1")
        assert [mock.addresses.change("kafka-3", 9092) for _ in range(2)] == [("kafka-3", 9092)] * 2
        (line,) = said[2:]
        assert line.startswith("clients connect to broker kafka-3:9092 directly: cannot listen on 192.0.2.1:0: ")

    serving(work)

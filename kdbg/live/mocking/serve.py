"""The mock's sockets: a listener for each broker of the capture, and connections whose requests `Answers` answers."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from ...capture.packet import Endpoint
from ...exchanges.engine.requests import read_header
from ..frames import FRONT, SIZE, Decision, Frames
from ..listeners import Addresses, BrokerServer, Listening
from ..session import Tap
from .answers import Answers, Reply
from .recording import Recording

LARGEST = 100 << 20
"""Bytes of the largest request that brokers read unless configured otherwise (socket.request.max.bytes)."""
HANDSHAKE = 10.0
"""Seconds that a client has for its TLS handshake."""
MOST_WAITING = 1000
"""Answers of a connection that wait for their time before it is read no further."""


class Mock(BrokerServer["Talk"]):
    """Answers clients until it is closed. `tell` is told what is wrong in requests."""

    connections: int = 0
    each = 1

    def __init__(
        self, recording: Recording, listening: Listening, *, tap: Tap | None = None,
        say: Callable[[str], None] = lambda line: None, tell: Callable[[str], None] = lambda line: None,
    ) -> None:  # fmt: skip
        super().__init__(listening, say)
        self.addresses = Addresses(self._open)
        self.answers: Answers = Answers(recording, self.addresses.change, say, tell)
        self.tap = tap

    async def close(self) -> None:
        """Take no more connections, end those that there are."""
        await self._close_listeners()
        for talk in [one for one in self._sessions if one.is_connected]:
            talk.close()
        await self._end_tasks()

    def _take(self, broker: Endpoint, sock: socket.socket) -> None:
        talk = Talk(self, broker)
        self._begin(talk, talk, sock, HANDSHAKE)

    def ended(self, talk: Talk) -> None:
        """Take note that a connection has ended."""
        self._sessions.discard(talk)


def judge(size: int, front: bytes) -> Decision:
    """Return whether these are the bytes of a request; they are held until it is whole, as all short ones are."""
    believed, header = read_header(front, 0, size)
    if header is not None or size <= FRONT:
        return Decision.HOLD
    return Decision.MORE if believed is None and len(front) < min(size, FRONT) else Decision.NO_FRAME


class Talk(asyncio.Protocol):
    """One connection: requests in, answers out in their order, each at its time."""

    def __init__(self, mock: Mock, broker: Endpoint) -> None:
        self._mock, self._broker = mock, broker
        self._frames = Frames(judge)
        self._waiting: deque[Reply] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self.is_connected = False
        self._client: Endpoint = ("", 0)
        self._number = 0
        self._full = self._paused = False
        self._skipped: int | None = None
        """Bytes of what is no request that a broker would still read; None while requests come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_connected = True
        peer = transport.get_extra_info("peername")
        self._client = peer[:2] if peer is not None else self._client
        self._mock.connections += 1
        self._number = self._mock.connections

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._tell(True, data)
        for piece in self._frames.feed(data):
            if self._skipped is not None or not piece.whole:
                self._skip(bytes(piece.data))
                break
            reply = self._mock.answers.reply(bytes(piece.data)[4:])
            if reply.data is not None or reply.hang_up:
                self._waiting.append(reply)
        self._work_off()

    def _skip(self, data: bytes) -> None:
        """Take bytes that are no request as a broker does: as many as the size before them says, then it closes."""
        if self._skipped is None:
            size = int.from_bytes(data[:4], signed=True)
            self._skipped = (size + 4) * (size <= LARGEST)
            self._mock.answers.garbage(data, waits=self._skipped > len(data))
        self._skipped -= len(data)
        if self._skipped <= 0:
            self.close()

    def pause_writing(self) -> None:
        self._full = True
        self._read()

    def resume_writing(self) -> None:
        self._full = False
        self._work_off()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        for piece in self._frames.end():
            self._mock.answers.cut(bytes(piece.data))
        if self._mock.tap is not None:
            self._mock.tap.ended(self._client, self._broker, time.time_ns(), self._number)
        self._mock.ended(self)

    def close(self) -> None:
        """Close the connection, which is connected, at once, whatever it is due."""
        self._waiting.clear()
        self._transport.abort()

    def _work_off(self) -> None:
        """Give the answers that are due; the first that is not has all others wait."""
        while self._waiting and self._timer is None and not self._full and not self._transport.is_closing():
            reply = self._waiting.popleft()
            if reply.seconds:
                self._waiting.appendleft(reply._replace(seconds=0.0))
                self._timer = asyncio.get_running_loop().call_later(reply.seconds, self._go_on)
            elif reply.hang_up:
                self._transport.close()
            else:
                assert reply.data is not None
                data = SIZE.pack(len(reply.data)) + reply.data
                self._tell(False, data)
                self._transport.write(data)
        self._read()

    def _go_on(self) -> None:
        self._timer = None
        self._work_off()

    def _read(self) -> None:
        """Read this connection only while few of its answers wait."""
        wanted = self._full or len(self._waiting) > MOST_WAITING
        if wanted != self._paused and not self._transport.is_closing():
            self._paused = wanted
            (self._transport.pause_reading if wanted else self._transport.resume_reading)()

    def _tell(self, from_client: bool, data: bytes) -> None:
        if self._mock.tap is not None:
            self._mock.tap.tap(self._client, self._broker, from_client, data, time.time_ns(), self._number)

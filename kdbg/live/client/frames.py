"""What a client sends and receives: when each message's bytes went out, and what a broker sends, cut into frames."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_size = struct.Struct(">i").unpack_from


class Incoming:
    """Feed it with `feed`, and `take` frames until there are none; `times` are nanoseconds since the epoch."""

    times: tuple[int, int] = (0, 0)
    """When the first and the last byte came of what was taken latest."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._first = self._last = 0

    def feed(self, data: bytes, time: int) -> None:
        """Add bytes that came at `time` (ns since the epoch)."""
        if not self._data:
            self._first = time
        self._last = time
        self._data += data

    @property
    def received(self) -> int:
        """How many bytes of the next frame are there, its size included; 0 between frames."""
        return len(self._data)

    @property
    def size(self) -> int | None:
        """What the next frame says its size is, the 4 bytes that say so not counted; None until they are there."""
        return int(_size(self._data)[0]) if len(self._data) >= 4 else None

    @property
    def head(self) -> bytes:
        """The first bytes that were not taken: enough to see what they are."""
        return bytes(self._data[:16])

    def take(self) -> bytes | None:
        """Take the next frame and return it without its size; None while it is incomplete."""
        size = self.size
        if size is None or size < 0 or len(self._data) < 4 + size:
            return None
        return self._cut(4 + size)[4:]

    def take_raw(self) -> bytes:
        """Take the next frame and return it with its size, or as many of its bytes as are there."""
        size = self.size
        return self._cut(4 + size if size is not None and size >= 0 else len(self._data))

    def _cut(self, end: int) -> bytes:
        """Take the first `end` bytes and set `times`; bytes after them came with the last of them, or later."""
        data, self.times = bytes(self._data[:end]), (self._first, self._last)
        del self._data[:end]
        self._first = self._last
        return data


class TimedSocket(socket.socket):
    """A TCP socket: `sent` counts the bytes that the kernel took, `offered` is when it was offered the latest (ns).

    `on_sent` is called each time; it must not raise, as the event loop is in the middle of sending.
    """

    sent: int = 0
    offered: int = 0

    def __init__(self, family: int) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self.on_sent: Callable[[], None] = lambda: None

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send as `socket.send` does; return how many bytes the kernel took."""
        offered = time.time_ns()
        return self._count(super().send(data, flags), offered)

    def sendmsg(self, buffers: Iterable[Any], *more: Any) -> int:
        """Send as `socket.sendmsg` does; return how many bytes the kernel took."""
        offered = time.time_ns()
        return self._count(super().sendmsg(buffers, *more), offered)

    def _count(self, count: int, offered: int) -> int:
        self.sent, self.offered = self.sent + count, offered
        self.on_sent()
        return count


@dataclass(slots=True, eq=False)
class Sending:
    """A message on its way out: `first_time` and `last_time` are when its first and last byte left (ns).

    Until then both are when it was written, or when the latest part of it left. `start` and `end` are its place in the
    stream of the socket; `end` is None while nobody knows.
    """

    data: bytes
    start: int
    gone: Callable[[Sending], None]
    first_time: int
    last_time: int
    end: int | None = None


class Outgoing:
    """The messages of a connection that have not left whole.

    `empty` is set while there are none; `lost` is true once some never will leave.
    `layers` are the transports that bytes pass through, the one to write to first: TLS if it is spoken, then TCP.
    """

    def __init__(self, sock: TimedSocket, *layers: asyncio.Transport) -> None:
        self.layers = layers
        self._socket = sock
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Sending] = deque()
        self._seen = sock.sent
        self.empty: asyncio.Event = asyncio.Event()
        self.lost: bool = False
        self.empty.set()
        sock.on_sent = self._left

    @property
    def unsent(self) -> int:
        """Bytes that were written and not sent."""
        return sum(layer.get_write_buffer_size() for layer in self.layers)

    def write(self, data: bytes, gone: Callable[[Sending], None]) -> Sending:
        """Write a message; `gone` is told once its last byte has left, which may be before this returns."""
        now = time.time_ns()
        sending = Sending(data, self._socket.sent + self.unsent, gone, now, now)
        self._waiting.append(sending)
        self.empty.clear()
        self.layers[0].write(data)
        sending.end = self._socket.sent + self.unsent
        self._settle()
        return sending

    def abandon(self) -> list[Sending]:
        """Forget what has not left whole; return what of it has left (in TLS, a few bytes less)."""
        self.lost = bool(self._waiting)
        begun = [sending for sending in self._waiting if sending.start < self._socket.sent]
        for sending in begun:
            sending.data = sending.data[: self._socket.sent - sending.start]
        self._waiting.clear()
        self.empty.set()
        return begun

    def _left(self) -> None:
        """Set the times of the messages that the latest part belongs to; the socket calls this after each part."""
        before, self._seen = self._seen, self._socket.sent
        for sending in self._waiting:
            if sending.start >= self._socket.sent:
                break
            if sending.start >= before:
                sending.first_time = self._socket.offered
            sending.last_time = self._socket.offered
        if self._waiting and self._waiting[0].end is not None:
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        """Call `gone` for the messages that have left whole.

        What was never counted is taken to have left: the event loop sends past the socket, or sends no more.
        """
        while self._waiting:
            first, sent = self._waiting[0], self._socket.sent
            if first.end is None or (sent and first.end > max(sent, first.start)):
                return
            self._waiting.popleft().gone(first)
        self.empty.set()

"""One of the two sockets of a session: sends what stands in its queue, in order and no faster than the peer takes it.

asyncio loses its own state of a TLS connection that is closed twice, so nothing is asked of a transport that closes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

from ..capture.write import Buffer
from .effects import HangUp, Hold, Out, Send, Wait

RESET = struct.pack("ii", 1, 0)
"""The linger option of a socket that is closed by a reset."""
BUFFER = 1 << 20
"""Bytes that TLS takes ahead of what the peer does."""
AHEAD = 1 << 16
"""Bytes that asyncio copies of what a plain socket does not take, to send them once it does; the others stay queued."""


class QueueOwner(Protocol):
    """What an end belongs to."""

    def buffer(self) -> memoryview:
        """Return the memory that bytes are read into."""

    def connected(self, end: End) -> None:
        """Take note that an end is connected."""

    def received(self, end: End, count: int) -> None:
        """Take so many bytes from an end, which are in the buffer."""

    def ended(self, end: End) -> None:
        """Take note that an end sends no more."""

    def lost(self, end: End, error: Exception | None) -> None:
        """Take note that an end is closed, with an error if it was broken off."""

    def pump(self) -> None:
        """Do what can be done with both ends."""

    def hang_up(self) -> None:
        """Close both ends."""


class End(asyncio.BufferedProtocol):
    """`out` is what is to be done with it; `is_full`: the peer takes no more for now. `shown` gets what is sent."""

    transport: asyncio.Transport | None
    out: Out
    is_full: bool
    is_lost: bool
    has_ended: bool
    """Whether nothing more comes from this end."""

    def __init__(self, owner: QueueOwner, out: Out, shown: Callable[[Buffer], None] | None = None) -> None:
        self.out, self.transport = out, None
        self.has_ended = self.is_full = self.is_lost = False
        self._owner, self._shown = owner, shown
        self._end_sent = self._closing = False
        self._reads = True
        self._timer: asyncio.TimerHandle | None = None
        self._plain: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is connected, and nobody closes it."""
        return self.transport is not None and not self.is_lost and not self.transport.is_closing()

    @property
    def is_done(self) -> bool:
        """Whether nothing more comes from this end, and nothing more goes there."""
        return self.has_ended and self._end_sent

    @property
    def ends_singly(self) -> bool:
        """Whether it can be told that nothing more comes, and still be read (TCP can, asyncio's TLS cannot)."""
        return self.transport is not None and self.transport.can_write_eof()

    def work_off(self) -> None:
        """Do what stands in the queue, up to where time must pass, or the peer takes no more."""
        if self.transport is None:
            return
        if not self.is_open and not self._closing:
            self.discard()
        while self.out and self._timer is None and not self.is_full:
            effect = self.out.popleft()
            if isinstance(effect, Send):
                self._send(effect)
            elif isinstance(effect, Wait):
                self._timer = asyncio.get_running_loop().call_later(effect.seconds, self._go_on)
            elif isinstance(effect, HangUp):
                self._owner.hang_up()
            elif effect.then is None:
                self.out.appendleft(effect)
                break
            else:
                self.out.extendleft(reversed(effect.then))
        if self._closing and not self.out and self.is_open:
            self.transport.close()

    def discard(self) -> None:
        """Empty the queue of an end that is closed; what the other end has sent to it is shown all the same."""
        while self.out:
            effect = self.out.popleft()
            if isinstance(effect, Send):
                self._show(effect)
            elif isinstance(effect, Hold) and effect.then is not None:
                self.out.extendleft(reversed(effect.then))

    def give_up_held(self) -> None:
        """Take out of the queue what is held, and what waits after it: no client is there that could use it."""
        if any(isinstance(effect, Hold) for effect in self.out):
            while not isinstance(self.out.pop(), Hold) or any(isinstance(effect, Hold) for effect in self.out):
                pass

    def _show(self, effect: Send) -> None:
        if self._shown is not None and effect.seen:
            self._shown(effect.seen)

    def _send(self, effect: Send) -> None:
        """Send bytes; what the socket does not take stays in the queue."""
        self._show(effect)
        data = effect.data
        if not self.is_open or not data:
            return
        assert self.transport is not None
        written = self._written(data) if self._plain is not None else 0
        if written == len(data):
            return
        last = written + AHEAD if self._plain is not None else len(data)
        if last < len(data):
            own = data if isinstance(data, memoryview) and isinstance(data.obj, bytes) else memoryview(bytes(data))
            self.out.appendleft(Send(own[last:], b""))
        self.transport.write(bytes(data[written:last]))  # `pause_writing` is called where that has to wait

    def _written(self, data: Buffer) -> int:
        """Give bytes to the socket, and return how many it takes; an error is the transport's, which meets it again."""
        assert self._plain is not None
        try:
            return os.write(self._plain, data)
        except OSError:
            return 0

    def read_while(self, wanted: bool) -> None:
        """Read this end only while that is wanted."""
        if self.is_open and wanted != self._reads:
            assert self.transport is not None
            self._reads = wanted
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def send_end(self) -> None:
        """Tell this end that nothing more will come; where it cannot be read any more then, close it."""
        if self.transport is None or self._end_sent:
            return
        self._end_sent = True
        if not self.is_open:
            return
        if self.ends_singly:
            with suppress(OSError):  # the peer is gone already, which `connection_lost` says soon
                self.transport.write_eof()
        else:
            self.transport.close()

    def close(self, *, broken: bool = False) -> None:
        """Close this end once its queue is empty; where it is `broken` off and nothing waits, by a reset."""
        if not self.is_open:
            return
        assert self.transport is not None
        if broken and not self.out and not self.transport.get_write_buffer_size():
            sock = self.transport.get_extra_info("socket")
            if sock is not None:  # otherwise TLS has lost it, which `connection_lost` says soon
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.transport.abort()
        elif self.out:
            self._closing = True
        else:
            self.transport.close()

    def break_off(self) -> None:
        """Close this end at once, whatever waits for it."""
        self.out.clear()
        if self.transport is not None and not self.is_lost:
            self.transport.abort()

    def _go_on(self) -> None:
        self._timer = None
        self._owner.pump()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        secure = transport.get_extra_info("sslcontext") is not None
        if not secure and (sock := transport.get_extra_info("socket")) is not None:
            self._plain = sock.fileno()
        self.transport.set_write_buffer_limits(high=BUFFER if secure else 0)
        self._owner.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._owner.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._owner.received(self, nbytes)

    def eof_received(self) -> bool:
        self._owner.ended(self)
        return self.ends_singly

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._owner.pump()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost, self._plain, self.is_full = True, None, False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._owner.lost(self, error)

"""One client's connection through the proxy, at its two sockets: what the relay says is done, in order and no faster.

Either end that takes no more stops the other from being read, so that a slow peer is as slow as it is without kdbg.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

from ..capture.write import Buffer
from ..messages.peers import Peers
from ..wire.readings.endpoints import Change
from .addresses import Address
from .holding import Desk, Holder
from .relay import HangUp, Hold, Meddler, Out, Relay, Send, Wait, pending

RESET = struct.pack("ii", 1, 0)
"""The linger option of a socket that is closed by a reset."""
NOBODY = Peers(0, ("", 0), ("", 0))
MOST_PENDING = 1 << 20
"""Bytes that stand in a queue before its source is read no further; a whole frame may be more."""
BUFFER = 1 << 20
"""Bytes that are given to a socket ahead of what it takes."""
ROOM = 1 << 20
"""Bytes that are read at once, at most; half as many cost a tenth more on the way through."""
LARGE = 1 << 14
"""Bytes from which on they are not copied on their way through."""


class Tap(Protocol):
    """Who is told of what is said. `connection` numbers connections: clients use their ports again."""

    def tap(
        self, client: Address, broker: Address, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take bytes as the client sent them, or as it gets them; a view of them holds only until this returns."""

    def ended(self, client: Address, broker: Address, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""


class Session:
    """A client and its broker, `peers` as soon as that is known.

    `made` is called once the client has connected, which is read no further until the broker is there as well; `done`
    once both ends are closed. `room` is what both ends are read into; sessions of one event loop may share it.
    """

    def __init__(
        self,
        change: Change | None,
        faults: Callable[[Callable[[], Peers]], Meddler | None],
        tap: Tap | None,
        made: Callable[[Session], None],
        done: Callable[[Session], None],
        desk: Desk | None = None,
        room: bytearray | None = None,
    ) -> None:
        self.relay = relay = Relay(
            change, faults(lambda: self.peers), singly=desk is not None, own=lambda frame: self.told(True, frame)
        )
        self.holder: Holder | None = desk.holder(lambda: self.peers, relay, self.pump) if desk is not None else None
        relay.holder = self.holder
        self.tap, self.room = tap, memoryview(room if room is not None else bytearray(ROOM))
        self.peers = NOBODY
        self.client = End(self, relay.to_client, is_client=True)
        self.broker = End(self, relay.to_broker, is_client=False)
        self._made, self._done = made, done
        self._over = False

    def connected(self, end: End) -> None:
        """Take note that an end is connected: the client first."""
        if end.is_client:
            end.read_while(False)
            self._made(self)

    def received(self, end: End, count: int) -> None:
        """Take so many bytes that came from an end, and stand in `room`.

        They are copied, unless they are many and go out at once.
        """
        data: Buffer = self.room[:count]
        other = self.broker if end.is_client else self.client
        if count < LARGE or other.transport is None or other.out or self.relay.singly:
            data = bytes(data)
        if end.is_client:
            self.told(True, data)
            self.relay.from_client(data)
        else:
            self.relay.from_broker(data)
        self.pump()

    def ended(self, end: End) -> None:
        """Take note that an end sends no more."""
        self._take_end(end)
        self.pump()

    def _take_end(self, end: End) -> None:
        end.has_ended = True
        (self.relay.client_ended if end.is_client else self.relay.broker_ended)()

    def told(self, from_client: bool, data: Buffer) -> None:
        """Tell the tap of bytes."""
        if self.tap is not None:
            number, client, broker, *_ = self.peers
            self.tap.tap(client, broker, from_client, data, time.time_ns(), number)

    def pump(self) -> None:
        """Do what stands in the queues, as far as it is due."""
        self.client.work_off()
        self.broker.work_off()
        for end, other in ((self.client, self.broker), (self.broker, self.client)):
            end.read_while(pending((other.out,)) < MOST_PENDING and not other.is_full)
            if other.has_ended and not end.out:
                end.send_end()
        if self.client.is_done and self.broker.is_done:
            self.hang_up()

    def lost(self, end: End, error: Exception | None) -> None:
        """Take note that an end is gone; with an error the other is broken off too, else it gets what it is due."""
        other = self.broker if end.is_client else self.client
        if not end.has_ended:
            self._take_end(end)
            if error is None:
                self.pump()
            else:
                other.work_off()
                other.give_up_held()
        end.out.clear()
        other.close(broken=error is not None)
        if not self._over and (other.transport is None or other.is_lost):
            self._over = True
            if self.holder is not None:
                self.holder.ended()
            if self.tap is not None:
                number, client, broker, *_ = self.peers
                self.tap.ended(client, broker, time.time_ns(), number)
            self._done(self)

    def hang_up(self, *, broken: bool = False) -> None:
        """Close both ends."""
        for end in (self.client, self.broker):
            end.close(broken=broken)

    def break_off(self) -> None:
        """Close both ends at once, whatever they are due."""
        for end in (self.client, self.broker):
            end.out.clear()
            if end.transport is not None and not end.is_lost:
                end.transport.abort()


class End(asyncio.BufferedProtocol):
    """One of the two sockets. `out` is what is to be done with it; `is_full` says that it takes no more for now."""

    transport: asyncio.Transport | None
    session: Session
    out: Out
    is_client: bool
    is_full: bool
    is_lost: bool

    def __init__(self, session: Session, out: Out, *, is_client: bool) -> None:
        self.session, self.out, self.is_client = session, out, is_client
        self.transport = None
        self.has_ended = self.is_full = self.is_lost = False
        self._end_sent = False
        self._reads = True
        self._closing = False
        self._timer: asyncio.TimerHandle | None = None
        self._plain: int | None = None
        self._waits = False

    @property
    def is_done(self) -> bool:
        """Whether nothing more comes from this end, and nothing more goes there."""
        return self.has_ended and self._end_sent

    def work_off(self) -> None:
        """Do what stands in the queue, up to where time must pass, or the socket takes no more."""
        if self.transport is None or self._timer is not None:
            return
        while self.out and self._timer is None and not self._waits:
            effect = self.out.popleft()
            if isinstance(effect, Send):
                self.write(effect)
            elif isinstance(effect, Wait):
                self._timer = asyncio.get_running_loop().call_later(effect.seconds, self._go_on)
            elif isinstance(effect, HangUp):
                self.session.hang_up()
            elif effect.then is None:
                self.out.appendleft(effect)
                break
            else:
                self.out.extendleft(reversed(effect.then))
        if self._closing and not self.out:
            self.transport.close()

    def give_up_held(self) -> None:
        """Take out of the queue what is held, and what waits behind it: nobody is there any more who could want it."""
        if any(isinstance(effect, Hold) for effect in self.out):
            while not isinstance(self.out.pop(), Hold) or any(isinstance(effect, Hold) for effect in self.out):
                pass

    def write(self, effect: Send) -> None:
        """Send bytes; what the client gets, the tap is told of. What the socket does not take stays in the queue."""
        if self.transport is None or self.transport.is_closing():
            return
        if self.is_client and effect.seen:
            self.session.told(False, effect.seen)
        data = effect.data
        if self._plain is None or not data:
            self.transport.write(bytes(data))
            return
        try:
            written = os.write(self._plain, data)
        except BlockingIOError:
            written = 0
        except OSError:  # the transport meets it as well, and tells of it
            self.transport.write(bytes(data))
            return
        if written < len(data):
            own = data if isinstance(data, memoryview) and isinstance(data.obj, bytes) else memoryview(bytes(data))
            self.out.appendleft(Send(own[written:], b""))
            self._wait(True)

    def _wait(self, wanted: bool) -> None:
        """Wait, or no more, until the socket takes bytes again; until then it is full."""
        if self._plain is not None and wanted != self._waits:
            self._waits = self.is_full = wanted
            loop = asyncio.get_running_loop()
            if wanted:
                loop.add_writer(self._plain, self._takes_more)
            else:
                loop.remove_writer(self._plain)

    def _takes_more(self) -> None:
        self._wait(False)
        self.session.pump()

    def read_while(self, wanted: bool) -> None:
        """Read this end only while that is wanted."""
        if self.transport is None or wanted == self._reads or self.transport.is_closing():
            return
        self._reads = wanted
        (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def send_end(self) -> None:
        """Tell this end that nothing more will come; where that cannot be said alone (TLS), close it."""
        if self.transport is None or self._end_sent:
            return
        self._end_sent = True
        if self.transport.can_write_eof() and not self.transport.is_closing():
            with suppress(OSError):  # the other side is gone already, which is told soon
                self.transport.write_eof()
        else:
            self.transport.close()

    def close(self, *, broken: bool = False) -> None:
        """Close this end when what it is due has gone out; where it is `broken` off and is due nothing, by a reset."""
        if self.transport is None or self.is_lost:
            return
        if broken and not self.out and not self.transport.get_write_buffer_size():
            sock = self.transport.get_extra_info("socket")
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.transport.abort()
        elif self.out:
            self._closing = True
        else:
            self.transport.close()

    def _go_on(self) -> None:
        self._timer = None
        self.session.pump()
        self.work_off()

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if transport.get_extra_info("sslcontext") is None:
            self._plain = os.dup(transport.get_extra_info("socket").fileno())  # the transport waits on its own alone
        self.transport.set_write_buffer_limits(high=BUFFER)
        self.session.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.session.room

    def buffer_updated(self, nbytes: int) -> None:
        self.session.received(self, nbytes)

    def eof_received(self) -> bool:
        self.session.ended(self)
        return self.transport is not None and self.transport.can_write_eof()

    def pause_writing(self) -> None:
        self.is_full = True
        self.session.pump()

    def resume_writing(self) -> None:
        self.is_full = False
        self.session.pump()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        if self._plain is not None:
            self._wait(False)
            os.close(self._plain)
            self._plain = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.session.lost(self, error)

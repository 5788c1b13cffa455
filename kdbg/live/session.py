"""One client's connection through the proxy: its two ends, what the relay passes on between them, and how it ends.

Either end that takes no more stops the other from being read, so that a slow peer is as slow as it is without kdbg.
asyncio loses its own state of a TLS connection that is closed twice, so nothing is asked of a transport that closes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, cast

from ..budget import SMALL
from ..capture.write import Buffer
from ..exchanges.messages.peers import Peers
from .frames import HangUp, Hold, Load, Out, Send, Wait, pending
from .holds import ConnectionHolds, Desk
from .listeners import RESET, Address
from .relay import Relay

NOBODY = Peers(0, ("", 0), ("", 0))
MOST_PENDING = 1 << 20
"""Bytes that stand in a queue before its source is read no further; a whole frame may be more."""
ROOM = 1 << 20
"""Bytes that are read at once, at most; half as many cost a tenth more on the way through."""
LARGE = 1 << 14
"""Bytes from which on they are not copied on their way through."""
BUFFER = 1 << 20
"""Bytes that TLS takes ahead of what the peer does."""
AHEAD = 1 << 16
"""Bytes that asyncio copies of what a plain socket does not take, to send them once it does; the others stay queued."""
FINISH = 5.0
"""Seconds that a broker has to send the responses that are due when its client has gone."""


class Tap(Protocol):
    """What gets the bytes of all connections. `connection` numbers connections: clients use their ports again."""

    def tap(
        self, client: Address, broker: Address, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take bytes as the client sent them, or as the broker did; a view of them holds only until this returns."""

    def ended(self, client: Address, broker: Address, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""


class ProxySession:
    """A client and its broker, `peers` as soon as that is known.

    `relay` gives the relay of the two, `made` is called once the client has connected, which is read no further until
    the broker is there as well; `done` once both ends are closed. `room` is what both ends are read into; sessions of
    one event loop share it, and `load`.
    """

    def __init__(
        self, relay: Callable[[ProxySession], Relay], taps: Sequence[Tap], made: Callable[[ProxySession], None],
        done: Callable[[ProxySession], None], desk: Desk | None, room: bytearray, load: Load,
    ) -> None:  # fmt: skip
        self.peers = NOBODY
        self.relay = relayed = relay(self)
        self.holder = ConnectionHolds(desk, lambda: self.peers, relayed, self.pump) if desk is not None else None
        relayed.holder = self.holder
        self.taps = taps
        self._room, self._load = memoryview(room), load
        self.client = End(self, relayed.to_client, lambda data: self.report_bytes(False, data))
        self.broker = End(self, relayed.to_broker)
        self._made, self._done = made, done
        self._over = self._reset = self._waited = False
        self._finish: asyncio.TimerHandle | None = None

    def buffer(self) -> memoryview:
        """Return what bytes are read into, less where memory is short."""
        return self._room[:SMALL] if self._load.is_high else self._room

    def connected(self, end: End) -> None:
        """Take note that an end is connected: the client first."""
        if end is self.client:
            end.read_while(False)
            self._made(self)

    def received(self, end: End, count: int) -> None:
        """Take so many bytes that came from an end, and are in the buffer.

        They are copied, unless they are many and go out at once.
        """
        data: Buffer = self._room[:count]
        other = self.broker if end is self.client else self.client
        if count < LARGE or other.transport is None or other.out or self.relay.singly:
            data = bytes(data)
        if end is self.client:
            self.report_bytes(True, data)
            self.relay.from_client(data)
        else:
            self.relay.from_broker(data)
        self.pump()

    def ended(self, end: End) -> None:
        """Take note that an end sends no more; what was held of it is passed on."""
        if not end.has_ended:
            end.has_ended = True
            self.relay.ended(from_client=end is self.client)
        self.pump()

    def report_bytes(self, from_client: bool, data: Buffer) -> None:
        """Give bytes to the taps."""
        number, client, broker, *_ = self.peers
        now = time.time_ns()
        for tap in self.taps:
            tap.tap(client, broker, from_client, data, now, number)

    def pump(self) -> None:
        """Do what stands in the queues, as far as it is due."""
        self.client.work_off()
        self.broker.work_off()
        most = 0 if self._load.is_high else MOST_PENDING - 1
        for end, other in ((self.client, self.broker), (self.broker, self.client)):
            end.read_while(pending((other.out,)) <= most and not other.is_full)
        # each end is told what has become of the other, once it has got all that was sent to it
        if self.broker.has_ended and not self.client.out:
            self.client.send_end()
        if self.client.is_lost:
            if self.broker.transport is not None and not self.broker.is_lost and self._is_finished():
                self.broker.close(broken=self._reset)  # after the responses that are due, which are shown
        elif self.client.has_ended and not self.broker.out and (self.broker.ends_singly or self._is_finished()):
            self.broker.send_end()
        if self.client.is_done and self.broker.is_done:
            self.hang_up()
        if not self._over:
            self._load.report(self, self.relay.kept, pending((self.client.out, self.broker.out)))

    def _is_finished(self) -> bool:
        """Return whether the broker has sent what is due, or had the time to."""
        if self._waited or not self.relay.expects or self.broker.has_ended:
            return True
        if self._finish is None:
            self._finish = asyncio.get_running_loop().call_later(FINISH, self._stop_waiting)
        return False

    def _stop_waiting(self) -> None:
        self._waited = True
        self.pump()

    def lost(self, end: End, error: Exception | None) -> None:
        """Take note that an end is closed; what the other has sent, or is due, goes its way before that closes too."""
        if not end.has_ended:
            end.has_ended = True
            self.relay.ended(from_client=end is self.client)
        other = self.broker if end is self.client else self.client
        if end is self.client:
            self._reset = error is not None
            end.discard()
            if error is not None:
                self.broker.give_up_held()
        else:
            end.out.clear()
            self.client.work_off()
            if error is not None:
                self.client.give_up_held()
            self.client.close(broken=error is not None)
        self.pump()
        if self._over or not (other.transport is None or other.is_lost):
            return
        self._over = True
        if self._finish is not None:
            self._finish.cancel()
        self._load.report(self, 0, 0)
        if self.holder is not None:
            self.holder.ended()
        number, client, broker, *_ = self.peers
        now = time.time_ns()
        for tap in self.taps:
            tap.ended(client, broker, now, number)
        self._done(self)

    def let_go(self) -> None:
        """Keep no message whole, for memory is short."""
        self._load.lose(self.relay.let_go())
        self.pump()

    def hang_up(self, *, broken: bool = False) -> None:
        """Close both ends."""
        for end in (self.client, self.broker):
            end.close(broken=broken)

    def break_off(self) -> None:
        """Close both ends at once, whatever they are due."""
        for end in (self.client, self.broker):
            end.break_off()


def remaining(data: Buffer, start: int) -> Buffer:
    """Return the bytes from `start` on: copied where they are few, as a view keeps all of its bytes in memory."""
    whole = data.obj if isinstance(data, memoryview) else data
    if isinstance(whole, bytes) and 2 * (len(data) - start) >= len(whole):
        return memoryview(data)[start:]
    return bytes(data[start:])


class End(asyncio.BufferedProtocol):
    """`out` is what is to be done with it; `is_full`: the peer takes no more for now. `shown` gets what is sent."""

    transport: asyncio.Transport | None = None
    out: Out
    is_full: bool = False
    is_lost: bool = False
    has_ended: bool = False
    """Whether nothing more comes from this end."""

    def __init__(self, owner: ProxySession, out: Out, shown: Callable[[Buffer], None] | None = None) -> None:
        self.out, self._owner, self._shown = out, owner, shown
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
        written, last = 0, len(data)
        if self._plain is not None:
            try:
                written = os.write(self._plain, data)
            except OSError:  # it is the transport's, which meets it again
                written = 0
            last = written + AHEAD
        if written == len(data):
            return
        if last < len(data):
            self.out.appendleft(Send(remaining(data, last), b""))
        self.transport.write(bytes(data[written:last]))  # `pause_writing` is called where that has to wait

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

"""One client's connection through the proxy: its two ends, what the relay passes on between them, and how it ends.

Either end that takes no more stops the other from being read, so that a slow peer is as slow as it is without kdbg.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from ..budget import SMALL
from ..capture.write import Buffer
from ..exchanges.messages.peers import Peers
from .effects import pending
from .holds import ConnectionHolds, Desk
from .listeners import Address
from .load import Load
from .relay import Relay
from .socket_queue import End

NOBODY = Peers(0, ("", 0), ("", 0))
MOST_PENDING = 1 << 20
"""Bytes that stand in a queue before its source is read no further; a whole frame may be more."""
ROOM = 1 << 20
"""Bytes that are read at once, at most; half as many cost a tenth more on the way through."""
LARGE = 1 << 14
"""Bytes from which on they are not copied on their way through."""
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
    one event loop may share it, and `load`.
    """

    def __init__(
        self,
        relay: Callable[[ProxySession], Relay],
        tap: Tap | None,
        made: Callable[[ProxySession], None],
        done: Callable[[ProxySession], None],
        desk: Desk | None = None,
        room: bytearray | None = None,
        load: Load | None = None,
    ) -> None:
        self.peers = NOBODY
        self.relay = relayed = relay(self)
        self.holder: ConnectionHolds | None = (
            desk.holder(lambda: self.peers, relayed, self.pump) if desk is not None else None
        )
        relayed.holder = self.holder
        self.tap = tap
        self._room = memoryview(room if room is not None else bytearray(ROOM))
        self._load = load if load is not None else Load()
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
        """Take note that an end sends no more."""
        self._take_end(end)
        self.pump()

    def _take_end(self, end: End) -> None:
        if not end.has_ended:
            end.has_ended = True
            (self.relay.client_ended if end is self.client else self.relay.broker_ended)()

    def report_bytes(self, from_client: bool, data: Buffer) -> None:
        """Give bytes to the tap."""
        if self.tap is not None:
            number, client, broker, *_ = self.peers
            self.tap.tap(client, broker, from_client, data, time.time_ns(), number)

    def pump(self) -> None:
        """Do what stands in the queues, as far as it is due."""
        self.client.work_off()
        self.broker.work_off()
        most = 0 if self._load.is_high else MOST_PENDING - 1
        for end, other in ((self.client, self.broker), (self.broker, self.client)):
            end.read_while(pending((other.out,)) <= most and not other.is_full)
        self._pass_ends()
        if not self._over:
            self._load.report(self, self.relay.kept, pending((self.client.out, self.broker.out)))

    def _pass_ends(self) -> None:
        """Tell each end what has become of the other, once it has got all that was sent to it."""
        if self.broker.has_ended and not self.client.out:
            self.client.send_end()
        if self.client.is_lost:
            self._finish_broker()
        elif self.client.has_ended and not self.broker.out and (self.broker.ends_singly or self._is_finished()):
            self.broker.send_end()
        if self.client.is_done and self.broker.is_done:
            self.hang_up()

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

    def _finish_broker(self) -> None:
        """Close the broker's end once the client has gone, after the responses that are due, which are shown."""
        if self.broker.transport is not None and not self.broker.is_lost and self._is_finished():
            self.broker.close(broken=self._reset)

    def lost(self, end: End, error: Exception | None) -> None:
        """Take note that an end is closed; what the other has sent, or is due, goes its way before that closes too."""
        self._take_end(end)
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
        other = self.broker if end is self.client else self.client
        if other.transport is None or other.is_lost:
            self._end()

    def _end(self) -> None:
        """Take note that both ends are closed."""
        if self._over:
            return
        self._over = True
        if self._finish is not None:
            self._finish.cancel()
        self._load.report(self, 0, 0)
        if self.holder is not None:
            self.holder.ended()
        if self.tap is not None:
            number, client, broker, *_ = self.peers
            self.tap.ended(client, broker, time.time_ns(), number)
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

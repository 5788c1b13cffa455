"""The proxy's sockets: a listener for each broker that clients are told of, and a session for each connection.

What went through them goes as packets to whoever shows or saves them: a connection is never held up by that.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

from ..capture import frames
from ..capture.packet import Endpoint
from ..capture.write import RAW_IP, Buffer, CaptureWriter, Talks
from ..errors import CaptureError, KdbgError
from ..exchanges.messages.peers import Peers
from ..protocol.findings.amounts import count
from .bounded_pipe import Outflow
from .client.connection import Connection
from .client.reach import context
from .client.sasl import authenticate
from .client.settings import Settings, check_trust, show
from .faults import Faults, Meddling
from .frames import Load
from .holds import Desk
from .listeners import MOST, NO_ROOM, Address, Addresses, BrokerServer, Listening, Notices
from .relay import Relay
from .session import ROOM, ProxySession, Tap

GRACE = 1.0
"""Seconds that sessions have to end when the proxy does."""
LISTENERS = 4
"""Part of the descriptors that listeners may take."""


class Proxy(BrokerServer[ProxySession]):
    """Relays connections until it is closed.

    `settings` say how brokers are reached: where they have SASL, kdbg authenticates in the place of the clients, who
    speak without it. Their credentials go only to brokers that `check_trust` allows. `change` off leaves addresses as
    they are, `most` is how many brokers get a listener. `desk` is where messages are held.
    """

    connections: int = 0
    unread: int = 0
    each = 2

    def __init__(
        self, listening: Listening, settings: Settings, *, taps: Sequence[Tap] = (), change: bool = True,
        faults: Faults | None = None, say: Callable[[str], None] = lambda line: None, desk: Desk | None = None,
        most: int = MOST,
    ) -> None:  # fmt: skip
        super().__init__(listening, say)
        self._most = max(min(most, self._limit // LISTENERS), 1)
        self.addresses = Addresses(self._open, self._leave, most=self._most, full=self._full)
        self._settings, self._taps, self._change = settings, taps, change
        self._tls = context(settings.tls) if settings.tls is not None else None
        self._faults, self._desk, self._shortage = faults, desk, Notices(say)
        self._is_full = False
        self._room, self._load = bytearray(ROOM), Load(short=self._short)

    async def close(self) -> None:
        """Take no more connections, end those that there are."""
        await self._close_listeners()
        for session in list(self._sessions):
            if not session.client.is_lost:  # otherwise its broker still has a response to send
                session.hang_up()
        end = asyncio.get_running_loop().time() + GRACE
        while self._sessions and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        for session in list(self._sessions):
            session.break_off()
        await self._end_tasks()

    # Listeners

    def _full(self, broker: Address) -> None:
        """Say once that brokers beyond the bound are not followed."""
        if not self._is_full:
            self._is_full = True
            self._say(f"advertised brokers exceed {self._most:,}: clients connect to {show(broker)} and others "
                      "directly; raise --max-brokers, or the limit of open files")  # fmt: skip

    def _leave(self, broker: Address) -> None:
        """Listen no more for a broker that is no longer advertised; its connections go on."""
        self._listeners.pop(broker).close()
        self._say(f"broker {show(broker)} is no longer advertised; closed its listener")

    # Connections

    def _take(self, broker: Address, sock: socket.socket) -> None:
        """Make a session for a client that was accepted; its broker is connected to beside."""
        self.connections += 1
        number = self.connections
        change = partial(self.addresses.change, via=broker) if self._change else None

        def listed(brokers: Set[Address]) -> None:
            if not self._closed:
                self.addresses.listed(brokers, broker)

        def relay(session: ProxySession) -> Relay:
            meddling = Meddling(self._faults, lambda: session.peers) if self._faults is not None else None
            return Relay(
                change, meddling, singly=self._desk is not None,
                own=lambda frame: session.report_bytes(True, frame), listed=listed,
            )  # fmt: skip

        def made(session: ProxySession) -> None:
            if self._closed:
                session.hang_up(broken=True)
            else:
                self._spawn(self._connect(session, broker, number))

        session = ProxySession(relay, self._taps, made, self._ended, self._desk, self._room, self._load)
        self._begin(session, session.client, sock, self._settings.timeout)

    async def _connect(self, session: ProxySession, broker: Address, number: int) -> None:
        """Connect a session to its broker; close the client's connection where that fails."""
        assert session.client.transport is not None
        peer = session.client.transport.get_extra_info("peername")
        if peer is None:  # it has gone before it was looked at
            session.hang_up(broken=True)
            return
        session.peers = Peers(number, peer[:2], broker_endpoint(broker))
        try:
            async with asyncio.timeout(self._settings.timeout):
                upstream = await self._reach(session, broker)
        except (OSError, TimeoutError, ssl.SSLError, KdbgError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                self._refuse()  # there is no descriptor left for it
            else:
                reason = "no response in time" if isinstance(error, TimeoutError) else str(error)
                self._trouble.say(f"broker {show(broker)} is not reachable: {reason}")
            session.hang_up(broken=True)
            return
        if (met := upstream.get_extra_info("peername")) is not None:
            session.peers = session.peers._replace(broker=met[:2])
        if session.client.is_lost:
            upstream.abort()
            return
        if session.holder is not None:
            session.holder.opened()
        session.client.read_while(True)
        session.pump()

    async def _reach(self, session: ProxySession, broker: Address) -> asyncio.Transport:
        """Connect a session to its broker, and authenticate there if kdbg is to."""
        settings, name = self._settings, None
        check_trust(broker, self._named, settings)
        if settings.sasl is not None:
            connection = await Connection.open(broker, settings)
            try:
                await authenticate(connection, settings.sasl)
            except BaseException:
                await connection.close()
                raise
            return connection.hand_over(session.broker)
        if settings.tls is not None:
            name = settings.tls.server_name or broker[0]
        loop = asyncio.get_running_loop()
        upstream, _ = await loop.create_connection(lambda: session.broker, *broker, ssl=self._tls, server_hostname=name)
        return upstream

    def _short(self, lost: int) -> None:
        """Say that messages are not kept whole."""
        messages = count(lost, "message")
        self._shortage.say(f"memory limit reached: {messages} forwarded without faults or holds; raise --max-memory")

    def _ended(self, session: ProxySession) -> None:
        self._sessions.discard(session)
        if session.relay.unread and not self.unread:
            self._say(
                "a response could not be decoded; its broker addresses are unchanged, and clients may bypass the proxy"
            )
        self.unread += session.relay.unread


def broker_endpoint(broker: Address) -> Address:
    """Return the ends of a broker that nobody has connected to yet: its address where it is one."""
    with suppress(ValueError):
        return str(ip_address(broker[0])), broker[1]
    return "0.0.0.0", broker[1]


LARGE = 1 << 14
"""Bytes from which on it costs less to give them to the pipe at once than to copy them."""


class SavingTap(CaptureWriter):
    """Writes a capture until the system takes no more, which it says once: connections go on."""

    failed: bool = False

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        super().__init__(path)
        self._say = say

    def _write(self, packets: Iterator[bytes], time_ns: int) -> None:
        try:
            super()._write(packets, time_ns)
        except CaptureError as error:
            self.failed = True
            self._say(f"{error}; kdbg does not save later packets")


class PipeTap:
    """Told of bytes as they go; gives packets to an outflow, which belongs to the event loop from then on."""

    def __init__(self, out: Outflow) -> None:
        self._out, self._talks = out, Talks(plain=True)
        self._loop = asyncio.get_running_loop()
        self._waits = self._soon = self._closed = False
        out.add(frames.interface(RAW_IP, "proxy"))
        self._pump()

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take note of bytes that went over a connection."""
        passed = client, broker, from_client, data, time_ns, connection
        if len(data) < LARGE:
            self._give(self._talks.packets(*passed), time_ns)
        elif not self._closed:
            self._out.borrow(0, time_ns, self._talks.parted(*passed))
            self._pump()

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""
        self._give(self._talks.ended(client, broker, connection), time_ns)

    async def close(self, patience: float) -> int:
        """End all connections, and wait for the reader to take what is left, as long as it takes some of it.

        Return how many bytes are left of a reader that has taken none for `patience` seconds.
        """
        self._give(self._talks.all_ended(), time.time_ns())
        left, end = self._out.size, self._loop.time() + patience
        while (self._waits or self._soon) and self._loop.time() < end:
            await asyncio.sleep(0.01)
            if self._out.size < left:
                left, end = self._out.size, self._loop.time() + patience
        self._closed = True
        self._wait(False)
        return self._out.size

    def _give(self, packets: Iterator[bytes], time_ns: int) -> None:
        """Take packets; the pipe gets them as soon as the event loop has passed on what it has in hand."""
        if self._closed:
            return
        for packet in packets:
            self._out.block(frames.enhanced(0, time_ns, packet, len(packet)))
        if not (self._waits or self._soon):
            self._soon = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Write what the pipe takes, and what is missing by now; go on when it takes more."""
        self._soon = False
        if self._closed:
            return
        waits = self._out.pump()
        self._out.tell(time.time_ns())
        self._wait(waits or self._out.pump())

    def _wait(self, wanted: bool) -> None:
        if wanted != self._waits:
            self._waits = wanted
            if wanted:
                self._loop.add_writer(self._out.pipe, self._pump)
            else:
                self._loop.remove_writer(self._out.pipe)

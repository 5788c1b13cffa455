"""The proxy's sockets: a listener for each broker that clients are told of, and a session for each connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple

from ..errors import KdbgError
from ..exchanges.messages.peers import Peers
from ..protocol.findings.amounts import count
from .broker_server import BrokerServer
from .client.connection import Connection
from .client.sasl import authenticate
from .client.settings import Settings, check_trust, show
from .faults import Meddling
from .holds import Desk
from .listeners import MOST, NO_ROOM, Address, Addresses, Listening, Notices
from .load import Load
from .relay import Relay
from .session import ROOM, ProxySession, Tap

GRACE = 1.0
"""Seconds that sessions have to end when the proxy does."""
LISTENERS = 4
"""Part of the descriptors that listeners may take."""


class Upstream(NamedTuple):
    """How brokers are reached: `timeout` in seconds, TLS where it is spoken, the name to expect ("" for the host's).

    `settings` with SASL: kdbg authenticates in the place of the clients, who speak without it. Its credentials, those
    of TLS as well, go only to brokers that `check_trust` allows.
    """

    timeout: float = 10.0
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    settings: Settings | None = None


class Proxy(BrokerServer[ProxySession]):
    """Relays connections until it is closed.

    `faults` makes what meddles with a connection, given what tells its peers; None for nothing. `change` off leaves
    addresses as they are, `most` is how many brokers get a listener. `desk` is where messages are held.
    """

    connections: int = 0
    unread: int = 0
    each = 2

    def __init__(
        self, listening: Listening, upstream: Upstream, *, tap: Tap | None = None, change: bool = True,
        faults: Callable[[Callable[[], Peers]], Meddling | None] = lambda peers: None,
        say: Callable[[str], None] = lambda line: None, desk: Desk | None = None, most: int = MOST,
    ) -> None:  # fmt: skip
        super().__init__(listening, say)
        self._most = max(min(most, self._descriptors.limit // LISTENERS), 1)
        self.addresses = Addresses(self._open, self._leave, most=self._most, full=self._full)
        self._upstream, self._tap, self._change = upstream, tap, change
        self._faults, self._desk, self._shortage = faults, desk, Notices(say)
        self._named: Sequence[Address] = ()
        self._closed = self._is_full = False
        self._room, self._load = bytearray(ROOM), Load(short=self._short)

    def listen(self, brokers: Sequence[Address]) -> list[Address]:
        """Open a listener for each of these brokers, as every server does."""
        self._named = brokers
        return super().listen(brokers)

    async def close(self) -> None:
        """Take no more connections, end those that there are."""
        self._closed = True
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
        session = ProxySession(
            self._relay(broker), self._tap, lambda made: self._made(made, broker, number), self._ended,
                          self._desk, self._room, self._load)  # fmt: skip
        self._begin(session, session.client, sock, self._upstream.timeout)

    def _relay(self, broker: Address) -> Callable[[ProxySession], Relay]:
        """Return what makes the relay of a session with a broker."""
        change = partial(self.addresses.change, via=broker) if self._change else None

        def listed(brokers: Set[Address]) -> None:
            self.addresses.listed(brokers, broker)

        return lambda session: Relay(
            change, self._faults(lambda: session.peers), singly=self._desk is not None,
            own=lambda frame: session.report_bytes(True, frame), listed=listed,
        )  # fmt: skip

    def _made(self, session: ProxySession, broker: Address, number: int) -> None:
        """Connect a session to its broker, whose client is there; one that comes while the proxy ends is hung up on."""
        if self._closed:
            session.hang_up(broken=True)
        else:
            self._spawn(self._connect(session, broker, number))

    async def _connect(self, session: ProxySession, broker: Address, number: int) -> None:
        """Connect a session to its broker; hang up on the client where that fails."""
        transport = session.client.transport
        assert transport is not None
        peer = transport.get_extra_info("peername")
        if peer is None:  # it has gone before it was looked at
            session.hang_up(broken=True)
            return
        client = peer[:2]
        session.peers = Peers(number, client, broker_endpoint(broker))
        try:
            async with asyncio.timeout(self._upstream.timeout):
                upstream = await self._reach(session, broker)
        except (OSError, TimeoutError, ssl.SSLError, KdbgError) as error:
            self._unreached(broker, error)
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

    def _unreached(self, broker: Address, error: Exception) -> None:
        """Say why a broker cannot be reached; without a descriptor for it, that connections are refused."""
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            self._refuse()
            return
        reason = "no response in time" if isinstance(error, TimeoutError) else str(error)
        self._trouble.say(f"broker {show(broker)} is not reachable: {reason}")

    async def _reach(self, session: ProxySession, broker: Address) -> asyncio.Transport:
        """Connect a session to its broker, and authenticate there if kdbg is to."""
        tls, settings = self._upstream.tls, self._upstream.settings
        if settings is not None:
            check_trust(broker, self._named, settings)
        if settings is not None and settings.sasl is not None:
            connection = await Connection.open(broker, settings)
            try:
                await authenticate(connection, settings.sasl)
            except BaseException:
                await connection.close()
                raise
            return connection.hand_over(session.broker)
        name = (self._upstream.server_name or broker[0]) if tls is not None else None
        loop = asyncio.get_running_loop()
        upstream, _ = await loop.create_connection(lambda: session.broker, *broker, ssl=tls, server_hostname=name)
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

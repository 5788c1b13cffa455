"""The proxy's sockets: a listener for each broker that clients are told of, and a session for each connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence, Set
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple

from ..errors import InputError, KdbgError
from ..exchanges.messages.peers import Peers
from ..protocol.findings.amounts import count
from .client.connection import Connection
from .client.sasl import authenticate
from .client.settings import Settings, show
from .client.trust import check_trust
from .effects import Meddler
from .holds import Desk
from .listeners import MOST, NO_ROOM, Address, Addresses, DescriptorLimit, Listener, Listening, Ports, accept, turns
from .load import Load
from .notices import Notices
from .relay import Relay
from .session import ROOM, ProxySession, Tap

GRACE = 1.0
"""Seconds that sessions have to end when the proxy does."""
PER_SESSION = 2
"""Descriptors of a connection: one for each end."""
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


class Proxy:
    """Relays connections until it is closed. `say` is told what a person should know, a line at a time.

    `faults` makes what meddles with a connection, given what tells its peers; None for nothing. `change` off leaves
    addresses as they are, `most` is how many brokers get a listener. `desk` is where messages are held.
    """

    addresses: Addresses
    connections: int
    unread: int

    def __init__(
        self, listening: Listening, upstream: Upstream, *, tap: Tap | None = None, change: bool = True,
        faults: Callable[[Callable[[], Peers]], Meddler | None] = lambda peers: None,
        say: Callable[[str], None] = lambda line: None, desk: Desk | None = None, most: int = MOST,
    ) -> None:  # fmt: skip
        self._descriptors = DescriptorLimit(PER_SESSION, say)
        self._most = max(min(most, self._descriptors.limit // LISTENERS), 1)
        self.addresses = Addresses(self._open, self._leave, most=self._most, full=self._full)
        self.connections = self.unread = 0
        self._listening, self._upstream, self._tap, self._change = listening, upstream, tap, change
        self._faults, self._say, self._desk = faults, say, desk
        self._trouble, self._shortage = Notices(say), Notices(say)
        self._ports = Ports(listening)
        self._named: Sequence[Address] = ()
        self._closed = self._is_full = False
        self._room, self._load = bytearray(ROOM), Load(short=self._short)
        self._listeners: dict[Address, Listener] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[ProxySession] = set()

    def listen(self, brokers: Sequence[Address]) -> list[Address]:
        """Open a listener for each of these brokers; return where clients find them. Call it in the event loop.

        Raise `InputError` where the address cannot be listened on.
        """
        self._named = brokers
        self._descriptors.begin()
        for broker in brokers:
            self.addresses.add(broker, self._listen(broker, strict=True))
        return [self.addresses.stand_ins[broker] for broker in brokers]

    async def close(self) -> None:
        """Take no more connections, end those that there are."""
        self._closed = True
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        await turns()  # connections that were just accepted become sessions
        for session in list(self._sessions):
            if not session.client.is_lost:  # otherwise its broker still has a response to send
                session.hang_up()
        end = asyncio.get_running_loop().time() + GRACE
        while self._sessions and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        for session in list(self._sessions):
            session.break_off()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await turns()

    # Listeners

    def _listen(self, broker: Address, *, strict: bool = False) -> Address:
        """Listen for a broker; return the address that clients get."""
        sock = self._ports.bound(broker, strict=strict)
        self._listeners[broker] = Listener(sock, partial(self._take, broker), self._has_room, self._refuse)
        told = self._ports.advertised(sock)
        self._say(f"listening on {show(told)} for broker {show(broker)}")
        return told

    def _open(self, broker: Address) -> Address | None:
        """Listen for a broker that another advertised; return None where no port or descriptor is left."""
        try:
            return self._listen(broker)
        except InputError as error:
            self._trouble.say(f"clients connect to broker {show(broker)} directly: {error}")
            return None

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

    def _has_room(self) -> bool:
        """Return whether descriptors are left for one more connection."""
        return self._descriptors.has_room(len(self._listeners), len(self._sessions))

    def _refuse(self) -> None:
        """Say that a connection found no room."""
        self._descriptors.refuse(len(self._sessions))

    def _take(self, broker: Address, sock: socket.socket) -> None:
        """Make a session for a client that was accepted; its broker is connected to beside."""
        self.connections += 1
        number = self.connections
        session = ProxySession(
            self._relay(broker), self._tap, lambda made: self._made(made, broker, number), self._ended,
                          self._desk, self._room, self._load)  # fmt: skip
        self._sessions.add(session)
        self._spawn(self._accept(session, sock))

    async def _accept(self, session: ProxySession, sock: socket.socket) -> None:
        """Connect a session to its client, by TLS where that is spoken; forget it where that fails."""
        made = False
        try:
            made = await accept(sock, session.client, self._listening.tls, self._upstream.timeout, self._trouble.say)
        finally:
            if not made:
                self._sessions.discard(session)

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

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def broker_endpoint(broker: Address) -> Address:
    """Return the ends of a broker that nobody has connected to yet: its address where it is one."""
    with suppress(ValueError):
        return str(ip_address(broker[0])), broker[1]
    return "0.0.0.0", broker[1]

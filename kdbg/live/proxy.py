"""The proxy's sockets: a listener for each broker that clients are told of, and a session for each connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from ..client.authenticate import authenticate
from ..client.connection import Connection
from ..client.settings import Settings, show
from ..errors import KdbgError
from ..messages.peers import Peers
from .addresses import Address, Addresses
from .holding import Desk
from .listening import BACKLOG, Listening, Ports, allow_many_files, stop_listening, turns
from .relay import Meddler
from .session import ROOM, Session, Tap

GRACE = 1.0
"""Seconds that sessions have to end when the proxy does."""


@dataclass(frozen=True)
class Upstream:
    """How brokers are reached: `timeout` in seconds, TLS where it is spoken, the name to expect ("" for the host's).

    `settings` with SASL: kdbg authenticates in the place of the clients, who speak without it.
    """

    timeout: float = 10.0
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    settings: Settings | None = None


class Proxy:
    """Relays connections until it is closed. `say` is told what a person should know, a line at a time.

    `faults` makes what meddles with a connection, given what tells its peers; None for nothing. `change` off leaves
    addresses as they are. `desk` is where messages are held.
    """

    addresses: Addresses
    connections: int
    unread: int

    def __init__(
        self, listening: Listening, upstream: Upstream, *, tap: Tap | None = None, change: bool = True,
        faults: Callable[[Callable[[], Peers]], Meddler | None] = lambda peers: None,
        say: Callable[[str], None] = lambda line: None, desk: Desk | None = None,
    ) -> None:  # fmt: skip
        self.addresses = Addresses(self._open)
        self.connections = self.unread = 0
        self._listening, self._upstream, self._tap, self._change = listening, upstream, tap, change
        self._faults, self._say, self._desk = faults, say, desk
        self._ports = Ports(listening)
        self._closed = False
        self._room = bytearray(ROOM)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[Session] = set()

    def listen(self, brokers: Sequence[Address]) -> list[Address]:
        """Open a listener for each of these brokers; return where clients find them. Call it in the event loop.

        Raise `InputError` where the address cannot be listened on.
        """
        allow_many_files()
        for broker in brokers:
            self.addresses.add(broker, self._open(broker, strict=True))
        return [self.addresses.told[broker] for broker in brokers]

    async def close(self) -> None:
        """Take no more connections, end those that there are."""
        self._closed = True
        await stop_listening(self._servers)
        for session in list(self._sessions):
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

    def _open(self, broker: Address, *, strict: bool = False) -> Address:
        """Listen for a broker at once, so that the first who connects is taken; serve it from the next turn on."""
        sock = self._ports.bound(strict=strict)
        self._spawn(self._serve(sock, broker))
        told = self._ports.told(sock)
        self._say(f"{show(told)} stands for {show(broker)}")
        return told

    async def _serve(self, sock: socket.socket, broker: Address) -> None:
        loop = asyncio.get_running_loop()
        self._servers.append(
            await loop.create_server(
                lambda: self._session(broker).client, sock=sock, ssl=self._listening.tls, backlog=BACKLOG
            )
        )

    def _session(self, broker: Address) -> Session:
        """Return the session of a client that has just connected; its broker is connected to beside."""
        change = self.addresses.change if self._change else None
        self.connections += 1
        number = self.connections
        session = Session(change, self._faults, self._tap, lambda made: self._made(made, broker, number), self._ended,
                          self._desk, self._room)  # fmt: skip
        self._sessions.add(session)
        return session

    def _made(self, session: Session, broker: Address, number: int) -> None:
        """Connect a session to its broker, whose client is there; one that comes while the proxy ends is hung up on."""
        if self._closed:
            session.hang_up(broken=True)
        else:
            self._spawn(self._connect(session, broker, number))

    async def _connect(self, session: Session, broker: Address, number: int) -> None:
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
            reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            self._say(f"{show(broker)} cannot be reached: {reason}")
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

    async def _reach(self, session: Session, broker: Address) -> asyncio.Transport:
        """Connect a session to its broker, and authenticate there if kdbg is to."""
        tls, settings = self._upstream.tls, self._upstream.settings
        if settings is not None and settings.sasl is not None:
            connection = await Connection.open(broker, settings)
            await authenticate(connection, settings.sasl)
            return connection.hand_over(session.broker)
        name = (self._upstream.server_name or broker[0]) if tls is not None else None
        loop = asyncio.get_running_loop()
        upstream, _ = await loop.create_connection(lambda: session.broker, *broker, ssl=tls, server_hostname=name)
        return upstream

    def _ended(self, session: Session) -> None:
        self._sessions.discard(session)
        if session.relay.unread and not self.unread:
            self._say("a response could not be read: its addresses are the brokers' own")
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

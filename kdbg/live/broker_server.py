"""What a proxy and a mock are: a listener for each broker, and the sessions with those who connect to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from ..errors import InputError
from .client.settings import show
from .listeners import Address, Addresses, DescriptorLimit, Listener, Listening, Notices, Ports, turns

Session = TypeVar("Session")


class BrokerServer(Generic[Session]):
    """A listener for each broker that clients are told of, and the tasks of the sessions with those who connect.

    `say` is told what a person should know, a line at a time: first where each broker's clients find it.
    """

    addresses: Addresses
    each: ClassVar[int]
    """Descriptors of a session."""

    def __init__(self, listening: Listening, say: Callable[[str], None]) -> None:
        self._listening, self._ports, self._say = listening, Ports(listening), say
        self._trouble, self._descriptors = Notices(say), DescriptorLimit(self.each, say)
        self._listeners: dict[Address, Listener] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[Session] = set()

    def listen(self, brokers: Sequence[Address]) -> list[Address]:
        """Open a listener for each of these brokers; return where clients find them. Call it in the event loop.

        Raise `InputError` where the address cannot be listened on.
        """
        self._descriptors.begin()
        for broker in brokers:
            self.addresses.add(broker, self._listen(broker, strict=True))
        return [self.addresses.stand_ins[broker] for broker in brokers]

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

    def _has_room(self) -> bool:
        """Return whether descriptors are left for one more connection."""
        return self._descriptors.has_room(len(self._listeners), len(self._sessions))

    def _refuse(self) -> None:
        """Say that a connection found no room."""
        self._descriptors.refuse(len(self._sessions))

    def _take(self, broker: Address, sock: socket.socket) -> None:
        """Make a session for a client that was accepted."""
        raise NotImplementedError

    def _begin(self, session: Session, end: asyncio.BaseProtocol, sock: socket.socket, timeout: float) -> None:
        """Connect a session to its client, by TLS where that is spoken; forget it where that fails.

        `timeout` is seconds for the TLS handshake.
        """
        self._sessions.add(session)
        self._spawn(self._accept(session, end, sock, timeout))

    async def _accept(self, session: Session, end: asyncio.BaseProtocol, sock: socket.socket, timeout: float) -> None:
        tls = self._listening.tls
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: end, sock, ssl=tls, ssl_handshake_timeout=timeout if tls is not None else None
            )
        except OSError as error:
            self._sessions.discard(session)
            self._trouble.say(f"a client's TLS handshake failed: {error.strerror or error}")

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _close_listeners(self) -> None:
        """Take no more connections; those that were just accepted become sessions."""
        for listener in self._listeners.values():
            listener.close()
        await turns()

    async def _end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await turns()

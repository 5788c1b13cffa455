"""Where clients find a proxy or a mock: sockets on the ports that were asked for, and what clients are told of them.

A broker that others advertise gets a listener, up to a bound, and loses it when it is no longer advertised. A
`Listener` accepts connections as far as there is room: asyncio's own writes a traceback for each attempt that finds no
descriptor left, and takes no more connections for good (python/cpython#106527).
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
import struct
import time
from collections.abc import Callable, Coroutine, Sequence, Set
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

from ..errors import InputError
from ..protocol.findings.amounts import count
from .client.settings import show

Address = tuple[str, int]
MOST = 1000
"""Brokers that have a listener, by default."""
UNLISTED = 60.0
"""Seconds after which a broker that nothing advertised is gone, where a list of all brokers leaves it out.

A broker that restarts, or of which not every other knows yet, keeps its listener.
"""
EVERY = 1.0
"""Seconds between two lines."""
BACKLOG = 1024
TURNS = 5
PORTS = 1 << 16
REMEMBERED = 10_000
"""Brokers whose port is kept for them, should they come back."""
AT_ONCE = 64
"""Connections that are accepted before the event loop goes on with others."""
PAUSE = 1.0
"""Seconds until connections are accepted again where the system had no room for another."""
SPARE = 16
"""Descriptors that connections leave for listeners, files and the look-up of names."""
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RESET = struct.pack("ii", 1, 0)
"""The linger option of a socket that is closed by a reset."""


class Addresses:
    """The brokers with a listener, each with the address that clients get. `most` is how many there may be.

    `open` is called for new ones, and returns the address that clients get, None where there can be no listener;
    `close` for those that are gone; `full` for one that finds no room.
    """

    def __init__(
        self, open: Callable[[Address], Address | None], close: Callable[[Address], None] = lambda broker: None, *,
        most: int = MOST, full: Callable[[Address], None] = lambda broker: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._open, self._close, self._most, self._full, self._clock = open, close, most, full, clock
        self.stand_ins: dict[Address, Address] = {}
        """Each broker, with the address that clients get in its place."""
        self._ours: set[Address] = set()
        self._advertised: dict[Address, dict[Address, float]] = {}
        """For each broker that the user named, the brokers of its cluster, and when they were advertised last."""

    def add(self, broker: Address, stand_in: Address) -> None:
        """Take note of a listener for a broker that the user named; it stays."""
        self._advertised.setdefault(broker, {})
        self.stand_ins[broker] = stand_in
        self._ours.add(stand_in)

    def change(self, host: str, port: int, via: Address | None = None) -> Address:
        """Return what clients get in place of an address that the broker `via` advertised.

        An address that means no broker (host "", port -1 or 0) stays, and so does one for which there is no room.
        """
        address = (host, port)
        if not host or port <= 0 or address in self._ours:
            return address
        stand_in = self.stand_ins.get(address)
        if stand_in is None:
            if len(self.stand_ins) >= self._most:
                self._full(address)
                return address
            stand_in = self._open(address)
            if stand_in is None:
                return address
            self.stand_ins[address] = stand_in
            self._ours.add(stand_in)
        for brokers in self._clusters(via):
            brokers[address] = self._clock()
        return stand_in

    def listed(self, brokers: Set[Address], via: Address | None = None) -> None:
        """Take note of a list of all brokers that the broker `via` advertised; close the listeners of others."""
        latest = self._clock() - UNLISTED
        for known in self._clusters(via):
            for gone in [one for one, last in known.items() if one not in brokers and last <= latest]:
                del known[gone]
        kept = set(self._advertised).union(*self._advertised.values())
        for broker in [broker for broker in self.stand_ins if broker not in kept]:
            self._ours.discard(self.stand_ins.pop(broker))
            self._close(broker)

    def _clusters(self, via: Address | None) -> list[dict[Address, float]]:
        """Return the brokers of each cluster that a broker belongs to; of all clusters for one that none has."""
        known = [brokers for named, brokers in self._advertised.items() if via == named or via in brokers]
        return known or list(self._advertised.values())


class Notices:
    """Gives `say` the lines of trouble; `clock` is seconds. A line that has to wait is counted, not kept."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._next = float("-inf")
        self._left_out = 0

    def say(self, line: str) -> None:
        """Say a line, unless another was said within the last second."""
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = f" ({count(self._left_out, 'more line')} suppressed)" if self._left_out else ""
        self._next, self._left_out = now + EVERY, 0
        self._say(line + more)


class Listening(NamedTuple):
    """Where the proxy listens, and what clients are told: `host` and the first `port`; `advertised` is told instead.

    A broker that is met later gets the next port that is free; any, where `port` is 0.
    """

    host: str = "127.0.0.1"
    port: int = 0
    advertised: str = ""
    tls: ssl.SSLContext | None = None


class Ports:
    """Opens one listening socket after the other, each on the next port."""

    def __init__(self, listening: Listening) -> None:
        self._listening, self._port = listening, listening.port
        self._had: dict[Address, int] = {}

    def bound(self, broker: Address, *, strict: bool) -> socket.socket:
        """Return a listening socket on the port that a broker had before, or the next.

        Or on any free one, unless `strict`. Raise `InputError` where nothing can listen on the address.
        """
        host, wanted = self._listening.host, self._had.get(broker, self._port)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        for port in [wanted] if strict or not wanted else [wanted, 0]:
            try:
                sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
            except OSError as error:
                problem = error.strerror or str(error)
                continue
            if wanted == self._port and wanted:
                self._port = (self._port + 1) % PORTS
            self._had[broker] = sock.getsockname()[1]
            while len(self._had) > REMEMBERED:
                del self._had[next(iter(self._had))]
            return sock
        raise InputError(f"cannot listen on {show((host, wanted))}: {problem}; choose another address with --listen")

    def advertised(self, sock: socket.socket) -> Address:
        """Return the address that clients are told of a socket."""
        host = self._listening.host
        return self._listening.advertised or ("127.0.0.1" if is_everywhere(host) else host), sock.getsockname()[1]


class Listener:
    """Accepts the connections of a listening socket, which is its own: `take` gets each, with what has room for it.

    `room` says whether there is room for another; one that finds none is reset, and `refused` is called.
    """

    def __init__(
        self, sock: socket.socket, take: Callable[[socket.socket], None], room: Callable[[], bool],
        refused: Callable[[], None],
    ) -> None:  # fmt: skip
        self._sock, self._take, self._room, self._refused = sock, take, room, refused
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Accept no more connections."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._sock)
        self._sock.close()

    def _listen(self) -> None:
        self._pause = None
        self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                sock, _ = self._sock.accept()
            except OSError as error:
                if error.errno in NO_ROOM:  # connections wait until then; those of the backlog that are too many do not
                    self._loop.remove_reader(self._sock)
                    self._pause = self._loop.call_later(PAUSE, self._listen)
                    self._refused()
                return
            if self._room():
                sock.setblocking(False)
                self._take(sock)
            else:
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                sock.close()
                self._refused()


Session = TypeVar("Session")


class BrokerServer(Generic[Session]):
    """A proxy or a mock: a listener for each broker that clients are told of, and the sessions with those who connect.

    `say` is told what a person should know, a line at a time: first where each broker's clients find it.
    """

    addresses: Addresses
    each: ClassVar[int]
    """Descriptors of a session."""

    def __init__(self, listening: Listening, say: Callable[[str], None]) -> None:
        self._listening, self._ports, self._say = listening, Ports(listening), say
        self._trouble, self._refusals = Notices(say), Notices(say)
        self._limit, self._files = allow_many_files(), 0
        self._listeners: dict[Address, Listener] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[Session] = set()
        self._named: Sequence[Address] = ()
        self._closed = False

    def listen(self, brokers: Sequence[Address]) -> list[Address]:
        """Open a listener for each of these brokers; return where clients find them. Call it in the event loop.

        Raise `InputError` where the address cannot be listened on.
        """
        self._files, self._named = open_files(), brokers
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
        """Listen for a broker that another advertised; return None where no port or descriptor is left, or it ends."""
        if self._closed:
            return None
        try:
            return self._listen(broker)
        except InputError as error:
            self._trouble.say(f"clients connect to broker {show(broker)} directly: {error}")
            return None

    def _has_room(self) -> bool:
        """Return whether descriptors are left for one more connection."""
        used = self._files + len(self._listeners) + self.each * (len(self._sessions) + 1)
        return used + SPARE <= self._limit

    def _refuse(self) -> None:
        """Say that a connection found no room."""
        self._refusals.say(f"new connections are closed at once: {len(self._sessions):,} are open, and the limit is "
                           f"{count(self._limit, 'open file')}; raise it with ulimit -n")  # fmt: skip

    def _take(self, broker: Address, sock: socket.socket) -> None:
        """Make a session for a client that was accepted."""
        raise NotImplementedError

    def _begin(self, session: Session, end: asyncio.BaseProtocol, sock: socket.socket, timeout: float) -> None:
        """Connect a session to its client, by TLS where that is spoken; forget it where that fails.

        `timeout` is seconds for the TLS handshake.
        """
        tls = self._listening.tls

        async def accept() -> None:
            try:
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: end, sock, ssl=tls, ssl_handshake_timeout=timeout if tls is not None else None
                )
            except OSError as error:
                self._sessions.discard(session)
                self._trouble.say(f"a client's TLS handshake failed: {error.strerror or error}")

        self._sessions.add(session)
        self._spawn(accept())

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _close_listeners(self) -> None:
        """Take no more connections, and follow no more brokers; those just accepted become sessions."""
        self._closed = True
        while self._listeners:
            self._listeners.popitem()[1].close()
        await turns()

    async def _end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await turns()


async def turns() -> None:
    """Let the event loop do what it has at hand, such as closing what was broken off."""
    for _ in range(TURNS):
        await asyncio.sleep(0.001)


def is_everywhere(host: str) -> bool:
    """Return whether a host to listen on is every address of the machine."""
    with suppress(ValueError):
        return ip_address(host).is_unspecified
    return not host


def open_files() -> int:
    """Return how many files this process has open; a guess where the system does not say."""
    with suppress(OSError):
        return len(list(Path("/proc/self/fd").iterdir()))
    return SPARE


def allow_many_files() -> int:
    """Let this process have as many files open as it may; return how many these are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return hard
    return soft

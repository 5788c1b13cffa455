"""Where clients find kdbg: listening sockets on the ports that were asked for, and what clients are told of them.

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
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..protocol.findings.amounts import count
from .client.settings import show

Address = tuple[str, int]
Open = Callable[[Address], Address | None]
"""Opens a listener for a broker; returns the address that clients get, None where there can be no listener."""
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

    `open` is called for new ones, `close` for those that are gone; `full` for one that finds no room.
    """

    def __init__(
        self, open: Open, close: Callable[[Address], None] = lambda broker: None, *, most: int = MOST,
        full: Callable[[Address], None] = lambda broker: None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._open, self._close, self._most, self._full, self._clock = open, close, most, full, clock
        self._stand_ins: dict[Address, Address] = {}
        self._ours: set[Address] = set()
        self._advertised: dict[Address, dict[Address, float]] = {}
        """For each broker that the user named, the brokers of its cluster, and when they were advertised last."""

    @property
    def stand_ins(self) -> Mapping[Address, Address]:
        """Each broker, with the address that clients get in its place."""
        return self._stand_ins

    def add(self, broker: Address, stand_in: Address) -> None:
        """Take note of a listener for a broker that the user named; it stays."""
        self._advertised.setdefault(broker, {})
        self._note(broker, stand_in)

    def change(self, host: str, port: int, via: Address | None = None) -> Address:
        """Return what clients get in place of an address that the broker `via` advertised.

        An address that means no broker (host "", port -1 or 0) stays, and so does one for which there is no room.
        """
        address = (host, port)
        if not host or port <= 0 or address in self._ours:
            return address
        stand_in = self._stand_ins.get(address)
        if stand_in is None:
            stand_in = self._new(address)
        if stand_in is None:
            return address
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
        for broker in [broker for broker in self._stand_ins if broker not in kept]:
            self._ours.discard(self._stand_ins.pop(broker))
            self._close(broker)

    def _new(self, broker: Address) -> Address | None:
        """Open a listener for a broker, if there is room for it."""
        if len(self._stand_ins) >= self._most:
            self._full(broker)
            return None
        stand_in = self._open(broker)
        if stand_in is not None:
            self._note(broker, stand_in)
        return stand_in

    def _note(self, broker: Address, stand_in: Address) -> None:
        self._stand_ins[broker] = stand_in
        self._ours.add(stand_in)

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
            self._remember(broker, sock.getsockname()[1])
            return sock
        raise InputError(f"cannot listen on {show((host, wanted))}: {problem}; choose another address with --listen")

    def _remember(self, broker: Address, port: int) -> None:
        self._had[broker] = port
        while len(self._had) > REMEMBERED:
            del self._had[next(iter(self._had))]

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
                if error.errno in NO_ROOM:
                    self._wait()
                return
            if self._room():
                sock.setblocking(False)
                self._take(sock)
            else:
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                sock.close()
                self._refused()

    def _wait(self) -> None:
        """Try again later: connections wait until then, and those of the backlog that are too many are refused."""
        self._loop.remove_reader(self._sock)
        self._pause = self._loop.call_later(PAUSE, self._listen)
        self._refused()


class DescriptorLimit:
    """Open files that this process may have for connections; each takes `each`. `say` gets a line for refusals.

    `limit` is how many files this process may have open. Files that are open at `begin` count, too.
    """

    limit: int

    def __init__(self, each: int, say: Callable[[str], None]) -> None:
        self.limit = allow_many_files()
        self._each, self._notices = each, Notices(say)
        self._before = 0

    def begin(self) -> None:
        """Count the files that are open by now."""
        self._before = open_files()

    def has_room(self, listeners: int, connections: int) -> bool:
        """Return whether there is room for one more connection beside those that there are."""
        return self._before + listeners + self._each * (connections + 1) + SPARE <= self.limit

    def refuse(self, connections: int) -> None:
        """Say that a connection found no room."""
        self._notices.say(f"new connections are closed at once: {connections:,} are open, and the limit is "
                          f"{count(self.limit, 'open file')}; raise it with ulimit -n")  # fmt: skip


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

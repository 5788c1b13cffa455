"""TLS keys out of the memory of running processes, while their packets come.

Another process searches, so that packets are read meanwhile. A search begins when a connection of a process turns out
to be encrypted; nothing is searched otherwise.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from multiprocessing import TimeoutError as TookTooLong
from multiprocessing import get_context
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

from ..budget import MEMORY
from ..capture.keylog import Secrets
from ..capture.process_sockets import ProcessSockets
from ..errors import InputError
from ..streams.tls.session import Why
from ..views.reading.process_keys import check, line_of, search
from .key_sources import KeySource

if TYPE_CHECKING:
    from multiprocessing.pool import AsyncResult, Pool

    from ..capture.packet import Endpoint
    from ..streams.tls.record import BoundKey
    from ..streams.tls.recovery.proofs import FoundSecrets
    from ..streams.tls.session import Keys, TlsConnection, TlsSample

TRIES = 5
"""Searches for the keys of a connection: those of a handshake are not there at once."""
PAUSE = 0.06
"""Seconds between two searches."""
SEEN: dict[int, deque[FoundSecrets]] = {}
"""What was found in the memory of each process, in the process that searches."""
KEPT = 4
"""Searches whose results are kept."""
MOST = 1 << 16
"""Connections that are remembered."""
LAST = 10.0
"""Seconds that a search may still take once the packets have ended."""
Lines = list[str]


class ProcessKeys:
    """The `Keys` of an engine: those of its key log, and those found in the memory of processes.

    `pids` gives the processes, and `say` is told what cannot be done. `found` gets the lines of keys as they are found,
    those of handshakes as well. `sources` have lines too, of connections that may be over before a search has begun.
    Call `look` again and again, and `finish` before the engine is closed.
    """

    def __init__(
        self, pids: Callable[[], Collection[int]], say: Callable[[str], None],
        found: Callable[[str], object] | None = None, sources: Sequence[KeySource] = (),
    ) -> None:  # fmt: skip
        self.log: Keys | None = None
        self.opened = self.closed = 0
        """Connections whose keys were found, and those whose keys were not."""
        self._pids, self._say, self._found = pids, say, found
        self._secrets = Secrets()
        self._sources = dict.fromkeys(sources, False)
        """Whether each has had lines."""
        self._sockets = ProcessSockets(())
        self._waiting: dict[TlsConnection, int] = {}
        """How often the keys of connections are still looked for."""
        self._pid: dict[TlsConnection, int] = {}
        """Which process has those connections; a socket may be closed by now."""
        self._others = WeakSet["TlsConnection"]()
        """Connections of other processes, and those whose keys were not found."""
        self._search: AsyncResult[Lines] | None = None
        self._searched: list[TlsConnection] = []
        self._pool: Pool = get_context("spawn").Pool(1, _begin, (MEMORY.limit,))
        self._next = 0.0
        self._possible: bool | None = None
        """Whether the memory can be searched; None before the first attempt."""
        self._own: dict[frozenset[Endpoint], None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether keys are looked for."""
        return bool(self._waiting)

    def find(self, key: bytes) -> Mapping[str, bytes] | None:
        """Return the secrets of the connection that a client began with this random, or of the session of this id."""
        self._read_sources()
        return self._secrets.find(key) or (self.log.find(key) if self.log else None)

    def bound(self, sender: Endpoint, receiver: Endpoint) -> Sequence[BoundKey]:
        """Return what may open the records that one end of a connection sends."""
        return [*self._secrets.bound(sender, receiver), *(self.log.bound(sender, receiver) if self.log else ())]

    def awaits(self, connection: TlsConnection) -> bool:
        """Return whether the keys of a connection are looked for: of those that belong to a process."""
        if connection in self._waiting:
            return True
        if connection in self._others or self._possible is False:
            return False
        if (pid := self._owner(connection)) is None:
            self._others.add(connection)
            connection.give_up(Why.OTHER_PROCESS)
            return False
        if not self._is_possible():
            return False
        self._own[frozenset(connection.ends)] = None
        if len(self._own) > MOST:
            del self._own[next(iter(self._own))]
        self._waiting[connection], self._pid[connection] = TRIES, pid
        return True

    def __bool__(self) -> bool:
        return True

    def look(self) -> bool:
        """Begin a search where one is due, take up what one has found; return whether that was anything."""
        self._settle()
        if self._search is None and self._waiting and monotonic() >= self._next:
            self._search = self._submit()
        return self._search is not None and self._search.ready() and self._take(self._search)

    def finish(self) -> None:
        """Search for what was not searched for yet, and give up what was not found."""
        self._read_sources()
        for source, has_lines in self._sources.items():
            if not has_lines:
                self._say(f"{source.name} logged no TLS keys")
        end = monotonic() + LAST
        while monotonic() < end and (self._search is not None or any(map(self._is_new, self._waiting))):
            self._take(self._search or self._submit(), end - monotonic())
        self._settle()
        for connection in list(self._waiting):
            self._give_up(connection)
        self._pool.terminate()

    def owns(self, one: Endpoint, other: Endpoint) -> bool:
        """Return whether a connection whose keys were looked for has these ends: it may be closed by now."""
        return frozenset((one, other)) in self._own

    def _owner(self, connection: TlsConnection) -> int | None:
        """Return which process has a connection."""
        found = self._sockets.owner(*connection.ends)
        if found is None:
            self._sockets = ProcessSockets(self._pids())
            self._sockets.look()
            found = self._sockets.owner(*connection.ends)
        return found

    def _is_possible(self) -> bool:
        """Return whether the memory of the processes can be searched; say so, or why not, the first time."""
        if self._possible is None:
            pids = self._sockets.pids
            try:
                which = ", ".join(f"{name} {pid}" for name, pid in zip(check(pids), pids, strict=True))
                self._say(f"searching the memory of {which} for TLS keys")
                self._possible = True
            except InputError as error:
                self._say(str(error))
                self._possible = False
        return self._possible

    def _submit(self) -> AsyncResult[Lines]:
        """Begin a search for the keys of all that wait, and return it."""
        samples: dict[int, list[TlsSample]] = {}
        self._searched, thorough = list(self._waiting), False
        for connection in self._searched:
            sample = connection.sample()
            samples.setdefault(self._pid[connection], []).append(sample)
            thorough |= self._waiting[connection] == 1 and not sample.client_random
        return self._pool.apply_async(_search_all, (samples, thorough, self._found is not None))

    def _take(self, search: AsyncResult[Lines], timeout: float | None = None) -> bool:
        """Take up the lines that a search has found; connections go on whose keys are among them."""
        try:
            lines = search.get(timeout)
        except InputError as error:
            self._say(str(error))
            lines = []
        except TookTooLong:
            lines = []
        self._search, self._next = None, monotonic() + PAUSE
        self._learn(lines)
        searched, self._searched = self._searched, []
        for connection in searched:
            connection.waits()
            if connection.decided and not connection.is_waiting:
                self._opened(connection)
            elif connection in self._waiting and any(connection.sample().records):
                self._waiting[connection] -= 1
                if not self._waiting[connection]:
                    self._give_up(connection)
        return bool(lines)

    def _is_new(self, connection: TlsConnection) -> bool:
        """Return whether no search for the keys of a connection has ended, of which there are records."""
        return self._waiting[connection] == TRIES and any(connection.sample().records)

    def _settle(self) -> None:
        """Search no more for the keys of connections that go on by those of a source."""
        self._read_sources()
        for connection in list(self._waiting) if self._sources else ():
            connection.waits()
            if connection.decided and not connection.is_waiting:
                self._opened(connection)

    def _read_sources(self) -> None:
        for source in self._sources:
            if lines := source.lines():
                self._sources[source] = True
                self._learn(lines)

    def _learn(self, lines: Lines) -> None:
        self._secrets.take("".join(f"{line}\n" for line in lines).encode())
        if self._found is not None:
            for line in lines:
                self._found(line)

    def _opened(self, connection: TlsConnection) -> None:
        """Search no more for the keys of a connection, which are found."""
        if connection in self._waiting:
            del self._waiting[connection], self._pid[connection]
            self.opened += 1

    def _give_up(self, connection: TlsConnection) -> None:
        del self._waiting[connection], self._pid[connection]
        self._others.add(connection)
        self.closed += 1
        connection.give_up(Why.NOT_IN_MEMORY)


def _search_all(samples: Mapping[int, Sequence[TlsSample]], thorough: bool, whole: bool) -> Lines:
    """Return the lines of the keys that the memories of processes hold for their connections."""
    return [
        line_of(key) for pid, some in samples.items()
        for key in search(pid, some, thorough=thorough, whole=whole, seen=SEEN.setdefault(pid, deque(maxlen=KEPT)))
    ]  # fmt: skip


def _begin(max_memory: int) -> None:
    """Take so much memory, leave Ctrl-C to the process that shows, and import what the first search needs."""
    MEMORY.allow(max_memory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError):
        import kdbg.streams.tls.recovery.proofs  # noqa: F401

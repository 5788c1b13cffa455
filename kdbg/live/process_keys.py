"""TLS keys out of the memory of running processes, while their packets come.

Another process searches, so that packets are read meanwhile. A search begins when a connection of a process turns out
to be encrypted; nothing is searched otherwise.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

from ..capture.keylog import Secrets
from ..capture.process_sockets import ProcessSockets
from ..errors import InputError
from ..streams.tls.session import Why
from ..views.reading.process_keys import check, line_of, search
from .key_sources import KeySource

if TYPE_CHECKING:
    from ..capture.packet import Endpoint
    from ..streams.tls.record import BoundKey
    from ..streams.tls.session import Keys, TlsConnection, TlsSample

TRIES = 6
"""Searches for the keys of a connection: those of a handshake are not there at once."""
PAUSE = 0.06
"""Seconds between two searches."""
LAST = 10.0
"""Seconds that a search may still take once the packets have ended."""
Lines = list[str]


class ProcessKeys:
    """The `Keys` of an engine: those of its key log, and those found in the memory of processes.

    `pids` gives the processes, and `say` is told what cannot be done. `found` gets the lines of keys as they are found.
    `sources` have lines as well, of connections that may be over before a search has begun.
    Call `look` again and again, and `finish` before the engine is closed.
    """

    def __init__(
        self, pids: Callable[[], Collection[int]], say: Callable[[str], None],
        found: Callable[[str], object] = lambda line: None, sources: Sequence[KeySource] = (),
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
        self._others = WeakSet["TlsConnection"]()
        """Connections of other processes, and those whose keys were not found."""
        self._search: Future[Lines] | None = None
        self._searched: list[TlsConnection] = []
        self._pool: ProcessPoolExecutor | None = None
        self._next = 0.0
        self._possible = True

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
        if connection in self._others or not self._possible:
            return False
        if self._owner(connection) is None:
            self._others.add(connection)
            connection.give_up(Why.OTHER_PROCESS)
            return False
        if not self._begin():
            return False
        self._waiting[connection] = TRIES
        return True

    def __bool__(self) -> bool:
        return True

    def look(self) -> bool:
        """Begin a search where one is due, take up what one has found; return whether that was anything."""
        self._settle()
        if self._search is None and self._waiting and monotonic() >= self._next:
            self._submit()
        return self._search is not None and self._search.done() and self._take(self._search)

    def finish(self) -> None:
        """Wait for the last search, and give up what was not found."""
        self._read_sources()
        for source, has_lines in self._sources.items():
            if not has_lines:
                self._say(f"{source.name} logged no TLS keys")
        if self._waiting:
            if self._search is None:
                self._submit()
            if self._search is not None:
                self._take(self._search, LAST)
        self._settle()
        for connection in list(self._waiting):
            self._give_up(connection)
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _owner(self, connection: TlsConnection) -> int | None:
        """Return which process has a connection."""
        found = self._sockets.owner(*connection.ends)
        if found is None:
            self._sockets = ProcessSockets(self._pids())
            self._sockets.look()
            found = self._sockets.owner(*connection.ends)
        return found

    def _begin(self) -> bool:
        """Begin to search in another process; return False, once it is said, where that is not possible."""
        if self._pool is None:
            pids = self._sockets.pids
            try:
                names = check(pids)
            except InputError as error:
                self._possible = False
                self._say(str(error))
                return False
            which = ", ".join(f"{name} {pid}" for name, pid in zip(names, pids, strict=True))
            self._say(f"searching the memory of {which} for TLS keys")
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), _ignore_signals)
        return True

    def _submit(self) -> None:
        """Begin a search for the keys of all that wait."""
        samples: dict[int, list[TlsSample]] = {}
        self._searched = []
        for connection in self._waiting:
            sample, owner = connection.sample(), self._owner(connection)
            if any(sample.records) and owner is not None:
                self._searched.append(connection)
                samples.setdefault(owner, []).append(sample)
        if self._pool is not None and samples:
            self._search = self._pool.submit(_search_all, samples)
        elif not samples:
            self._next = monotonic() + PAUSE

    def _take(self, search: Future[Lines], timeout: float | None = None) -> bool:
        """Take up the lines that a search has found; connections go on whose keys are among them."""
        try:
            lines = search.result(timeout)
        except Exception as error:  # that of the other process, or that it was killed
            lines = []
            if isinstance(error, InputError):
                self._say(str(error))
        self._search, self._next = None, monotonic() + PAUSE
        self._learn(lines)
        searched, self._searched = self._searched, []
        for connection in searched:
            connection.waits()
            if not connection.is_waiting:
                self.opened += self._waiting.pop(connection, 0) > 0
            elif connection in self._waiting:
                self._waiting[connection] -= 1
                if not self._waiting[connection]:
                    self._give_up(connection)
        return bool(lines)

    def _settle(self) -> None:
        """Search no more for the keys of connections that go on by those of a source."""
        self._read_sources()
        for connection in list(self._waiting) if self._sources else ():
            connection.waits()
            if connection.decided and not connection.is_waiting:
                del self._waiting[connection]
                self.opened += 1

    def _read_sources(self) -> None:
        for source in self._sources:
            if lines := source.lines():
                self._sources[source] = True
                self._learn(lines)

    def _learn(self, lines: Lines) -> None:
        self._secrets.take("".join(f"{line}\n" for line in lines).encode())
        for line in lines:
            self._found(line)

    def _give_up(self, connection: TlsConnection) -> None:
        del self._waiting[connection]
        self._others.add(connection)
        self.closed += 1
        connection.give_up(Why.NOT_IN_MEMORY)


def _search_all(samples: Mapping[int, Sequence[TlsSample]]) -> Lines:
    """Return the lines of the keys that the memories of processes hold for their connections."""
    return [line_of(key) for pid, some in samples.items() for key in search(pid, some, thorough=False)]


def _ignore_signals() -> None:
    """Leave Ctrl-C to the process that shows."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)

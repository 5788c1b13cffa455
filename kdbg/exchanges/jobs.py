"""Work on several cores (`--jobs`): copies of this process, and the exchanges that they work on, in order."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import tempfile
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import IO, Any, NamedTuple, NoReturn, Protocol
from uuid import UUID

from .engine.driver import FEW
from .messages.exchange import Exchange
from .messages.serialization import Parcels

Show = Callable[[bytes], Any]
AVAILABLE = hasattr(os, "fork")
"""Whether this system can copy a process."""
DEPTH = 3
"""Pieces that a copy has at once: it has the next at hand while this process is at work on one itself."""
MOST_HELD = 16 << 20
"""Bytes to be shown that this process holds, while a copy is not done with what comes before them."""
MOST_READ, KEPT = 1 << 17, 4 << 20
"""Bytes of a copy's text that are read at a time, and bytes that its files keep for the next piece."""
HEADER, SIZES = struct.Struct("=BQ"), struct.Struct("=QQ")
"""Header of what a copy is sent: a `Task` and its size; header of its reply: the sizes of its text and its result."""


class Task(IntEnum):
    """What a copy is to do: all that is to do with exchanges, or half of it (see `Splitter`)."""

    EXCHANGES = 0
    READ = 1
    MAKE = 2


class InOrder(NamedTuple):
    """What `do` returns for exchanges that must be worked on after all before them: what it showed is forgotten.

    They are in the result, as so many bytes.
    """

    result: Any
    size: int


class Splitter(Protocol):
    """What copies do with parts of a capture that they read themselves."""

    def read(self, packed: bytes) -> Any:
        """Read a part; return what the first process has to know of it."""

    def make(self, packed: bytes, show: Show) -> Any:
        """Work on the exchanges of the part that was read first of those that are left, as `ExchangePool.do` does."""


class _Held:
    """A piece that was done here, while others before it are not."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.result: Any = None

    @property
    def size(self) -> int:
        return self.result.size if isinstance(self.result, InOrder) else sum(map(len, self.parts))

    def is_done(self) -> bool:
        return True

    def show(self, show: Show) -> Any:
        for part in self.parts if not isinstance(self.result, InOrder) else ():
            show(part)
        return self.result


class _Copy:
    """A copy of this process: `at_work` pieces were given to it and not taken yet."""

    def __init__(self, number: int, work: ExchangePool) -> None:
        self.number = number
        self._tasks: deque[Task] = deque()
        self._reports: deque[Any] = deque()
        self._files = [_file() for _ in range(DEPTH)]
        self._given = self._shown = 0
        self._sizes: bytes = b""
        todo, self._todo = os.pipe()
        self._done, done = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._process = os.fork()
        self._died = f"worker process {self._process} of kdbg ended unexpectedly"
        if not self._process:  # it leaves Ctrl-C to the process that made it, and ends with that
            os.close(self._todo)
            _serve(work, todo, done, self._files)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(todo)
        os.close(done)

    @property
    def at_work(self) -> int:
        return len(self._tasks)

    def give(self, packed: Iterable[bytes | memoryview], task: Task = Task.EXCHANGES) -> None:
        """Give it a piece."""
        with _rewritten(self._files[self._given % DEPTH]) as out:
            out.writelines(packed)
            size = out.tell()
        try:
            os.write(self._todo, HEADER.pack(task, size))
        except BrokenPipeError:
            raise ChildProcessError(self._died) from None
        self._given += 1
        self._tasks.append(task)

    def report(self) -> Any:
        """Return the next report of a part that it has read; wait for it. What was given to it before must be shown."""
        self._take_reports()
        return self._reports.popleft()

    def _take_reports(self) -> None:
        while self._tasks and self._tasks[0] is Task.READ:
            self._reports.append(self._take(lambda text: None))

    def is_reading(self) -> bool:
        """Return whether nothing is to be shown before the next report."""
        return bool(self._reports) or self._tasks[0] is Task.READ

    def is_done(self) -> bool:
        """Return whether it is done with the oldest piece, without waiting for it."""
        os.set_blocking(self._done, False)
        try:
            self._take_reports()
            return bool(self._result())
        except BlockingIOError:
            return False
        finally:
            os.set_blocking(self._done, True)

    def show(self, show: Show) -> Any:
        """Show what it made of the oldest piece, and return the result; wait for it."""
        self._take_reports()
        return self._take(show)

    def _take(self, show: Show) -> Any:
        size, more = SIZES.unpack(self._result())
        self._sizes = b""
        file = self._files[self._shown % DEPTH]
        for start in range(0, size, MOST_READ):
            show(os.pread(file, min(MOST_READ, size - start), start))
        done, value = pickle.loads(os.pread(file, more, size))  # what a copy of this process wrote
        if size > KEPT:
            os.truncate(file, 0)
        self._shown += 1
        self._tasks.popleft()
        if not done:
            raise value
        return value

    def end(self) -> None:
        """End it."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        for file in (self._todo, self._done, *self._files):
            os.close(file)

    def _result(self) -> bytes:
        """Return what it tells of the oldest piece."""
        if not self._sizes:
            self._sizes = os.read(self._done, SIZES.size)
            if not self._sizes:
                raise ChildProcessError(self._died)
        return self._sizes


def _file() -> int:
    """Return a file without a name: in memory, where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("kdbg")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@contextmanager
def _rewritten(file: int) -> Iterator[IO[bytes]]:
    """Give what writes into a file from its beginning on, many parts at once."""
    with open(file, "wb", buffering=MOST_READ, closefd=False) as out:
        out.seek(0)
        yield out


def _serve(work: ExchangePool, todo: int, done: int, files: list[int]) -> NoReturn:
    """Do what is given, in the copy, until there is no more."""
    try:
        number = 0
        while header := os.read(todo, HEADER.size):
            file, (task, size) = files[number % DEPTH], HEADER.unpack(header)
            packed = os.pread(file, size, 0)
            with _rewritten(file) as out:
                try:
                    said: tuple[bool, Any] = True, work.perform(Task(task), packed, out.write)
                    if isinstance(said[1], InOrder):
                        out.seek(0)
                except Exception as error:  # it is raised where the work was given
                    said = False, error
                size, value = out.tell(), pickle.dumps(said)
                out.write(value)
            os.write(done, SIZES.pack(size, len(value)))
            number += 1
    finally:
        os._exit(0)


MOST = 256
"""Exchanges of a piece of work."""
ABOUT = struct.Struct("=Q")
"""Header of packed exchanges: the size of what `about` returned for them."""


class ExchangePool:
    """Takes exchanges by `add`, and works on pieces of them here and in `copies` of this process.

    A subclass says in `do` what is to be done, and takes in `take` what came of it. What is shown of them goes to
    `show` in this process, in the order of exchanges; `topics` are the names of topic ids, which grow; `most` exchanges
    are a piece. An exception in a copy is raised here, by one of the next calls.
    """

    def __init__(self, copies: int, topics: dict[UUID, str], show: Show, most: int | None = None) -> None:
        self._most_copies, self._show, self._most = copies if AVAILABLE else 0, show, most or MOST
        self._exchanges: list[Exchange] = []
        self.parcels: Parcels = Parcels(topics)
        self._copies: list[_Copy] = []
        self._order: deque[_Copy | _Held] = deque()
        self._held = 0
        self._begun = False

    splitter: Splitter | None = None
    """What copies do with parts of a capture, where they are given any."""
    can_split: bool = AVAILABLE
    holds: bool = False
    """Whether exchanges are held until `make_part` says what becomes of them."""

    def do(self, exchanges: list[Exchange], show: Show) -> Any:
        """Work on exchanges, here or in a copy; return what `take` wants to know."""
        raise NotImplementedError

    def about(self, exchanges: Sequence[Exchange]) -> Any:
        """Return what a copy has to know of exchanges beside them."""

    def do_elsewhere(self, exchanges: list[Exchange], about: Any, show: Show) -> Any:
        """Work on exchanges in a copy; return what `take` wants to know."""
        return self.do(exchanges, show)

    def do_next(self, exchanges: list[Exchange]) -> None:
        """Work on exchanges here, after all before them are shown."""
        self.take(self.do(exchanges, self._show))

    def take(self, result: Any) -> None:
        """Take what `do` returned; in this process, in the order of exchanges, after all that was shown."""
        raise NotImplementedError

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges; work on those at hand where there are enough, or few, which are large."""
        self._exchanges += exchanges
        if self.holds:
            return
        if len(self._exchanges) >= self._most or len(exchanges) < FEW:
            self._give()

    def _give(self) -> None:
        """Have the exchanges at hand worked on; here, if no copy is free."""
        piece, self._exchanges = self._exchanges, []
        if not piece:
            return
        while self._order and self._order[0].is_done():
            self._show_next()
        copy = None  # the one with the least to do, a new one where all are at work; none where all have enough
        if self._begun:
            copy = min(self._copies, key=lambda copy: copy.at_work, default=None)
            if len(self._copies) < self._most_copies and (copy is None or copy.at_work):
                copy = self._new_copy()
        self._begun = True
        if copy is not None and copy.at_work < DEPTH:
            copy.give(self.pack(piece, copy.number))
            self._order.append(copy)
        elif self._order:
            held = _Held()
            self._order.append(held)
            held.result = self.do(piece, held.parts.append)
            self._held += held.size
            while self._held > MOST_HELD:
                self._show_next()
        else:
            self.do_next(piece)

    def _new_copy(self) -> _Copy:
        copy = _Copy(len(self._copies), self)
        self.parcels.copied(copy.number)
        self._copies.append(copy)
        return copy

    def _show_next(self) -> None:
        """Show the next piece, and take what came of it; wait for that."""
        first = self._order[0]
        result = first.show(self._show)
        self._order.popleft()
        if isinstance(first, _Held):
            self._held -= first.size
        self.take(result)

    # Parts of a capture that copies read themselves

    def begin_split(self) -> int:
        """Make all copies, and hold exchanges from now on; return how many copies there are."""
        self._give()
        self.holds = True
        while len(self._copies) < self._most_copies + 1:
            self._new_copy()
        return len(self._copies)

    def read_part(self, number: int, packed: Iterable[bytes | memoryview]) -> None:
        """Have the copy of this number read a part of a capture."""
        self._give_to(self._copies[number], packed, Task.READ)

    def report(self, number: int) -> Any:
        """Return the next report of a copy."""
        copy = self._copies[number]
        while not copy.is_reading():
            self._show_next()
        return copy.report()

    def make_part(self, number: int, last: int, head: Any) -> None:
        """Have a copy work on a part that it has read, with the exchanges up to the `last` that are held here."""
        end = bisect_right(self._exchanges, last, key=lambda exchange: exchange.number)
        piece, self._exchanges = self._exchanges[:end], self._exchanges[end:]
        copy = self._copies[number]
        parcel = b"".join(self.parcels.pack(piece, number))
        self._give_to(copy, [pickle.dumps((head, self.about(piece), parcel))], Task.MAKE)
        self._order.append(copy)
        while self._order and self._order[0].is_done():
            self._show_next()

    def give_held(self) -> None:
        """Have the exchanges that are held worked on: no part that a copy has read comes before them."""
        held, self._exchanges = self._exchanges, []
        for start in range(0, len(held), self._most):
            self._exchanges = held[start : start + self._most]
            self._give()

    def _give_to(self, copy: _Copy, packed: Iterable[bytes | memoryview], task: Task) -> None:
        while copy.at_work >= DEPTH:
            self._show_next()
        copy.give(packed, task)

    def end_split(self) -> None:
        """Hold exchanges no longer."""
        self.holds = False

    def wait(self) -> None:
        """Wait until all is done and shown."""
        if self.holds:
            return
        self._give()
        while self._order:
            self._show_next()

    def close(self) -> None:
        """End the copies, whatever they are at."""
        for copy in self._copies:
            copy.end()
        self._copies.clear()
        self._order.clear()

    def pack(self, exchanges: list[Exchange], copy: int) -> Iterable[bytes]:
        """Return exchanges as bytes, in parts, for the copy of this number."""
        about = pickle.dumps(self.about(exchanges))
        return [ABOUT.pack(len(about)), about, *self.parcels.pack(exchanges, copy)]

    def perform(self, task: Task, packed: bytes, show: Show) -> Any:
        """Do a task in a copy."""
        if task is Task.EXCHANGES:
            return self.do_packed(packed, show)
        assert self.splitter is not None
        return self.splitter.read(packed) if task is Task.READ else self.splitter.make(packed, show)

    def do_packed(self, packed: bytes, show: Show) -> Any:
        """Work on exchanges in a copy."""
        end = ABOUT.size + ABOUT.unpack_from(packed)[0]
        about = pickle.loads(packed[ABOUT.size : end])  # what this process packed
        return self.do_elsewhere(self.parcels.unpack(packed[end:]), about, show)

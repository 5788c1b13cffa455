"""Work on several cores (`--jobs`): copies of this process, and the exchanges that they work on, in order."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NoReturn
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
SIZE, SIZES = struct.Struct("=Q"), struct.Struct("=QQ")
"""Header of a piece sent to a copy: its size; header of its reply: the sizes of what is shown and of the result."""


class _Held:
    """A piece that was done here, while others before it are not."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.result: Any = None

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    def is_done(self) -> bool:
        return True

    def show(self, show: Show) -> Any:
        for part in self.parts:
            show(part)
        return self.result


class _Copy:
    """A copy of this process: `at_work` pieces were given to it and not shown yet."""

    def __init__(self, number: int, work: ExchangePool) -> None:
        self.number, self.at_work = number, 0
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

    def give(self, packed: Iterable[bytes]) -> None:
        """Give it a piece."""
        with _rewritten(self._files[self._given % DEPTH]) as out:
            out.writelines(packed)
            size = out.tell()
        try:
            os.write(self._todo, SIZE.pack(size))
        except BrokenPipeError:
            raise ChildProcessError(self._died) from None
        self._given += 1
        self.at_work += 1

    def is_done(self) -> bool:
        """Return whether it is done with the oldest piece, without waiting for it."""
        os.set_blocking(self._done, False)
        try:
            return bool(self._result())
        except BlockingIOError:
            return False
        finally:
            os.set_blocking(self._done, True)

    def show(self, show: Show) -> Any:
        """Show what it made of the oldest piece, and return the result; wait for it."""
        size, more = SIZES.unpack(self._result())
        self._sizes = b""
        file = self._files[self._shown % DEPTH]
        for start in range(0, size, MOST_READ):
            show(os.pread(file, min(MOST_READ, size - start), start))
        done, value = pickle.loads(os.pread(file, more, size))  # what a copy of this process wrote
        if size > KEPT:
            os.truncate(file, 0)
        self._shown += 1
        self.at_work -= 1
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
        while told := os.read(todo, SIZE.size):
            file, (size,) = files[number % DEPTH], SIZE.unpack(told)
            packed = os.pread(file, size, 0)
            with _rewritten(file) as out:
                try:
                    said = True, work.do_packed(packed, out.write)
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


class ExchangePool:
    """Takes exchanges by `add`, and works on pieces of them here and in `copies` of this process.

    A subclass says in `do` what is to be done, and takes in `take` what came of it. What is shown of them goes to
    `show` in this process, in the order of exchanges; `topics` are the names of topic ids, which grow; `most` exchanges
    are a piece. An exception in a copy is raised here, by one of the next calls.
    """

    def __init__(self, copies: int, topics: dict[UUID, str], show: Show, most: int | None = None) -> None:
        self._most_copies, self._show, self._most = copies if AVAILABLE else 0, show, most or MOST
        self._exchanges: list[Exchange] = []
        self._parcels = Parcels(topics)
        self._copies: list[_Copy] = []
        self._order: deque[_Copy | _Held] = deque()
        self._held = 0
        self._begun = False

    def do(self, exchanges: list[Exchange], show: Show) -> Any:
        """Work on exchanges, here or in a copy; return what `take` wants to know."""
        raise NotImplementedError

    def take(self, result: Any) -> None:
        """Take what `do` returned; in this process, in the order of exchanges, after all that was shown."""
        raise NotImplementedError

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges; work on those at hand where there are enough, or few, which are large."""
        self._exchanges += exchanges
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
                copy = _Copy(len(self._copies), self)
                self._copies.append(copy)
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
            self.take(self.do(piece, self._show))

    def _show_next(self) -> None:
        """Show the next piece, and take what came of it; wait for that."""
        first = self._order[0]
        result = first.show(self._show)
        self._order.popleft()
        if isinstance(first, _Held):
            self._held -= first.size
        self.take(result)

    def wait(self) -> None:
        """Wait until all is done and shown."""
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
        """Return exchanges as bytes, in parts, for the copy of this number; the first are packed when it is made."""
        return self._parcels.pack(exchanges, copy)

    def do_packed(self, packed: bytes, show: Show) -> Any:
        """Work on exchanges in a copy."""
        return self.do(self._parcels.unpack(packed), show)

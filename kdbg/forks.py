"""Work on more than one core, in the order in which it was given: processes that begin as copies of this one.

One process goes on with what cannot be divided (packets, streams, pairing), and copies of it do the rest with a piece
of what it has at hand: nothing is packed and sent to them, as they have it already. Only results are sent back. Where
the system cannot copy a process (Windows), the work is done here.

What a copy remembers for later (compiled readings, memos) is lost with it: do the first of each kind before the copy is
made.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

Piece = TypeVar("Piece")
AVAILABLE = hasattr(os, "fork")
"""Whether this system can copy a process."""


class Copy(NamedTuple):
    """A copy at work: its process, and where it says what it came to."""

    process: int
    result: int


class Forks(Generic[Piece]):
    """`give` pieces of work to at most `most` copies at once; `close` waits for all of them.

    A copy runs `work(piece)`, which returns what `show` then takes, in the copy still but in the order of the pieces:
    it is what may write to the standard output. What `show` returns goes to `take`, in this process and that order.
    An exception in a copy is raised here, by the next `give` or by `close`.
    """

    def __init__(
        self,
        most: int,
        work: Callable[[Piece], Any],
        show: Callable[[Any], Any],
        take: Callable[[Any], None],
    ) -> None:
        self.most, self._work, self._show, self._take = most, work, show, take
        self._copies: deque[Copy] = deque()
        self._turn: int | None = None

    def give(self, piece: Piece) -> None:
        """Have a piece of work done; wait where as many copies as may be are at work."""
        if not AVAILABLE:
            self._take(self._show(self._work(piece)))
            return
        while len(self._copies) >= self.most:
            self._wait()
        turn, (next_turn, passes) = self._turn, os.pipe()
        result, says = os.pipe()
        process = os.fork()
        if not process:
            for end in (next_turn, result):
                os.close(end)
            self._copied(piece, turn, passes, says)
        for end in (passes, says, *(() if turn is None else (turn,))):
            os.close(end)
        self._turn = next_turn
        self._copies.append(Copy(process, result))

    def wait(self) -> None:
        """Wait until all that was given is done."""
        while self._copies:
            self._wait()

    def close(self) -> None:
        """Wait until all is done, and let go of what is held."""
        try:
            self.wait()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End the copies that are at work."""
        for process, result in self._copies:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(result)
        self._copies.clear()
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None

    def _wait(self) -> None:
        """Take what the oldest copy came to."""
        process, result = self._copies[0]
        with open(result, "rb", closefd=False) as told:
            said = told.read()
        self._copies.popleft()
        os.close(result)
        os.waitpid(process, 0)
        if not said:
            raise ChildProcessError(f"process {process} of kdbg ended before its work was done")
        done, value = pickle.loads(said)  # what a copy of this process wrote
        if not done:
            raise value
        self._take(value)

    def _copied(self, piece: Piece, turn: int | None, passes: int, says: int) -> None:
        """Do the work in the copy, wait for its turn, show, pass the turn on, and end the copy."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that made it, which ends it
            try:
                worked = self._work(piece)
                if turn is not None:
                    os.read(turn, 1)
                said: tuple[bool, Any] = True, self._show(worked)
            except Exception as error:  # it is raised where the work was given
                said = False, error
            os.write(passes, b".")
            with open(says, "wb") as told:
                pickle.dump(said, told)
        finally:
            os._exit(0)

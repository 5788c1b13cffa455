"""Work for several processes: all pieces are done, shown in their order, by all who can, and errors come back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.exchanges import jobs
from kdbg.exchanges.jobs import DEPTH, MOST_READ, ExchangePool, InOrder, Show

PIECES = list(range(40))


def slow_at_first(piece: int) -> None:
    """Take longer for early pieces, so that order does not come of itself."""
    time.sleep(max(0, 8 - piece) / 200)


class Numbers(ExchangePool):
    """Work on numbers in place of exchanges, one a piece: shows each, and notes who did it."""

    def __init__(self, does: Callable[[int], Any] = slow_at_first) -> None:
        self.does = does
        self.shown: list[bytes] = []
        self.taken: list[tuple[int, int]] = []

    def pack(self, exchanges: list[Any], copy: int) -> list[bytes]:
        return [b"%d" % exchanges[0], b" "]

    def do_packed(self, packed: bytes, show: Show) -> tuple[int, int]:
        return self.do([int(packed)], show)

    def do(self, exchanges: list[Any], show: Show) -> tuple[int, int]:
        (piece,) = exchanges
        self.does(piece)
        show(b"%d" % piece)
        show(b",")
        return piece, os.getpid()

    def take(self, result: tuple[int, int]) -> None:
        self.taken.append(result)
        assert b"".join(self.shown).endswith(b"%d," % result[0])

    def work(self, copies: int, pieces: list[int] = PIECES) -> set[int]:
        """Do it all; return the processes that did."""
        self.do_all(copies, pieces)
        assert b"".join(self.shown) == b"".join(b"%d," % piece for piece in pieces)
        assert [piece for piece, _ in self.taken] == pieces
        return {process for _, process in self.taken}

    def do_all(self, copies: int, pieces: list[int]) -> None:
        super().__init__(copies, {}, self.shown.append, most=1)
        with closing(self):
            for piece in pieces:
                self.add([piece])  # type: ignore[list-item]
            self.wait()


@pytest.mark.parametrize("copies", [0, 1, 3])
def test_pieces_are_shown_and_taken_in_their_order_and_all_take_part(copies: int) -> None:
    processes = Numbers().work(copies)
    assert os.getpid() in processes
    assert len(processes) == copies + 1


def test_where_nothing_can_be_copied_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "AVAILABLE", False)
    assert Numbers().work(3) == {os.getpid()}


def test_one_piece_makes_no_copy() -> None:
    assert Numbers().work(3, [7]) == {os.getpid()}


def test_a_copy_that_is_slow_is_given_less() -> None:
    here = os.getpid()
    work = Numbers(lambda piece: os.getpid() != here and time.sleep(0.05))
    work.work(1)
    assert 0 < sum(process != here for _, process in work.taken) <= len(PIECES) // 2


def test_long_texts_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of several pieces of a file, and of files that are cut down behind them."""
    monkeypatch.setattr(jobs, "KEPT", MOST_READ)

    class Long(Numbers):
        def do(self, exchanges: list[Any], show: Show) -> tuple[int, int]:
            for part in range(6):
                show(b"%d" % (part % 10) * (exchanges[0] * MOST_READ // 7))
            return super().do(exchanges, show)

        def take(self, result: tuple[int, int]) -> None:
            self.taken.append(result)

    def all_shown(copies: int) -> bytes:
        work = Long(lambda piece: None)
        work.do_all(copies, list(range(12)))
        return b"".join(work.shown)

    assert all_shown(2) == all_shown(0)


def test_what_must_be_done_in_order_is_shown_once_by_this_process() -> None:
    """Whoever was given it, and whatever was shown of it before that was clear."""

    class InTurn(Numbers):
        def do(self, exchanges: list[Any], show: Show) -> Any:
            done = super().do(exchanges, show)
            return InOrder(exchanges[0], 8) if exchanges[0] % 2 else done

        def do_next(self, exchanges: list[Any]) -> None:
            self.take(InOrder(exchanges[0], 8))

        def take(self, result: Any) -> None:
            if isinstance(result, InOrder):
                self.shown.append(b"%d," % result.result)
                result = result.result, os.getpid()
            super().take(result)

    assert os.getpid() in InTurn().work(2)


def test_text_that_waits_for_a_copy_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_HELD", 8)
    here, waits = os.getpid(), list[int]()
    work = Numbers(lambda piece: time.sleep(0.1) if os.getpid() != here else waits.append(len(work.taken)))
    work.work(1, list(range(20)))
    assert waits[-1] > DEPTH  # so it waited for what comes before the last, and did not go ahead to the end


def test_exchanges_that_wait_for_their_turn_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_HELD", 20)
    here, waits = os.getpid(), list[int]()

    class InTurn(Numbers):
        def do(self, exchanges: list[Any], show: Show) -> Any:
            return InOrder(super().do(exchanges, lambda text: None), 8)

        def do_next(self, exchanges: list[Any]) -> None:
            self.take(self.do(exchanges, self.shown.append))

        def take(self, result: Any) -> None:
            self.shown.append(b"%d," % result.result[0])
            super().take(result.result)

    work = InTurn(lambda piece: time.sleep(0.1) if os.getpid() != here else waits.append(len(work.taken)))
    work.work(1, list(range(20)))
    assert waits[-1] > DEPTH


def test_an_error_in_a_copy_is_raised_where_the_work_was_given() -> None:
    here = os.getpid()
    work = Numbers(lambda piece: 1 // 0 if os.getpid() != here else slow_at_first(piece))
    with pytest.raises(ZeroDivisionError):
        work.work(2)


@pytest.mark.parametrize("when", [lambda piece: True, lambda piece: piece > 20], ids=["at once", "later"])
def test_a_copy_that_is_killed_is_told(when: Callable[[int], bool]) -> None:
    here = os.getpid()
    work = Numbers(lambda piece: os.kill(os.getpid(), 9) if os.getpid() != here and when(piece) else time.sleep(0.01))
    with pytest.raises(ChildProcessError, match="ended unexpectedly"):
        work.work(2)


def open_files() -> list[str]:
    """The file descriptors of this process, where the system tells."""
    here = Path("/proc/self/fd")
    return sorted(path.name for path in here.iterdir()) if here.is_dir() else []


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "a temporary file"])
def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, memory: bool) -> None:
    if not memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    before = open_files()
    work = Numbers()
    ExchangePool.__init__(work, 3, {}, work.shown.append, most=1)
    for piece in range(10):
        work.add([piece])  # type: ignore[list-item]
    work.close()
    assert open_files() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


ORPHANS = """
import os, time
from kdbg.exchanges.jobs import ExchangePool
class Work(ExchangePool):
    def pack(self, piece, copy): return [b"."]
    def do_packed(self, packed, show): return os.getpid()
    def do(self, piece, show): return 0
    def take(self, process): process and print(process, flush=True)
working = Work(3, {}, print, most=1)
for piece in range(12): working.add([piece])
working.wait()
time.sleep(60)
"""


def test_copies_end_with_the_process_that_made_them() -> None:
    """Also where that is killed, and has no time to end them."""
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) != process.pid
        process.kill()
        process.communicate(timeout=30)  # it ends when all that have the output open are gone

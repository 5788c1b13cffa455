"""Copies of a process: all pieces are done, shown in their order, at most so many at once, and errors come back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kdbg import forks
from kdbg.forks import Forks

PIECES = list(range(7))


def slowest_first(piece: int) -> int:
    """Take the longer the earlier the piece, so that order does not come of itself."""
    time.sleep((len(PIECES) - piece) / 100)
    return piece


@pytest.mark.parametrize("copies", [True, False], ids=["copied", "where nothing can be copied"])
@pytest.mark.parametrize("most", [1, 3])
def test_pieces_are_shown_and_taken_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, copies: bool
) -> None:
    monkeypatch.setattr(forks, "AVAILABLE", copies)
    shown, taken = tmp_path / "shown", list[tuple[int, int]]()

    def show(piece: int) -> tuple[int, int]:
        with shown.open("a") as file:
            file.write(f"{piece}\n")
        return piece, os.getpid()

    work = Forks(most, slowest_first, show, taken.append)
    for piece in PIECES:
        work.give(piece)
    work.close()
    assert shown.read_text().split() == [str(piece) for piece in PIECES]
    assert [piece for piece, _ in taken] == PIECES
    assert len({process for _, process in taken} - {os.getpid()}) == (len(PIECES) if copies else 0)


def test_at_most_so_many_copies_are_at_work(tmp_path: Path) -> None:
    def work(piece: int) -> int:
        mine = tmp_path / str(piece)
        mine.touch()
        time.sleep(0.05)
        there = len(list(tmp_path.iterdir()))
        mine.unlink()
        return there

    counts: list[int] = []
    working = Forks(2, work, lambda there: there, counts.append)
    for piece in PIECES:
        working.give(piece)
    working.close()
    assert max(counts) == 2


def test_an_error_in_a_copy_is_raised_where_the_work_was_given() -> None:
    working = Forks(2, lambda piece: 1 // piece, lambda found: found, lambda found: None)
    with pytest.raises(ZeroDivisionError):
        for piece in (1, 0, 1, 1, 1):
            working.give(piece)
    working.abandon()


def test_a_copy_that_is_killed_is_told() -> None:
    working = Forks(1, lambda piece: os.kill(os.getpid(), 9), lambda found: found, lambda found: None)
    working.give(None)
    with pytest.raises(ChildProcessError, match="before its work was done"):
        working.close()


def open_files() -> list[str]:
    """The file descriptors of this process, where the system tells."""
    here = Path("/proc/self/fd")
    return sorted(path.name for path in here.iterdir()) if here.is_dir() else []


def test_nothing_is_left_behind() -> None:
    before = open_files()
    working = Forks(3, slowest_first, lambda found: found, lambda found: None)
    for piece in PIECES:
        working.give(piece)
    working.abandon()
    assert open_files() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)

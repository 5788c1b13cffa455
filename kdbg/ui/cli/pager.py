"""Long output on a terminal goes through a pager, as git's does: $KDBG_PAGER, else $PAGER, else less.

What fits on the screen is printed without one. So output is held back until it is longer than the screen, or complete.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from .output import Writer, encoded

NONE = ("", "cat")
"""Pagers that are none."""


def pager_command() -> str | None:
    """Return the command line of the pager; None where there is none, or none is wanted."""
    for name in ("KDBG_PAGER", "PAGER"):
        asked = os.environ.get(name)
        if asked is not None:
            return None if asked.strip() in NONE else asked
    return "less" if shutil.which("less") else None


@contextmanager
def writing(*, live: bool, pager: bool) -> Iterator[Writer]:
    """Make a context with what writes to stdout; `pager`: long output goes through one, if stdout is a terminal.

    At its end all is written, and the pager is waited for.
    """
    command = pager_command() if pager and not live and sys.stdout.isatty() else None
    if command is None or os.environ.get("TERM") == "dumb":
        yield Writer(live=live)
        return
    writer = PagedWriter(command, shutil.get_terminal_size().lines)
    try:
        yield writer
    finally:
        writer.finish()


class PagedWriter(Writer):
    """Writes to stdout what is shorter than `lines`, and all else to the pager; what is said on stderr comes behind."""

    command: str
    lines: int

    def __init__(self, command: str, lines: int) -> None:
        super().__init__()
        self.command, self.lines = command, lines
        self._said: list[str] = []
        self._pager: subprocess.Popen[bytes] | None = None

    def write(self, piece: str | bytes) -> None:
        if self._pager is not None:
            super().write(piece)
            return
        data = encoded(piece)
        self._parts.append(data)
        self.lines -= data.count(b"\n")
        if self.lines <= 0:
            self._start()

    def write_all(self, pieces: Sequence[str | bytes]) -> None:
        for piece in pieces:
            self.write(piece)

    def flush(self) -> None:
        """Write what there is, once the pager runs: before, it is not known whether it is wanted."""
        if self._pager is not None:
            super().flush()

    def say(self, text: str) -> None:
        self._said.append(text)

    def _start(self) -> None:
        self.giving_away()
        environment = {"LESS": "FRX", "LESSCHARSET": "utf-8"} | os.environ
        self._pager = subprocess.Popen(self.command, shell=True, stdin=subprocess.PIPE, env=environment)  # the user's
        assert self._pager.stdin is not None
        self.raw = self._pager.stdin  # type: ignore[assignment]  # a BinaryIO all the same
        super().flush()

    def finish(self) -> None:
        """Write what was held back, wait for the pager, and say what was to be said."""
        if self._pager is None:
            super().flush()
        else:
            with suppress(BrokenPipeError):  # it was left before the end
                super().flush()
            with suppress(BrokenPipeError):
                self.raw.close()
            while self._pager.poll() is None:
                with suppress(KeyboardInterrupt):  # it is the pager's, and ends nothing there
                    self._pager.wait()
            self.raw = sys.stdout.buffer
            self._parts.clear()
        for text in self._said:
            super().say(text)
        self._said.clear()

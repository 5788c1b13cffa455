"""Where output goes: how it looks on the stdout that there is, writing in bulk, the pager.

Long output on a terminal goes through a pager, as git's does: $KDBG_PAGER, else $PAGER, else less. What fits on the
screen is printed without one. So output is held back until it is longer than the screen, or complete.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ...views.render.style import Look

if TYPE_CHECKING:
    import subprocess

    from ...exchanges.messages.exchange import Exchange
    from ...payloads.values.chosen import ReadBytes

FLUSH_AT = 1 << 16
NO_PAGER = ("", "cat")
"""Pagers that are none."""


def take_look(options: dict[str, Any], format: str = "tree", read: ReadBytes | None = None) -> Look:
    """Take out of what a command was given how its output looks; `read` is what reads keys and values.

    Of `look_options`, and of the options of values, fields and trees as far as the command has them: see `options`.
    """
    found = look(
        options.pop("color"), options.pop("full"), options.pop("show_secrets"), options.pop("meanings", False), read
    )
    if "depth" in options:
        taken = {name: options.pop(name) for name in ("local", "only_errors", "depth")}
        if format != "tree" and (taken["only_errors"] or taken["depth"] is not None):
            option = "--only-errors" if taken["only_errors"] else "--depth"
            raise click.UsageError(f"{option} requires --format tree, not {format}")
        if taken["local"] and format == "json":
            click.echo("kdbg: --local has no effect on JSON, whose times are always UTC", err=True)
        found = replace(found, compact=not found.full and not found.meanings, **taken)  # trees show what matters
    return without_values(found, options.pop("hide_values", False))


def look(color: str, full: bool, show_secrets: bool, meanings: bool = False, read: ReadBytes | None = None) -> Look:
    """Return how output looks on the stdout that there is: colours, width, what is shown whole."""
    terminal = sys.stdout.isatty()
    colors = ""
    if color == "always" or (color == "auto" and terminal and not os.environ.get("NO_COLOR")):
        colors = "STANDARD"
    if colors and terminal:  # rich finds out which colour system it has
        from rich.console import Console

        names = {"standard": "STANDARD", "256": "EIGHT_BIT", "truecolor": "TRUECOLOR", "windows": "WINDOWS"}
        colors = names.get(Console(force_terminal=True).color_system or "", colors)
    return Look(colors, width(), full or not terminal, show_secrets, long_lines=full, meanings=meanings, read=read)


def without_values(found: Look, hide: bool) -> Look:
    """Return a look that hides keys and values if they shall be; what readers make of them is hidden with them."""
    if hide and found.show_secrets:
        raise click.UsageError("use either --show-secrets or --hide-values, not both")
    return replace(found, hide_values=True, read=None) if hide else found


def width() -> int:
    """Return the columns of the terminal, or of COLUMNS; 80 where there is neither."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return 80
    return terminal_size().columns


def terminal_size() -> os.terminal_size:
    """Return the columns and lines of the terminal; 80 and 24 where there is none."""
    import shutil

    return shutil.get_terminal_size((80, 24))


def encoded(piece: str | bytes) -> bytes:
    """Return text as it goes to stdout."""
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace")


def joined(pieces: Sequence[str | bytes]) -> bytes:
    """Return pieces of text in one, as they go to stdout."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return encoded("".join(texts)) if len(texts) == len(pieces) else b"".join(map(encoded, pieces))


class Writer:
    """Writes text or bytes to stdout: in bulk into a pipe or file, at once on a terminal or where `live` is set.

    `before` is called before anything is written, `giving_away` before the terminal is left to another program.
    """

    before: Callable[[], None] | None = None
    giving_away: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *, live: bool = False) -> None:
        self.raw: BinaryIO = sys.stdout.buffer
        self.live: bool | Any = live or sys.stdout.isatty()
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, piece: str | bytes) -> None:
        data = encoded(piece)
        if len(data) > FLUSH_AT:
            self.flush()
            if self.before is not None:
                self.before()
            self._write_out(data)
            return
        self._parts.append(data)
        self._size += len(data)
        if self.live or self._size > FLUSH_AT:
            self.flush()

    def write_all(self, pieces: Sequence[str | bytes]) -> None:
        """Write pieces; on a terminal, together."""
        data = joined(pieces)
        self._parts.append(data)
        self._size += len(data)
        if self.live or self._size > FLUSH_AT:
            self.flush()

    def say(self, text: str) -> None:
        """Print a line on stderr, after all output so far."""
        self.flush()
        click.echo(text, err=True)

    def flush(self) -> None:
        """Write what there is."""
        if self._parts:
            if self.before is not None:
                self.before()
            self._write_out(b"".join(self._parts))
            self._parts.clear()
            self._size = 0
        self.raw.flush()

    def _write_out(self, data: bytes) -> None:
        """Write all of `data`: without a buffer (PYTHONUNBUFFERED), a signal may have stdout take less of it."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.raw.write(rest) or 0 :]


class OutOfOrder(Exception):
    """What is made of exchanges depends on those before them."""


class Sink:
    """What a command makes of exchanges, here and in order by `show`, or wherever by `make`, many at a time.

    `most` exchanges are a piece of work, None for the usual number. A copy of this process is given by `know` what
    `state` returns when it is given work.
    """

    most: int | None = None

    @property
    def done(self) -> bool:
        """Whether no more exchanges are to be shown."""
        return False

    def show(self, exchanges: Sequence[Exchange]) -> None:
        """Show exchanges, after all those before; nothing, unless a subclass does so."""

    def texts(self, exchanges: Sequence[Exchange]) -> Iterable[str | bytes]:
        """Yield the texts of exchanges; raise `OutOfOrder` where only `show` can."""
        raise NotImplementedError

    def make(self, exchanges: Sequence[Exchange], show: Callable[[bytes], Any]) -> Any:
        """Show the texts of exchanges by `show`; return what `take` needs beside them."""
        held, size = list[str | bytes](), 0
        for text in self.texts(exchanges):
            held.append(text)
            size += len(text)
            if size > FLUSH_AT:
                show(joined(held))
                held, size = [], 0
        show(joined(held))

    def take(self, result: Any) -> None:
        """Take what `make` returned, in the order of exchanges, after all that was shown."""

    def state(self) -> Any:
        """Return what is to be known of all before."""

    def know(self, state: Any) -> None:
        """Take the state, in a copy."""


def write_out(pieces: Iterable[str | bytes]) -> None:
    """Write all of a command's output to stdout."""
    writer = Writer()
    for piece in pieces:
        writer.write(piece)
    writer.flush()


def is_live(file: str) -> bool:
    """Return whether another process may be writing the file while it is read: the standard input, or a pipe."""
    try:
        return file == "-" or stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116 - pathlib takes 3 ms to import
    except OSError:
        return False


def writer_for(files: Iterable[str]) -> Writer:
    """Return what writes to stdout while these files are read."""
    return Writer(live=any(is_live(file) for file in files))


def say(text: str) -> None:
    """Print a line on stderr, with what is not printable escaped."""
    from ...views.render.values import escape

    click.echo(f"kdbg: {escape(text)}", err=True)


def heading(look: Look, file: str) -> str:
    """Return the line above what is shown of one of several files."""
    from ...views.render.values import escape

    return look.paint("heading", f"==> {escape(file)} <==") + "\n"


@contextmanager
def writing(*, live: bool, pager: bool) -> Iterator[Writer]:
    """Make a context with what writes to stdout, with `pager` long output through one; at its end all is written."""
    command = ""
    if pager and not live and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from shutil import which

        command = os.environ.get("KDBG_PAGER", os.environ.get("PAGER", "less" if which("less") else ""))
    if command.strip() in NO_PAGER:
        yield Writer(live=live)
        return
    writer = PagedWriter(command, terminal_size().lines)
    try:
        yield writer
    finally:
        writer.finish()


class PagedWriter(Writer):
    """Writes to stdout what is shorter than `lines`, and all else to the pager; what is said on stderr comes after."""

    def __init__(self, command: str, lines: int) -> None:
        super().__init__()
        self.command = command
        self.lines = lines
        self._said: list[str] = []
        self._pager: subprocess.Popen[bytes] | None = None

    def write(self, piece: str | bytes) -> None:
        if self._pager is not None:
            super().write(piece)
            return
        data = encoded(piece)
        self._parts.append(data)
        self.lines -= data.count(b"\n")
        if self.lines > 0:
            return
        import subprocess

        self.giving_away()
        environment = {"LESS": "FRX", "LESSCHARSET": "utf-8"} | os.environ
        self._pager = subprocess.Popen(self.command, shell=True, stdin=subprocess.PIPE, env=environment)  # the user's
        assert self._pager.stdin is not None
        self.raw = self._pager.stdin  # type: ignore[assignment]  # a BinaryIO all the same
        super().flush()

    def write_all(self, pieces: Sequence[str | bytes]) -> None:
        for piece in pieces:
            self.write(piece)

    def flush(self) -> None:
        """Write what there is, once the pager runs: before, it is not known whether it is wanted."""
        if self._pager is not None:
            super().flush()

    def say(self, text: str) -> None:
        self._said.append(text)

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

"""Where output goes: options that all viewing commands share, colour and width, writing in bulk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeGuard

import click

from ...views.render.style import Look
from ...views.render.views import VIEWS, View
from .options import HELP, color_option

if TYPE_CHECKING:
    from ...payloads.values.chosen import ReadBytes

FLUSH_AT = 1 << 16


values_option: Final = click.option("--hide-values", is_flag=True, help=HELP["hide-values"])
merge_option: Final = click.option(
    "--merge/--no-merge",
    default=None,
    help="Merge captures of the same traffic from several hosts (default: if detected); see kdbg guide merge.",
)
latency_option: Final = click.option(
    "--latency",
    is_flag=True,
    help="Break down latency (network, broker, throttling) and show TCP statistics; see kdbg guide latency.",
)
raw_option: Final = click.option(
    "--raw", is_flag=True, help="Leave text unescaped in CSV, also where a spreadsheet would treat it as a formula."
)


def look_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --color, --full and --show-secrets, with the same meaning everywhere."""
    for option in (
        click.option("--show-secrets", is_flag=True, help=HELP["show-secrets"]),
        click.option("--full", is_flag=True, help=HELP["full"]),
        color_option,
    ):
        command = option(command)
    return command


def view_option(default: str, wanted: Callable[[View], bool] = lambda view: True) -> Callable[[Any], Any]:
    """Make --format of the views that are wanted."""
    names = [name for name, view in VIEWS.items() if wanted(view)]
    return click.option(
        "--format",
        "-f",
        "format",
        type=click.Choice(names),
        default=default,
        help=f"Set the output format (default: {default}).",
    )


meanings_option: Final = click.option(
    "--explain-fields",
    "meanings",
    is_flag=True,
    help=HELP["explain-fields"],
)


jobs_option: Final = click.option(
    "--jobs", "-j", type=click.IntRange(min=1), default=1, metavar="N",
    help="Use N worker processes (default: 1); the output is the same.",
)  # fmt: skip


SCREEN_OPTIONS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("--depth", {"type": click.IntRange(min=1), "metavar": "N", "help": "Limit trees to N levels."}),
    (
        "--only-errors",
        {"is_flag": True, "help": ("Show only the fields with errors of each exchange, with their paths.")},
    ),
    ("--local", {"is_flag": True, "help": "Show local time instead of UTC (JSON and field values stay in UTC)."}),
    ("--no-pager", {"is_flag": True, "help": "Print long output without a pager."}),
)
"""The options of trees, times and the pager, with what click says of each: see `on_screen`."""


def tree_options(*without: str) -> Callable[[Any], Any]:
    """Make what gives a command SCREEN_OPTIONS, but for those named."""

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, about in reversed(SCREEN_OPTIONS):
            command = command if name in without else click.option(name, **about)(command)
        return command

    return give


def on_screen(found: Look, format: str, given: dict[str, Any]) -> Look:
    """Return a look with the options of trees and times, taken out of those given; on a terminal trees are compact."""
    taken = {name: given.pop(name) for name in ("local", "only_errors", "depth")}
    if format != "tree" and (taken["only_errors"] or taken["depth"] is not None):
        raise click.UsageError(
            f"{'--only-errors' if taken['only_errors'] else '--depth'} requires --format tree, not {format}"
        )
    if taken["local"] and format == "json":
        click.echo("kdbg: --local has no effect on JSON, whose times are always UTC", err=True)
    return replace(compact(found), **taken)


def compact(found: Look) -> Look:
    """Return a look whose trees show what matters, unless it shows all, or what the fields mean."""
    return replace(found, compact=not found.full and not found.meanings)


def look(color: str, full: bool, show_secrets: bool, meanings: bool = False, read: ReadBytes | None = None) -> Look:
    """Return how output looks on the stdout that there is: colours, width, what is shown whole."""
    terminal = sys.stdout.isatty()
    colors = ""
    if color == "always" or (color == "auto" and terminal and not os.environ.get("NO_COLOR")):
        colors = _color_system(terminal)
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
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _color_system(terminal: bool) -> str:
    """Return the name of the colour system that rich finds the terminal to have; "STANDARD" without a terminal."""
    from rich.console import Console

    names = {"standard": "STANDARD", "256": "EIGHT_BIT", "truecolor": "TRUECOLOR", "windows": "WINDOWS"}
    return names.get(Console(force_terminal=True).color_system or "", "STANDARD") if terminal else "STANDARD"


def encoded(piece: str | bytes) -> bytes:
    """Return text as it goes to stdout."""
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace")


def joined(pieces: Sequence[str | bytes]) -> bytes:
    """Return pieces of text in one, as they go to stdout."""
    return encoded("".join(pieces)) if _all_text(pieces) else b"".join(map(encoded, pieces))


def _all_text(pieces: Sequence[str | bytes]) -> TypeGuard[Sequence[str]]:
    return all(isinstance(piece, str) for piece in pieces)


class Writer:
    """Writes text or bytes to stdout: in bulk into a pipe or file, at once where somebody watches or `live` is set.

    `before` is called before anything is written, `giving_away` before the terminal is left to another program.
    """

    raw: BinaryIO
    before: Callable[[], None] | None = None
    giving_away: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *, live: bool = False) -> None:
        self.raw = sys.stdout.buffer
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
        """Write pieces; where somebody watches, together."""
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

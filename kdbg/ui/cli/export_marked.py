"""Writes what was marked on the screen of `kdbg browse`, as `kdbg export --only-exchanges` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import click

from ...exchanges.filters.filter_set import Filters
from ...protocol.findings.amounts import count
from ...views.reading.files import chosen
from ..tui.index import Start
from . import REFUSED
from .exporting import MODES, ExportRun


class MarkedRun(ExportRun):
    """Writes exchanges that are told by their numbers, file by file."""

    numbers: Mapping[str, Sequence[int]]
    plain: Filters

    def __init__(self, target: str, filters: Filters, numbers: Mapping[str, Sequence[int]]) -> None:
        super().__init__(target, MODES["exchanges"], filters)
        self.numbers, self.plain = numbers, filters
        self.said: list[str] = []

    def capture(self, file: str, *, named: bool) -> None:
        """Write what is marked of a file."""
        name, _ = chosen(file, self.plain)
        self.given = self.plain.but(exchange=self.numbers[file])
        super().capture(str(name), named=named)

    def say(self, text: str) -> None:
        self.said.append(text)


def export(
    files: Sequence[str], filters: Filters, spool: int, start: Start, target: str, wanted: Mapping[int, Sequence[int]]
) -> Iterator[str]:
    """Write exchanges of files, told by their numbers, as a capture; yield what to say of it."""
    run = MarkedRun(target, filters, {files[file]: numbers for file, numbers in wanted.items()})
    with suppress(click.exceptions.Exit):  # it said why
        run.export([files[file] for file in wanted])
    yield f"wrote {count(run.written, 'packet')} to {target}" if run.status != REFUSED else "; ".join(run.said)

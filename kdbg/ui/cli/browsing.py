"""What `kdbg browse` reads, in a process of its own: captures into batches of an index; and jobs over them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, BinaryIO, cast

import click

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...errors import CaptureError, InputError
from ...exchanges.engine.driver import Drive, Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.topics import NamesThen
from ...views.reading.files import BrokerFile, Named, chosen, open_any
from ...views.render.style import Look
from ..tui.feed import ExchangeFeed
from ..tui.processes import Job, Note, Progress, Tell
from ..tui.rows import Rows
from ..tui.spool import SpoolWriter
from .decode import is_live
from .filters import filter_options, take_filters
from .incremental_diagnosis import IncrementalDiagnosis
from .inputs import InputFiles
from .output import Writer
from .runner import Captures
from .tail import follow_file

FIRST, MOST = 64, 512
"""Exchanges of the first parcel, which is there soon, and of later ones."""
LARGE = 4 << 20
"""Bytes of messages that end a parcel."""
WIDEST = 400
"""Columns of what a field says: the foot of a wide screen has so many."""
OFTEN = 0.2
"""Seconds between two words on how far it is."""


class IndexRun(Captures):
    """Reads files, and tells of every exchange that the filters let through, and of what diagnosis finds in all; the
    file that is `followed` never ends."""

    def __init__(self, filters: Filters, spool: SpoolWriter, tell: Tell, *, live: bool, followed: str | None) -> None:
        super().__init__(filters, Writer(live=live))
        self._followed = followed
        self._spool, self._tell = spool, tell
        self._rows = Rows(spool)
        self._weighed = IncrementalDiagnosis(tell)
        self.held: list[Exchange] = []
        """Exchanges that wait to be told of."""
        self._size = self._told = 0
        self._next = monotonic()

    def open(self, file: str, name: Named) -> Capture | ApplicationLog | BrokerFile:
        """Open a file; a pipe brings what is followed."""
        return super().open(
            file, name if file != self._followed else cast(BinaryIO, follow_file(os.fspath(cast(str, name))))
        )

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Tell of the exchanges of a capture."""
        file = self._rows.begin()
        try:
            with self.driven(capture, name) as drive:
                self._weighed.begin(file, drive.engine.names_then)
                self._read(capture, drive)
        finally:
            self._weighed.end()
        self._tell(Progress(*capture.source.extent()))

    def _read(self, capture: Capture | ApplicationLog, drive: Drive) -> None:
        names = drive.engine.names_then
        for chunk in drive.chunks():
            if not self.filters.asks:
                self._weighed.take(chunk)
            for exchange in chunk:
                self.held.append(exchange)
                self._size += exchange.size
                if self._is_due:
                    self.give(capture, names)
            if self.writer.live:
                self.give(capture, names)
            if monotonic() >= self._next:
                self._next = monotonic() + OFTEN
                self.give(capture, names)
                self._tell(Progress(*capture.source.extent()))
        self.give(capture, names)

    def hear(self, exchange: Exchange, shown: bool) -> None:
        """Have every exchange weighed, where filters leave some out."""
        super().hear(exchange, shown)
        self._weighed.take((exchange,))

    def blocks(self, capture: Capture | ApplicationLog) -> Iterator[list[Any]]:
        """Yield the packets, which diagnosis sees before the engine does."""
        return self._weighed.through(super().blocks(capture))

    def tell(self, engine: Pairing, name: str) -> None:
        """Tell what is odd about connections, to diagnosis as well."""
        self._weighed.left_over(engine.findings)
        super().tell(engine, name)

    @property
    def _is_due(self) -> bool:
        most = FIRST if not self._told else MOST
        return len(self.held) >= most or self._size >= LARGE

    def give(self, capture: Capture | ApplicationLog, names: NamesThen) -> None:
        """Tell of the exchanges that wait for it."""
        if self.held:
            self._tell(self._rows.batch(self.held, capture.first_time, names))
            self._told += len(self.held)
            self.held, self._size = [], 0

    def say(self, text: str) -> None:
        """Tell what would else stand on stderr."""
        self._tell(Note(text))

    def close(self) -> None:
        """Say how it ended."""
        self.say(" · ".join(self.closing()))


class Files:
    """Reads files; refuses at once what cannot be read."""

    files: list[str]

    def __init__(self, files: Sequence[str], filters: Filters, *, follow: bool = False) -> None:
        self.filters = filters
        self.live: bool = follow or any(is_live(file) for file in files)
        found = InputFiles(files)
        for error in found.refused:
            raise error
        self.files = [file for file in found.files if is_live(file) or self._opens(found, file)]
        self.followed = self.files[-1] if follow and self.files and not is_live(self.files[-1]) else None

    def _opens(self, found: InputFiles, file: str) -> bool:
        """Return whether a file is a capture; raise `CaptureError` for one that is none, and was named."""
        name, _ = chosen(file, self.filters)
        try:
            opened = open_any(name)
            opened.source.close()
            if not isinstance(opened, Capture):
                kind = opened.file.kind.title if isinstance(opened, BrokerFile) else "log"
                raise CaptureError(file, f"a {kind}, not a capture", "use kdbg decode")
        except CaptureError as error:
            if not found.pass_over(file, error):
                raise
            return False
        return True

    def __call__(self, spool: int, tell: Tell) -> None:
        """Read them all."""
        writer = SpoolWriter(spool)
        try:
            IndexRun(self.filters, writer, tell, live=self.live, followed=self.followed).captures(self.files)
        finally:
            writer.close()


def browse(files: Sequence[str], filters: Filters, look: Look, *, follow: bool, light: bool) -> int:
    """Show the screen until somebody ends it; return the exit status."""
    source = Files(files, filters, follow=follow)
    names = source.files
    feed = ExchangeFeed(source, jobs(names, filters))
    try:
        keys_from_terminal()
        from ..tui.app import Browser  # in the copies of this process there is no need of it

        Browser(feed, look, names, parsed, light=light, follow=follow).run()
    finally:
        feed.close()
    return 0


def jobs(files: Sequence[str], filters: Filters) -> dict[str, Job]:
    """Return the questions that can be asked; what answers them is imported where that is done."""

    def fitting(*asked: Any) -> Iterator[bytes]:
        from ..tui import jobs

        return jobs.fitting(*asked)

    def numbers(*asked: Any) -> Iterator[str]:
        from ..tui import jobs

        return jobs.numbers(*asked)

    def export(*asked: Any) -> Iterator[str]:
        from . import export_marked

        return export_marked.export(files, filters, *asked)

    return {"filter": fitting, "numbers": numbers, "export": export}


def keys_from_terminal() -> None:
    """Read keys from the terminal where the standard input is something else, which another process reads."""
    if not os.isatty(0):
        try:
            terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError as error:
            raise InputError(
                "kdbg browse needs a terminal to read keys from; use kdbg decode for pipes and files"
            ) from error
        os.dup2(terminal, 0)
        os.close(terminal)


def parsed(text: str) -> Filters:
    """Return the filters of a filter line: an expression, or options as on the command line; raise `InputError`."""
    if not text.startswith("-"):
        found = Filters(where=text) if text else Filters()
        found.checks()
        return found
    try:
        taken: list[Filters] = []
        line: click.Command = click.command()(filter_options(lambda **given: taken.append(take_filters(given))))
        with line.make_context("filter", shlex.split(text)) as context:
            line.invoke(context)
    except (click.UsageError, ValueError) as error:
        raise InputError(error.format_message() if isinstance(error, click.UsageError) else str(error)) from error
    return taken[0]

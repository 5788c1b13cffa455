"""What `kdbg browse` reads, in a process of its own: captures into batches of an index, and causes; jobs over them."""

from __future__ import annotations

import io
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import click

from ...analysis.diagnosis import diagnose
from ...analysis.diagnosis.text import case_object
from ...analysis.ledgers import Ledgers
from ...capture import Capture
from ...errors import CaptureError, InputError
from ...exchanges.engine.driver import Drive, Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.outline import NamesThen
from ...views.reading import BrokerFile, Named, chosen, open_any
from ..tui.feed import Causes, Job, Note, Progress, Tell, write_all
from ..tui.rows import Rows, fitting, numbers
from ..tui.spool import SpoolWriter
from .filters import filter_options, take_filters
from .inputs import InputFiles
from .ledgers import looked_at
from .output import Writer, is_live
from .runner import Blocks, OpenFile, Runner, Through, ignore

if TYPE_CHECKING:
    from ..tui.app import Browser
    from ..tui.feed import ExchangeFeed

FIRST, MOST = 64, 512
"""Exchanges of the first parcel, which is there soon, and of later ones."""
LARGE = 4 << 20
"""Bytes of messages that end a parcel."""
WIDEST = 400
"""Columns of what a field says: the foot of a wide screen has so many."""
OFTEN = 0.2
"""Seconds between two words on how far it is."""
MOST_CAUSES = 500
"""Causes of a file that are told."""
AGAIN = 0.1
"""Seconds after which the end of a file that grows is looked at again."""
CHUNK = 1 << 16


class IndexReader:
    """Tells of every exchange that a runner's filters let through, once `before` had it, and of what diagnosis says.

    Each file has ledgers, shown exchanges or not; what the rules find in them is told when it changes.
    """

    def __init__(
        self, runner: Runner, spool: SpoolWriter, tell: Tell, before: Callable[[Sequence[Exchange]], None] = ignore
    ) -> None:
        self.runner, self._tell, self._before = runner, tell, before
        self._rows = Rows(spool)
        self._held: list[Exchange] = []
        self._size = self._told = 0
        self._next = monotonic()
        self._causes: Causes | None = None

    def read(
        self, file: OpenFile, drive: Callable[..., AbstractContextManager[Drive]], through: Through | None = None
    ) -> None:
        """Tell of the exchanges of a capture; `drive` is a runner's or a stream's, `through` sees the packets."""
        ledgers: Ledgers

        def seen(engine: Pairing, blocks: Blocks) -> Blocks:
            blocks = looked_at(file, blocks, lambda: ledgers, lambda: self._diagnose(number, ledgers, over=False))
            return blocks if through is None else through(engine, blocks)

        number, self._causes = self._rows.begin(), None
        runner, asks = self.runner, self.runner.filters.asks
        runner.left_over = None
        try:
            with drive(file, through=seen, hear=(lambda one: ledgers.take((one,))) if asks else None) as driven:
                names = driven.engine.names_then
                ledgers = Ledgers(names)
                runner.left_over = ledgers.left_over
                for chunk in driven.chunks():
                    if not asks:
                        ledgers.take(chunk)
                    for exchange in chunk:
                        self._held.append(exchange)
                        self._size += exchange.size
                        if len(self._held) >= (MOST if self._told else FIRST) or self._size >= LARGE:
                            self._give(file, names)
                    if runner.writer.live:
                        self._give(file, names)
                    if monotonic() >= self._next:
                        self._next = monotonic() + OFTEN
                        self._give(file, names)
                        self._tell(Progress(*file.source.extent()))
                self._give(file, names)
        finally:
            if runner.left_over is not None:  # otherwise there are no ledgers
                self._diagnose(number, ledgers, over=True)
        self._tell(Progress(*file.source.extent()))

    def _give(self, file: OpenFile, names: NamesThen) -> None:
        """Tell of the exchanges that wait for it."""
        self._before(self._held)
        if self._held:
            self._tell(self._rows.batch(self._held, file.capture.first_time, names))
            self._told += len(self._held)
            self._held, self._size = [], 0

    def _diagnose(self, file: int, ledgers: Ledgers, *, over: bool) -> None:
        """Tell what is found in a file so far, if that is something else than before."""
        cases = diagnose(ledgers, over=over)
        objects = tuple(map(case_object, cases[:MOST_CAUSES]))
        causes = Causes(file, objects, over, max(len(cases) - MOST_CAUSES, 0))
        if causes != self._causes:
            self._causes = causes
            self._tell(causes)


class Files:
    """Reads files; refuses at once what cannot be read."""

    def __init__(self, files: Sequence[str], filters: Filters, *, follow: bool = False) -> None:
        self.filters = filters
        self.live: bool = follow or any(is_live(file) for file in files)
        found = InputFiles(files)
        for error in found.refused:
            raise error
        self.files: list[str] = []
        for file in found.files:
            try:
                if not is_live(file):
                    opened = open_any(chosen(file, filters)[0])
                    opened.source.close()
                    if not isinstance(opened, Capture):
                        kind = opened.file.kind.title if isinstance(opened, BrokerFile) else "log"
                        raise CaptureError(file, f"a {kind}, not a capture", "use kdbg decode")
                self.files.append(file)
            except CaptureError as error:
                if not found.pass_over(file, error):  # it was named
                    raise
        self.followed = self.files[-1] if follow and self.files and not is_live(self.files[-1]) else None

    def __call__(self, spool: int, tell: Tell) -> None:
        """Read them all."""
        writer = SpoolWriter(spool)
        runner = Runner(self.filters, Writer(live=self.live), say=lambda text: tell(Note(text)))
        reader = IndexReader(runner, writer, tell)
        try:
            for file in runner.open(self.files, self._choose):
                with file:
                    reader.read(file, runner.drive)
            if runner.has_read:
                runner.say(" · ".join(runner.closing()))
        finally:
            writer.close()

    def _choose(self, file: str) -> tuple[Named, Filters]:
        """Return what to open, and the filters for it; the file that is followed never ends, as a pipe brings it."""
        name, filters = chosen(file, self.filters)
        return follow_file(os.fspath(cast(str, name))) if file == self.followed else name, filters


def jobs(files: Sequence[str], filters: Filters) -> dict[str, Job]:
    """Return the questions that can be asked; what writes captures is imported where that is done."""

    def export(*asked: Any) -> Iterator[str]:
        from .packets import export_marked

        return export_marked(files, filters, *asked)

    return {"filter": fitting, "numbers": numbers, "export": export}


def show_screen(feed: ExchangeFeed, make: Callable[[], Browser]) -> None:
    """Show the screen over a feed until the user ends it; raise `InputError` without a terminal.

    Where the standard input is something else, which another process reads, keys come from the terminal.
    """
    try:
        if not os.isatty(0):
            try:
                terminal = os.open("/dev/tty", os.O_RDWR)
            except OSError as error:
                hint = "use kdbg decode for pipes and files"
                raise InputError(f"kdbg browse needs a terminal to read keys from; {hint}") from error
            os.dup2(terminal, 0)
            os.close(terminal)
        make().run()
    finally:
        feed.close()


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


def follow_file(path: str) -> io.FileIO:
    """Return a stream of what stands in the file, then of what is added; raise `OSError` where it cannot be read."""
    file = io.FileIO(path)
    end, begin = os.pipe()

    def pump() -> None:
        with file, suppress(OSError):  # until nobody reads any more
            while True:
                data = file.read(CHUNK)
                if not data:
                    time.sleep(AGAIN)
                write_all(begin, data or b"")

    threading.Thread(target=pump, daemon=True).start()
    stream = io.FileIO(end)
    stream.name = path
    return stream

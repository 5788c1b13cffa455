"""What `kdbg browse` reads, in a process of its own: captures into batches of an index, and causes; jobs over them."""

from __future__ import annotations

import io
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any, cast

import click

from ...analysis.diagnosis import diagnose
from ...analysis.diagnosis.text import case_object
from ...analysis.ledgers import Ledgers
from ...capture import Capture
from ...errors import CaptureError, InputError
from ...exchanges.engine.driver import Drive, Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import NamesThen
from ...views.reading import BrokerFile, Named, chosen, open_any
from ..tui.processes import Causes, Job, Note, Progress, Tell
from ..tui.rows import Rows, fitting, numbers
from ..tui.spool import SpoolWriter
from .filters import filter_options, take_filters
from .inputs import InputFiles
from .output import Writer, is_live
from .runner import Blocks, OpenFile, Runner, Through, ignore

FIRST, MOST = 64, 512
"""Exchanges of the first parcel, which is there soon, and of later ones."""
LARGE = 4 << 20
"""Bytes of messages that end a parcel."""
WIDEST = 400
"""Columns of what a field says: the foot of a wide screen has so many."""
OFTEN = 0.2
"""Seconds between two words on how far it is."""
LOOK = 1.0
"""Seconds between two looks at the ledgers while packets come; where nothing comes for now, there is time for one."""
SHARE = 10
"""Looking takes at most one part in so many of the time."""
MOST_CAUSES = 500
"""Causes of a file that are told."""
AGAIN = 0.1
"""Seconds after which the end of a file that grows is looked at again."""
CHUNK = 1 << 16


class IndexReader:
    """Tells of every exchange that the filters of a runner let through, and of what diagnosis finds in all.

    `before` is called with exchanges before they are told of.
    """

    def __init__(
        self, runner: Runner, spool: SpoolWriter, tell: Tell, before: Callable[[Sequence[Exchange]], None] = ignore
    ) -> None:
        self.runner, self._tell, self._before = runner, tell, before
        self._rows = Rows(spool)
        self._diagnosis = IncrementalDiagnosis(tell)
        runner.left_over = self._diagnosis.left_over
        self._held: list[Exchange] = []
        self._size = self._told = 0
        self._next = monotonic()

    def read(
        self, file: OpenFile, drive: Callable[..., AbstractContextManager[Drive]], through: Through | None = None
    ) -> None:
        """Tell of the exchanges of a capture; `drive` is a runner's or a stream's, `through` sees the packets."""

        def seen(engine: Pairing, blocks: Blocks) -> Blocks:
            blocks = self._diagnosis.through(blocks)
            return blocks if through is None else through(engine, blocks)

        number = self._rows.begin()
        hear = (lambda exchange: self._diagnosis.take((exchange,))) if self.runner.filters.asks else None
        try:
            with drive(file, through=seen, hear=hear) as driven:
                self._diagnosis.begin(number, driven.engine.names_then)
                self._read(file, driven)
        finally:
            self._diagnosis.end()
        self._tell(Progress(*file.source.extent()))

    def _read(self, file: OpenFile, drive: Drive) -> None:
        names = drive.engine.names_then
        for chunk in drive.chunks():
            if not self.runner.filters.asks:
                self._diagnosis.take(chunk)
            for exchange in chunk:
                self._held.append(exchange)
                self._size += exchange.size
                if len(self._held) >= (MOST if self._told else FIRST) or self._size >= LARGE:
                    self._give(file, names)
            if self.runner.writer.live:
                self._give(file, names)
            if monotonic() >= self._next:
                self._next = monotonic() + OFTEN
                self._give(file, names)
                self._tell(Progress(*file.source.extent()))
        self._give(file, names)

    def _give(self, file: OpenFile, names: NamesThen) -> None:
        """Tell of the exchanges that wait for it."""
        self._before(self._held)
        if self._held:
            self._tell(self._rows.batch(self._held, file.capture.first_time, names))
            self._told += len(self._held)
            self._held, self._size = [], 0


class IncrementalDiagnosis:
    """Keeps the ledgers of one file after the other; gives to `tell` what the rules find in them, when that changes."""

    def __init__(self, tell: Callable[[Causes], None]) -> None:
        self._tell = tell
        self._ledgers: Ledgers | None = None
        self._file = 0
        self._looked = self._cost = 0.0
        self._new = False
        self._told: Causes | None = None

    def begin(self, file: int, names: NamesThen) -> None:
        """Begin a file; `names` are those of topic ids."""
        self._file, self._ledgers, self._told = file, Ledgers(names), None
        self._looked = monotonic()

    def through(self, blocks: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield blocks of packets, which the ledgers see before the engine does; look at these now and then."""
        for packets in blocks:
            if self._ledgers is not None and packets:
                self._ledgers.packets(packets)
                self._new = True
            yield packets
            self._look(LOOK if packets else 0.0)

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Take exchanges, whether they are shown or not."""
        if self._ledgers is not None:
            self._ledgers.take(exchanges)
            self._new = True

    def left_over(self, findings: Iterable[tuple[Peers, Finding]]) -> None:
        """Take findings that belong to no exchange."""
        if self._ledgers is not None:
            self._ledgers.left_over(findings)
            self._new = True

    def end(self) -> None:
        """Tell what is found in the whole file, and forget it."""
        self._say(over=True)
        self._ledgers = None

    def _look(self, often: float) -> None:
        """Tell what is found so far, where something has come and it is time."""
        begun = monotonic()
        if self._new and begun - self._looked >= max(often, SHARE * self._cost):
            self._say(over=False)
            self._looked = monotonic()
            self._cost = self._looked - begun

    def _say(self, *, over: bool) -> None:
        if self._ledgers is None:
            return
        self._new = False
        cases = diagnose(self._ledgers)
        objects = tuple(map(case_object, cases[:MOST_CAUSES]))
        causes = Causes(self._file, objects, over, max(len(cases) - MOST_CAUSES, 0))
        if causes != self._told:
            self._told = causes
            self._tell(causes)


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
        runner = index_runner(self.filters, tell, live=self.live)
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


def index_runner(filters: Filters, tell: Tell, *, live: bool) -> Runner:
    """Return a runner that tells what would otherwise stand on stderr."""
    return Runner(filters, Writer(live=live), say=lambda text: tell(Note(text)))


def jobs(files: Sequence[str], filters: Filters) -> dict[str, Job]:
    """Return the questions that can be asked; what writes captures is imported where that is done."""

    def export(*asked: Any) -> Iterator[str]:
        from .packets import export_marked

        return export_marked(files, filters, *asked)

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


def follow_file(path: str) -> io.FileIO:
    """Return a stream of what stands in the file, then of what is added; raise `OSError` where it cannot be read."""
    file = io.FileIO(path)
    end, begin = os.pipe()
    threading.Thread(target=_pump, args=(file, begin), daemon=True).start()
    stream = io.FileIO(end)
    stream.name = path
    return stream


def _pump(file: io.FileIO, pipe: int) -> None:
    """Write the file into the pipe for as long as somebody reads that."""
    with file:
        while True:
            data = memoryview(file.read(CHUNK) or b"")
            if not data:
                time.sleep(AGAIN)
            try:
                while data:
                    data = data[os.write(pipe, data) :]
            except OSError:
                return

"""Captures read for a command, one after the other: opened, driven through an engine, counted.

A command makes a `Runner`, and goes through the files that it was given:

    runner = Runner(filters, writer)
    for file in runner.open(names):
        with file, runner.drive(file) as drive:
            for exchange in drive:
                ...
    runner.close()
    return runner.status

The parts of a runner: `InputFiles` says what is read, `Progress` how far it is, an `Outlet` takes exchanges beside what
the command does with them; the closing line and the exit status come of `counts` and `findings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ...capture import Capture
from ...errors import CaptureError
from ...exchanges.engine.direction import Depth
from ...exchanges.engine.driver import PAUSE, Drive, Fits, Pairing
from ...exchanges.filters.filter_set import Filters, FilterTally
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Attempts, Peers, Tried
from ...protocol.findings import ATTEMPTS, Finding, Kind
from ...views.reading import INDEXED, BrokerFile, Merged, Named, chosen, engine_of, grouped, open_any
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED
from .failing import status_of
from .filters import unmatched_lines
from .inputs import AUTO, FindingCounts, InputFiles, Progress, closing_parts, connection_lines, passed_over, processes
from .output import Sink, Writer

if TYPE_CHECKING:
    from ...analysis.logs.log import ApplicationLog
    from ...exchanges.engine.engine import Engine, Watch
    from ...views.index.reader import Matching
    from .outlets import Outlet
    from .pool_sink import PoolSink

Blocks: TypeAlias = Iterator[list[Any]]
Through: TypeAlias = Callable[[Pairing, Blocks], Blocks]
"""Sees the packets on their way to an engine."""
Choose: TypeAlias = "Callable[[str], tuple[Named, Filters]]"
"""Returns what to open for the name of a file, and the filters for it."""


class OpenFile:
    """A file that a command reads; a context manager, at whose end it is closed.

    A `CaptureError` in the context ends the reading of this file alone, and is said; Ctrl-C ends that of all files.
    `path` is how the file was named, `name` what it is called in what is said. `disk` is a file of a broker's disk,
    which holds no exchanges. `several`: other files are read beside it.
    """

    failed: bool = False

    def __init__(
        self, runner: Runner, opened: Capture | ApplicationLog | BrokerFile, path: str, *, several: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._runner, self._opened = runner, opened
        self.path, self.several, self.source = path, several, opened.source
        self.disk = opened if isinstance(opened, BrokerFile) else None
        self.name = name or escape(opened.source.name if isinstance(opened, BrokerFile) else opened.name)

    @property
    def capture(self) -> Capture | ApplicationLog:
        """What is read, where it is no file of a broker's disk."""
        assert not isinstance(self._opened, BrokerFile)
        return self._opened

    def __enter__(self) -> OpenFile:
        self._runner.progress.begin(self.source)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        runner = self._runner
        if self.disk is None:
            self.capture.close()
        runner.progress.end()
        self.source.close()
        self.failed = error is not None
        if isinstance(error, CaptureError):
            runner.refuse(error, self.path)
        elif isinstance(error, KeyboardInterrupt):
            runner.status = INTERRUPTED
        elif error is not None:
            runner.progress.clear()
        return isinstance(error, CaptureError | KeyboardInterrupt)


class Runner:
    """Reads files for a command; `status` is the exit status so far.

    `logs` and `disk`: logs, and files of a broker's disk, do in place of captures. `merge`: captures of several places
    are read as one; None does so where it is plain that they are. `timed`: exchanges know where their time went.
    `depth` is how far all messages are read. `fails`: what could not be decoded makes the exit status. `at_once`: each
    connection that failed to open is told by itself, as soon as it is known. `say` prints a line of text. The index of
    a large capture is used unless `index` is None, and written if it is True. `jobs` processes, or `AUTO`, work on it.
    """

    filters: Filters
    """Those that were given, or others that `FILE#N` makes of them for the file that is read."""
    left_over: Callable[[Iterable[tuple[Peers, Finding]]], None] | None = None
    """Takes findings that belong to no exchange, before they are said."""

    def __init__(
        self, filters: Filters, writer: Writer, *, logs: bool = False, disk: bool = False, merge: bool | None = False,
        timed: bool = False, depth: Depth = "shallow", fails: bool = True, at_once: bool = False,
        outlet: Outlet | None = None, say: Callable[[str], None] | None = None, index: bool | None = False,
        jobs: int = 1,
    ) -> None:  # fmt: skip
        self.writer, self.filters, self.given = writer, filters, filters
        self.timed, self.outlet, self.jobs = timed, outlet, jobs
        self._logs, self._disk, self._merge, self._depth, self._at_once = logs, disk, merge, depth, at_once
        self._say, self._index, self._is_large, self._writes_index = say, index, False, False
        self.left: int | None = filters.limit
        self.seen = FilterTally()
        self.counts: Counter[str] = Counter()
        self.findings, self._fails, self._status = FindingCounts(), fails, 0
        self.files = self.disk_files = 0
        self.progress: Progress = Progress(writer)
        writer.giving_away = self.progress.hide

    @property
    def status(self) -> int:
        """The exit status so far: what was set, or that of the findings, as --fail-on has it."""
        if self._status or not self._fails:
            return self._status
        return status_of(Kind(kind).severity for kind in self.findings)

    @status.setter
    def status(self, status: int) -> None:
        self._status = status

    @property
    def has_read(self) -> bool:
        """Whether there is anything to tell of."""
        return bool(self.files or self.disk_files)

    @property
    def is_complete(self) -> bool:
        """Whether all that was named could be read, to its end."""
        return self.status not in (REFUSED, INTERRUPTED)

    def end_unless_complete(self) -> None:
        """End the command with its exit status where a file that it writes would lack what could not be read."""
        if not self.is_complete:
            raise click.exceptions.Exit(self.status)

    def open(self, names: Sequence[str], choose: Choose | None = None) -> Iterator[OpenFile]:
        """Yield the files that names stand for, files, folders and globs, open; say which cannot be read."""
        choose = choose or partial(chosen, filters=self.given)
        self._found = found = InputFiles(names)
        for error in found.refused:
            self.refuse(error)
        try:
            with self.progress.through(found.files):
                files = grouped(found.files, self._merge)
                for file in files:
                    opened = self._opened(file, choose, several=len(files) > 1)
                    if opened is not None:
                        yield opened
                        if isinstance(file, Merged) and not opened.failed:
                            from ...views.render.exchange_header import clock_lines  # which one capture does without

                            for line in clock_lines(file.merger.offsets, file.files):
                                self.say(line)
                    if self.left == 0 or self.status == INTERRUPTED:
                        break
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        if passed := passed_over(found.skipped):
            self.say(escape(passed))
            if not self.has_read:
                self.status = self.status or REFUSED

    def _opened(self, file: str | Merged, choose: Choose, *, several: bool) -> OpenFile | None:
        """Return a file open; None, once that is said, for one that cannot be read."""
        self._is_large = self._writes_index = False
        if isinstance(file, Merged):
            self.filters = self.given
            self.files += 1
            return OpenFile(self, file, file.name, several=several)
        name, self.filters = choose(file)
        try:
            opened = open_any(name)
            problem, hint = "", "use kdbg decode"
            if isinstance(opened, BrokerFile) and not self._disk:
                problem = f"a {opened.file.kind.title}, not a capture"
            elif not isinstance(opened, (BrokerFile, Capture)) and not self._logs:
                problem, hint = "a log file, not a capture", "use kdbg decode to show its exchanges"
            if problem:
                opened.source.close()
                raise CaptureError(opened.source.name, problem, hint)
        except CaptureError as error:
            self.refuse(error, file)
            return None
        self.files += not isinstance(opened, BrokerFile)
        if type(opened) is Capture and opened.source.pipe is None and not self.writer.live:
            self._is_large = (opened.source.extent()[1] or 0) >= INDEXED
        return OpenFile(self, opened, file, several=several)

    def refuse(self, error: CaptureError, file: str = "") -> None:
        """Say why a file cannot be read; one that nobody named, but a folder brought, is only skipped."""
        if not self._found.pass_over(file, error):
            self.say(escape(str(error)))
            self.status = REFUSED

    @contextmanager
    def drive(
        self, file: OpenFile, *, blocks: Callable[[Pairing], Blocks] | None = None, through: Through | None = None,
        met: Watch | None = None, wants: Fits | None = None, hear: Callable[[Exchange], None] | None = None,
        attempts: Callable[[Sequence[Attempts]], None] | None = None, counted: bool = False,
    ) -> Iterator[Drive]:  # fmt: skip
        """Make a context with what drives a file through an engine; after it all is counted, and oddities told.

        `blocks` gives the packets in another way, `through` sees them before the engine does; `wants` is another
        filter. `hear` is called with every exchange, also those that are left out. `attempts` shows connections that
        failed to open, which are said otherwise. `counted`: the command counts what is odd in wanted exchanges,
        or does not; otherwise that is done once it is finished with them.
        """
        plain = not (blocks or through or met or wants or hear or self.outlet or self.timed)
        if plain and self._is_large and self._index is not None and isinstance(file.capture, Capture):
            from .index import with_index

            file._opened, lacks = with_index(file.capture, self.filters)
            if lacks and self._index and self.left is self.filters.last is None:
                self._writes_index = bool(self.given) or processes(self.jobs, file.source.extent()[1]) == 1
        capture = file.capture
        depth: Depth = "shallow" if self.filters.asks else self._depth
        singly = self.left is not None and not self._is_large
        reads = depth if singly or self.writer.live else None
        match: Callable[..., Matching] | None = getattr(capture, "matching", None)  # of one that has an index
        matching = match and match(self.filters, self.seen, self.counts, self.findings, singly=self.left is not None)
        engine = matching or engine_of(capture, self.filters, reads, met, timed=self.timed, index=self._writes_index)
        if blocks is not None:
            packets = blocks(engine)
        elif self.writer.live:  # up to Ctrl-C, after which all that is known is shown
            from .inputs import until_interrupted

            packets = capture.blocks(pause=PAUSE, singly=singly)
            packets = until_interrupted(packets, partial(setattr, self, "status", INTERRUPTED))
        else:
            packets = capture.blocks(singly=singly)

        def choose() -> Fits | None:
            """Return the filters as one, once the capture's first day is known."""
            tally = self.seen if matching is None else matching.tally
            fits = self.filters.dated(capture.first_time).check(engine.names_then, tally)
            if wants is None or fits is None:
                return fits or wants
            return lambda exchange: wants(exchange) and fits(exchange)

        before, self._tried = self.counts["exchanges"], Tried()
        self.progress.exchanges = lambda: before + engine.count
        drive = Drive(
            engine,
            packets if through is None else through(engine, packets),
            choose,
            left=self.left,
            hear=hear,
            leave_out=lambda exchange: self.findings.take((exchange,) if hear or self.filters.asks else ()),
            done=ignore if counted else self.findings.take,
            last=self.filters.last,
        )
        if self.outlet is not None:
            self.outlet.begin(capture, engine)
        try:
            yield drive
            if self.outlet is not None:
                self.outlet.finish()
        finally:
            self.left = drive.left
            lines = 0 if isinstance(capture, Capture) else capture.lines
            self.counts.update(
                packets=capture.packets, lines=lines, exchanges=drive.seen, shown=drive.wanted,
                connections=engine.connections, others=engine.other_connections,
                **capture.lost._asdict() if capture.lost is not None else {},
            )  # fmt: skip
            self.tell(engine, file.name)
            if attempts is not None and self._tried.found:
                attempts(self._tried.found)
            elif self._tried.found and not self.filters.asks:  # else they are in the closing line alone
                from ...views.render.findings import attempts_text

                for one in self._tried.found:
                    self.say(f"{file.name}: {attempts_text(one)}")
            for problem in capture.problems:
                self.findings.note(problem)
                self.say(f"{file.name}: {escape(problem.text)}")

    def processes(self, file: OpenFile, drive: Drive) -> int:
        """Return how many processes work on a capture; one where they cannot have all that is known of exchanges."""
        is_plain = type(file.capture) is Capture and not (self._writes_index or self.timed or self.writer.live)
        if not is_plain or (self.jobs == AUTO and self._splittable(file, drive) is None):
            return 1
        return processes(self.jobs, file.source.extent()[1])

    def _splittable(self, file: OpenFile, drive: Drive) -> tuple[Engine, Capture] | None:
        """Return engine and capture of a file that several processes may read in parts; None for any other."""
        from ...exchanges.engine.engine import Engine

        engine, capture = drive.engine, file.capture
        if type(capture) is not Capture or not isinstance(engine, Engine) or file.source.pipe is not None:
            return None
        return (engine, capture) if drive.reads_all and self.outlet is None else None

    def show(self, file: OpenFile, drive: Drive, sink: Sink, *, here: bool = False) -> None:
        """Have a sink show the wanted exchanges of a file, in several processes unless `here`; tell what is odd."""
        pool: PoolSink | None = None
        with ExitStack() as stack:
            if not here and (jobs := self.processes(file, drive)) > 1:
                from .pool_sink import PoolSink  # which one process does without

                counted = self.counts, self.findings
                pool = stack.enter_context(closing(PoolSink(self.writer, counted, self.seen, drive, jobs, sink)))
                if (found := self._splittable(file, drive)) is not None:
                    pool.split(*found)
            give = sink.show if pool is None else pool.add
            for chunk in drive.chunks():
                give(chunk)
                self.hand_on(chunk)
                if drive.engine.findings:
                    if pool is not None:
                        pool.wait()
                    self.tell(drive.engine, file.name)
                if sink.done:
                    break
            if pool is not None:
                pool.wait()

    def hand_on_all(self, names: Sequence[str]) -> None:
        """Read files for the outlet alone."""
        for file in self.open(names):
            with file, self.drive(file) as drive:
                self.show(file, drive, Sink(), here=True)

    def hand_on(self, exchanges: Sequence[Exchange]) -> None:
        """Give wanted exchanges to the outlet, where there is one."""
        if self.outlet is not None:
            self.outlet.take(exchanges)

    def tell(self, engine: Pairing, name: str) -> None:
        """Say what is odd about connections, as far as it is known by now."""
        if self.left_over is not None:
            self.left_over(engine.findings)
        if self.outlet is not None:
            self.outlet.odd(finding for _, finding in engine.findings)
        for peers, finding in engine.findings:
            self.findings.note(finding)
            if finding.kind in ATTEMPTS:
                self._tried.take(peers, finding)
        # attempts to open a connection are otherwise told together
        for line in connection_lines(one for one in engine.findings if self._at_once or one[1].kind not in ATTEMPTS):
            self.say(f"{name}: {line}")
        engine.findings.clear()

    def say(self, text: str) -> None:
        """Print a line on stderr, after all output so far."""
        if self._say is not None:
            self._say(text)
            return
        self.progress.clear()
        self.writer.say(f"kdbg: {text}")

    def closing(self, *more: str, selected: str = "shown") -> list[str]:
        """Return the parts of the closing line; `more` are those on what was read beside captures."""
        return closing_parts(self.counts, self.findings, self.files, more, selected)

    def close(self, closing: Sequence[str] | None = None) -> None:
        """Print what was asked for and never there, then the closing line, if anything was read.

        `closing` are the parts of the line, by default `self.closing()`; there is none without any.
        """
        if not self.has_read:
            return
        self.writer.flush()
        if self.left != 0 and self.files:
            for line in unmatched_lines(self.seen):
                self.say(line)
        for line in self.outlet.close() if self.outlet is not None else ():
            self.say(escape(line))
        if parts := self.closing() if closing is None else closing:
            self.writer.say(" · ".join(parts))


def ignore(exchanges: Sequence[Exchange]) -> None:
    """Do nothing with exchanges."""

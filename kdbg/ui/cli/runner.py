"""Captures read for a command, one after the other: opened, driven through an engine, counted, told of at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...capture.files import Lost
from ...errors import CaptureError
from ...exchanges.engine.direction import Depth
from ...exchanges.engine.driver import PAUSE, Drive, Fits, Pairing, seldom_collected
from ...exchanges.filters.filter_set import Filters, FilterTally
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Tried, endpoint
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ...protocol.findings.facts import Encrypted
from ...protocol.findings.kinds import ATTEMPTS
from ...streams.tcp.connection import Connection
from ...views.reading.files import BrokerFile, Merged, Named, chosen, engine_of, grouped, open_any
from ...views.render.exchange_header import clock_lines
from ...views.render.values import escape
from . import INTERRUPTED, REFUSED, UNDECODED
from .counts_line import finding_parts, findings_of
from .filters import unmatched_lines
from .inputs import InputFiles
from .outlets import Outlet, Source
from .output import Writer
from .progress import Progress

if TYPE_CHECKING:
    from ...scale.signals.metrics import Totals

LOST = {"dropped": "dropped by the kernel", "unread": "not shown"}
"""What is said of packets that captures lack, by what `Capture.lost` calls them."""


class Captures:
    """Reads one file after the other; `status` is the exit status so far.

    A command says in `read` what it does with a capture; whatever it goes through by `driven` is counted here.
    """

    writer: Writer
    given: Filters
    filters: Filters
    """Those that were given, of which `FILE#N` makes others for one file."""
    files: int
    left: int | None
    status: int
    engine: Pairing
    """That of the capture that is read."""
    tried: Tried
    """The connections of it that were asked for in vain."""
    depth: Depth = "shallow"
    """How far all messages are read."""
    reads_logs: bool = False
    """Whether a log does in place of a capture."""
    selected_are: str = "shown"
    """The word of the closing line for exchanges that the filters select."""
    merge: bool | None = False
    """Whether captures of several places are read as one: None does so where it is plain that they are."""
    timed: bool = False
    """Whether exchanges know where their time went."""
    at_once: bool = False
    """Whether each connection that was asked for in vain is told by itself, as soon as it is known."""
    hears_all: bool = False
    """Whether `hear` wants all exchanges, also where none is left out."""
    counts_itself: bool = False
    """Whether the command counts what is odd in wanted exchanges; else that is done once it is finished with them."""
    fails_by_findings: bool = True
    """Whether something that could not be decoded makes the exit status."""
    outlets: Sequence[Outlet] = ()
    """Where wanted exchanges go beside what the command does with them: it hands them on by `hand_on`."""

    def __init__(self, filters: Filters, writer: Writer) -> None:
        self.writer, self.left = writer, filters.limit
        self.filters = self.given = filters
        self.seen = FilterTally()
        self.counts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.status = self.files = 0
        self.progress: Progress = Progress(writer)
        writer.giving_away = self.progress.hide

    def captures(self, names: Sequence[str]) -> None:
        """Read the captures that names stand for, files, folders and globs, and close with a line of counts."""
        found = InputFiles(names)
        for error in found.refused:
            self.refuse(error)
        try:
            with seldom_collected(), self.progress.through(found.files):
                files = grouped(found.files, self.merge)
                for file in files:
                    try:
                        if isinstance(file, Merged):
                            self.merged(file, named=len(files) > 1)
                        else:
                            self.capture(file, named=len(files) > 1)
                    except CaptureError as error:
                        if not found.pass_over(str(file), error):
                            self.refuse(error)
                    if self.left == 0 or self.status == INTERRUPTED:
                        break
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        if passed := found.passed_over():
            self.say(escape(passed))
        if self.has_read:
            self.close()
        elif passed:
            self.status = self.status or REFUSED

    @property
    def has_read(self) -> bool:
        """Whether there is anything to tell of."""
        return bool(self.files)

    @property
    def is_complete(self) -> bool:
        """Whether all that was named could be read, to its end."""
        return self.status not in (REFUSED, INTERRUPTED)

    def end_unless_complete(self) -> None:
        """End the command with its exit status where a file that it writes would lack what could not be read."""
        if not self.is_complete:
            raise click.exceptions.Exit(self.status)

    def capture(self, file: str, *, named: bool) -> None:
        """Read one file; raise `CaptureError` where it cannot be read. `named`: there are several."""
        name, self.filters = chosen(file, self.given)
        self.through(self.open(file, name), file, named=named)

    def merged(self, merged: Merged, *, named: bool) -> None:
        """Read the captures of several places as one."""
        self.filters = self.given
        self.through(merged, merged.name, named=named)
        for line in clock_lines(merged.merger.apart, merged.files):
            self.say(line)

    def through(self, opened: Capture | ApplicationLog | BrokerFile, file: str, *, named: bool) -> None:
        """Read what was opened, and close it."""
        self.progress.begin(opened.source)
        try:
            self.opened(opened, file, named=named)
        finally:
            self.progress.end()
            opened.source.close()

    def open(self, file: str, name: Named) -> Capture | ApplicationLog | BrokerFile:
        """Open what a file was said to be: `name` is the file without the number of an exchange."""
        return open_any(name)

    def refuse(self, error: CaptureError) -> None:
        """Say why a file cannot be read."""
        self.say(escape(str(error)))
        self.status = REFUSED

    def opened(self, opened: Capture | ApplicationLog | BrokerFile, file: str, *, named: bool) -> None:
        """Read what was opened; a file of a broker's disk holds no exchanges, and a log no bytes."""
        if isinstance(opened, ApplicationLog) and not self.reads_logs:
            raise CaptureError(
                opened.name,
                "a log file, not a capture",
                "use kdbg decode to show its exchanges",
            )
        if isinstance(opened, BrokerFile):
            raise CaptureError(opened.source.name, f"a {opened.file.kind.title}, not a capture", "use kdbg decode")
        with opened:
            self.files += 1
            self.read(opened, escape(opened.name))

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Do what the command does with a capture; `name` is how it is called in what is said."""
        raise NotImplementedError

    @contextmanager
    def driven(self, capture: Capture | ApplicationLog, name: str) -> Iterator[Drive]:
        """Make a context with what drives a capture through an engine; behind it all is counted, and oddities told."""
        reads = self.depth if self.left is not None or self.writer.live else None
        engine = self.engine = engine_of(capture, self.filters, reads, self.met, timed=self.timed)
        before, self.tried = self.counts["exchanges"], Tried()
        self.progress.exchanges = lambda: before + engine.count
        hear = self.hear if self.filters.asks or self.hears_all else None
        choose = partial(self.choose, capture, engine)
        done = ignore if self.counts_itself else self.count_findings
        drive = Drive(
            engine, self.blocks(capture), choose, left=self.left, hear=hear, done=done, last=self.filters.last
        )
        for outlet in self.outlets:
            is_open = getattr(engine, "is_open", nobody_knows)
            outlet.begin(Source(capture.name, lambda: capture.first_time, engine.names_then, is_open))
        try:
            yield drive
            for outlet in self.outlets:
                outlet.finish(totals(capture, engine))
        finally:
            self.left = drive.left
            self.counts["packets"] += capture.packets
            self.counts["lines"] += capture.lines if isinstance(capture, ApplicationLog) else 0
            self.counts["exchanges"] += drive.seen
            self.counts["shown"] += drive.wanted
            self.counts["connections"] += engine.connections
            self.counts["others"] += engine.other_connections
            if capture.lost is not None:
                self.counts.update(capture.lost._asdict())
            self.tell(engine, name)
            if self.tried.found:
                self.tell_attempts(name)
            for problem in capture.problems:
                self.note(problem)
                self.say(f"{name}: {escape(problem.text)}")

    def hand_on(self, exchanges: Sequence[Exchange]) -> None:
        """Give wanted exchanges to the outlets."""
        for outlet in self.outlets:
            outlet.take(exchanges)

    def met(self, connection: Connection, client: int | None) -> None:
        """Take notice of a connection, and once more when it proves to be Kafka: see `Engine`."""

    def blocks(self, capture: Capture | ApplicationLog) -> Iterator[list[Any]]:
        """Return the packets; in a live view Ctrl-C ends them, so that what is known by then is shown.

        With a limit they come one by one: no more are counted than it took.
        """
        pause = PAUSE if self.writer.live else None
        blocks = capture.blocks(pause=pause, singly=self.left is not None)
        return self.until_interrupted(blocks) if self.writer.live else blocks

    def until_interrupted(self, blocks: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield the packets up to Ctrl-C, which is heard only while some are waited for: none is left half done."""
        import signal

        hear = getattr(signal, "pthread_sigmask", deaf)
        try:
            while True:
                hear(signal.SIG_UNBLOCK, {signal.SIGINT})
                try:
                    packets = next(blocks)
                except StopIteration:
                    return
                hear(signal.SIG_BLOCK, {signal.SIGINT})
                yield packets
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        finally:
            hear(signal.SIG_UNBLOCK, {signal.SIGINT})

    def choose(self, capture: Capture | ApplicationLog, engine: Pairing) -> Fits | None:
        """Return the filters as one, once the capture's first day is known."""
        return self.filters.dated(capture.first_time).check(engine.names_then, self.seen)

    def hear(self, exchange: Exchange, shown: bool) -> None:
        """Count what is odd in an exchange that is not shown: it is read no further than for the filters."""
        if not shown:
            self.count_findings((exchange,))

    def count_findings(self, exchanges: Sequence[Exchange]) -> None:
        """Count what is odd in exchanges, read no further than for that."""
        for exchange in exchanges:
            for finding in findings_of(exchange):
                self.note(finding)

    def note_all(self, exchange: Exchange, *, shallow: bool) -> None:
        """Count what is odd in an exchange."""
        for finding in exchange.all_findings(shallow=shallow):
            self.note(finding)

    def note(self, finding: Finding) -> None:
        """Count a finding; one that says that something could not be decoded makes the exit status."""
        self.findings[finding.kind] += 1
        if finding.kind.is_error and self.fails_by_findings and not self.status:
            self.status = UNDECODED

    def tell(self, engine: Pairing, name: str) -> None:
        """Say what is odd about connections, as far as it is known by now: once for all of a broker's it is true of.

        Of connections that are not decrypted for the same reason the first one's cipher suite stands for those of all.
        """
        for outlet in self.outlets:
            outlet.odd(finding for _, finding in engine.findings)
        same: dict[tuple[str, Encrypted | str], list[tuple[str, Finding]]] = {}
        for peers, finding in engine.findings:
            self.note(finding)
            if finding.kind in ATTEMPTS:
                self.tried.take(peers, finding)
                if not self.at_once:
                    continue  # they are told together
            facts = finding.facts
            alike = facts._replace(version="", cipher="") if isinstance(facts, Encrypted) else str(finding)
            same.setdefault((endpoint(peers.broker), alike), []).append((endpoint(peers.client), finding))
        for (broker, _), found in same.items():
            client, finding = found[0]
            more = f" (and {count(len(found) - 1, 'more connection')})" if len(found) > 1 else ""
            self.say(f"{name}: {client} → {broker}{more}: {escape(str(finding))}")
        engine.findings.clear()

    def tell_attempts(self, name: str) -> None:
        """Say who asked for connections in vain: all together, for clients try again and again.

        Where exchanges were asked for they are counted in the closing line alone.
        """
        from ...views.render.findings import attempts_text

        for found in () if self.filters.asks else self.tried.found:
            self.say(f"{name}: {attempts_text(found)}")

    def say(self, text: str) -> None:
        """Print a line on stderr, after all output so far."""
        self.progress.clear()
        self.writer.say(f"kdbg: {text}")

    def close(self) -> None:
        """Print what was asked for and never there, then the closing line: what was read, shown and found."""
        self.writer.flush()
        if self.left != 0 and self.files:
            for line in unmatched_lines(self.seen):
                self.say(line)
        for outlet in self.outlets:
            for line in outlet.close():
                self.say(escape(line))
        if closing := self.closing():
            self.writer.say(" · ".join(closing))

    def closing(self) -> list[str]:
        """Return the parts of the closing line; there is none without any."""
        counts = self.counts
        read = (
            ["packet", "line"] if counts["packets"] and counts["lines"] else ["line" if counts["lines"] else "packet"]
        )
        parts = [count(counts[noun + "s"], noun) for noun in (*read, "connection", "exchange") if self.files]
        parts += self.other_parts()
        if counts["shown"] < counts["exchanges"] + counts["pieces"]:
            parts.append(f"{counts['shown']:,} {self.selected_are}")
        parts += finding_parts(self.findings)[not self.files :]
        if counts["others"]:
            parts.append(f"{count(counts['others'], 'connection')} not decoded")
        return parts + [f"{count(counts[noun], 'packet')} {lost}" for noun, lost in LOST.items() if counts[noun]]

    def other_parts(self) -> list[str]:
        """Return the parts on files that are no captures."""
        return []


def totals(capture: Capture | ApplicationLog, engine: Pairing) -> Totals:
    """Return what was counted in a capture so far."""
    from ...scale.signals.metrics import Totals

    lost = capture.lost or Lost()
    return Totals(capture.packets, lost.dropped, lost.unread, engine.connections, engine.other_connections)


def ignore(exchanges: Sequence[Exchange]) -> None:
    """Do nothing with exchanges."""


def nobody_knows(first_packet: int) -> bool:
    """Return False: of a log nobody knows which connections are open."""
    return False


def deaf(how: int, signals: set[int]) -> None:
    """Do nothing, in place of `pthread_sigmask` where that is missing: signals are not held back there."""

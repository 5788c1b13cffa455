"""One run of `kdbg decode`: captures through a session and a view, counted to the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from ..capture import Capture, Packet
from ..engine.driver import PAUSE, Drive, Fits
from ..engine.engine import Engine
from ..engine.garbage import seldom_collected
from ..engine.sides import Depth
from ..errors import CaptureError
from ..filters.chosen import Filters
from ..findings import Finding
from ..messages.exchange import Exchange
from ..reading.files import open_any
from ..render.heading import endpoint
from ..render.look import Look
from ..render.values import escape
from ..render.views import LONG, ExchangeView, Text, View, view
from ..wire.readings.topic_names import NamesThen
from . import INTERRUPTED, REFUSED, UNDECODED
from .apart import Apart, Here
from .output import Writer

if TYPE_CHECKING:
    from .segment import SegmentRun


class Run:
    """Decodes one file after the other; `status` is the exit status so far."""

    look: Look
    writer: Writer
    filters: Filters
    files: int
    segments: int
    view: View
    left: int | None
    jobs: int
    status: int

    def __init__(
        self,
        format: str,
        look: Look,
        writer: Writer,
        filters: Filters,
        jobs: int = 1,
    ) -> None:
        self.view, self.look, self.writer, self.jobs = view(format), look, writer, jobs
        self.filters, self.left = filters, filters.limit
        self.counts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.status = self.files = self.segments = 0

    def captures(self, files: Sequence[str]) -> None:
        """Decode the captures, each under its name where there are several, and close with a line of counts."""
        try:
            with seldom_collected():
                for file in files:
                    self.capture(file, named=len(files) > 1)
                    if self.left == 0 or self.status == INTERRUPTED:
                        break
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        if self.files or self.segments:
            self.close()

    def capture(self, file: str, *, named: bool) -> None:
        """Decode one capture; name a file that cannot be read, and pass it over."""
        try:
            opened = self.open(file)
        except CaptureError as error:
            self.say(escape(str(error)))
            self.status = REFUSED
            return
        with opened:
            if named and not self.view.data:
                self.writer.write(self.look.paint("heading", f"==> {escape(file)} <==") + "\n")
            if not isinstance(opened, Capture):
                self.segments += 1
                opened.decode()
                return
            if named or not self.files:
                self.writer.write(self.view.header(self.look))
            self.files += 1
            self.decode(opened, escape(opened.name))

    def open(self, file: str) -> Capture | SegmentRun:
        """Open a capture, or a file of a broker's disk."""
        opened = open_any(file)
        if isinstance(opened, Capture):
            return opened
        from .segment import SegmentRun

        try:
            return SegmentRun(self, opened.source, opened.file)
        except BaseException:
            opened.source.close()
            raise

    def decode(self, capture: Capture, name: str) -> None:
        """Decode what is in a capture, and say what is odd about it."""
        engine = Engine(
            ports=self.filters.port or (), reads=self.depth if self.left is not None or self.writer.live else None
        )
        render = self.view.exchange(self.look, engine.names_then)
        choose = partial(self.choose, capture, engine)
        hear = self.hear if self.filters.but(limit=None, port=None) else None
        drive = Drive(engine, self.blocks(capture), choose, left=self.left, hear=hear)
        shown_by = Here if self.jobs == 1 or self.writer.live else Apart
        output = shown_by(self, render, engine.names_then)
        try:
            for chunk in drive.chunks():
                output.add(chunk)
                if engine.findings:
                    output.wait()
                    self.tell(engine, name)
            output.wait()
        finally:
            output.close()
            self.left = drive.left
            self.counts["packets"] += capture.packets
            self.counts["exchanges"] += drive.seen
            self.counts["shown"] += drive.wanted
            self.counts["connections"] += engine.connections
            self.counts["others"] += engine.other_connections
            self.tell(engine, name)
            for problem in capture.problems:
                self.note(problem)
                self.say(f"{name}: {escape(problem.text)}")

    def blocks(self, capture: Capture) -> Iterator[list[Packet]]:
        """Return the packets; in a live view Ctrl-C ends them, so that what is known by then is shown.

        With a limit they come one by one: no more are counted than it took.
        """
        pause = PAUSE if self.writer.live else None
        blocks = capture.blocks(pause=pause, singly=self.left is not None)
        return self.until_interrupted(blocks) if self.writer.live else blocks

    def until_interrupted(self, blocks: Iterator[list[Packet]]) -> Iterator[list[Packet]]:
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

    @property
    def depth(self) -> Depth:
        """How far all messages are read: whole if all are shown, and the view wants it."""
        return "shallow" if self.view.shallow or self.filters.but(limit=None, port=None) else "whole"

    def choose(self, capture: Capture, engine: Engine) -> Fits | None:
        """Return the filters as one, once the capture's first day is known."""
        return self.filters.dated(capture.first_time).check(engine.names_then)

    def hear(self, exchange: Exchange, shown: bool) -> None:
        """Count what is odd in an exchange that is not shown: it is read no further than for the filters."""
        if not shown:
            self.note_all(exchange, shallow=True)

    def note_all(self, exchange: Exchange, *, shallow: bool) -> None:
        """Count what is odd in an exchange."""
        for finding in exchange.all_findings(shallow=shallow):
            self.note(finding)

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""
        pieces, shallow = getattr(render, "pieces", None), self.view.shallow
        names_grow = exchanges[0].names != exchanges[-1].names
        names.at(exchanges[0].names)
        for exchange in exchanges:
            if names_grow:
                names.at(exchange.names)
            if pieces is not None and exchange.size > LONG:
                yield from pieces(exchange)
            else:
                yield render(exchange)
            if not exchange.is_sound(shallow=shallow):  # behind the view, which may have proved it
                self.note_all(exchange, shallow=shallow)

    def note(self, finding: Finding) -> None:
        self.findings[finding.kind] += 1
        if finding.kind.is_error and not self.status:
            self.status = UNDECODED

    def tell(self, engine: Engine, name: str) -> None:
        """Say what is odd about connections, as far as it is known by now."""
        for peers, finding in engine.findings:
            self.note(finding)
            self.say(f"{name}: {endpoint(peers.client)} → {endpoint(peers.broker)}: {escape(str(finding))}")
        engine.findings.clear()

    def say(self, text: str) -> None:
        """Print a line on stderr, after all output so far."""
        self.writer.flush()
        click.echo(f"kdbg: {text}", err=True)

    def close(self) -> None:
        """Print the closing line: what was read, shown and found."""
        counts, findings = self.counts, self.findings
        parts = [number(counts[noun + "s"], noun) for noun in ("packet", "connection", "exchange") if self.files]
        if self.segments:
            from .segment import closing

            parts += closing(counts)
        if counts["shown"] < counts["exchanges"] + counts["pieces"]:
            parts.append(f"{counts['shown']:,} shown")
        parts += [f"{findings.pop('unanswered', 0):,} unanswered"] if self.files else []
        listed = ", ".join(f"{kind} {count:,}" for kind, count in findings.most_common())
        parts.append(number(findings.total(), "finding") + (f" ({listed})" if listed else ""))
        if counts["others"]:
            parts.append(number(counts["others"], "other connection"))
        self.writer.flush()
        click.echo(" · ".join(parts), err=True)


def deaf(how: int, signals: set[int]) -> None:
    """Do nothing, in place of `pthread_sigmask` where that is missing: signals are not held back there."""


def number(count: int, noun: str) -> str:
    """Return a count and its noun: "1 packet", "2 packets"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"

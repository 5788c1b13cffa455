"""One run of `kdbg decode`: captures through a session and a view, counted to the end."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ..capture import Capture, Packet
from ..engine.engine import Engine
from ..errors import CaptureError
from ..filters.chosen import Filters
from ..filters.filter import Check
from ..findings import Finding
from ..messages.exchange import Exchange
from ..reading.files import open_any
from ..render.heading import endpoint
from ..render.look import Look
from ..render.values import escape
from ..render.views import view
from . import INTERRUPTED, REFUSED, UNDECODED
from .output import Writer

if TYPE_CHECKING:
    from .segment import SegmentRun

CHUNK, CHUNK_BYTES = 64, 1 << 18


class Run:
    """Decodes one file after the other; `status` is the exit status so far."""

    def __init__(
        self,
        format: str,
        look: Look,
        writer: Writer,
        filters: Filters,
    ) -> None:
        self.view, self.look, self.writer = view(format), look, writer
        self.filters, self.left = filters, filters.limit
        self.counts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.status = self.files = self.segments = 0

    def captures(self, files: Sequence[str]) -> None:
        """Decode the captures, each under its name where there are several, and close with a line of counts."""
        try:
            for file in files:
                self.capture(file, named=len(files) > 1)
                if self.left == 0 or self.status == INTERRUPTED:
                    break
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        if self.files or self.segments:
            self.close()

    def capture(self, file: str, *, named: bool) -> None:
        """Decode one capture; a file that cannot be read is said and passed over."""
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
        session = Engine(ports=self.filters.port or ())
        render = self.view.exchange(self.look, session.topic_names)
        checks: list[Check] | None = None
        try:
            for chunk in self.chunks(session.run(self.packets(capture))):
                if checks is None:
                    checks = self.checks(capture, session)
                shown = [exchange for exchange in chunk if all(check(exchange) for check in checks)]
                self.count(chunk, shown)
                for exchange in shown:
                    self.writer.write(render(exchange))
                self.tell(session, name)
        finally:
            self.counts["packets"] += capture.packets
            self.counts["connections"] += session.connections
            self.counts["others"] += session.other_connections
            self.tell(session, name)
            for problem in capture.problems:
                self.note(problem)
                self.say(f"{name}: {escape(problem.text)}")

    def packets(self, capture: Capture) -> Iterable[Packet]:
        """The packets; where somebody waits for them, Ctrl-C is their end, and what is known by then is shown."""
        return self.until_interrupted(capture) if self.writer.live else capture

    def until_interrupted(self, capture: Capture) -> Iterator[Packet]:
        """The packets up to Ctrl-C, which is heard while one is waited for: nothing is left half done."""
        hear = getattr(signal, "pthread_sigmask", deaf)
        try:
            while True:
                hear(signal.SIG_UNBLOCK, {signal.SIGINT})
                packet = next(capture, None)
                hear(signal.SIG_BLOCK, {signal.SIGINT})
                if packet is None:
                    return
                yield packet
        except KeyboardInterrupt:
            self.status = INTERRUPTED
        finally:
            hear(signal.SIG_UNBLOCK, {signal.SIGINT})

    def checks(self, capture: Capture, session: Engine) -> list[Check]:
        """The filters, once the capture's first day is known."""
        return self.filters.dated(capture.first_time).checks(session.topic_names)

    def chunks(self, exchanges: Iterator[Exchange]) -> Iterator[list[Exchange]]:
        """Exchanges that go through each step together: one where somebody waits, else as many as caches like."""
        most = 1 if self.writer.live or self.left is not None else CHUNK
        chunk: list[Exchange] = []
        size = 0
        if self.left == 0:
            return
        for exchange in exchanges:
            chunk.append(exchange)
            size += exchange.size
            if len(chunk) >= most or size > CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
                if self.left == 0:
                    return
        if chunk:
            yield chunk

    def count(self, exchanges: list[Exchange], shown: list[Exchange]) -> None:
        """Read the messages, each once and only as far as the view will show it, and count what is odd in them."""
        self.counts["exchanges"] += len(exchanges)
        self.counts["shown"] += len(shown)
        if self.left is not None:
            self.left -= len(shown)
        seen = set(map(id, shown)) if not self.view.shallow else ()
        for exchange in exchanges:
            for finding in exchange.all_findings(shallow=id(exchange) not in seen):
                self.note(finding)

    def note(self, finding: Finding) -> None:
        self.findings[finding.kind] += 1
        if finding.kind.is_error and not self.status:
            self.status = UNDECODED

    def tell(self, session: Engine, name: str) -> None:
        """Say what is odd about connections, as far as it is known by now."""
        for peers, finding in session.findings:
            self.note(finding)
            self.say(f"{name}: {endpoint(peers.client)} → {endpoint(peers.broker)}: {escape(str(finding))}")
        session.findings.clear()

    def say(self, text: str) -> None:
        """A line on stderr, behind what was shown so far."""
        self.writer.flush()
        click.echo(f"kdbg: {text}", err=True)

    def close(self) -> None:
        """The closing line."""
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
    """Where signals cannot be held back, they come when they come."""


def number(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count:,} {noun}{'s' * (count != 1)}"

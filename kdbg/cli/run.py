"""One run of `kdbg decode`: captures through a session and a view, counted to the end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import click

from ..capture import Capture, open_capture
from ..errors import CaptureError
from ..findings import NOTICES, Finding
from ..render.heading import endpoint
from ..render.look import Look
from ..render.summary import header
from ..render.values import escape
from ..render.views import view
from ..session.exchange import Exchange
from ..session.filters import Filters
from ..session.session import Session
from .output import Writer

CHUNK, CHUNK_BYTES = 64, 1 << 18


class Run:
    """Decodes one file after the other; `status` is the exit status so far."""

    def __init__(
        self, format: str, look: Look, filters: Filters, ports: tuple[int, ...], limit: int | None, writer: Writer
    ) -> None:
        self.format, self.look, self.filters, self.ports, self.writer = format, look, filters, ports, writer
        self.left = limit
        self.shallow = format == "summary" or filters != Filters()
        self.counts: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.status = self.files = 0

    def capture(self, file: str) -> None:
        """Decode one capture; a file that cannot be read is said and passed over."""
        try:
            capture = open_capture(file)
        except CaptureError as error:
            self.writer.flush()
            click.echo(f"kdbg: {error}", err=True)
            self.status = 2
            return
        with capture:
            self.decode(capture)

    def decode(self, capture: Capture) -> None:
        session = Session(ports=self.ports)
        render = view(self.format, self.look, session.topic_names)
        fits = self.filters.checks(session.topic_names)
        if self.format == "summary" and not self.files:
            self.writer.write(header(self.look))
        self.files += 1
        exchanges = session.run(capture)
        try:
            for chunk in self.chunks(exchanges):
                self.count(chunk)
                for exchange in chunk:
                    if all(check(exchange) for check in fits):
                        self.show(render(exchange))
                    if self.left == 0:
                        break
        finally:
            self.finish(session, capture)

    def chunks(self, exchanges: Iterator[Exchange]) -> Iterator[list[Exchange]]:
        """Exchanges that go through each step together: one where somebody waits, else as many as caches like."""
        most = 1 if self.writer.live or self.left is not None else CHUNK
        chunk: list[Exchange] = []
        size = 0
        for exchange in exchanges:
            if self.left == 0:
                return
            chunk.append(exchange)
            size += exchange.size
            if len(chunk) >= most or size > CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
        yield chunk

    def count(self, exchanges: list[Exchange]) -> None:
        """Read the messages, each once and only as far as the view will show it, and count what is odd in them."""
        self.counts["exchanges"] += len(exchanges)
        note = self.note
        for exchange in exchanges:
            for finding in exchange.all_findings(shallow=self.shallow):
                note(finding)

    def show(self, text: str | bytes) -> None:
        self.writer.write(text)
        self.counts["shown"] += 1
        if self.left is not None:
            self.left -= 1

    def note(self, finding: Finding) -> None:
        self.findings[finding.kind] += 1
        if finding.kind not in NOTICES and not self.status:
            self.status = 1

    def finish(self, session: Session, capture: Capture) -> None:
        """What is known of a capture only at its end."""
        self.counts["packets"] += capture.packets
        self.counts["connections"] += session.connections
        self.counts["others"] += session.other_connections
        self.writer.flush()
        for peers, finding in session.findings:
            where = f"{endpoint(peers.client)} → {endpoint(peers.broker)}: " if peers is not None else ""
            self.note(finding)
            click.echo(f"kdbg: {escape(capture.name)}: {where}{escape(str(finding))}", err=True)
        for problem in capture.problems:
            self.note(problem)
            click.echo(f"kdbg: {escape(capture.name)}: {problem.text}", err=True)

    def close(self) -> None:
        """The closing line."""
        self.writer.flush()
        if not self.files:
            return
        counts = self.counts
        parts = [f"{counts[name]:,} {name}" for name in ("packets", "connections", "exchanges")]
        if counts["shown"] < counts["exchanges"]:
            parts.append(f"{counts['shown']:,} shown")
        parts.append(f"{self.findings['unanswered']:,} unanswered")
        odd = {kind: count for kind, count in self.findings.items() if kind != "unanswered"}
        listed = ", ".join(f"{kind} {count:,}" for kind, count in sorted(odd.items(), key=lambda item: -item[1]))
        parts.append(f"{sum(odd.values()):,} findings" + (f" ({listed})" if listed else ""))
        if counts["others"]:
            parts.append(f"{counts['others']:,} other connections")
        print(" · ".join(parts), file=sys.stderr)

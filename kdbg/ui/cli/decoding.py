"""One run of `kdbg decode`: captures through an engine and a view, counted to the end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...exchanges.engine.direction import Depth
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.rejection import went_wrong
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.topics import NamesThen
from ...views.reading.files import BrokerFile, Merged
from ...views.render.style import Look
from ...views.render.values import escape
from ...views.render.views import VIEWS, ExchangeView, Text, View, texts, view
from .output import Writer
from .runner import Captures
from .sinks import InlineSink, PoolSink

if TYPE_CHECKING:
    from .log_correlation import Joins

FEW = 3
"""Files that are named in a hint."""


class DecodeRun(Captures):
    """Decodes one file after the other, each under its name where there are several."""

    look: Look
    segments: int
    view: View
    jobs: int
    headed: bool
    joins: Joins | None
    reads_logs = True
    counts_itself = True

    def __init__(
        self,
        format: str,
        look: Look,
        writer: Writer,
        filters: Filters,
        jobs: int = 1,
        joins: Joins | None = None,
    ) -> None:
        super().__init__(filters, writer)
        self.joins, self.hears_all = joins, joins is not None
        self.view, self.look, self.jobs = view(format), look, jobs
        self.segments = 0
        self.headed = False
        self.hinting: bool = jobs == 1 and sys.stdout.isatty() and not (look.only_errors or filters.errors)

    @property
    def has_read(self) -> bool:
        """Whether there is anything to tell of."""
        return bool(self.files or self.segments)

    def opened(self, opened: Capture | ApplicationLog | BrokerFile, file: str, *, named: bool) -> None:
        """Decode a capture, or a file of a broker's disk."""
        segment = None
        if isinstance(opened, BrokerFile):
            from .segment import SegmentRun

            segment = SegmentRun(self, opened.source, opened.file)
        if named and not self.view.data:
            self.writer.write(self.look.paint("heading", f"==> {escape(file)} <==") + "\n")
        if segment is not None:
            self.segments += 1
            segment.decode()
            return
        self.headed = bool(self.files) and not named
        super().opened(opened, file, named=named)

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Decode what is in a capture, and say what is odd about it."""
        with self.driven(capture, name) as drive:
            engine = drive.engine
            render = self.view.exchange(self.look, engine.names_then)
            here = (
                self.jobs == 1
                or self.writer.live
                or self.joins is not None
                or self.timed
                or isinstance(capture, ApplicationLog | Merged)
            )  # what has no bytes, where it was seen and what packets told cannot be handed on
            shown_by = InlineSink if here else PoolSink
            output = shown_by(self, render, engine.names_then)
            try:
                for chunk in drive.chunks():
                    self.head(chunk, render)
                    output.add(chunk)
                    self.hand_on(chunk)
                    if engine.findings:
                        output.wait()
                        self.tell(engine, name)
                output.wait()
                self.head([], render)
            finally:
                output.close()

    def tell_attempts(self, name: str) -> None:
        """Show who asked for connections in vain where all there is is shown; else say it.

        A line of JSON is an exchange, unless what TCP tells was asked for.
        """
        chosen = self.filters.asks or self.given.limit is not None or (self.view.data and not self.timed)
        if chosen or self.view.attempts is None:
            super().tell_attempts(name)
        else:
            self.writer.write(self.view.attempts(self.look, self.tried.found))

    def head(self, exchanges: Sequence[Exchange], render: ExchangeView) -> None:
        """Write what stands above the first exchange, unless it stands there already; tell the view when that was."""
        if not self.headed:
            self.headed = True
            if exchanges and hasattr(render, "begin"):
                render.begin(exchanges[0].time)  # before there are copies of it, which see later ones alone
            self.writer.write(self.view.header(self.look, exchanges[0].time if exchanges else None))

    @property
    def depth(self) -> Depth:  # type: ignore[override]  # of a run that is made once
        """How far all messages are read: whole if all are shown, and the view wants it."""
        return "shallow" if self.view.shallow or self.filters.asks else "whole"

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""
        in_pieces, shallow = hasattr(render, "pieces"), self.view.shallow
        names_grow = exchanges[0].names != exchanges[-1].names
        names.at(exchanges[0].names)
        for exchange in exchanges:
            if names_grow:
                names.at(exchange.names)
            if in_pieces:
                yield from texts(render, exchange)
            else:
                yield render(exchange)
            if self.hinting and went_wrong(exchange, shallow=True):
                self.counts["wrong"] += 1
            if not exchange.is_sound(shallow=shallow):  # behind the view, which may have proved it
                self.note_all(exchange, shallow=shallow)

    def captures(self, files: Sequence[str]) -> None:
        """Decode the files; close with what to look at, where much was shown on a terminal and little went wrong."""
        super().captures(files)
        wrong, shown = self.counts["wrong"], self.counts["shown"]
        if wrong and shown > wrong:
            names = " ".join(shlex.quote(file) for file in files[:FEW]) + " …" * (len(files) > FEW)
            same = "" if self.view is VIEWS["tree"] else " --format summary"
            self.writer.say(f"{count(wrong, 'exchange')} with errors: kdbg decode {escape(names)} --errors{same}")

    def hear(self, exchange: Exchange, shown: bool) -> None:
        """Join the lines of logs to an exchange, and count what is odd in one that is not shown."""
        if self.joins is not None:
            self.joins.join(exchange)
        super().hear(exchange, shown)

    def other_parts(self) -> list[str]:
        """Return the parts of the closing line on files of a broker's disk, and on logs."""
        joined = self.joins.parts() if self.joins is not None else []
        if not self.segments:
            return joined
        from .segment import closing

        return [*closing(self.counts), *joined]

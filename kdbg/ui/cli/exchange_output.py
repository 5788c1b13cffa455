"""Exchanges written in a view: here, one by one, or by several processes, some exchanges at a time (`--jobs`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...capture import Capture
from ...exchanges.engine.direction import Depth
from ...exchanges.engine.driver import FEW, Drive
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Attempts
from ...exchanges.messages.rejection import went_wrong
from ...protocol.wire.readings.outline import NamesThen
from ...views.reading import Merged
from ...views.render.style import Look
from ...views.render.views import ExchangeView, Text, View, texts, view
from .inputs import AUTO
from .output import Writer
from .runner import OpenFile, Runner, ignore

if TYPE_CHECKING:
    from .pool_sink import PoolSink


class ExchangeOutput:
    """Writes the exchanges that a runner reads; `before` is called with exchanges before they are shown."""

    headed: bool = False
    """Whether the line above the first exchange stands there already."""

    def __init__(
        self, runner: Runner, format: str, look: Look, jobs: int = 1,
        before: Callable[[Sequence[Exchange]], None] = ignore,
    ) -> None:  # fmt: skip
        self.view: View = view(format)
        self.look = look
        self.jobs = 1 if jobs == AUTO and sys.stdout.isatty() else jobs  # whoever reads along wants the first screen
        self.runner, self.before = runner, before
        self.writer: Writer = runner.writer
        self._counts_errors: bool = jobs <= 1 and sys.stdout.isatty() and not (look.only_errors or runner.given.errors)

    def write(self, file: OpenFile, drive: Drive, *, here: bool = True) -> None:
        """Write the exchanges of a capture; `here`: not in several processes, whatever `jobs` says."""
        engine, names = drive.engine, drive.engine.names_then
        render = self.view.exchange(self.look, names)
        pool: PoolSink | None = None
        # what has no bytes, where it was seen and what packets told cannot be handed on
        is_plain = isinstance(file.capture, Capture) and not isinstance(file.capture, Merged)
        jobs = self.runner.processes(file, drive, self.jobs) if is_plain and not (here or self.writer.live) else 1
        if jobs > 1:
            from .pool_sink import PoolSink  # which one process does without

            pool = PoolSink(self.runner, jobs, self.texts, render, names)
            self.runner.split(file, drive, pool)
        try:
            for chunk in drive.chunks():
                self._head(chunk, render)
                if pool is not None:
                    pool.add(chunk)
                else:
                    self.show(chunk, render, names)
                self.runner.hand_on(chunk)
                if engine.findings:
                    if pool is not None:
                        pool.wait()
                    self.runner.tell(engine, file.name)
            if pool is not None:
                pool.wait()
            self._head([], render)
        finally:
            if pool is not None:
                pool.close()

    def attempts(self) -> Callable[[Sequence[Attempts]], None] | None:
        """Return what shows connections that failed to open; None where not all is shown, and they are said."""
        runner, show = self.runner, self.view.attempts
        chosen = runner.filters.asks or runner.given.limit is not None or (self.view.data and not runner.timed)
        return None if chosen or show is None else lambda found: self.writer.write(show(found, self.look))

    def _head(self, exchanges: Sequence[Exchange], render: ExchangeView) -> None:
        """Write what stands above the first exchange, unless it stands there already; tell the view when that was."""
        if not self.headed:
            self.headed = True
            if exchanges and hasattr(render, "begin"):
                render.begin(exchanges[0].time)  # before there are copies of it, which see later ones alone
            self.writer.write(self.view.header(self.look, exchanges[0].time if exchanges else None))

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> None:
        """Write exchanges: together, but few, which may be large, one by one; their texts are not held."""
        found, writer = self.texts(exchanges, render, names), self.writer
        if not hasattr(render, "pieces") and (writer.live or len(exchanges) >= FEW):
            writer.write_all(list(found))
            return
        for piece in found:
            writer.write(piece)

    def texts(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""
        self.before(exchanges)
        runner, in_pieces, shallow = self.runner, hasattr(render, "pieces"), self.view.shallow
        names_grow = exchanges[0].names != exchanges[-1].names
        names.at(exchanges[0].names)
        for exchange in exchanges:
            if names_grow:
                names.at(exchange.names)
            if in_pieces:
                yield from texts(render, exchange)
            else:
                yield render(exchange)
            if self._counts_errors and went_wrong(exchange, shallow=True):
                runner.counts["wrong"] += 1
            if not exchange.is_sound(shallow=shallow):  # after the view, which may have proved it
                for finding in exchange.all_findings(shallow=shallow):
                    runner.findings.note(finding)


def depth_of(format: str) -> Depth:
    """Return how far all messages are read for a view: whole where it shows them so."""
    return "shallow" if view(format).shallow else "whole"

"""Exchanges written in a view: here, one by one, or by several processes, some exchanges at a time (`--jobs`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...exchanges.engine.direction import Depth
from ...exchanges.engine.driver import FEW, Drive
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Attempts
from ...exchanges.messages.rejection import went_wrong
from ...protocol.wire.readings.outline import NamesThen
from ...views.render.style import Look
from ...views.render.views import ExchangeView, Text, View, texts, view
from .output import OutOfOrder, Sink, Writer
from .runner import OpenFile, Runner, ignore


class ExchangeOutput(Sink):
    """Writes the exchanges that a runner reads; `before` is called with exchanges before they are shown."""

    headed: bool = False
    """Whether the line above the first exchange stands there already."""
    first: int | None = None
    """When the first exchange of the capture was that is shown."""

    def __init__(
        self, runner: Runner, format: str, look: Look, before: Callable[[Sequence[Exchange]], None] = ignore
    ) -> None:
        self.view: View = view(format)
        self.look = look
        self.runner, self.before = runner, before
        self.writer: Writer = runner.writer
        self._counts_errors: bool = sys.stdout.isatty() and not (look.only_errors or runner.given.errors)

    def begin(self, names: NamesThen) -> None:
        """Begin a capture, with the names of its topic ids."""
        self.names, self.first = names, None
        self.render: ExchangeView = self.view.exchange(self.look, names)

    def write(self, file: OpenFile, drive: Drive, *, here: bool = True) -> None:
        """Write the exchanges of a capture; `here`: not in several processes, whatever `Runner.jobs` says."""
        self.begin(drive.engine.names_then)
        self.runner.show(file, drive, self, here=here)
        self._head(None)

    def state(self) -> int | None:
        """Return when the first exchange was that is shown."""
        return self.first

    def know(self, state: int | None) -> None:
        """Take when the first exchange is that is shown."""
        if self.first is None and state is not None:
            self.first = state
            if hasattr(self.render, "begin"):
                self.render.begin(state)

    def attempts(self) -> Callable[[Sequence[Attempts]], None] | None:
        """Return what shows connections that failed to open; None where not all is shown, and they are said."""
        runner, show = self.runner, self.view.attempts
        chosen = runner.filters.asks or runner.given.limit is not None or (self.view.data and not runner.timed)
        return None if chosen or show is None else lambda found: self.writer.write(show(found, self.look))

    def _head(self, time: int | None) -> None:
        """Write what stands above the first exchange, unless it stands there already."""
        if not self.headed:
            self.headed = True
            self.writer.write(self.view.header(self.look, time))

    def show(self, exchanges: Sequence[Exchange]) -> None:
        """Write exchanges: together, but few, which may be large, one by one; their texts are not held."""
        self.know(exchanges[0].time)
        self._head(exchanges[0].time)
        found, writer = self.texts(exchanges), self.writer
        if not hasattr(self.render, "pieces") and (writer.live or len(exchanges) >= FEW):
            writer.write_all(list(found))
            return
        for piece in found:
            writer.write(piece)

    def make(self, exchanges: Sequence[Exchange], show: Callable[[bytes], Any]) -> None:
        """Show the texts of exchanges, once it is known which of all is the first."""
        if self.first is None:
            raise OutOfOrder
        super().make(exchanges, show)

    def texts(self, exchanges: Sequence[Exchange]) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""
        self.before(exchanges)
        runner, render, names, shallow = self.runner, self.render, self.names, self.view.shallow
        in_pieces, names_grow = hasattr(render, "pieces"), exchanges[0].names != exchanges[-1].names
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

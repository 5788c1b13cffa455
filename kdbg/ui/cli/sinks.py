"""Where exchanges are shown: here, one by one, or by several processes, some exchanges at a time (`--jobs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ...exchanges.jobs.forks import Show
from ...exchanges.jobs.pool import FEW, ExchangePool
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.topics import NamesThen
from ...views.render.views import ExchangeView, Text
from .output import Writer, encoded, joined


class SinkOwner(Protocol):
    """The run that exchanges are shown for: where to, by how many processes, and what was odd so far."""

    writer: Writer
    jobs: int
    findings: Counter[str]
    status: int

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""


class InlineSink:
    """Shows exchanges in this process; `names` are those that `render` has of topic ids."""

    run: SinkOwner
    render: ExchangeView
    names: NamesThen

    def __init__(self, run: SinkOwner, render: ExchangeView, names: NamesThen) -> None:
        self.run, self.render, self.names = run, render, names

    def add(self, exchanges: list[Exchange]) -> None:
        """Show exchanges: together, but few, which may be large, one by one; their texts are not held."""
        texts, writer = self.run.show(exchanges, self.render, self.names), self.run.writer
        if not hasattr(self.render, "pieces") and (writer.live or len(exchanges) >= FEW):
            writer.write_all(list(texts))
            return
        for piece in texts:
            writer.write(piece)

    def wait(self) -> None:
        """Do nothing: all is shown."""

    def close(self) -> None:
        """Do nothing: nothing is held."""


class ChunkFindings(NamedTuple):
    """What is odd in some exchanges, and the exit status."""

    findings: Counter[str]
    status: int


class PoolSink(ExchangePool):
    """Shows exchanges in this process, which pairs all of them, and in copies of it; in their order."""

    run: SinkOwner
    render: ExchangeView
    names: NamesThen

    def __init__(self, run: SinkOwner, render: ExchangeView, names: NamesThen) -> None:
        super().__init__(run.jobs - 1, names.topics, run.writer.write)
        self.run, self.render, self.names = run, render, names

    def do(self, exchanges: list[Exchange], show: Show) -> ChunkFindings:
        """Show exchanges; return what is odd in them."""
        run = self.run
        before, run.findings, run.status = (run.findings, run.status), Counter(), 0
        texts = run.show(exchanges, self.render, self.names)
        if not hasattr(self.render, "pieces"):
            show(joined(list(texts)))
        else:
            for piece in texts:
                show(encoded(piece))
        odd = ChunkFindings(run.findings, run.status)
        run.findings, run.status = before
        return odd

    def take(self, odd: ChunkFindings) -> None:
        """Count what is odd in exchanges that were shown."""
        self.run.findings.update(odd.findings)
        self.run.status = self.run.status or odd.status

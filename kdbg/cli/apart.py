"""Where exchanges are shown: here, one by one, or by several processes, some exchanges at a time (`--jobs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ..forks import Forks, Show
from ..messages.exchange import Exchange
from ..messages.packed import Parcels
from ..render.views import ExchangeView, Text
from ..wire.readings.topic_names import NamesThen
from .output import Writer, encoded, joined

MOST, FEW = 256, 16
"""Exchanges of a piece of work; with fewer than so many at a time, they are large, and make a piece at once."""


class Showing(Protocol):
    """The run that exchanges are shown for: where to, by how many processes, and what was odd so far."""

    writer: Writer
    jobs: int
    findings: Counter[str]
    status: int

    def show(self, exchanges: Sequence[Exchange], render: ExchangeView, names: NamesThen) -> Iterator[Text]:
        """Yield the texts of exchanges, long ones in pieces, and count what is odd in them."""


class Here:
    """Shows exchanges in this process; `names` are those that `render` has of topic ids."""

    def __init__(self, run: Showing, render: ExchangeView, names: NamesThen) -> None:
        self.run, self.render, self.names = run, render, names

    def add(self, exchanges: list[Exchange]) -> None:
        """Show exchanges."""
        texts, writer = self.run.show(exchanges, self.render, self.names), self.run.writer
        if not hasattr(self.render, "pieces"):
            writer.write_all(list(texts))
            return
        for piece in texts:
            writer.write(piece)

    def wait(self) -> None:
        """Do nothing: all is shown."""

    def close(self) -> None:
        """Do nothing: nothing is held."""


class Odd(NamedTuple):
    """What is odd in some exchanges, and the exit status."""

    findings: Counter[str]
    status: int


class Apart:
    """Shows exchanges in this process, which pairs all of them, and in copies of it; in their order."""

    def __init__(self, run: Showing, render: ExchangeView, names: NamesThen) -> None:
        self.run, self.render, self.names = run, render, names
        self._exchanges: list[Exchange] = []
        self._parcels = Parcels(names.topics)
        self._forks: Forks[list[Exchange]] = Forks(run.jobs - 1, self, run.writer.write)

    def add(self, exchanges: list[Exchange]) -> None:
        """Take exchanges; show those at hand where there are enough."""
        self._exchanges += exchanges
        if len(self._exchanges) >= MOST or len(exchanges) < FEW:
            self._give()

    def wait(self) -> None:
        """Wait until all exchanges are shown."""
        self._give()
        self._forks.wait()

    def close(self) -> None:
        """Let go of what is not shown yet."""
        self._forks.close()

    def _give(self) -> None:
        exchanges, self._exchanges = self._exchanges, []
        if exchanges:
            self._forks.give(exchanges)

    def pack(self, exchanges: list[Exchange], copy: int) -> bytes:
        """Return exchanges as bytes, for a copy."""
        return self._parcels.pack(exchanges, copy)

    def do_packed(self, packed: bytes, show: Show) -> Odd:
        """Show exchanges in a copy."""
        return self.do(self._parcels.unpack(packed), show)

    def do(self, exchanges: list[Exchange], show: Show) -> Odd:
        """Show exchanges; return what is odd in them."""
        run = self.run
        before, run.findings, run.status = (run.findings, run.status), Counter(), 0
        texts = run.show(exchanges, self.render, self.names)
        if not hasattr(self.render, "pieces"):
            show(joined(list(texts)))
        else:
            for piece in texts:
                show(encoded(piece))
        odd = Odd(run.findings, run.status)
        run.findings, run.status = before
        return odd

    def take(self, odd: Odd) -> None:
        """Count what is odd in exchanges that were shown."""
        self.run.findings.update(odd.findings)
        self.run.status = self.run.status or odd.status

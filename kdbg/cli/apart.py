"""Where exchanges are shown: here, one by one, or in copies of this process, a chunk in each (`--jobs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ..forks import Forks
from ..messages.exchange import Exchange
from ..render.views import ExchangeView, Text
from ..wire import Api
from ..wire.readings.topic_names import NamesThen
from .output import Writer, encoded

MOST, MOST_BYTES = 8192, 16 << 20
"""Exchanges of a chunk, and bytes of their messages."""


class Showing(Protocol):
    """The run that exchanges are shown for: where to, on how many cores, and what was odd so far."""

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


class Shown(NamedTuple):
    """What came of a chunk: its text, while it is in the copy; what is odd in it, and the exit status."""

    text: bytes
    findings: Counter[str]
    status: int


class Apart:
    """Shows exchanges in copies of this process, in their order; this one only pairs meanwhile.

    What a copy compiles is lost with it. So the first exchange of each kind is shown here too, to nobody.
    """

    def __init__(self, run: Showing, render: ExchangeView, names: NamesThen) -> None:
        self.run, self.render, self.names = run, render, names
        self._chunk: list[Exchange] = []
        self._bytes = 0
        self._seen: set[tuple[Api | None, int]] = set()
        self._forks: Forks[list[Exchange]] = Forks(run.jobs, self._work, self._show, self._take)

    def add(self, exchanges: list[Exchange]) -> None:
        """Take exchanges; show those at hand where there are enough."""
        for exchange in exchanges:
            kind = exchange.api, exchange.version
            if kind not in self._seen:
                self._seen.add(kind)
                self.render(exchange)
            self._bytes += exchange.size
        self._chunk += exchanges
        if len(self._chunk) >= MOST or self._bytes >= MOST_BYTES:
            self._give()

    def wait(self) -> None:
        """Wait until all exchanges are shown."""
        if self._chunk:
            self._give()
        self._forks.wait()

    def close(self) -> None:
        """Let go of what is not shown yet."""
        self._forks.abandon()

    def _give(self) -> None:
        self.run.writer.flush()  # what stands there would be written by every copy
        self._forks.give(self._chunk)
        self._chunk, self._bytes = [], 0

    def _work(self, chunk: list[Exchange]) -> Shown:
        """Make the text of a chunk; in a copy."""
        run = self.run
        before, run.findings, run.status = (run.findings, run.status), Counter(), 0
        text = b"".join(map(encoded, run.show(chunk, self.render, self.names)))
        shown = Shown(text, run.findings, run.status)
        run.findings, run.status = before
        return shown

    def _show(self, shown: Shown) -> Shown:
        """Write the text; in a copy whose turn it is."""
        self.run.writer.raw.write(shown.text)
        self.run.writer.raw.flush()
        return shown._replace(text=b"")

    def _take(self, shown: Shown) -> None:
        self.run.findings.update(shown.findings)
        self.run.status = self.run.status or shown.status

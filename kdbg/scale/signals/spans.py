"""Exchanges → spans → where they go, some at a time: what commands hand their exchanges to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final

from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.outline import NamesThen
from .attributes import Span
from .sinks import BATCH, Sink
from .traces import Traces

HELD: Final = 1.0
"""Seconds for which spans wait for others to go with."""
SELDOM: Final = 5.0
"""Seconds between two looks at which connections have ended, while packets come."""


class Spans:
    """Sends the spans of exchanges to a sink; `links`: with those to the traces that records carry."""

    def __init__(self, sink: Sink, *, links: bool = True) -> None:
        self.sink = sink
        self._traces = Traces(links=links)
        self._held: list[Span] = []
        self._since: float = 0.0
        self._looked: float = monotonic()
        self._is_open: Callable[[int], bool] = lambda first_packet: True

    def begin(self, file: str, first_time: int | None, names: NamesThen, is_open: Callable[[int], bool]) -> None:
        """Begin a capture; `names` are those of topic ids, `is_open` tells it of a connection by its first packet."""
        self._traces.begin(file, first_time, names)
        self._is_open = is_open

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""
        for exchange in exchanges:
            self._hold(self._traces.take(exchange))

    def finish(self) -> None:
        """End a capture."""
        self._hold(self._traces.finish())
        self._let_go()

    def tick(self, *, idle: bool) -> None:
        """Send what has waited for long enough; `idle`: all, for nothing comes."""
        if idle or monotonic() - self._looked > SELDOM:
            self._hold(self._traces.ended(self._is_open, settled=idle))
            self._looked = monotonic()
        if self._held and (idle or monotonic() - self._since > HELD):
            self._let_go()

    def close(self) -> list[str]:
        """Have all sent; return what is to be said of it."""
        self.sink.close()
        said = [f"{count(self.sink.sent, 'span')} sent to {self.sink.target}"]
        if self.sink.lost:
            said.append(f"{count(self.sink.lost, 'span')} not accepted by {self.sink.target}")
        if self._traces.untimed:
            said.append(f"{count(self._traces.untimed, 'exchange')} skipped: without a time")
        return said

    def _hold(self, spans: Iterable[Span]) -> None:
        for span in spans:
            if not self._held:
                self._since = monotonic()
            self._held.append(span)
            if len(self._held) >= BATCH:
                self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        if held:
            self.sink.take(held)

"""Where exchanges go beside a view: to a collector of OpenTelemetry as spans, to Prometheus as metrics.

A run hands its exchanges to the outlets that it has, and lets them do what is due now and then: `Captures.outlets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ...analysis.diagnosis import Case
    from ...exchanges.messages.exchange import Exchange
    from ...protocol.findings import Finding
    from ...protocol.wire.readings.topics import NamesThen
    from ...scale.signals.metrics import Metrics, Totals
    from ...scale.signals.spans import Spans


class Source(NamedTuple):
    """The capture that an outlet gets the exchanges of.

    `first_time` tells when its first packet came, `is_open` whether a connection, told by its first packet, goes on.
    """

    name: str
    first_time: Callable[[], int | None]
    names: NamesThen
    is_open: Callable[[int], bool]


class Outlet(Protocol):
    """Takes exchanges while they come."""

    def begin(self, source: Source) -> None:
        """Begin a capture."""

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""

    def tick(self, totals: Totals, *, idle: bool) -> None:
        """Do what is due; `totals` are the numbers of the capture so far. `idle`: nothing comes for now."""

    def odd(self, findings: Iterable[Finding]) -> None:
        """Take findings that belong to no exchange."""

    def judged(self, cases: Sequence[Case]) -> None:
        """Take the causes that are there by now."""

    def finish(self, totals: Totals) -> None:
        """End a capture."""

    def close(self) -> Iterable[str]:
        """End all; return lines to be said."""


class SpanOutlet:
    """Sends exchanges as spans."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._source: Source | None = None

    def begin(self, source: Source) -> None:
        self._source = source

    def take(self, exchanges: Sequence[Exchange]) -> None:
        if self._source is not None:  # whose first packet has come by now
            source = self._source
            self._spans.begin(source.name, source.first_time(), source.names, source.is_open)
            self._source = None
        self._spans.take(exchanges)

    def tick(self, totals: Totals, *, idle: bool) -> None:
        self._spans.tick(idle=idle)

    def odd(self, findings: Iterable[Finding]) -> None:
        """Leave them out: no span is theirs."""

    def judged(self, cases: Sequence[Case]) -> None:
        """Leave them out: no span is theirs."""

    def finish(self, totals: Totals) -> None:
        self._spans.finish()

    def close(self) -> Iterable[str]:
        return self._spans.close()


class MetricsOutlet:
    """Counts exchanges."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def begin(self, source: Source) -> None:
        self._metrics.begin(source.names, source.is_open)

    def take(self, exchanges: Sequence[Exchange]) -> None:
        self._metrics.take(exchanges)

    def tick(self, totals: Totals, *, idle: bool) -> None:
        self._metrics.total(totals)

    def odd(self, findings: Iterable[Finding]) -> None:
        self._metrics.odd(findings)

    def judged(self, cases: Sequence[Case]) -> None:
        self._metrics.causes((case.code, case.severity.value, case.count) for case in cases)

    def finish(self, totals: Totals) -> None:
        self._metrics.total(totals)

    def close(self) -> Iterable[str]:
        return ()

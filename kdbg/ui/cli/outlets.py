"""Where exchanges go beside a view: to a collector of OpenTelemetry as spans, to Prometheus as metrics.

A runner hands its exchanges to the outlets that it has, and lets them do what is due now and then. The options --otlp
and --metrics mean the same in all commands; out come the outlets that they ask for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import click

from ...errors import InputError, WriteError
from .output import say

if TYPE_CHECKING:
    from ...analysis.diagnosis import Case
    from ...analysis.logs.log import ApplicationLog
    from ...capture import Capture
    from ...exchanges.engine.driver import Pairing
    from ...exchanges.messages.exchange import Exchange
    from ...protocol.findings import Finding
    from ...protocol.wire.readings.outline import NamesThen
    from ...scale.signals.metrics import Metrics, Totals
    from ...scale.signals.sinks import Sink, Spans

STDOUT: Final = "-"
SERVICE: Final = "OTEL_SERVICE_NAME"
"""The variable by which OpenTelemetry's tools are told what they call themselves."""

otlp_option: Final = click.option(
    "--otlp",
    metavar="URL|FILE",
    help="Export exchanges as OpenTelemetry spans to a collector (http://HOST:4318) or a file; see kdbg guide "
    "telemetry.",
)
metrics_option: Final = click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Serve Prometheus metrics at http://HOST:PORT/metrics (default host: 127.0.0.1).",
)


class Source(NamedTuple):
    """The capture that an outlet gets the exchanges of.

    `first_time` tells when its first packet came, `is_open` whether a connection, told by its first packet, goes on.
    """

    name: str
    first_time: Callable[[], int | None]
    names: NamesThen
    is_open: Callable[[int], bool]


class Outlet:
    """Takes exchanges while they come; what it has no use for it leaves out."""

    def begin(self, source: Source) -> None:
        """Begin a capture."""

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""

    def tick(self, totals: Totals, *, idle: bool) -> None:
        """Do what is due; `totals` are the numbers of the capture so far. `idle`: nothing comes for now."""

    def odd(self, findings: Iterable[Finding]) -> None:
        """Take findings that belong to no exchange."""

    def take_causes(self, cases: Sequence[Case]) -> None:
        """Take the causes that are there by now."""

    def finish(self, totals: Totals) -> None:
        """End a capture."""

    def close(self) -> Iterable[str]:
        """End all; return lines to be said."""
        return ()


class SpanOutlet(Outlet):
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

    def finish(self, totals: Totals) -> None:
        self._spans.finish()

    def close(self) -> Iterable[str]:
        return self._spans.close()


class MetricsOutlet(Outlet):
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

    def take_causes(self, cases: Sequence[Case]) -> None:
        self._metrics.causes((case.code, case.severity.value, case.count) for case in cases)

    def finish(self, totals: Totals) -> None:
        self._metrics.total(totals)


@contextmanager
def spans(where: str, *, live: bool = False, links: bool = True) -> Iterator[SpanOutlet]:
    """Make a context with what sends spans to a URL, or writes them to a file.

    `live`: nobody waits for a collector. `links`: records are looked at for the traces that they carry.
    """
    from ...scale.signals.sinks import Spans

    with _sink(where, live) as sink:
        yield SpanOutlet(Spans(sink, links=links))


@contextmanager
def _sink(where: str, live: bool) -> Iterator[Sink]:
    from ... import __version__

    resource = {"service.name": os.environ.get(SERVICE) or "kdbg", "service.version": __version__}
    if "://" in where:
        from ...scale.signals.collector import Collector
        from ...scale.signals.sinks import Behind, CollectorSink

        collector = Collector(where, resource)
        yield Behind(collector, say) if live else CollectorSink(collector)
        return
    from ...atomic import AtomicFile
    from ...scale.signals.sinks import FileSink

    if where == STDOUT:
        if live:
            raise InputError("--otlp -: stdout is already used for the output; give a file")
        yield FileSink("stdout", sys.stdout.buffer, resource)
        return
    with _open_output(where) if live else AtomicFile(where, private=True) as file:
        yield FileSink(where, file, resource)


def _open_output(where: str) -> BinaryIO:
    """Open a file that is written as long as the command runs."""
    from ...atomic import private

    try:
        return open(where, "wb", opener=private)
    except OSError as error:
        raise WriteError(where, error.strerror or str(error)) from None


@contextmanager
def served(where: str) -> Iterator[MetricsOutlet]:
    """Make a context with what counts exchanges, and serves the numbers over HTTP; say where, and who may ask."""
    from ...live.client.settings import is_local
    from ...scale.signals.metrics import Metrics, place, serve

    host, wanted = place(where)
    counted = Metrics()
    server = serve(counted, host, wanted)
    try:
        port = server.server_port
        say(f"metrics: http://{f'[{host}]' if ':' in host else host}:{port}/metrics")
        if not is_local(host):
            say(
                f"warning: any host that can reach {host} can read the metrics; use --metrics {port} for local use only"
            )
        yield MetricsOutlet(counted)
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def outlets(otlp: str | None, metrics: str | None, *, links: bool) -> Iterator[list[Outlet]]:
    """Make a context with the outlets that the two options ask for, of something live."""
    with ExitStack() as stack:
        found: list[Outlet] = []
        if metrics is not None:
            found.append(stack.enter_context(served(metrics)))
        if otlp is not None:
            found.append(stack.enter_context(spans(otlp, live=True, links=links)))
        yield found


def refuse_beside(option: str, given: dict[str, Any]) -> None:
    """Refuse the two options beside one with which nothing is read here."""
    for name in ("otlp", "metrics"):
        if given.get(name) is not None:
            raise click.UsageError(f"use either --{name} or {option}, not both")


def totals(capture: Capture | ApplicationLog, engine: Pairing) -> Totals:
    """Return what was counted in a capture so far."""
    from ...capture import Lost
    from ...scale.signals.metrics import Totals

    lost = capture.lost or Lost()
    return Totals(capture.packets, lost.dropped, lost.unread, engine.connections, engine.other_connections)

"""Where exchanges go beside a view: to a collector of OpenTelemetry as spans, to Prometheus as metrics.

A runner hands its exchanges to the outlet that it has, and lets it do what is due now and then. The options --otlp and
--metrics mean the same in all commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

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
    from ...scale.signals.metrics import Metrics
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


class Outlet:
    """Sends exchanges as spans, counts them as metrics, or does both."""

    def __init__(self, spans: Spans | None = None, metrics: Metrics | None = None) -> None:
        self._spans, self._metrics = spans, metrics

    def begin(self, capture: Capture | ApplicationLog, engine: Pairing) -> None:
        """Begin a capture."""
        self._capture, self._engine = capture, engine
        self._is_open: Callable[[int], bool] = getattr(engine, "is_open", lambda first_packet: False)
        self._has_packets = False
        if self._metrics is not None:
            self._metrics.begin(engine.names_then, self._is_open)

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""
        if self._metrics is not None:
            self._metrics.take(exchanges)
        if self._spans is not None:
            if not self._has_packets:  # the first has come by now
                self._has_packets, capture = True, self._capture
                self._spans.begin(capture.name, capture.first_time, self._engine.names_then, self._is_open)
            self._spans.take(exchanges)

    def tick(self, *, idle: bool) -> None:
        """Do what is due; `idle`: nothing comes for now."""
        self._total()
        if self._spans is not None:
            self._spans.tick(idle=idle)

    def odd(self, findings: Iterable[Finding]) -> None:
        """Take findings that belong to no exchange."""
        if self._metrics is not None:
            self._metrics.odd(findings)

    def take_causes(self, cases: Sequence[Case]) -> None:
        """Take the causes that are there by now."""
        if self._metrics is not None:
            self._metrics.causes((case.code, case.severity.value, case.count) for case in cases)

    def finish(self) -> None:
        """End a capture."""
        self._total()
        if self._spans is not None:
            self._spans.finish()

    def close(self) -> Iterable[str]:
        """End all; return lines to be said."""
        return self._spans.close() if self._spans is not None else ()

    def _total(self) -> None:
        if self._metrics is not None:
            from ...capture import Lost
            from ...scale.signals.metrics import Totals

            packets, lost, engine = self._capture.packets, self._capture.lost or Lost(), self._engine
            self._metrics.total(
                Totals(packets, lost.dropped, lost.unread, engine.connections, engine.other_connections)
            )


@contextmanager
def sink(where: str, *, live: bool = False) -> Iterator[Sink]:
    """Make a context with what takes spans to a URL, or writes them to a file; `live`: nobody waits for a collector."""
    from ... import __version__

    resource = {"service.name": os.environ.get(SERVICE) or "kdbg", "service.version": __version__}
    if "://" in where:
        from ...scale.signals.collector import Collector
        from ...scale.signals.sinks import Behind

        collector = Collector(where, resource)
        yield Behind(collector, say) if live else collector
        return
    from ...atomic import AtomicFile, private
    from ...scale.signals.sinks import FileSink

    if where == STDOUT:
        if live:
            raise InputError("--otlp -: stdout is already used for the output; give a file")
        yield FileSink("stdout", sys.stdout.buffer, resource)
        return
    try:  # what is live is written as long as the command runs
        opened: Any = open(where, "wb", opener=private) if live else AtomicFile(where, private=True)  # noqa: SIM115
    except OSError as error:
        raise WriteError(where, error.strerror or str(error)) from None
    with opened as file:
        yield FileSink(where, file, resource)


@contextmanager
def live_outlet(otlp: str | None, metrics: str | None, *, links: bool) -> Iterator[Outlet | None]:
    """Make a context with the outlet that the two options ask for, of something live; None where neither is given.

    It is said where the metrics are served, and who may read them. `links`: records are looked at for the traces that
    they carry.
    """
    if otlp is None and metrics is None:
        yield None
        return
    with ExitStack() as stack:
        counted: Metrics | None = None
        if metrics is not None:
            from ...live.client.settings import is_local
            from ...scale.signals.metrics import Metrics, place, serve

            host, wanted = place(metrics)
            counted = Metrics()
            server = serve(counted, host, wanted)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            port = server.server_port
            say(f"metrics: http://{f'[{host}]' if ':' in host else host}:{port}/metrics")
            if not is_local(host):
                hint = f"use --metrics {port} for local use only"
                say(f"warning: any host that can reach {host} can read the metrics; {hint}")
        spans: Spans | None = None
        if otlp is not None:
            from ...scale.signals.sinks import Spans

            spans = Spans(stack.enter_context(sink(otlp, live=True)), links=links)
        yield Outlet(spans, counted)


def refuse_beside(option: str, given: dict[str, Any]) -> None:
    """Refuse the two options beside one with which nothing is read here."""
    for name in ("otlp", "metrics"):
        if given.get(name) is not None:
            raise click.UsageError(f"use either --{name} or {option}, not both")

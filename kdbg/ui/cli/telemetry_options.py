"""`--otlp` and `--metrics`: what they say means the same in all commands; out come the outlets that they ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from ...atomic import AtomicFile, private
from ...errors import InputError, WriteError
from .outlets import MetricsOutlet, Outlet, SpanOutlet

if TYPE_CHECKING:
    from ...scale.signals.sinks import Sink

STDOUT: Final = "-"
SERVICE: Final = "OTEL_SERVICE_NAME"
"""The variable by which OpenTelemetry's tools are told what they call themselves."""

otlp_option: Final = click.option(
    "--otlp", metavar="URL|FILE", help="Export exchanges as OpenTelemetry spans to a collector (http://HOST:4318) or a "
                                    "file; see kdbg guide telemetry.",
)  # fmt: skip
metrics_option: Final = click.option(
    "--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics at http://HOST:PORT/metrics (default host: "
                                           "127.0.0.1).",
)  # fmt: skip


@contextmanager
def spans(where: str, *, live: bool = False, links: bool = True) -> Iterator[SpanOutlet]:
    """Make a context with what sends spans to a URL, or writes them to a file.

    `live`: nobody waits for a collector. `links`: records are looked at for the traces that they carry.
    """
    from ...scale.signals.spans import Spans

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
    try:
        return open(where, "wb", opener=private)
    except OSError as error:
        raise WriteError(where, error.strerror or str(error)) from None


@contextmanager
def served(where: str) -> Iterator[MetricsOutlet]:
    """Make a context with what counts exchanges, and serves the numbers over HTTP; say where, and who may ask."""
    from ...live.listeners import is_local
    from ...scale.signals.metrics import Metrics
    from ...scale.signals.prometheus import place, serve

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


def say(text: str) -> None:
    """Print a line on stderr."""
    from ...views.render.values import escape

    click.echo(f"kdbg: {escape(text)}", err=True)


def refuse_beside(option: str, given: dict[str, Any]) -> None:
    """Refuse the two options beside one with which nothing is read here."""
    for name in ("otlp", "metrics"):
        if given.get(name) is not None:
            raise click.UsageError(f"use either --{name} or {option}, not both")

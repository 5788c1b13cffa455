"""Metrics → Prometheus' text, and an HTTP endpoint to have it from. The one place that imports its client library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final
from urllib.parse import urlsplit

from ...errors import InputError
from ...extras import install
from .metrics import BUCKETS, FAMILIES, PREFIX, Family, Labels, Metrics, Spread, Type

LOCAL: Final = "127.0.0.1"


class Collected:
    """What the library asks for all metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Any]:
        """Yield the metrics as the library has them; those without a sample are not there."""
        metrics = self._metrics
        with metrics.lock:
            numbers, spreads = metrics.numbers(), metrics.spreads()
            found = [
                made
                for family in FAMILIES.values()
                if (made := _made(family, numbers.get(family.name, {}), spreads.get(family.name, {}))) is not None
            ]
        yield from found


def text(metrics: Metrics) -> bytes:
    """Return metrics as text; raise `InputError` where the library is missing."""
    check()
    from prometheus_client import generate_latest

    return generate_latest(_registry(metrics))


def serve(metrics: Metrics, host: str, port: int) -> Any:
    """Serve metrics over HTTP from a thread; return the server, which has `server_port` and `shutdown`.

    Raise `InputError` where the library is missing, or nothing can listen there.
    """
    check()
    from prometheus_client import start_http_server

    try:
        server, _ = start_http_server(port, host, _registry(metrics))
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{host}:{port}: cannot serve metrics ({why}); choose another port") from None
    return server


def place(text: str) -> tuple[str, int]:
    """Return host and port of `host:port`, `[::1]:port` or `port`, which is this machine's alone; port 0 is any.

    Raise `InputError` where it is none of these.
    """
    try:
        parts = urlsplit(f"//{text}" if ":" in text else f"//{LOCAL}:{text}")
        port = parts.port
    except ValueError:
        port = None
    if port is None or not parts.hostname or parts.path or parts.query or parts.fragment or parts.username:
        raise InputError(f"{text!r}: not an address for metrics; write {LOCAL}:9464, or only the port")
    return parts.hostname, port


def check() -> None:
    """Raise `InputError` where the library is missing."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise InputError(f"metrics need Prometheus' client library; {install('prometheus')}") from None


def _registry(metrics: Metrics) -> Any:
    from prometheus_client import CollectorRegistry

    found = CollectorRegistry()
    found.register(Collected(metrics))
    return found


def _made(family: Family, numbers: Mapping[Labels, float], spreads: Mapping[Labels, Spread]) -> Any:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    name = PREFIX + family.name
    if family.type is Type.HISTOGRAM:
        found = HistogramMetricFamily(name, family.help, labels=family.labels)
        for labels, spread in sorted(spreads.items()):
            bounds = [*map(str, BUCKETS), "+Inf"]
            found.add_metric(labels, list(zip(bounds, accumulate(spread.counts), strict=True)), spread.total[0])
        return found if spreads else None
    made = CounterMetricFamily if family.type is Type.COUNTER else GaugeMetricFamily
    plain = made(name, family.help, labels=family.labels)
    for labels, number in sorted(numbers.items()):
        plain.add_metric(labels, number)
    return plain if numbers else None

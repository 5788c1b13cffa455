"""`--repeat N --in-flight K`: the same request many times, up to K of them unanswered; throughput and latency."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....errors import KdbgError
from ....exchanges.messages.exchange import Exchange
from ....protocol.findings.amounts import count
from ....views.render.columns import aligned
from ....views.render.jsonlines import dump
from ....views.render.times import latency
from .plain import PlainRequest, written
from .request import Request
from .screen import Screen, errors_of

if TYPE_CHECKING:
    from ....live.client import Cluster

PERCENTILES = (50, 90, 99)


class Repeat:
    """Workers share the rounds: each sends a request, waits for its answer (by correlation id), sends the next."""

    request: Request
    rounds: int
    in_flight: int
    left: int
    version: int

    def __init__(self, request: Request, rounds: int, in_flight: int) -> None:
        self.request, self.rounds, self.in_flight = request, rounds, in_flight
        self.left = rounds
        self.version = 0
        self.made: dict[str, PlainRequest] = {}
        self.stats: Stats = Stats()

    async def __call__(self, cluster: Cluster, screen: Screen) -> None:
        await self.begin(cluster)
        try:
            with progress(self.rounds) as advance:
                self.stats.begin()
                await self.work(cluster, advance)
        finally:
            self.stats.end()
            if self.stats.count:
                screen.writer.write(self.shown(screen))

    async def begin(self, cluster: Cluster) -> None:
        """Choose the version, and open the connection, before the clock starts."""
        request = self.request
        await request.prepare(cluster)
        given = request.version
        address = await cluster.address_for(request.api, request.body, given, offered=given is None)
        self.version = given if given is not None else await cluster.negotiate(address, request.api, request.versions)
        await self.next(cluster)

    async def work(self, cluster: Cluster, advance: Any) -> None:
        """Start the workers and wait for them; the first `KdbgError` ends all, and is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.in_flight, self.rounds)):
                    group.create_task(self.worker(cluster, advance))
        except* KdbgError as errors:
            raise errors.exceptions[0] from None

    async def worker(self, cluster: Cluster, advance: Any) -> None:
        while self.left > 0:
            self.left -= 1
            connection, data, timeout = await self.next(cluster)
            future = connection.send(self.request.api, self.version, data=data)
            self.stats.add(await connection.answer(future, timeout=timeout))
            advance()

    async def next(self, cluster: Cluster) -> PlainRequest:
        """Return the connection of the next request, its bytes and its timeout; each variant is encoded only once."""
        if self.request.varies:
            await self.request.prepare(cluster)
        variant = repr(getattr(self.request, "looked_up", ""))
        if variant not in self.made:
            self.made[variant] = await written(cluster, self.request, self.version)
        return self.made[variant]

    def shown(self, screen: Screen) -> str | bytes:
        """Return the figures as text, or as a line of JSON."""
        name, stats = f"{self.request.api.name} v{self.version}", self.stats
        if screen.view.data:
            about = {"api": self.request.api.name, "api_version": self.version, "in_flight": self.in_flight}
            return dump(about | stats.figures())
        heading = f"{name} · {stats.count:,} of {self.rounds:,} done, {self.in_flight:,} in flight"
        rows = aligned(list(stats.rows()), screen.look, ("name",))
        return "\n".join([screen.look.paint("heading", heading), *rows]) + "\n"


class Stats:
    """Counts and latencies of exchanges."""

    count: int
    sent: int
    received: int
    started: float
    seconds: float

    def __init__(self) -> None:
        self.count = self.sent = self.received = 0
        self.latencies: list[int] = []
        self.errors: Counter[str] = Counter()
        self.started = self.seconds = 0.0

    def begin(self) -> None:
        self.started = time.perf_counter()

    def end(self) -> None:
        self.seconds = time.perf_counter() - self.started

    def add(self, exchange: Exchange) -> None:
        self.count += 1
        self.sent += exchange.request.size if exchange.request is not None else 0
        if exchange.response is not None and exchange.latency is not None:
            self.received += exchange.response.size
            self.latencies.append(exchange.latency)
            self.errors.update(errors_of(exchange))

    def percentile(self, percent: int) -> int:
        """Return the latency that `percent` of the answers did not exceed, in nanoseconds."""
        ordered = sorted(self.latencies)
        return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]

    def figures(self) -> dict[str, Any]:
        """Return all figures as numbers; latencies in milliseconds, None for a rate over no time."""
        spread = {f"p{percent}_ms": self.percentile(percent) / 1e6 for percent in (*PERCENTILES, 100) if self.latencies}
        return {
            "requests": self.count, "answers": len(self.latencies), "responses": len(self.latencies),
            "seconds": self.seconds,
            "requests_per_second": self.count / self.seconds if self.seconds else None,
            "bytes_sent": self.sent, "bytes_received": self.received, "errors": dict(self.errors),
        } | spread  # fmt: skip

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield all figures as rows of text: (heading, words)."""
        per = 1 / self.seconds if self.seconds else 0.0
        out, back = (f"{size * per / 1e6:,.2f} MB/s" for size in (self.sent, self.received))
        yield (
            "throughput",
            f"{count(round(self.count * per), 'request')}/s · {out} out · {back} back · {self.seconds:.3g} s",
        )
        if self.latencies:
            spread = [f"p{percent} {latency(self.percentile(percent))}" for percent in PERCENTILES]
            yield "latency", " · ".join([*spread, f"max {latency(self.percentile(100))}"])
        else:
            yield "latency", "no response expected (acks=0)"
        if self.errors:
            yield "errors", ", ".join(f"{name} {count:,}" for name, count in self.errors.most_common())


@contextmanager
def progress(total: int) -> Iterator[Any]:
    """Show a progress bar on stderr where that is a terminal; yield the function to call after each round."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)

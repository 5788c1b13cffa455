"""A request sent more than once: `--repeat N --in-flight K`, and `--all-versions`.

Each time it is sent without a second try: what a sweep and a measurement want to see is what came the first time.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ....errors import BuildError, ClientError, Closed, InputError, KdbgError, TimedOut
from ....exchanges.messages.exchange import Exchange
from ....live.client.bodies import body_bytes, waits
from ....live.client.routes import RETRY, choose
from ....protocol.findings.amounts import count
from ....views.render.columns import aligned
from ....views.render.jsonlines import dump
from ....views.render.values import latency
from .. import UNDECODED
from .request import Request
from .session import Screen, codes_of, errors_of

if TYPE_CHECKING:
    from ....live.client.cluster import Cluster
    from ....live.client.connection import Connection

PERCENTILES = (50, 90, 99)
PAUSE, PATIENCE = 0.1, 6
"""How long after the first, and how often in all, a version is sent again where the broker is not ready yet."""
HEADINGS = ("version", "request", "response", "time", "result")


PlainRequest: TypeAlias = "tuple[Connection, bytes, float]"
"""The connection that a request belongs to, its body's bytes, and how long its answer is waited for (s)."""


async def written(cluster: Cluster, request: Request, version: int) -> PlainRequest:
    """Encode a request, and open the connection that it belongs to."""
    offered = request.version is None
    address = await cluster.address_for(request.api, request.body, version, offered=offered)
    body = await cluster.fit(request.api, version, request.body)
    try:
        data = body_bytes(request.api, version, body)
    except BuildError as error:
        raise request.refusal(error) from None
    return await cluster.pool.connect(address), data, cluster.settings.timeout + waits(request.api, body)


class Repeat:
    """Workers share the rounds: each sends a request, waits for its answer (by correlation id), sends the next."""

    version: int = 0

    def __init__(self, request: Request, rounds: int, in_flight: int) -> None:
        self.request: Request = request
        self.rounds, self.in_flight, self.left = rounds, in_flight, rounds
        self.made: dict[str, PlainRequest] = {}
        self.stats: Stats = Stats()

    async def __call__(self, cluster: Cluster, screen: Screen) -> None:
        request, given = self.request, self.request.version
        await request.prepare(cluster)
        address = await cluster.address_for(request.api, request.body, given, offered=given is None)
        if given is None:
            given = choose(request.api, await cluster.versions(address), request.versions)
        self.version = given
        await self.next(cluster)  # which opens the connection, before the clock starts
        started = time.perf_counter()
        try:
            with progress(self.rounds) as advance:
                started = time.perf_counter()
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self.in_flight, self.rounds)):
                        group.create_task(self.worker(cluster, advance))
        except* KdbgError as errors:
            raise errors.exceptions[0] from None
        finally:
            self.stats.seconds = time.perf_counter() - started
            if self.stats.count:
                screen.writer.write(self.shown(screen))

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


@dataclass
class Stats:
    """Counts and latencies of exchanges."""

    count: int = 0
    sent: int = 0
    received: int = 0
    latencies: list[int] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

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
        rate = f"{count(round(self.count * per), 'request')}/s"
        yield "throughput", f"{rate} · {out} out · {back} back · {self.seconds:.3g} s"
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


class VersionTried(NamedTuple):
    """What came of one version: `good` if it was answered, and every byte of the answer is understood."""

    version: int
    result: str
    good: bool
    exchange: Exchange | None = None

    def figures(self) -> tuple[int | None, int | None, int | None]:
        """Return the sizes of request and response in bytes, and the latency in nanoseconds."""
        exchange = self.exchange
        if exchange is None or exchange.request is None:
            return None, None, None
        response = exchange.response
        return exchange.request.size, response.size if response is not None else None, exchange.latency


class Sweep:
    """Sends every version of a request.

    A broker that tells no versions is asked up to the first that it refuses, or answers in the form of another one:
    0.8 does so, which looks at no version number.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.pauses: list[Any] = [PAUSE * 2**i for i in range(PATIENCE)]

    async def __call__(self, cluster: Cluster, screen: Screen) -> None:
        request = self.request
        await request.prepare(cluster)
        offered = await self.offered(cluster)
        rows: list[VersionTried] = []
        for version in request.versions if offered is None else offered:
            rows.append(await self.row(cluster, version))
            if offered is None and not rows[-1].good:
                problem = f"it does not support {request.api.name} v{version}"
                screen.writer.say(f"the broker does not report its versions; {problem}")
                break
        cells: list[tuple[str, ...]] = []
        for row in rows:
            sent, got, took = row.figures()
            sizes = [f"{size:,} B" if size is not None else "–" for size in (sent, got)]
            cells.append((str(row.version), *sizes, latency(took) if sent is not None else "–", row.result))
            if screen.view.data:
                screen.writer.write(dump({
                    "api": request.api.name, "api_version": row.version, "result": row.result, "good": row.good,
                    "request_bytes": sent, "response_bytes": got,
                    "latency_ms": took / 1e6 if took is not None else None,
                }))  # fmt: skip
        if not screen.view.data:
            lines = aligned([HEADINGS, *cells], screen.look, ("name",), right=(0, 1, 2, 3))
            screen.writer.write("\n".join([screen.look.paint("heading", request.api.name), *lines]) + "\n")
        wanted = rows[:-1] or rows if offered is None else rows  # the last one was only to see where it ends
        screen.status = 0 if all(row.good for row in wanted) else UNDECODED

    async def offered(self, cluster: Cluster) -> list[int] | None:
        """Return the versions that both sides know, None if the broker does not tell; raise `InputError` for none."""
        api = self.request.api
        address = await cluster.address_for(api, self.request.body)
        known = await cluster.versions(address)
        if not known:
            return None
        if api.key not in known:
            raise InputError(f"the broker does not support {api.name}; use --version N to send it anyway")
        lowest, highest = known[api.key]
        both = [version for version in self.request.versions if lowest <= version <= highest]
        if not both:
            own = f"v{self.request.versions[0]} to v{self.request.versions[-1]}"
            raise InputError(f"the broker supports {api.name} v{lowest} to v{highest}; {own} has no version in common")
        return both

    async def row(self, cluster: Cluster, version: int) -> VersionTried:
        """Send one version; return what came of it, errors included."""
        try:
            exchange = await self.settled(cluster, version)
        except InputError as error:
            return VersionTried(version, str(error), good=False)
        except ClientError as error:
            known = {Closed: "closed the connection", TimedOut: "no response"}
            return VersionTried(version, known.get(type(error), str(error)), good=False)
        kinds = (finding.kind for finding in exchange.all_findings() if finding.kind.is_error)
        odd = list(dict.fromkeys(kinds))
        if exchange.response is None:
            return VersionTried(version, "sent, no response expected", True, exchange)
        return VersionTried(version, " · ".join([*(errors_of(exchange) or ["OK"]), *odd]), not odd, exchange)

    async def settled(self, cluster: Cluster, version: int) -> Exchange:
        """Send one version, again while leader or coordinator is not there; all versions share the pauses."""
        while True:
            connection, data, timeout = await written(cluster, self.request, version)
            sent = connection.send(self.request.api, version, data=data)
            exchange = await connection.answer(sent, timeout=timeout)
            if not self.pauses or not RETRY.intersection(codes_of(exchange)):
                return exchange
            await asyncio.sleep(self.pauses.pop(0))
            cluster.forget()

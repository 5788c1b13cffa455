"""`--all-versions`: a request in every version that both sides know, and what came of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import ClientError, Closed, InputError, TimedOut
from ....exchanges.messages.exchange import Exchange
from ....live.client.routes import RETRY
from ....views.render.columns import aligned
from ....views.render.jsonlines import dump
from ....views.render.times import latency
from .. import UNDECODED
from .plain import send_once
from .request import Request
from .screen import Screen, codes_of, errors_of

if TYPE_CHECKING:
    from ....live.client import Cluster

PAUSE, PATIENCE = 0.1, 6
"""How long after the first, and how often in all, a version is sent again where the broker is not ready yet."""
HEADINGS = ("version", "request", "response", "time", "result")


class VersionTried(NamedTuple):
    """What came of one version: `good` if it was answered, and every byte of the answer is understood."""

    version: int
    result: str
    good: bool
    exchange: Exchange | None = None


class Sweep:
    """Sends every version of a request.

    A broker that tells no versions is asked up to the first that it refuses, or answers in the form of another one:
    0.8 does so, which looks at no version number.
    """

    pauses: list[Any]

    def __init__(self, request: Request) -> None:
        self.request = request
        self.pauses = [PAUSE * 2**i for i in range(PATIENCE)]

    async def __call__(self, cluster: Cluster, screen: Screen) -> None:
        request = self.request
        await request.prepare(cluster)
        offered = await self.offered(cluster)
        rows: list[VersionTried] = []
        for version in request.versions if offered is None else offered:
            rows.append(await self.row(cluster, version))
            if offered is None and not rows[-1].good:
                screen.say(
                    f"the broker does not report its versions; it does not support {request.api.name} v{version}"
                )
                break
        for piece in shown(request, rows, screen):
            screen.writer.write(piece)
        wanted = rows[:-1] or rows if offered is None else rows  # the last one was only to see where it ends
        screen.status = 0 if all(row.good for row in wanted) else UNDECODED

    async def offered(self, cluster: Cluster) -> list[int] | None:
        """Return the versions that broker and kdbg both know; None where the broker does not tell.

        Raise `InputError` where there are none.
        """
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
        except Closed:
            return VersionTried(version, "closed the connection", good=False)
        except TimedOut:
            return VersionTried(version, "no response", good=False)
        except ClientError as error:
            return VersionTried(version, str(error), good=False)
        kinds = (finding.kind for finding in exchange.all_findings() if finding.kind.is_error)
        odd = list(dict.fromkeys(kinds))
        if exchange.response is None:
            return VersionTried(version, "sent, no response expected", True, exchange)
        return VersionTried(version, " · ".join([*(errors_of(exchange) or ["OK"]), *odd]), not odd, exchange)

    async def settled(self, cluster: Cluster, version: int) -> Exchange:
        """Send one version, again while leader or coordinator is not there yet; return the last exchange.

        All versions share the pauses between tries.
        """
        while True:
            exchange = await send_once(cluster, self.request, version)
            if not self.pauses or not RETRY.intersection(codes_of(exchange)):
                return exchange
            await asyncio.sleep(self.pauses.pop(0))
            cluster.forget()


def shown(request: Request, rows: Iterable[VersionTried], screen: Screen) -> Iterable[str | bytes]:
    """Yield the table of versions, or JSON Lines."""
    if screen.view.data:
        yield from (dump(_object(request, row)) for row in rows)
        return
    cells = [(str(row.version), *_sizes(row.exchange), row.result) for row in rows]
    lines = aligned([HEADINGS, *cells], screen.look, ("name",), right=(0, 1, 2, 3))
    yield "\n".join([screen.look.paint("heading", request.api.name), *lines]) + "\n"


def _sizes(exchange: Exchange | None) -> tuple[str, str, str]:
    if exchange is None or exchange.request is None:
        return "–", "–", "–"
    answer = f"{exchange.response.size:,} B" if exchange.response is not None else "–"
    return f"{exchange.request.size:,} B", answer, latency(exchange.latency)


def _object(request: Request, row: VersionTried) -> dict[str, object]:
    exchange = row.exchange
    sent, got = (exchange.request, exchange.response) if exchange is not None else (None, None)
    took = exchange.latency if exchange is not None else None
    return {
        "api": request.api.name, "api_version": row.version, "result": row.result, "good": row.good,
        "request_bytes": sent.size if sent is not None else None,
        "response_bytes": got.size if got is not None else None,
        "latency_ms": took / 1e6 if took is not None else None,
    }  # fmt: skip

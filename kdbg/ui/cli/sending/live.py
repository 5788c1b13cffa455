"""A session with brokers, from its first connection to its exit status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....errors import BuildError, ClientError
from ....live.client.cluster import Cluster
from ....live.client.mock import is_mock, mock_cluster
from ....live.client.settings import Settings
from .. import printable
from ..pager import writing
from .options import SendOptions
from .request import Request
from .screen import Screen
from .security import reach

Rounds = Callable[[Cluster, Screen], Awaitable[None]]
FAILED = 1
"""Exit status: the session broke."""


def session(options: SendOptions, rounds: Rounds) -> int:
    """Open a session, let `rounds` use it, close it; return the exit status."""
    broker, settings = reach(options)
    with writing(live=options.trace, pager=not options.no_pager) as writer:
        return spoken(options, broker, settings, rounds, Screen(options, writer))


def spoken(options: SendOptions, broker: str, settings: Settings, rounds: Rounds, screen: Screen) -> int:
    """Speak with the broker, and show what was said; return the exit status."""
    with addresses(broker) as bootstrap, tap(options.write) as tapped:

        async def run() -> None:
            async with Cluster(
                bootstrap,
                settings,
                direct=options.direct,
                fallback=options.version is not None or options.source is not None,
                trace=screen.trace,
                note=screen.note,
                seen=screen.seen,
                tap=tapped,
            ) as cluster:
                screen.follow(cluster)
                await rounds(cluster, screen)

        try:
            asyncio.run(run())
        except ClientError as error:
            screen.failed()
            screen.say(f"kdbg: {printable(str(error))}")
            return FAILED
        finally:
            screen.writer.flush()
    return screen.status


@contextmanager
def addresses(broker: str) -> Iterator[str]:
    """Yield the brokers' addresses; for `mock:`, start a mock cluster that lives as long as the context."""
    if not is_mock(broker):
        yield broker
        return
    with mock_cluster(broker) as bootstrap:
        yield bootstrap


@contextmanager
def tap(path: str | None) -> Iterator[Any]:
    """Yield a function that saves a session's bytes in a capture; None without a path."""
    if path is None:
        yield None
        return
    from ....capture.write import CaptureWriter

    with CaptureWriter(path) as writer:
        yield lambda connection, from_client, data, when: writer.tap(
            connection.client, connection.broker, from_client, data, when, connection.number
        )


def once(request: Request) -> Rounds:
    """Return the rounds of a session that send a request once and show its answer."""

    async def rounds(cluster: Cluster, screen: Screen) -> None:
        await request.prepare(cluster)
        try:
            exchange = await cluster.send(request.api, request.body, version=request.version, versions=request.versions)
        except BuildError as error:
            raise request.refusal(error) from None
        await cluster.learn_topics(exchange)
        screen.asked(exchange)

    return rounds

"""A session with brokers, from its first connection to its exit status, and what is shown of it.

Exchanges go to stdout in the chosen view, steps and the closing line to stderr.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from ....errors import BuildError, ClientError, InputError
from ....exchanges.engine.requests import RequestHeader, begins
from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.peers import Peers, endpoint
from ....live.client.cluster import Cluster
from ....live.client.connection import Connection
from ....live.client.mock import mock_cluster
from ....protocol.findings.amounts import count
from ....protocol.grammars.errors import error_name
from ....protocol.wire.readings.outline import outline
from ....views.render.style import Look
from ....views.render.summary import Summary
from ....views.render.values import latency
from ....views.render.views import ExchangeView, View, texts, view
from .. import UNDECODED, printable
from ..output import Writer, take_look, writing
from .options import SendOptions, reach
from .request import Request

SILENT, GONE = "sent no response", "closed the connection without a response"
FAILED = 1
"""Exit status: the session broke, or no response came."""


class Screen:
    """Told of every exchange as it is completed (`seen`), and of those that were asked for (`asked`)."""

    count: int = 0
    status: int = 0

    def __init__(self, options: SendOptions, writer: Writer) -> None:
        self.look: Look = take_look(vars(options) | {"meanings": options.explain_fields}, options.format or "tree")
        self.writer = writer
        self.view: View = view(options.format or "tree")
        self.all: bool = options.show_exchanges
        self.traced: bool = options.trace
        self.names: Mapping[uuid.UUID, str] = {}
        self.render: ExchangeView = self.view.exchange(self.look, self.names)
        self.unanswered: Exchange | None = None
        self._started = time.monotonic()
        self._headed = False

    def trace(self, text: str) -> None:
        """Print a step on stderr, with the milliseconds since the beginning, if steps are wanted."""
        if self.traced:
            self.writer.flush()
            since = (time.monotonic() - self._started) * 1000
            click.echo(f"kdbg: {since:8.1f} ms  {printable(text)}", err=True)

    def note(self, text: str) -> None:
        """Print a note on stderr: as a step if steps are wanted, else as a line of its own."""
        if self.traced:
            self.trace(text)
        else:
            self.writer.say(f"kdbg: {printable(text)}")

    def seen(self, exchange: Exchange) -> None:
        """Give an exchange of the session its number, whoever sent it; show it where all are wanted."""
        self.count += 1
        exchange.number = self.count
        if exchange.response is None and exchange.answered:
            self.unanswered = exchange
        if self.traced:
            self.trace(Summary(self.look, self.names)(exchange).strip())
        if self.all:
            self.show(exchange)

    def asked(self, exchange: Exchange) -> None:
        """Show the exchange that the user asked for: who answered, how fast, what it took; set the exit status."""
        if not self.all:
            self.show(exchange)
        took = f"{(time.monotonic() - self._started) * 1000:.3g} ms in total"
        broker, before = endpoint(exchange.peers.broker), exchange.number - 1
        if exchange.response is None:
            self.writer.say(f"sent to broker {broker} · no response expected (acks=0) · {took}")
        else:
            words = [f"broker {broker} responded in {latency(exchange.latency)}", *errors_of(exchange)]
            if before and not self.all:
                words.append(f"{count(before, 'earlier exchange')} (--show-exchanges)")
            self.writer.say(" · ".join([*words, took]))
        if any(finding.kind.is_error for finding in exchange.all_findings()):
            self.status = UNDECODED

    def show(self, exchange: Exchange) -> None:
        """Show an exchange in the chosen view."""
        if not self._headed:
            self.writer.write(self.view.header(self.look, exchange.time))
            self._headed = True
        for text in texts(self.render, exchange):
            self.writer.write(text)


def codes_of(exchange: Exchange) -> list[int]:
    """Return the error codes in an answer, each once."""
    message = exchange.response.message(shallow=True) if exchange.response is not None else None
    return list(dict.fromkeys(outline(message.grammar)(message.body)[2])) if message is not None else []


def errors_of(exchange: Exchange) -> list[str]:
    """Return the names of the error codes in an answer."""
    return [error_name(code) for code in codes_of(exchange)]


Rounds = Callable[[Cluster, Screen], Awaitable[None]]


def session(options: SendOptions, rounds: Rounds) -> int:
    """Open a session, let `rounds` use it, close it; return the exit status."""
    broker, settings = reach(options)
    with ExitStack() as stack:
        writer = stack.enter_context(writing(live=options.trace, pager=not options.no_pager))
        screen = Screen(options, writer)
        bootstrap, tapped = stack.enter_context(mock_cluster(broker)), stack.enter_context(tap(options.write))

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
                screen.names = cluster.topics  # as they are learnt
                screen.render = screen.view.exchange(screen.look, screen.names)
                await rounds(cluster, screen)

        try:
            asyncio.run(run())
        except ClientError as error:
            if screen.unanswered is not None and not screen.all:
                screen.show(screen.unanswered)
            writer.say(f"kdbg: {printable(str(error))}")
            return FAILED
        finally:
            writer.flush()
        return screen.status


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


def raw(option: str) -> Rounds:
    """Return the rounds of a session that send the bytes of --raw and wait for one answer.

    They come in any form that `kdbg explain` takes, or from a file of such text or of the bytes. Raise `InputError`
    where there are none.
    """
    from ....analysis.pasted.hex_text import read_bytes
    from ..encode import text

    data: bytes = read_bytes(text(option)).data
    if not data:
        raise InputError("--raw: no bytes to send")

    async def rounds(cluster: Cluster, screen: Screen) -> None:
        connection = await cluster.pool.connect(await cluster.any())
        begun = time.time_ns()
        sending = connection.write(data)
        answer = await connection.read_raw(cluster.settings.timeout)
        sent = (sending.first_time, sending.last_time) if sending is not None else (begun, begun)
        took = (connection.came[0] if answer else time.time_ns()) - sent[1]
        header = begins(data)
        size, number = (int.from_bytes(answer[start : start + 4], "big", signed=True) for start in (0, 4))
        is_whole = len(answer) >= 8 and len(answer) == size + 4
        if header is not None and (not answer or (is_whole and number == header.correlation_id)):
            screen.show(exchange(connection, data, answer, header, sent))
        else:
            screen.writer.write(explain("sent", data, screen))
            screen.writer.write(explain("received", answer, screen) if answer else "")
        broker, say = endpoint(connection.broker), screen.writer.say
        if answer:
            whole = " (fewer than the size field declares)" if len(answer) < 4 or len(answer) - 4 < size else ""
            say(f"broker {broker} responded with {count(len(answer), 'byte')}{whole} after {latency(took)}")
        else:
            say(f"broker {broker} {SILENT if connection.open_ else GONE} ({latency(took)})")
        screen.status = 0 if answer else FAILED

    return rounds


def exchange(
    connection: Connection, data: bytes, answer: bytes, header: RequestHeader, sent: tuple[int, int]
) -> Exchange:
    """Return request and answer as an exchange; `sent` is when the request's first and last byte left."""
    peers = Peers(1, connection.client, connection.broker)
    found = Exchange(peers, header.api, header.version, header.correlation_id, header.client_id)
    found.number = 1
    found.request = CapturedMessage(data[4:], sent, (0, 0), "request")
    if answer:
        found.response = CapturedMessage(answer[4:], connection.came, (0, 0), "response")
    for half in (found.request, found.response):
        if half is not None:
            half.api, half.version = header.api, header.version
    return found


def explain(what: str, data: bytes, screen: Screen) -> str:
    """Return an explanation of bytes that are no request, or that answer none, below the heading `what`."""
    from ....exchanges.guess.pieces import pieces
    from ....views.render import explanation

    texts = [explanation.hex_text(data, piece, screen.look)[0] for piece in pieces(data)]
    return "\n".join([screen.look.paint("heading", f"{what} · {count(len(data), 'byte')}"), *texts, ""])

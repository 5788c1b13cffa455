"""What is shown of a session: exchanges in the chosen view on stdout, steps and the closing line on stderr."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.peers import endpoint
from ....protocol.findings.amounts import count
from ....protocol.grammars.errors import error_name
from ....protocol.wire.readings.outline import outline
from ....views.render.style import Look
from ....views.render.summary import Summary
from ....views.render.times import latency
from ....views.render.views import ExchangeView, View, texts, view
from .. import UNDECODED, printable
from ..output import Writer, look, on_screen, without_values
from .options import SendOptions

if TYPE_CHECKING:
    from ....live.client import Cluster


class Screen:
    """Told of every exchange as it is completed (`seen`), and of those that were asked for (`asked`)."""

    all: bool
    traced: bool
    count: int
    look: Look
    view: View
    render: ExchangeView
    status: int

    def __init__(self, options: SendOptions, writer: Writer) -> None:
        shape = look(options.color, options.full, options.show_secrets, options.explain_fields)
        given = {"local": options.local, "only_errors": options.only_errors, "depth": options.depth}
        self.look = without_values(on_screen(shape, options.format or "tree", given), options.hide_values)
        self.writer = writer
        self.view, self.all, self.traced = view(options.format or "tree"), options.show_exchanges, options.trace
        self.names: Mapping[uuid.UUID, str] = {}
        self.render = self.view.exchange(self.look, self.names)
        self.count = 0
        self.status = 0
        self.unanswered: Exchange | None = None
        self._started = time.monotonic()
        self._headed = False

    def follow(self, cluster: Cluster) -> None:
        """Show the topics of this session by the names that it learns."""
        self.names = cluster.topics
        self.render = self.view.exchange(self.look, self.names)

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
            self.say(f"kdbg: {printable(text)}")

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
        """Show the exchange that the user asked for, and the closing line; set the exit status."""
        if not self.all:
            self.show(exchange)
        self.close(exchange)
        self.judge(exchange)

    def show(self, exchange: Exchange) -> None:
        """Show an exchange in the chosen view."""
        if not self._headed:
            self.writer.write(self.view.header(self.look, exchange.time))
            self._headed = True
        for text in texts(self.render, exchange):
            self.writer.write(text)

    def judge(self, exchange: Exchange) -> None:
        """Set the exit status if the exchange could not be decoded whole."""
        if any(finding.kind.is_error for finding in exchange.all_findings()):
            self.status = UNDECODED

    def failed(self) -> None:
        """Show the unanswered exchange after the session broke, as far as it went."""
        if self.unanswered is not None and not self.all:
            self.show(self.unanswered)
        self.writer.flush()

    def say(self, text: str) -> None:
        """Print a line on stderr, after all output so far."""
        self.writer.say(text)

    def close(self, exchange: Exchange) -> None:
        """Print the closing line: who answered, how fast, and what it took to get there."""
        took = f"{(time.monotonic() - self._started) * 1000:.3g} ms in total"
        broker = endpoint(exchange.peers.broker)
        if exchange.response is None:
            self.say(f"sent to broker {broker} · no response expected (acks=0) · {took}")
            return
        before = exchange.number - 1
        words = [f"broker {broker} responded in {latency(exchange.latency)}", *errors_of(exchange)]
        if before:
            words.append(f"{count(before, 'earlier exchange')} (--show-exchanges)" if not self.all else "")
        self.say(" · ".join([*filter(None, words), took]))


def codes_of(exchange: Exchange) -> list[int]:
    """Return the error codes in an answer, each once."""
    message = exchange.response.message(shallow=True) if exchange.response is not None else None
    return list(dict.fromkeys(outline(message.grammar)(message.body)[2])) if message is not None else []


def errors_of(exchange: Exchange) -> list[str]:
    """Return the names of the error codes in an answer."""
    return [error_name(code) for code in codes_of(exchange)]

"""Captures decoded into rows, for whoever keeps them: each in one go by one engine, so that all numbers are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Protocol

from ...analysis.ledgers.latency import Timed
from ...capture import Capture, Packet
from ...exchanges.engine.driver import Drive, Fits, Pairing, seldom_collected
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters, FilterTally
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ..render.values import escape
from .cells import Cells, moment
from .connections import Connections
from .message_columns import WantedRows
from .rows import NO_ENDS, NO_EXCHANGE, Rows, problem_columns


class Making(Protocol):
    """Makes the rows of exchanges, here or in other processes."""

    def add(self, exchanges: Sequence[Exchange], /) -> None:
        """Take exchanges."""

    def wait(self) -> None:
        """Wait until the rows of all are made."""

    def close(self) -> None:
        """Let go of what is not done yet."""


class RowObserver(Protocol):
    """Hears all that a capture holds while its rows are made."""

    def packets(self, packets: Sequence[Packet], /) -> None:
        """Take packets, before the engine does."""

    def take(self, exchanges: Iterable[Exchange], /) -> None:
        """Take exchanges, wanted or not."""

    def left_over(self, found: Iterable[tuple[Peers, Finding]], /) -> None:
        """Take, at the end, what belongs to no exchange."""


class Decoding:
    """Takes captures, one by one; a subclass says in `add` what becomes of their rows.

    `filters.limit` exchanges are taken in all: `left` is how many more. `exchanges` counts those in the capture at hand
    so far, wanted or not; `seen` is what filters met.
    """

    left: int | None
    exchanges: int

    def __init__(self, filters: Filters, wanted: WantedRows) -> None:
        self.filters, self.wanted, self.left = filters, wanted, filters.limit
        self.seen, self.exchanges = FilterTally(), 0

    def add(self, table: str, time: int | None, cells: Cells, size: int, /) -> None:
        """Take rows, as `Rows` gives them."""
        raise NotImplementedError

    def listener(self, one: OneCapture) -> RowObserver | None:
        """Return who hears a capture beside; nobody, if a subclass does not say otherwise."""
        return None

    def making(self, one: OneCapture) -> Making:
        """Return what makes the rows of a capture's exchanges: this process, if a subclass does not say otherwise."""
        return Here(one)

    def capture(self, capture: Capture, filters: Filters | None = None) -> None:
        """Decode a capture to its end, or to the limit; `filters` are those for it, where not those for all."""
        name = escape(capture.name)
        with seldom_collected():
            OneCapture(self, name, filters or self.filters).run(capture)
        problems = capture.problems
        for finding in problems:
            self.add("problems", None, (name, *NO_ENDS, *NO_EXCHANGE, *problem_columns(finding, name)), 0)
        first, last = (None if time is None else moment(time) for time in (capture.first_time, capture.last_time))
        self.add("files", first, (
            name, name, None, capture.packets, capture.packets - capture.other, capture.other, None, capture.bytes, 1,
            first, last, None, "; ".join(finding.text for finding in problems) or None, None,
        ), 0)  # fmt: skip


class OneCapture:
    """One capture on its way into the tables."""

    def __init__(self, to: Decoding, name: str, filters: Filters) -> None:
        self.to, self.name, self.filters = to, name, filters
        self.connections = Connections()
        self.engine = Engine(ports=filters.port or (), watch=self.connections.watch)
        self.rows = Rows(to.add, to.wanted, self.engine.names_then)
        self.listener = to.listener(self)
        self.shown: set[int] = set()
        """The connections of which an exchange is wanted."""

    def run(self, capture: Capture) -> None:
        """Decode the capture, and tell of its connections: of all, or of those that a filter lets through."""
        self.engine.keys = capture.secrets(self.filters.tls_keys)
        to, blocks = self.to, self._blocks(capture)
        engine: Pairing = self.engine
        if to.wanted.timed or self.filters.timed:
            engine = Timed(engine, tcp=self.filters.timed)
        fits = partial(self._fits, capture)
        drive = Drive(engine, blocks, fits, left=to.left, hear=self._hear, last=self.filters.last)
        with closing(to.making(self)) as making:
            for chunk in drive.chunks():
                self.shown.update(exchange.peers.number for exchange in chunk)
                making.add(chunk)
            making.wait()
        to.left = drive.left
        if self.listener is not None:
            self.listener.left_over(self.engine.findings)
        whole, findings = not self.filters.but(port=None, tls_keys=None), self.engine.findings_by_connection()
        for number, spoken in self.connections.items():
            if whole or number in self.shown:
                spoken.tell(self.name, findings.get(number, ()), to.add)

    def rows_of(self, exchanges: Sequence[Exchange]) -> None:
        """Make the rows of exchanges."""
        at = self.engine.names_then.at
        for exchange in exchanges:
            at(exchange.names)
            self.rows.exchange(self.name, exchange)

    def _hear(self, exchange: Exchange, wanted: bool) -> None:
        self.to.exchanges += 1
        self.connections.heard(exchange)
        if self.listener is not None:
            self.listener.take((exchange,))

    def _blocks(self, capture: Capture) -> Iterator[list[Packet]]:
        for packets in capture.blocks(singly=self.to.left is not None):
            if self.listener is not None:
                self.listener.packets(packets)
            yield packets

    def _fits(self, capture: Capture) -> Fits | None:
        return self.filters.dated(capture.first_time).check(self.engine.names_then, self.to.seen)


class Here:
    """Makes the rows of exchanges in this process."""

    def __init__(self, one: OneCapture) -> None:
        self.add = one.rows_of

    def wait(self) -> None:
        """Do nothing: all are made."""

    def close(self) -> None:
        """Do nothing: nothing is held."""

"""Captures decoded into rows, for whoever keeps them: each in one go by one engine, so that all numbers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial

from ...analysis.ledgers import Ledgers
from ...analysis.ledgers.latency import Timed
from ...capture import Capture, Packet
from ...exchanges.engine.driver import Drive, Fits, Pairing, seldom_collected
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters, FilterTally
from ...exchanges.jobs import ExchangePool
from ...exchanges.messages.exchange import Exchange
from ..render.values import escape
from .cells import Cells, moment
from .connections import Connections
from .message_columns import WantedRows
from .rows import NO_ENDS, NO_EXCHANGE, Rows, problem_columns


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

    def ledgers(self, one: OneCapture) -> Ledgers | None:
        """Return the ledgers that take all that a capture holds; None, if a subclass does not say otherwise."""
        return None

    def pool(self, one: OneCapture) -> ExchangePool | None:
        """Return what makes the rows of a capture's exchanges in several processes; None where this one does."""
        return None

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
        self.ledgers = to.ledgers(self)
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
        with ExitStack() as stack:
            pool = to.pool(self)
            add = self.rows_of if pool is None else stack.enter_context(closing(pool)).add
            for chunk in drive.chunks():
                self.shown.update(exchange.peers.number for exchange in chunk)
                add(chunk)
            if pool is not None:
                pool.wait()
        to.left = drive.left
        if self.ledgers is not None:
            self.ledgers.left_over(self.engine.findings)
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
        if self.ledgers is not None:
            self.ledgers.take((exchange,))

    def _blocks(self, capture: Capture) -> Iterator[list[Packet]]:
        for packets in capture.blocks(singly=self.to.left is not None):
            if self.ledgers is not None:
                self.ledgers.packets(packets)
            yield packets

    def _fits(self, capture: Capture) -> Fits | None:
        return self.filters.dated(capture.first_time).check(self.engine.names_then, self.to.seen)

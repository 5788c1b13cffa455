"""Captures decoded into rows, and what is known of each connection.

`Decoding` takes captures each in one go by one engine, so that all numbers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from ...analysis.ledgers import Ledgers
from ...analysis.ledgers.latency import Timed
from ...capture import Capture, Packet
from ...collector import seldom_collected
from ...exchanges.engine.driver import Drive, Fits, Pairing
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters, FilterTally
from ...exchanges.jobs import ExchangePool
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.handshake import software_of
from ...exchanges.messages.peers import Decrypted, Peers
from ...protocol.findings import Finding
from ...protocol.grammars import api
from ...streams.tcp.connection import Connection
from ..render.values import escape
from .cells import AddRow, Cells, moment, text
from .message_columns import WantedRows
from .rows import NO_ENDS, NO_EXCHANGE, Rows, problem_columns, who_columns

API_VERSIONS = api("ApiVersions").key


@dataclass(slots=True)
class ConnectionStatistics:
    """A connection and what is known of it by now; `client` is 0 if its initiator sends the requests, else 1.

    `numbered`: its number is the one that views have.
    """

    connection: Connection
    numbered: bool = True
    client: int | None = None
    exchanges: int = 0
    client_id: str | None = None
    software: tuple[str | None, str | None] | None = None
    mechanism: str | None = None
    tls: Decrypted | None = None
    _peers: tuple[int, Peers] | None = field(default=None, repr=False)

    @property
    def peers(self) -> Peers:
        """The client and the broker."""
        client = self.client or 0
        if self._peers is None or self._peers[0] != client:  # it is asked for each exchange, and changes once
            ends = self.connection.initiator, self.connection.acceptor
            number = self.connection.number if self.numbered else 0
            first, start = self.connection.first_packet, self.connection.start
            self._peers = client, Peers(number, ends[client], ends[1 - client], first, self.tls, start=start)
        return self._peers[1]

    def heard(self, exchange: Exchange) -> None:
        """Count an exchange, and learn client id, software and SASL mechanism from it."""
        self.exchanges += 1
        if self.tls is not exchange.peers.tls:
            self.tls, self._peers = exchange.peers.tls, None
        if self.client_id is None:
            self.client_id = exchange.client_id
        request = exchange.request
        if request is None:
            return
        if request.known is not None and request.known.facts:
            self.mechanism = request.known.facts.get("mechanism")
        if self.software is None and exchange.api is not None and exchange.api.key == API_VERSIONS:
            told = software_of(request)
            self.software = told and (text(told[0]), text(told[1]))

    def tell(self, capture: str, findings: Iterable[Finding], add: AddRow) -> None:
        """Add the row of `connections`, and a row of `problems` for each of the findings that belong to no exchange."""
        connection, found, who = self.connection, list(findings), who_columns(capture, self.peers)
        start, (name, version) = moment(connection.start), self.software or (None, None)
        add("connections", start, (
            *who, start, moment(connection.last_time), connection.packets, connection.bytes, connection.handshake,
            self.client is not None, self.exchanges, text(self.client_id), name, version, text(self.mechanism),
            [str(finding) for finding in found],
        ), 0)  # fmt: skip
        for finding in found:
            add("problems", start, (*who, *NO_EXCHANGE, *problem_columns(finding)), 0)


class Connections(dict[int, ConnectionStatistics]):
    """The connections of a session by their numbers: `watch` is for the session, `heard` for each of its exchanges.

    `numbered`: these numbers are those of the whole capture, which views have.
    """

    def __init__(self, *, numbered: bool = True) -> None:
        super().__init__()
        self.numbered = numbered

    def watch(self, connection: Connection, client: int | None) -> None:
        """Note a connection that is new (`client` is None) or was found to speak Kafka."""
        if client is None:
            self[connection.number] = ConnectionStatistics(connection, self.numbered)
        else:
            self[connection.number].client = client

    def heard(self, exchange: Exchange) -> ConnectionStatistics:
        """Let the connection of an exchange learn from it, and return that connection."""
        spoken = self[exchange.peers.number]
        spoken.heard(exchange)
        return spoken


class Decoding:
    """Takes captures, one by one; a subclass says in `add` what becomes of their rows.

    `filters.limit` exchanges are taken in all: `left` is how many more. `exchanges` counts those in the capture at hand
    so far, wanted or not; `seen` is what filters met.
    """

    def __init__(self, filters: Filters, wanted: WantedRows) -> None:
        self.filters, self.wanted = filters, wanted
        self.left: int | None = filters.limit
        self.seen, self.exchanges = FilterTally(), 0

    def add(self, table: str, time: int | None, cells: Cells, size: int, /) -> None:
        """Take rows, as `Rows` gives them."""
        raise NotImplementedError

    def ledgers(self, engine: Engine) -> Ledgers | None:
        """Return the ledgers that take all that a capture holds; None, if a subclass does not say otherwise."""
        return None

    def pool(self, engine: Engine, make: Callable[[Sequence[Exchange]], None]) -> ExchangePool | None:
        """Return what has `make` make the rows of exchanges in several processes; None where this one does."""
        return None

    def capture(self, capture: Capture, filters: Filters | None = None, name: str = "") -> None:
        """Decode a capture to its end, or to the limit; `filters` are those for it, where not those for all.

        `name` is what rows call it, where that is not the path of its file.
        """
        name = escape(name or capture.name)
        with seldom_collected():
            self._read(capture, name, filters or self.filters)
        problems, skipped = capture.problems, None if (filters or self.filters).port else 0
        for finding in problems:
            self.add("problems", None, (name, *NO_ENDS, *NO_EXCHANGE, *problem_columns(finding, name)), 0)
        first, last = (None if time is None else moment(time) for time in (capture.first_time, capture.last_time))
        self.add("files", first, (
            name, name, None, capture.packets, capture.packets - capture.other, capture.other, skipped, capture.bytes,
            1, first, last, None, "; ".join(finding.text for finding in problems) or None, skipped,
        ), 0)  # fmt: skip

    def _read(self, capture: Capture, name: str, filters: Filters) -> None:
        """Decode a capture, and tell of its connections: of all, or of those of which an exchange is wanted."""
        connections, shown = Connections(), set[int]()
        engine = Engine(ports=filters.port or (), watch=connections.watch)
        engine.keys = capture.secrets(filters.tls_keys)
        rows, ledgers = Rows(self.add, self.wanted, engine.names_then), self.ledgers(engine)
        pairing: Pairing = engine
        if self.wanted.timed or filters.timed:
            pairing = Timed(engine, tcp=filters.timed)

        def make(exchanges: Sequence[Exchange]) -> None:
            at = engine.names_then.at
            for exchange in exchanges:
                at(exchange.names)
                rows.exchange(name, exchange)

        def fits() -> Fits | None:
            return filters.dated(capture.first_time).check(engine.names_then, self.seen)

        def hear(exchange: Exchange) -> None:
            self.exchanges += 1
            connections.heard(exchange)
            if ledgers is not None:
                ledgers.take((exchange,))

        def blocks() -> Iterator[list[Packet]]:
            for packets in capture.blocks(singly=self.left is not None):
                if ledgers is not None:
                    ledgers.packets(packets)
                yield packets

        drive = Drive(pairing, blocks(), fits, left=self.left, hear=hear, last=filters.last)
        with ExitStack() as stack:
            pool = self.pool(engine, make)
            add = make if pool is None else stack.enter_context(closing(pool)).add
            for chunk in drive.chunks():
                shown.update(exchange.peers.number for exchange in chunk)
                add(chunk)
            if pool is not None:
                pool.wait()
        self.left = drive.left
        if ledgers is not None:
            ledgers.left_over(engine.findings)
        whole, findings = not filters.but(port=None, tls_keys=None), engine.findings_by_connection()
        for number, spoken in connections.items():
            if whole or number in shown:
                spoken.tell(name, findings.get(number, ()), self.add)

"""What is known of each connection, and its row in the table of connections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.handshake import software_of
from ...exchanges.messages.peers import Decrypted, Peers
from ...protocol.findings import Finding
from ...protocol.grammars import api
from ...streams.tcp.connection import Connection
from .cells import AddRow, TableRow, moment, text
from .rows import NO_EXCHANGE, problem_columns, who_columns

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
            first = self.connection.first_packet
            self._peers = client, Peers(number, ends[client], ends[1 - client], first, self.tls)
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

    def row(self, capture: str, findings: Iterable[Finding]) -> TableRow:
        """Return the row of `connections`; `findings` are those that belong to no exchange."""
        connection = self.connection
        name, version = self.software or (None, None)
        return (
            *who_columns(capture, self.peers), moment(connection.start), moment(connection.last_time),
            connection.packets, connection.bytes, connection.handshake, self.client is not None, self.exchanges,
            text(self.client_id), name, version, text(self.mechanism), [str(finding) for finding in findings],
        )  # fmt: skip

    def tell(self, capture: str, findings: Iterable[Finding], add: AddRow) -> None:
        """Add the row of `connections`, and a row of `problems` for each of the findings."""
        found, start = list(findings), moment(self.connection.start)
        add("connections", start, self.row(capture, found), 0)
        who = who_columns(capture, self.peers)
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

"""Packets in, exchanges out: the engine that a file, a live interface, a proxy and a Spark task all run.

No I/O here: whoever has packets calls `Session.receive` for each and takes the exchanges that it completed, then
`Session.close`. It never raises for what packets hold; its memory does not grow with the capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from ..capture.packet import Packet
from ..findings import Finding
from ..tcp.stream import Receiver
from ..tcp.table import Connection, Table
from .conversation import Conversation
from .exchange import Exchange, Peers
from .framing import Framer
from .opening import Budget, Opening
from .sides import RequestSide, ResponseSide

TOPIC_NAMES_FROM = frozenset({3, 19, 75})
"""Metadata, CreateTopics, DescribeTopicPartitions: their responses name topics beside their ids (KIP-516)."""
MAX_TOPIC_NAMES = 100_000


class Session:
    """Everything that is remembered between packets.

    `ports` narrows to connections with one of these ports. `topic_names` fills with what the traffic tells;
    `findings` with what is odd about a connection and belongs to no exchange: take them away as you read them.
    """

    def __init__(self, *, ports: Iterable[int] = ()) -> None:
        self.ports = frozenset(ports)
        self.table = Table(self._accept)
        self.topic_names: dict[UUID, str] = {}
        self.connections = self.other_connections = self.count = 0
        self.findings: list[tuple[Peers, Finding]] = []
        self.budget = Budget()
        self._done: list[Exchange] = []

    def receive(self, packet: Packet) -> list[Exchange]:
        """Take the next packet; the exchanges that it completed."""
        self.table.receive(packet)
        return self._take() if self._done else []

    def run(self, packets: Iterable[Packet]) -> Iterator[Exchange]:
        """All exchanges of these packets, each as soon as it is complete."""
        receive, done = self.table.receive, self._done
        for packet in packets:
            receive(packet)
            if done:
                yield from self._take()
        yield from self.close()

    def close(self) -> list[Exchange]:
        """The capture is over: what waits comes out as it is."""
        self.table.close()
        return self._take()

    def _take(self) -> list[Exchange]:
        done = self._done[:]
        self._done.clear()
        return done

    def _accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        if self.ports and not self.ports & {connection.initiator[1], connection.acceptor[1]}:
            connection.ignore()
        return Opening(connection, self.budget, self._speaks_kafka, self._does_not).sides

    def _speaks_kafka(self, opening: Opening, client: int) -> None:
        """A connection proved to be Kafka; `client` is 0 if its initiator sends the requests, else 1."""
        connection, sides = opening.connection, opening.sides
        ends, streams = (connection.initiator, connection.acceptor), (connection.sent, connection.answered)
        self.connections += 1
        peers = Peers(connection.number, ends[client], ends[1 - client])
        conversation = Conversation(peers, self._deliver, whole=sides[client].intact)
        requests = Framer(RequestSide(conversation), synced=sides[client].starts_with_frame())
        responses = Framer(ResponseSide(conversation), synced=opening.certain)
        conversation.retry, conversation.closed = responses.retry, self._closed
        streams[client].attach(requests)
        streams[1 - client].attach(responses)
        opening.replay(requests, responses)

    def _does_not(self, opening: Opening, finding: Finding | None) -> None:
        """A connection turned out to be something else, or nothing that can be read."""
        connection = opening.connection
        self.other_connections += 1
        if finding is not None:
            peers = Peers(connection.number, connection.initiator, connection.acceptor)
            self.findings.append((peers, finding))
        connection.ignore()

    def _deliver(self, exchange: Exchange) -> None:
        self.count += 1
        exchange.number = self.count
        if exchange.api is not None and exchange.api.key in TOPIC_NAMES_FROM and exchange.response is not None:
            self._learn_topics(exchange)
        self._done.append(exchange)

    def _learn_topics(self, exchange: Exchange) -> None:
        assert exchange.response is not None
        message = exchange.response.message()
        for topic in (message.body.get("topics") or ()) if message else ():
            topic_id, name = topic.get("topic_id"), topic.get("name")
            if topic_id and topic_id.int and name and len(self.topic_names) < MAX_TOPIC_NAMES:
                self.topic_names[topic_id] = name

    def _closed(self, conversation: Conversation) -> None:
        """A connection is over: what was odd at its end has no exchange to go with."""
        self.findings.extend((conversation.peers, finding) for finding in conversation.findings)
        conversation.findings.clear()

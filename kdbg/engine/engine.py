"""Packets in, exchanges out: the engine that a file, a live interface, a proxy and a Spark task all run.

No I/O here: whoever has packets calls `Engine.receive` for each and takes the exchanges that it completed, then
`Engine.close`. It never raises for what packets hold; its memory does not grow with the capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from ..capture.packet import Packet
from ..findings import Finding
from ..messages.exchange import Exchange, Known, Peers
from ..messages.message import grammar_of
from ..tcp.stream import Receiver
from ..tcp.table import Connection, Table
from ..wire import Api
from ..wire.language.api import Direction
from ..wire.readings.topic_names import learn, topic_names
from .classifier import Budget, Classifier
from .framing import Framer
from .pairing import Pairing
from .sides import RequestSide, ResponseSide

Watch: TypeAlias = Callable[[Connection, int | None], None]


def _nobody_watches(connection: Connection, client: int | None) -> None:
    """What is done where nobody wants to know of connections."""


class Engine:
    """Everything that is remembered between packets.

    `ports` narrows to connections with one of these ports. `watch` is called with each new connection, and again when
    it proves to be Kafka: with 0 if its initiator sends the requests, else 1. `topic_names` fills with what the traffic
    tells; `findings` with what is odd about a connection and belongs to no exchange: take them away as you read them.
    """

    def __init__(self, *, ports: Iterable[int] = (), watch: Watch = _nobody_watches) -> None:
        self.ports, self.watch = frozenset(ports), watch
        self.table = Table(self._accept)
        self.known = Known.nothing()
        self.topic_names = self.known.topics
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

    def findings_by_connection(self) -> dict[int, list[Finding]]:
        """The findings that belong to no exchange, by the numbers of their connections."""
        found: dict[int, list[Finding]] = {}
        for peers, finding in self.findings:
            found.setdefault(peers.number, []).append(finding)
        return found

    def _take(self) -> list[Exchange]:
        done = self._done[:]
        self._done.clear()
        return done

    def _accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        self.watch(connection, None)
        if self.ports and not self.ports & {connection.initiator[1], connection.acceptor[1]}:
            connection.ignore()
        return Classifier(connection, self.budget, self._speaks_kafka, self._does_not).sides

    def _speaks_kafka(self, opening: Classifier, client: int) -> None:
        """A connection proved to be Kafka; `client` is 0 if its initiator sends the requests, else 1."""
        connection, sides = opening.connection, opening.sides
        ends, streams = (connection.initiator, connection.acceptor), (connection.sent, connection.answered)
        self.connections += 1
        self.watch(connection, client)
        peers = Peers(connection.number, ends[client], ends[1 - client])
        conversation = Pairing(peers, self._deliver, whole=sides[client].intact, known=self.known)
        requests = Framer(RequestSide(conversation), synced=sides[client].starts_with_frame())
        responses = Framer(ResponseSide(conversation), synced=opening.certain)
        conversation.retry, conversation.closed = responses.retry, self._closed
        streams[client].attach(requests)
        streams[1 - client].attach(responses)
        opening.replay(requests, responses)

    def _does_not(self, opening: Classifier, finding: Finding | None) -> None:
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
        for half in (exchange.request, exchange.response):
            if half is not None and half.api is not None and _names_topics(half.api, half.version, half.direction):
                message = half.message()
                assert message is not None
                learn(message.grammar, message.body, self.topic_names)
        self._done.append(exchange)

    def _closed(self, conversation: Pairing) -> None:
        """A connection is over: what was odd at its end has no exchange to go with."""
        self.findings.extend((conversation.peers, finding) for finding in conversation.findings)
        conversation.findings.clear()


@lru_cache(maxsize=4096)
def _names_topics(api: Api, version: int, direction: Direction) -> bool:
    """Whether a message may tell the names of topic ids."""
    return topic_names(grammar_of(api, version, direction)) is not None

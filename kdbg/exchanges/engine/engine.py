"""Packets in, exchanges out: the engine that a file, a live interface, a proxy and a Spark task feed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from ...budget import Budget, Held
from ...capture.packet import Packet
from ...protocol.findings import ATTEMPTS, Finding, Kind
from ...protocol.findings.facts import Encrypted, NoConnection
from ...protocol.wire.readings.outline import NamesThen
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ...streams.tcp.table import ConnectionTable
from ..messages.exchange import Exchange
from ..messages.known import Known
from ..messages.peers import Decrypted, Peers
from .classifier import Classifier
from .conversation import Conversation, Outbox
from .direction import Depth
from .names import Learner

if TYPE_CHECKING:
    from ...streams.tls.session import Keys, TlsConnection, Why
    from ...streams.tls.side import TlsDirection


class Tls:
    """TLS on a TCP connection, by whose number, ends and first packet it goes; perhaps after a preamble.

    `sent` and `answered` take the streams of its ends. `opens` is called when plain bytes are about to
    come, `closes` where there will be none. `classifier` held what `take_over` takes.
    """

    __slots__ = (
        "_closes", "_session", "_whole", "acceptor", "answered", "first_packet", "initiator", "number", "sent", "start",
        "tcp", "via",
    )  # fmt: skip
    sent: TlsDirection
    answered: TlsDirection

    def __init__(
        self,
        tcp: Connection,
        classifier: Classifier,
        keys: Keys | None,
        opens: Callable[[Tls], None],
        closes: Callable[[Tls, Finding | None], None],
    ) -> None:
        from ...streams.tls.session import TlsConnection  # which plain traffic does without

        self.tcp, self.number, self.first_packet, self.start = tcp, tcp.number, tcp.first_packet, tcp.start
        self.initiator, self.acceptor = tcp.initiator, tcp.acceptor
        self.via, self._whole, self._closes = classifier.via, classifier.whole, closes
        self._session = TlsConnection(
            (tcp.initiator, tcp.acceptor), keys, classifier.budget, lambda session: opens(self), self._is_closed
        )
        self.sent, self.answered = self._session.sides

    @property
    def handshake(self) -> bool:
        """Whether it is certain that the initiator is the client: of TCP, or of TLS."""
        return (self.tcp.handshake and self._whole) or self._session.client is self.sent

    @property
    def client(self) -> int:
        """0 if the initiator of the connection is the client, by its hello, else 1."""
        return int(self._session.client is self.answered)

    def take_over(self, classifier: Classifier) -> None:
        """Take what came of the connection, and what follows."""
        self.tcp.sent.attach(self.sent)
        self.tcp.answered.attach(self.answered)
        for side, receiver in zip(classifier.sides, (self.sent, self.answered), strict=True):
            side.hand_over(receiver, side.passed + side.lost)

    @property
    def about(self) -> Decrypted:
        """The version, cipher and names of its TLS, as exchanges show them."""
        return Decrypted(*self._session.about[:4])

    def ignore(self) -> None:
        """Free what waits, and take nothing any more."""
        self._session.ignore()
        self.tcp.ignore()

    def _is_closed(self, session: TlsConnection, why: Why) -> None:
        from ...streams.tls.session import Why

        facts = Encrypted(*session.about, why.value)
        finding = Finding(Kind.NOT_DECRYPTED, length=self.tcp.bytes, facts=facts)
        self._closes(self, None if why is Why.OTHER_PROCESS else finding)


STRIDE = 64
"""Packets after which `receive_all` takes the exchanges that are final: few enough that little is held."""
Channel: TypeAlias = Connection | Tls
Watch: TypeAlias = Callable[[Connection, int | None], None]


def watch_nothing(connection: Connection, client: int | None) -> None:
    """Do nothing: the default of `watch`."""


class Engine:
    """The state of all connections: packets in, exchanges out.

    `ports` narrows to connections with one of these ports. `watch` is called with each new connection, and again when
    it proves to be Kafka: with 0 if its initiator sends the requests, else 1. `topic_names` fills with what the traffic
    tells; `findings` with what is odd about a connection and belongs to no exchange: take them away as you read them.

    An exchange that is handed out is final. It is handed out once the next frame of its connection proves it, at the
    latest with the first packet that is `side.HOLD` younger, or with `idle`; in the order in which exchanges were
    completed, which their numbers tell, too. `reads` says how far the caller reads all of them: then
    they are read here already, and those that are sound are handed out at once. `keys` has the secrets of TLS.
    """

    connections: int
    other_connections: int
    count: int
    names_then: NamesThen
    """`topic_names` as they were known when an exchange was handed out: see `Exchange.names`."""

    def __init__(
        self,
        *,
        ports: Iterable[int] = (),
        watch: Watch = watch_nothing,
        reads: Depth | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.ports: frozenset[int] = frozenset(ports)
        self.watch: Watch = watch
        self.keys: Keys | None = keys
        self.held: Held = Held()
        self.table: ConnectionTable = ConnectionTable(self._accept, held=self.held)
        self.known: Known = Known.nothing()
        self.topic_names: dict[UUID, str] = self.known.topics
        self.names_then: NamesThen = NamesThen(self.topic_names)
        self._learner = Learner(self.topic_names)
        self.connections = self.other_connections = self.count = 0
        self.findings: list[tuple[Peers, Finding]] = []
        self.budget: Budget = Budget()
        self.outbox = Outbox(reads)
        self._add, self._report = self.outbox.add, self._add_finding  # bound once for all connections

    def receive(self, packet: Packet) -> list[Exchange]:
        """Take the next packet; return the exchanges that are final now."""
        self.table.receive(packet)
        return self.number(self.outbox.take(packet[1])) if self.outbox.held else []

    @property
    def own_topics(self) -> list[bytes]:
        """The ids that are known of Kafka's own topics."""
        return self._learner.own

    def idle(self) -> list[Exchange]:
        """Return all complete exchanges as final, because no packet is there for now."""
        self.table.settle()
        return self.number(self.outbox.take(1 << 127))

    def receive_all(self, packets: Sequence[Packet]) -> list[Exchange]:
        """Take the next packets; return the exchanges that are final after the last of them."""
        return self.number(self.pair(packets))

    def pair(self, packets: Sequence[Packet]) -> list[Exchange]:
        """Take the next packets; return the exchanges that are final after the last of them, without numbers."""
        final: list[Exchange] = []
        for start in range(0, len(packets), STRIDE):
            some = packets[start : start + STRIDE]
            self.table.receive_all(some)
            final += self.outbox.take(some[-1][1])
        return final

    def chunks(self, blocks: Iterable[Sequence[Packet]]) -> Iterator[list[Exchange]]:
        """Yield all exchanges that these packets complete, those of a block together; an empty block is `idle`.

        How the packets are divided into blocks makes no difference to the exchanges.
        """
        for packets in blocks:
            chunk = self.receive_all(packets) if packets else self.idle()
            if chunk:
                yield chunk
        if left := self.close():
            yield left

    def run(self, blocks: Iterable[Sequence[Packet]]) -> Iterator[Exchange]:
        """Yield the same exchanges one by one."""
        for chunk in self.chunks(blocks):
            yield from chunk

    def close(self) -> list[Exchange]:
        """End all connections; return the exchanges that waited, as they are."""
        return self.number(self.end())

    def end(self) -> list[Exchange]:
        """End all connections; return the exchanges that waited, as they are, without numbers."""
        self.table.close()
        self.table.settle()
        return self.outbox.take(1 << 127)

    def findings_by_connection(self) -> dict[int, list[Finding]]:
        """Return the findings that belong to no exchange, by the numbers of their connections."""
        found: dict[int, list[Finding]] = {}
        for peers, finding in self.findings:
            found.setdefault(peers.number, []).append(finding)
        return found

    def _accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        self.watch(connection, None)
        if self.ports and not self.ports & {connection.initiator[1], connection.acceptor[1]}:
            connection.ignore()
            return NOBODY, NOBODY
        return self._classify(connection).sides

    def _classify(self, channel: Channel) -> Classifier:
        """Find out what is spoken on a channel."""
        tls = self._tls_found if isinstance(channel, Connection) else None
        return Classifier(channel, self.budget, self._kafka_found, self._reject, tls)

    def _kafka_found(self, connection: Channel, classifier: Classifier, client: int) -> None:
        """Begin the conversation on a connection that proved to be Kafka; `client` is as `watch` is told."""
        sides = classifier.sides
        ends, streams = (connection.initiator, connection.acceptor), (connection.sent, connection.answered)
        tls, via = (connection.about, connection.via) if isinstance(connection, Tls) else (None, classifier.via)
        self.connections += 1
        self.watch(connection.tcp if isinstance(connection, Tls) else connection, client)
        first, start = connection.first_packet, connection.start
        conversation = Conversation(
            Peers(connection.number, ends[client], ends[1 - client], first, tls, via, start=start),
            self._add,
            self._report,
            whole=sides[client].intact,
            synced=(sides[client].starts_with_frame(), classifier.certain),
            known=self.known,
            held=self.held,
            midstream=not classifier.certain,
        )
        streams[client].attach(conversation.requests)
        streams[1 - client].attach(conversation.responses)
        # requests first, since responses are told by them
        for side, framer in ((sides[client], conversation.requests), (sides[1 - client], conversation.responses)):
            framer.passed = side.passed
            side.hand_over(framer, side.lost)

    def _tls_found(self, connection: Connection, classifier: Classifier) -> None:
        """Begin to decrypt a connection, and to find the protocol on it."""

        def opens(tls: Tls) -> None:
            for direction, held in zip((tls.sent, tls.answered), self._classify(tls).sides, strict=True):
                direction.attach(held)

        Tls(connection, classifier, self.keys, opens, self._reject).take_over(classifier)

    def _reject(self, connection: Channel, finding: Finding | None) -> None:
        """Ignore a connection that carries another protocol, or nothing that can be read."""
        if finding is None and isinstance(connection, Connection) and (connection.refused or connection.unanswered):
            kind = Kind.CONNECTION_REFUSED if connection.refused else Kind.CONNECTION_TIMEOUT
            attempts = connection.tries, connection.start, connection.last_time, connection.refused
            finding = Finding(kind, facts=NoConnection(*attempts))
        self.other_connections += finding is None or finding.kind not in ATTEMPTS
        if finding is not None:
            ends = connection.initiator, connection.acceptor
            peers = Peers(connection.number, *ends, connection.first_packet, start=connection.start)
            self._add_finding(peers, finding)
        connection.ignore()

    def _add_finding(self, peers: Peers, finding: Finding) -> None:
        self.findings.append((peers, finding))

    def number(self, final: list[Exchange]) -> list[Exchange]:
        """Give the exchanges their numbers, learn the topic names in them, and return them."""
        count, topics, learn_from = self.count, self.topic_names, self._learner.learn_from
        for exchange in final:
            count += 1
            exchange.number = count
            learn_from(exchange)
            names, request, response = len(topics), exchange.request, exchange.response
            if request is not None:
                request.names = names
            if response is not None:
                response.names = names
        self.count = count
        return final

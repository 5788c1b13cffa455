"""Packets in, exchanges out: the engine that a file, a live interface, a proxy and a Spark task feed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from ...budget import Held
from ...capture.packet import Packet
from ...protocol.findings import ATTEMPTS, Finding, Kind
from ...protocol.findings.facts import NobodyThere, TurnedDown
from ...protocol.wire.readings.outline import NamesThen
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ...streams.tcp.table import ConnectionTable
from ..messages.exchange import Exchange, Known
from ..messages.peers import Peers
from .classifier import Budget, Classifier
from .direction import HOLD, NO_FRAME, Depth
from .directions import RequestSide, ResponseSide
from .framing import Framer
from .names import Learner
from .pairing import Pairing

if TYPE_CHECKING:
    from ...streams.tls.session import Keys
    from .foreign import Read
    from .layers import Proxied, Tls


class Conversation:
    """Everything that is remembered of a connection that speaks Kafka.

    `requests` and `responses` take what the client and the broker sent. `complete` is called with each exchange once
    both its halves are there, and may still change until `prove` says that it does not. `left_over` takes the
    findings that no exchange has, at the end. `synced` says of either direction whether its next byte begins a frame;
    `midstream` that the connection is older than the capture.
    """

    __slots__ = ("broker", "client", "pairing", "requests", "responses")

    def __init__(
        self,
        peers: Peers,
        complete: Callable[[Conversation, Exchange], None],
        left_over: Callable[[Peers, Finding], None],
        *,
        whole: bool,
        synced: tuple[bool, bool],
        known: Known,
        held: Held | None = None,
        midstream: bool = False,
    ) -> None:
        held = held or Held()
        self.pairing: Pairing = Pairing(
            peers, partial(complete, self), left_over, whole=whole, known=known, holds=True, held=held
        )
        self.broker: ResponseSide = ResponseSide(self.pairing, midstream=midstream)
        self.responses: Framer = Framer(self.broker, synced=synced[1], held=held)
        self.client: RequestSide = RequestSide(self.pairing, self.responses.retry, midstream=midstream)
        self.requests: Framer = Framer(self.client, synced=synced[0], held=held)

    def prove(self, exchange: Exchange, reads: Depth | None) -> bool:
        """Return whether a complete exchange is final: no byte is taken from it any more, and nothing added.

        Where `reads` says how far, its messages are read: those that have a use for all their bytes are final.
        """
        for side, half in ((self.broker, exchange.response), (self.client, exchange.request)):
            if side.last is half and (reads is None or not side.prove_by_reading(reads)):
                return False
        return exchange.answered or not self.pairing.stragglers.may_be_answered(exchange)

    def settle(self, exchange: Exchange) -> None:
        """Take a complete exchange as final, whatever comes after it, before it is handed out."""
        for side, half in ((self.client, exchange.request), (self.broker, exchange.response)):
            if side.last is half:
                side.last = NO_FRAME
        self.pairing.stragglers.tell(exchange)

    def forget(self, exchange: Exchange) -> None:
        """Do not hold on to an exchange that was settled: the connection may be silent for long."""
        for side in (self.client, self.broker):
            side.forget(exchange)


MOST, MOST_BYTES = 256, 16 << 20
"""Exchanges held at once, and bytes of them; beyond that the oldest is taken as final."""


class Outbox:
    """`add` exchanges as they are completed, and `take` those that are final.

    An exchange is final once a frame follows the last one of its halves, or nothing can; and `HOLD` after it was
    completed, by the time of the packets. So it is never held for longer than that, if packets come at all. `reads`:
    the caller reads all messages so far; done here already, that shows which need no frame after them.
    """

    def __init__(self, reads: Depth | None = None) -> None:
        self.reads = reads
        self.held: deque[tuple[Exchange, Conversation, int, int]] = deque()
        self._ready: list[Exchange] = []
        self._size = 0

    def add(self, conversation: Conversation, exchange: Exchange) -> None:
        """Hold an exchange until it is final; take the oldest as final where too many are held."""
        half = exchange.response or exchange.request
        assert half is not None
        size, held = len(half.data), self.held
        self._size += size
        held.append((exchange, conversation, half.last_time, size))
        if self._size > MOST_BYTES or len(held) > MOST:
            self._ready += self._final(half.last_time)
        if self._size > MOST_BYTES or len(held) > MOST:
            oldest, its, _, _ = held[0]
            its.settle(oldest)
            if oldest is not exchange:  # of this one it may still be said that its length is wrong
                its.forget(oldest)

    def take(self, now: int) -> list[Exchange]:
        """Return the exchanges that are final at this time, in nanoseconds."""
        final = self._final(now)
        if self._ready:
            self._ready, final = [], [*self._ready, *final]
        return final

    def _final(self, now: int) -> list[Exchange]:
        final: list[Exchange] = []
        held, reads, limit = self.held, self.reads, now - HOLD
        while held:
            exchange, conversation, time, size = held[0]
            if (
                exchange.response is conversation.broker.last
                or exchange.request is conversation.client.last
                or not exchange.answered
            ) and not conversation.prove(exchange, reads):
                if time >= limit:
                    break
                conversation.settle(exchange)
                conversation.forget(exchange)
            held.popleft()
            self._size -= size
            final.append(exchange)
        return final


STRIDE = 64
"""Packets after which is looked what is final by now: few enough that little is held."""
Channel: TypeAlias = "Connection | Proxied | Tls"
Watch: TypeAlias = Callable[[Connection, int | None], None]


def nobody_watches(connection: Connection, client: int | None) -> None:
    """Do nothing: what `watch` is unless the caller gives another."""


class Engine:
    """Everything that is remembered between packets.

    `ports` narrows to connections with one of these ports. `watch` is called with each new connection, and again when
    it proves to be Kafka: with 0 if its initiator sends the requests, else 1. `topic_names` fills with what the traffic
    tells; `findings` with what is odd about a connection and belongs to no exchange: take them away as you read them.

    An exchange that is handed out is final. It is handed out once the next frame of its connection proves it, at the
    latest with the first packet that is `side.HOLD` younger, or with `idle`; in the order in which exchanges were
    completed, which their numbers tell, too. `reads` says how far the caller reads all of them: then
    they are read here already, and those that are sound are handed out at once. `keys` has the secrets of TLS.
    """

    ports: frozenset[int]
    watch: Watch
    keys: Keys | None
    connections: int
    other_connections: int
    count: int
    topic_names: dict[UUID, str]
    names_then: NamesThen
    """`topic_names` as they were known when an exchange was handed out: see `Exchange.names`."""

    def __init__(
        self,
        *,
        ports: Iterable[int] = (),
        watch: Watch = nobody_watches,
        reads: Depth | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.ports, self.watch, self.keys = frozenset(ports), watch, keys
        self.held: Held = Held()
        self.table: ConnectionTable = ConnectionTable(self._accept, held=self.held)
        self.known: Known = Known.nothing()
        self.topic_names = self.known.topics
        self.names_then: NamesThen = NamesThen(self.topic_names)
        self._learner = Learner(self.topic_names)
        self.connections = self.other_connections = self.count = 0
        self.findings: list[tuple[Peers, Finding]] = []
        self.budget: Budget = Budget()
        self._outbox = Outbox(reads)
        self._add, self._leave = self._outbox.add, self._left_over  # bound once for all connections

    def receive(self, packet: Packet) -> list[Exchange]:
        """Take the next packet; return the exchanges that are final now."""
        self.table.receive(packet)
        return self._tell(self._outbox.take(packet[1])) if self._outbox.held else []

    def idle(self) -> list[Exchange]:
        """Take notice that nothing more is there for now; return all exchanges that are complete, as final."""
        self.table.settle()
        return self._tell(self._outbox.take(1 << 127))

    def receive_all(self, packets: Sequence[Packet]) -> list[Exchange]:
        """Take the next packets; return the exchanges that are final after the last of them."""
        final: list[Exchange] = []
        for start in range(0, len(packets), STRIDE):
            some = packets[start : start + STRIDE]
            self.table.receive_all(some)
            final += self._outbox.take(some[-1][1])
        return self._tell(final)

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
        """Take notice that the capture is over; return what waited, as it is."""
        self.table.close()
        return self.idle()

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
        kafka, other = partial(self._speaks_kafka, channel), partial(self._let_go, channel)
        if isinstance(channel, Connection):
            tls, greets = partial(self._speaks_tls, channel), partial(self._greets, channel)
            return Classifier(channel, self.budget, kafka, other, tls, greets)
        from .layers import Tls  # which most connections do without

        inside = partial(self._speaks_tls, channel) if not isinstance(channel, Tls) else None
        return Classifier(channel, self.budget, kafka, other, inside)

    def _classify_inside(self, layer: Proxied | Tls) -> None:
        """Find the protocol after a preamble, or on a connection that can be decrypted."""
        for side, receiver in zip((layer.sent, layer.answered), self._classify(layer).sides, strict=True):
            side.attach(receiver)

    def _hand_over(self, connection: Connection | Proxied, classifier: Classifier, layer: Proxied | Tls) -> None:
        """Let a layer take what was held of a connection, and what follows."""
        connection.sent.attach(layer.sent)
        connection.answered.attach(layer.answered)
        classifier.hand_over((layer.sent, layer.answered))

    def _speaks_kafka(self, connection: Channel, classifier: Classifier, client: int) -> None:
        """Begin the conversation on a connection that proved to be Kafka; `client` is as `watch` is told."""
        sides = classifier.sides
        ends, streams = (connection.initiator, connection.acceptor), (connection.sent, connection.answered)
        decrypted, via = None, None
        if isinstance(connection, Connection):
            plain = connection
        else:
            from .layers import unwrapped

            plain, decrypted, via = unwrapped(connection)
        self.connections += 1
        self.watch(plain, client)
        conversation = Conversation(
            Peers(connection.number, ends[client], ends[1 - client], connection.first_packet, decrypted, via),
            self._add,
            self._leave,
            whole=sides[client].intact,
            synced=(sides[client].starts_with_frame(), classifier.certain),
            known=self.known,
            held=self.held,
            midstream=not classifier.certain,
        )
        streams[client].attach(conversation.requests)
        streams[1 - client].attach(conversation.responses)
        classifier.replay(conversation.requests, conversation.responses)

    def _greets(self, connection: Connection, classifier: Classifier, read: Read) -> None:
        """Begin to pass over what is said before Kafka."""
        from .layers import Proxied  # which most connections do without

        proxied = Proxied(connection, read, self.budget, self._classify_inside, self._let_go)
        self._hand_over(connection, classifier, proxied)

    def _speaks_tls(self, connection: Connection | Proxied, classifier: Classifier) -> None:
        """Begin to decrypt a connection."""
        from .layers import NO_KEYS, Tls

        keys = NO_KEYS if self.keys is None else self.keys
        tls = Tls(connection, keys, self.budget, self._classify_inside, self._let_go)
        self._hand_over(connection, classifier, tls)

    def _let_go(self, connection: Channel, finding: Finding | None) -> None:
        """Let go of a connection that turned out to be something else, or nothing that can be read."""
        if finding is None and isinstance(connection, Connection) and (connection.refused or connection.unanswered):
            attempt = connection.tries, connection.start, connection.last_time
            finding = Finding(Kind.CONNECTION_TIMEOUT, facts=NobodyThere(*attempt))
            if connection.refused:
                finding = Finding(Kind.CONNECTION_REFUSED, facts=TurnedDown(*attempt))
        self.other_connections += finding is None or finding.kind not in ATTEMPTS
        if finding is not None:
            ends = connection.initiator, connection.acceptor
            self._left_over(Peers(connection.number, *ends, connection.first_packet), finding)
        connection.ignore()

    def _left_over(self, peers: Peers, finding: Finding) -> None:
        self.findings.append((peers, finding))

    def _tell(self, final: list[Exchange]) -> list[Exchange]:
        """Give the exchanges their numbers, learn the topic names that they tell, and return them."""
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

"""The plain bytes of TLS connections, written as packets of TCP connections that are made up around them.

Each piece of plain bytes is a packet with the time of the one that brought it; what could not be decrypted is a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ...capture.frames import Frame
from ...capture.keylog import KeyLog
from ...capture.packet import ACK, PSH, SYN, Packet
from ...capture.write import RAW_IP, TICK, MadeUp
from ...exchanges.engine.classifier import Budget, Classifier
from ...exchanges.engine.tls import Tls
from ...protocol.findings import Finding
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ...views.redact.streams import Direction

Takes = Callable[[Packet, Direction], bool]
"""Says whether a packet is to be written."""
Write = Callable[[Frame], None]


class PlainTalk:
    """One connection: its sides take the plain bytes, `write` what is to be written of them."""

    def __init__(self, tls: Tls, takes: Takes, write: Write) -> None:
        ends = tls.initiator, tls.acceptor
        assert isinstance(tls.tcp, Connection), "preambles are not looked for here"
        self.made = MadeUp(ends[tls.client], ends[1 - tls.client], first=tls.tcp.start // TICK)
        self._first, self._takes, self._write = tls.first_packet, takes, write
        self._open, self._left = False, 2
        self.sides = PlainSide(self, tls.client, sent=True), PlainSide(self, 1 - tls.client, sent=False)

    def data(self, side: PlainSide, payload: bytes, time: int, number: int) -> None:
        """Write a packet with these bytes, behind the handshake if they are the first."""
        if not self._open:
            self._open = True
            self._packets(side, SYN, b"", time, number, self.made.opening())
        if self._is_taken(side, PSH | ACK, payload, time, number):
            self._packets(side, PSH | ACK, payload, time, number, self.made.data(side.end_of, payload))
        else:
            self.made.pass_over(side.end_of, len(payload))

    def end(self, side: PlainSide, time: int, number: int) -> None:
        """Hang up, once both sides have."""
        self._left -= 1
        if not self._left and self._open:
            self._packets(side, SYN, b"", time, number, self.made.ending())

    def _packets(
        self, side: PlainSide, flags: int, payload: bytes, time: int, number: int, made: Iterable[bytes]
    ) -> None:
        if self._is_taken(side, flags, payload, time, number):
            for data in made:
                self._write(Frame(number, time, RAW_IP, data, len(data)))

    def _is_taken(self, side: PlainSide, flags: int, payload: bytes, time: int, number: int) -> bool:
        return self._takes((number, time, b"", 0, 0, flags, payload, len(payload)), (self._first, side.sent))


class PlainSide:
    """A tcp.Receiver of the plain bytes of one direction."""

    end_of: int
    sent: bool

    def __init__(self, talk: PlainTalk, end_of: int, *, sent: bool) -> None:
        self._talk, self.end_of, self.sent = talk, end_of, sent

    def data(self, payload: bytes, time: int, number: int) -> None:
        self._talk.data(self, payload, time, number)

    def gap(self, length: int, time: int, number: int) -> None:
        self._talk.made.pass_over(self.end_of, length)

    def end(self, time: int, number: int) -> None:
        self._talk.end(self, time, number)


class Decrypting:
    """Decrypts the connections with these first packets; `accept` says who takes their bytes, as a Table asks."""

    def __init__(self, first_packets: Iterable[int], keys: KeyLog, takes: Takes, write: Write) -> None:
        self.first_packets = frozenset(first_packets)
        self._keys, self._budget = keys, Budget()
        self._takes, self._write = takes, write

    def accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        """Return the receivers of a connection's directions."""
        if connection.first_packet not in self.first_packets:
            return NOBODY, NOBODY
        return Classifier(connection, self._budget, _other, _other, partial(self._speaks_tls, connection)).sides

    def _speaks_tls(self, connection: Connection, classifier: Classifier) -> None:
        tls = Tls(connection, self._keys, self._budget, self._is_open, _is_closed)
        connection.sent.attach(tls.sent)
        connection.answered.attach(tls.answered)
        classifier.hand_over((tls.sent, tls.answered))

    def _is_open(self, tls: Tls) -> None:
        for side, receiver in zip(
            (tls.sent, tls.answered), PlainTalk(tls, self._takes, self._write).sides, strict=True
        ):
            side.attach(receiver)


def _other(classifier: Classifier, what: object) -> None:
    """Do nothing: a connection that was decrypted once speaks TLS."""


def _is_closed(tls: Tls, finding: Finding) -> None:
    """Do nothing: so did one that has keys."""

"""Connections inside another, after a proxy's preamble or in TLS: the engine sees connections of plain bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import Encrypted, Foreign
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ..messages.peers import Decrypted, Via
from .classifier import Budget, Event, replay
from .foreign import LONGEST, OTHER, PreambleEnd, ProxyRefused, Read

if TYPE_CHECKING:
    from ...streams.tls.session import Keys, TlsConnection, Why
    from ...streams.tls.side import Budget as TlsBudget
    from ...streams.tls.side import TlsDirection


class Layer:
    """What stands on `tcp` and goes by its number, its ends, its first packet in the capture, and its size."""

    __slots__ = ("acceptor", "first_packet", "initiator", "number", "tcp")
    tcp: Connection | Layer
    number: int
    first_packet: int
    initiator: tuple[str, int]
    acceptor: tuple[str, int]

    def __init__(self, tcp: Connection | Layer) -> None:
        self.tcp, self.number, self.first_packet = tcp, tcp.number, tcp.first_packet
        self.initiator, self.acceptor = tcp.initiator, tcp.acceptor

    @property
    def bytes(self) -> int:
        """The bytes of the connection below, all of them."""
        return self.tcp.bytes


class PreambleDirection:
    """tcp.Receiver of one direction: holds what is said until the preamble is over, then hands on what follows."""

    proxied: Proxied

    __slots__ = ("events", "proxied", "receiver", "said")

    def __init__(self, proxied: Proxied) -> None:
        self.proxied = proxied
        self.receiver: Receiver = NOBODY
        self.events: list[Event] = []
        self.said = bytearray()

    def attach(self, receiver: Receiver) -> None:
        """Say who takes what follows."""
        self.receiver = receiver

    def data(self, payload: bytes, time: int, number: int) -> None:
        if self.proxied.over:
            self.receiver.data(payload, time, number)
            return
        self.events.append((payload, time, number))
        self.said += payload
        self.proxied.budget.left -= len(payload)
        self.proxied.look()

    def gap(self, length: int, time: int, number: int) -> None:
        if self.proxied.over:
            self.receiver.gap(length, time, number)
            return
        self.events.append((length, time, number))
        self.proxied.whole = False
        self.proxied.give_up()

    def end(self, time: int, number: int) -> None:
        if self.proxied.over:
            self.receiver.end(time, number)
            return
        self.events.append((None, time, number))
        if all(side.events and side.events[-1][0] is None for side in (self.proxied.sent, self.proxied.answered)):
            self.proxied.give_up()

    def release(self, passed: int) -> None:
        """Hand on what was held, but for so many bytes in front."""
        events, self.events = self.events, []
        self.proxied.budget.left += len(self.said)
        self.said = bytearray()
        replay(events, self.receiver, passed)


class Proxied(Layer):
    """The protocol after a preamble on `tcp`; `via` says what that told, None while it goes on or if it is none.

    `opens` is called when it is over, or turns out to be none; `closes` where the proxy refused.
    """

    budget: Budget
    over: bool
    whole: bool

    __slots__ = ("_closes", "_opens", "_read", "answered", "budget", "over", "sent", "via", "whole")
    tcp: Connection
    via: Via | None

    def __init__(
        self,
        tcp: Connection,
        read: Read,
        budget: Budget,
        opens: Callable[[Proxied], None],
        closes: Callable[[Proxied, Finding], None],
    ) -> None:
        super().__init__(tcp)
        self._read, self.budget, self._opens, self._closes = read, budget, opens, closes
        self.via = None
        self.over, self.whole = False, True
        self.sent: PreambleDirection = PreambleDirection(self)
        self.answered: PreambleDirection = PreambleDirection(self)

    @property
    def handshake(self) -> bool:
        """Whether what is handed on begins with what the client says first: not where a preamble has a hole."""
        return self.tcp.handshake and self.whole

    def ignore(self) -> None:
        """Take nothing any more."""
        for side in (self.sent, self.answered):
            side.attach(NOBODY)
            side.release(0)
        self.over = True
        self.tcp.ignore()

    def look(self) -> None:
        """See whether the preamble is over by what was said so far."""
        sent, answered = bytes(self.sent.said), bytes(self.answered.said)
        found = self._read(sent, answered)
        if isinstance(found, PreambleEnd):
            self.via = found.via
            self._go_on(found.sent, found.answered)
        elif isinstance(found, ProxyRefused):
            self.over = True
            size = len(sent) + len(answered)
            self._closes(self, Finding(Kind.NOT_KAFKA, length=size, facts=Foreign(found.what)))
        elif found is OTHER or max(len(sent), len(answered)) > LONGEST or self.budget.left < 0:
            self.give_up()

    def give_up(self) -> None:
        """Take what was said for what it is without a preamble."""
        self._go_on(0, 0)

    def _go_on(self, sent: int, answered: int) -> None:
        self.over = True
        self._opens(self)
        self.sent.release(sent)
        self.answered.release(answered)


class NoKeys:
    """No secrets at all."""

    def find(self, key: bytes, /) -> None:
        return None

    def __bool__(self) -> bool:
        return False


NO_KEYS = NoKeys()


class Tls(Layer):
    """TLS on a TCP connection, or after a preamble on one, which is `tcp`.

    `sent` and `answered` take the streams of its ends. `opens` is called when plain bytes are about to
    come, `closes` where there will be none.
    """

    __slots__ = ("_closes", "_session", "answered", "sent")
    tcp: Connection | Proxied
    sent: TlsDirection
    answered: TlsDirection

    def __init__(
        self,
        tcp: Connection | Proxied,
        keys: Keys,
        budget: TlsBudget,
        opens: Callable[[Tls], None],
        closes: Callable[[Tls, Finding], None],
    ) -> None:
        from ...streams.tls import TlsConnection  # which plain traffic does without

        super().__init__(tcp)
        self._closes = closes
        self._session = TlsConnection(keys, budget, lambda session: opens(self), self._is_closed)
        self.sent, self.answered = self._session.sides

    @property
    def handshake(self) -> bool:
        """Whether it is certain that the initiator is the client: of TCP, or of TLS."""
        return self.tcp.handshake or self._session.client is self.sent

    @property
    def client(self) -> int:
        """0 if the initiator of the connection is the client, by its hello, else 1."""
        return int(self._session.client is self.answered)

    @property
    def about(self) -> Decrypted:
        """What exchanges tell of it."""
        about = self._session.about
        return Decrypted(about.version, about.cipher, about.server_name, about.protocols)

    def ignore(self) -> None:
        """Free what waits, and take nothing any more."""
        self._session.ignore()
        self.tcp.ignore()

    def _is_closed(self, session: TlsConnection, why: Why) -> None:
        facts = Encrypted(*session.about, why.value)
        self._closes(self, Finding(Kind.NOT_DECRYPTED, length=self.tcp.bytes, facts=facts))


def unwrapped(connection: Proxied | Tls) -> tuple[Connection, Decrypted | None, Via | None]:
    """Return the TCP connection that one is inside of, with what TLS and the preamble tell."""
    decrypted = connection.about if isinstance(connection, Tls) else None
    below = connection.tcp if isinstance(connection, Tls) else connection
    return (below.tcp, decrypted, below.via) if isinstance(below, Proxied) else (below, decrypted, None)

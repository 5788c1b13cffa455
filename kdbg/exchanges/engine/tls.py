"""A connection that speaks TLS, as the engine sees it: a connection of plain bytes, once there are keys for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import Encrypted
from ...streams.tcp.connection import Connection
from ..messages.peers import Decrypted
from .preamble_connection import Layer, Proxied

if TYPE_CHECKING:
    from ...streams.tls.session import Keys, TlsConnection, Why
    from ...streams.tls.side import Budget, TlsDirection


class NoKeys:
    """No secrets at all."""

    def find(self, key: bytes, /) -> None:
        return None

    def __bool__(self) -> bool:
        return False


NO_KEYS = NoKeys()


class Tls(Layer):
    """TLS on a TCP connection, or behind a preamble on one, which is `tcp`.

    `sent` and `answered` take the streams of its ends. `opens` is called when plain bytes are about to
    come, `closes` where there will be none.
    """

    __slots__ = ("_closes", "_opens", "_session", "answered", "sent", "tcp")
    tcp: Connection | Proxied
    sent: TlsDirection
    answered: TlsDirection

    def __init__(
        self,
        tcp: Connection | Proxied,
        keys: Keys,
        budget: Budget,
        opens: Callable[[Tls], None],
        closes: Callable[[Tls, Finding], None],
    ) -> None:
        from ...streams.tls import TlsConnection  # which plain traffic does without

        self.tcp, self._opens, self._closes = tcp, opens, closes
        self._session = TlsConnection(keys, budget, self._is_open, self._is_closed)
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

    def _is_open(self, session: TlsConnection) -> None:
        self._opens(self)

    def _is_closed(self, session: TlsConnection, why: Why) -> None:
        facts = Encrypted(*session.about, why.value)
        self._closes(self, Finding(Kind.NOT_DECRYPTED, length=self.tcp.bytes, facts=facts))

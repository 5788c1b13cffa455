"""A TLS connection: what both sides said in the clear, the keys that follow from it, and what becomes of the rest.

The secrets come from a key log, by the client's random. Where there are none, or they do not fit, the session ends with
what is known: who speaks TLS to whom, and why it was not decrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kdbg.budget import Budget
from kdbg.streams.tcp.stream import replay
from kdbg.streams.tls import hello as shake
from kdbg.streams.tls.record import BoundKey, Record, SealedRecord
from kdbg.streams.tls.side import TlsDirection

from .hello import TLS_1_2, TLS_1_3, suite, suite_name, version_name

if TYPE_CHECKING:
    from kdbg.capture.packet import Endpoint
    from kdbg.streams.tls.hello import Hello
    from kdbg.streams.tls.openers import Opener

MOST_WAITING = 1 << 18
"""Bytes of a connection that wait for its secrets, which a client may log later than it speaks."""
MOST_SEEN = 1 << 20
"""Bytes that are looked at before a first record opens."""
MOST_FAILURES = 16
"""Records that may be encrypted by other keys than those in the log, before a first one opens."""
MOST_TRIES = 1 << 18
"""Numbers of records that are tried: what a hostile capture could make of each gap is bounded by it."""
MOST_ALERTS = 4
ALERTS = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure",
    42: "bad_certificate", 43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
    46: "certificate_unknown", 47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error",
    51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security", 80: "internal_error",
    86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
    110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response",
    115: "unknown_psk_identity", 116: "certificate_required", 120: "no_application_protocol",
}  # fmt: skip
"""Alerts by their numbers (RFC 8446, 6), with the names that stand there."""
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
TRAFFIC = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
"""Labels of secrets of TLS 1.3 in key logs."""
QUIET = {"close_notify", "user_canceled"}
"""Alerts that say no more than that it is over."""


class Why(StrEnum):
    """Why a connection was not decrypted; findings/text.py has the sentences."""

    NO_KEYS = "no-keys"
    OTHER_KEYS = "other-keys"
    WRONG_KEYS = "wrong-keys"
    NO_HANDSHAKE = "no-handshake"
    UNSUPPORTED = "unsupported"
    NO_LIBRARY = "no-library"
    UNANSWERED = "unanswered"
    REFUSED = "refused"
    UNFINISHED = "unfinished"
    NOT_IN_MEMORY = "not-in-memory"
    OTHER_PROCESS = "other-process"


class TlsFacts(NamedTuple):
    """What is known of a TLS connection: its version and cipher suite (those that the client offers, if none is chosen)
    by their names, "" where they are not known; the name that the client asks for; protocols by ALPN; names in the
    server's certificate; alerts that either end sent."""

    version: str
    cipher: str
    server_name: str
    protocols: tuple[str, ...]
    names: tuple[str, ...]
    client_alerts: tuple[str, ...]
    server_alerts: tuple[str, ...]


class Keys(Protocol):
    """Secrets by clients' randoms, and by the ids of sessions (TLS 1.2); false where there never are any."""

    def find(self, key: bytes, /) -> Mapping[str, bytes] | None: ...

    def bound(self, sender: Endpoint, receiver: Endpoint, /) -> Sequence[BoundKey]:
        """Return what may open the records that one end of a connection sends, where its handshake was not captured."""
        ...

    def awaits(self, connection: TlsConnection, /) -> bool:
        """Return whether secrets of a connection are looked for, so that it waits for them."""
        ...

    def __bool__(self) -> bool: ...


class TlsSample(NamedTuple):
    """What a capture shows of a TLS connection whose secrets are not known.

    `ends` sent the `records`, side by side: the first encrypted ones that the capture has. Without a handshake, `suite`
    and `version` are 0, the randoms empty, and which end is the client's is not known.
    """

    ends: tuple[Endpoint, Endpoint]
    records: tuple[tuple[SealedRecord, ...], tuple[SealedRecord, ...]]
    version: int = 0
    suite: int = 0
    client: int = 0
    client_random: bytes = b""
    server_random: bytes = b""
    encrypt_then_mac: bool = False
    hellos: bytes = b""
    """The messages of both, of which keys of TLS 1.3 are made; empty where the server asked for another hello."""


class TlsConnection:
    """One connection; `sides` take what each of its ends sent, in any order.

    `client` is the side that said hello first. One of two callbacks is called: `opens` before the first plain byte, or
    `closes` where there will not be any.
    """

    def __init__(
        self,
        ends: tuple[Endpoint, Endpoint],
        keys: Keys | None,
        budget: Budget,
        opens: Callable[[TlsConnection], None],
        closes: Callable[[TlsConnection, Why], None],
    ) -> None:
        self.ends: tuple[Endpoint, Endpoint] = ends
        """Who sends what `sides` take."""
        self.keys: Keys | None = keys
        self.budget: Budget = budget
        self.tries: int = MOST_TRIES
        self._opens, self._closes = opens, closes
        self.sides: tuple[TlsDirection, TlsDirection] = TlsDirection(self), TlsDirection(self)
        self.client: TlsDirection | None = None
        self._server: TlsDirection | None = None
        self._asked: Hello | None = None
        self._chosen: Hello | None = None
        self._names: tuple[str, ...] = ()
        self._protocols: tuple[str, ...] = ()
        self._alerts: tuple[list[str], list[str]] = [], []
        self._obstacle: Why | None = None
        self.decided: bool = False
        self._failures = 0
        self._patience = MOST_SEEN
        self._tried: dict[TlsDirection, int] = {}
        self._late, self._hellos, self._asked_again = "", b"", False

    @property
    def about(self) -> TlsFacts:
        """What is known by now."""
        asked, chosen = self._asked, self._chosen
        version = cipher = ""
        if self._late:
            version, cipher = "TLS 1.3" if self._late.startswith("TLS_") else "TLS 1.2", self._late
        elif chosen is not None:
            version, cipher = version_name(chosen.versions[0]), suite_name(chosen.suites[0])
        elif asked is not None:
            version = version_name(max((each for each in asked.versions if each <= TLS_1_3), default=TLS_1_2))
        protocols = self._protocols or (asked.protocols if asked is not None and chosen is None else ())
        name = asked.server_name if asked is not None else ""
        return TlsFacts(version, cipher, name, protocols, self._names, *map(tuple, self._alerts))

    def message(self, side: TlsDirection, kind: int, body: bytes) -> None:
        """Take a handshake message."""
        if kind in (shake.CLIENT_HELLO, shake.SERVER_HELLO):
            said = shake.hello(kind, body)
            if said is None or (kind == shake.SERVER_HELLO and said.random == shake.RETRY):
                self._asked_again = True
                return
            self._hellos += bytes((kind,)) + len(body).to_bytes(3, "big") + body
            if kind == shake.CLIENT_HELLO:
                self.client, self._asked = side, said
            else:
                self._server, self._chosen, self._protocols = side, said, said.protocols
            self._begin()
        elif kind == shake.ENCRYPTED_EXTENSIONS:
            self._protocols = shake.encrypted_extensions(body)
        elif kind == shake.CERTIFICATE and side is self._server:
            self._names = shake.certificate_names(body, tls_1_3=self._is_1_3)
        elif self._is_1_3 and kind == shake.FINISHED:
            side.finish()
        elif self._is_1_3 and kind == shake.KEY_UPDATE:
            side.update()

    def alert(self, side: TlsDirection, body: bytes) -> None:
        """Take an alert."""
        said = self._alerts[side is self._server or self.client not in (None, side)]
        if len(body) == 2 and len(said) < MOST_ALERTS and (name := ALERTS.get(body[1], str(body[1]))) not in QUIET:
            said.append(name)

    def change_cipher(self, side: TlsDirection) -> None:
        """Take note that records are encrypted from here on; TLS 1.3 sends this for show, also before it is chosen."""
        if not self._is_1_3:
            side.seal(all_kinds=self._chosen is not None)

    def encrypted(self, side: TlsDirection, record: Record) -> bool | None:
        """Say what becomes of an encrypted record: it is opened (True), waits (None), or is passed over (False)."""
        if side.openers:
            return True
        if side is not self.client and side is not self._server:
            if self._open_late(side, record):
                return True
            if self.keys is not None and self.keys.awaits(self):
                return None
            self._close(Why.NO_HANDSHAKE)
            return False
        if self._asked is None or self._chosen is None:
            return None
        if self._obstacle is not None:
            if side is self._server:  # all that stands in the clear is there
                self._close(self._obstacle)
            return False
        return None

    def seen(self, length: int) -> None:
        """Take note of bytes in which no record was opened yet; give up after too many."""
        self._patience -= length
        if self._patience < 0:
            self._close(self._reason())

    def opened(self) -> None:
        """Take note that the first record of a side was opened."""
        if not self.decided:
            self.decided = True
            self._opens(self)

    def failed(self) -> None:
        """Take note that a record could not be opened."""
        self._failures += 1
        if self._failures > MOST_FAILURES:
            self._close(Why.WRONG_KEYS)

    def waits(self) -> None:
        """Look for secrets that have come in the meantime; give up where too much waits, or nothing follows."""
        self._begin()
        if self.decided and not any(side.waiting for side in self.sides):
            return
        awaits = self.keys is not None and self.keys.awaits(self)
        if self.budget.left < 0 or sum(side.held for side in self.sides) > MOST_WAITING:
            if awaits:
                for side in self.sides:
                    side.shorten()
            else:
                self._close(self._reason())
        elif self._all_ended and not awaits:
            self._close(self._reason())

    @property
    def is_waiting(self) -> bool:
        """Whether a side waits for its secrets."""
        return any(side.waiting is not None for side in self.sides)

    def give_up(self, why: Why) -> None:
        """Take note that secrets that were looked for are not found."""
        self._close(why)
        for side in self.sides:
            if side.waiting is not None:
                side.ignore()

    def ended(self, side: TlsDirection) -> None:
        """Take note that nothing follows of a side."""
        if self._all_ended:
            self._close(self._reason())

    @property
    def is_late(self) -> bool:
        """Whether neither side's handshake was captured, but secrets may be known."""
        return self._asked is None and self._chosen is None and bool(self.keys)

    def sample(self) -> TlsSample:
        """Return what the capture shows of the connection, for those who look for its secrets."""
        one, other = self.sides
        found = TlsSample(self.ends, (tuple(one.sample()), tuple(other.sample())))
        asked, chosen = self._asked, self._chosen
        if asked is None or chosen is None:
            return found
        return found._replace(
            version=chosen.versions[0], suite=chosen.suites[0], client=self.sides.index(self.client or one),
            client_random=asked.random, server_random=chosen.random, encrypt_then_mac=chosen.encrypt_then_mac,
            hellos=b"" if self._asked_again else self._hellos,
        )  # fmt: skip

    def ignore(self) -> None:
        """Free what waits, and take nothing any more."""
        for side in self.sides:
            side.ignore()

    @property
    def _is_1_3(self) -> bool:
        return self._chosen is not None and self._chosen.versions[0] == TLS_1_3

    @property
    def _all_ended(self) -> bool:
        return all(side.over or (side.waiting and side.waiting[-1][0] is None) for side in self.sides)

    def _reason(self) -> Why:
        """Return why nothing was opened of a connection that has ended."""
        if self._asked is not None and self._chosen is None:
            return Why.REFUSED if any(self._alerts) else Why.UNANSWERED
        if any(side.waiting is not None for side in self.sides):
            return Why.OTHER_KEYS
        if self._chosen is None or self._asked is None:
            return Why.NO_HANDSHAKE
        if self._failures:
            return Why.WRONG_KEYS
        return Why.REFUSED if any(self._alerts) else Why.UNFINISHED

    def _close(self, why: Why) -> None:
        if not self.decided:
            self.decided = True
            self.ignore()
            self._closes(self, why)

    def _begin(self) -> None:
        """Find the keys, once both sides have said hello; what waited for them goes on."""
        asked, chosen, client, server = self._asked, self._chosen, self.client, self._server
        if asked is None or chosen is None or client is None or server is None:
            if self.is_late:
                self._go_on(side for side in self.sides if len(self._bound(side)) > self._tried.get(side, 0))
            return
        self._obstacle = self._find_keys(asked, chosen, client, server)
        self._go_on(side for side in (server, client) if side.openers or self._obstacle is not None)

    def _go_on(self, sides: Iterable[TlsDirection]) -> None:
        """Take up what waited on these sides, in the order of its packets: requests before their responses."""
        waiting = [side for side in sides if side.waiting is not None]
        waited = [(event, side) for side in waiting for event in side.release()]
        for side in waiting:
            side.go_on()
        for event, side in sorted(waited, key=lambda one: one[0][2]):
            if not side.over:
                replay([event], side)

    def _find_keys(self, asked: Hello, chosen: Hello, client: TlsDirection, server: TlsDirection) -> Why | None:
        """Give the sides what opens their records; return why that cannot be, None also where secrets may come yet."""
        version, found = chosen.versions[0], suite(chosen.suites[0])
        if version not in (TLS_1_2, TLS_1_3) or found is None or found.modern != (version == TLS_1_3):
            return Why.UNSUPPORTED
        if not self.keys:
            return Why.NO_KEYS
        secrets = self._secrets(self.keys, asked, chosen)
        if secrets is None:  # they may come yet
            self.keys.awaits(self)
            return None
        try:
            from kdbg.streams.tls import openers
        except ImportError:
            return Why.NO_LIBRARY
        if version == TLS_1_2:
            pair = openers.openers_12(
                found, secrets[0], asked.random, chosen.random, encrypt_then_mac=chosen.encrypt_then_mac
            )
            for side, opener in zip((client, server), pair, strict=True):
                side.use([opener], at_once=False)
            return None
        for side, of_side in ((client, secrets[::2]), (server, secrets[1::2])):
            keys: list[Opener] = [openers.Sealed13(found, secret) for secret in of_side if secret]
            side.use(keys, at_once=True)
        return None

    def _bound(self, side: TlsDirection) -> Sequence[BoundKey]:
        """Return the keys that go by the ends of the connection, for the records of a side."""
        sender = self.sides.index(side)
        return self.keys.bound(self.ends[sender], self.ends[1 - sender]) if self.keys else ()

    def _open_late(self, side: TlsDirection, record: Record) -> bool:
        """Find what opens the records of a side from one in the middle of the connection on."""
        bound = self._bound(side)
        if len(bound) <= self._tried.get(side, 0):
            return False
        self._tried[side] = len(bound)
        try:
            from kdbg.streams.tls.recovery.record_number import opener_at
        except ImportError:
            return False
        for key in bound:
            if (found := opener_at(key, SealedRecord(*record[:3]))) is not None:
                self._late = key[0]
                side.use_from(*found)
                return True
        return False

    def _secrets(self, keys: Keys, asked: Hello, chosen: Hello) -> list[bytes] | None:
        """Return the master secret (TLS 1.2); or (TLS 1.3) the client's and the server's of the handshake, b"" where
        they are not known, and of what follows. None where the keys that were given do not tell."""
        secrets = keys.find(asked.random) or {}
        if not self._is_1_3:
            master = secrets.get("CLIENT_RANDOM") or (keys.find(chosen.session) or {}).get("MASTER_SECRET")
            return [master] if master is not None else None
        needed = [secrets.get(label) for label in TRAFFIC]
        handshake = [secrets.get(label, b"") for label in HANDSHAKE]
        return [*handshake, *filter(None, needed)] if all(needed) else None

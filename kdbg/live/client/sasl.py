"""SASL mechanisms as conversations of tokens: PLAIN (RFC 4616), SCRAM (RFC 5802, by scramp), OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...errors import Closed, InputError, NotAuthenticated
from ...protocol.grammars import by_key as api
from ...protocol.grammars.errors import describe
from .connection import Connection
from .settings import Sasl, show
from .versions import Versions, choose

if TYPE_CHECKING:
    from scramp import ScramException


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

MOST_ITERATIONS = 1_000_000
"""Of SCRAM's key derivation, which a broker asks for (RFC 5802, section 5.1); Kafka's own limit is 16,384."""


class Rejected(Exception):
    """One end does not believe the other; no secret stands in the text."""


class Mechanism(Protocol):
    """What the client says first, and what it says to each challenge; None when it has nothing more to say.

    Raises `Rejected` for a challenge that ends it.
    """

    def first(self) -> bytes: ...

    def next(self, challenge: bytes) -> bytes | None: ...


def mechanism(sasl: Sasl) -> Mechanism:
    """Return the mechanism of these settings; `InputError` for one that kdbg lacks, or that lacks a secret."""
    name = sasl.mechanism.upper()
    if name not in MECHANISMS:
        raise InputError(f"unknown SASL mechanism {sasl.mechanism!r}; use one of {', '.join(MECHANISMS)}")
    if name == "OAUTHBEARER":
        if not sasl.token:
            raise InputError("OAUTHBEARER requires a token; use --sasl-token-file or KDBG_SASL_TOKEN")
        return _OAuthBearer(sasl.token)
    if not sasl.username:
        raise InputError(f"{name} requires a user name; use --sasl-username")
    return _Plain(sasl) if name == "PLAIN" else _Scram(name, sasl)


class _Plain:
    def __init__(self, sasl: Sasl) -> None:
        self.sasl = sasl

    def first(self) -> bytes:
        return f"\0{self.sasl.username}\0{self.sasl.password}".encode()

    def next(self, challenge: bytes) -> bytes | None:
        return None


class _Scram:
    """Both ends prove that they know the password: the broker's proof comes last."""

    def __init__(self, name: str, sasl: Sasl) -> None:
        from scramp import ScramClient, ScramException

        try:
            self.client = ScramClient([name], sasl.username, sasl.password)
        except ScramException as error:
            raise InputError(f"{name}: invalid user name or password: {error}") from None
        self.begun = False

    def first(self) -> bytes:
        return bytes(self.client.get_client_first().encode())

    def next(self, challenge: bytes) -> bytes | None:
        from scramp import ScramException

        try:
            if self.begun:
                self.client.set_server_final(challenge.decode())
                return None
            self.begun = True
            self._bound(challenge)
            self.client.set_server_first(challenge.decode())
            return bytes(self.client.get_client_final().encode())
        except ScramException as error:
            raise Rejected(_complaint(error)) from None
        except ValueError:
            raise Rejected("the broker sent an invalid SCRAM message") from None

    def _bound(self, challenge: bytes) -> None:
        """Raise `Rejected` for more than MOST_ITERATIONS iterations: deriving the key blocks the event loop."""
        for part in challenge.split(b","):
            if part[:2] == b"i=" and part[2:].isdigit() and int(part[2:100]) > MOST_ITERATIONS:
                raise Rejected(f"the broker requires more than {MOST_ITERATIONS:,} iterations, the limit of kdbg")


def _complaint(error: ScramException) -> str:
    """Return what scramp objects to, in kdbg's words where they are clearer."""
    text = str(error)
    if "signature doesn't match" in text:
        return "server authentication failed: the broker's SCRAM signature is wrong"
    return text[:1].lower() + text[1:].replace(".: ", ": ")


class _OAuthBearer:
    """One message; a broker that does not like it says why, and wants that acknowledged before it refuses."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.complaint = ""

    def first(self) -> bytes:
        return f"n,,\x01auth=Bearer {self.token}\x01\x01".encode()

    def next(self, challenge: bytes) -> bytes | None:
        if self.complaint:
            raise Rejected(f"the broker rejected the token: {self.complaint}")
        self.complaint = challenge.decode(errors="replace")
        return b"\x01" if challenge else None


WRONG_SECRET = "check the user name, the password and the mechanism"
HANDSHAKE, AUTHENTICATE = 17, 36
UNSUPPORTED_MECHANISM, ILLEGAL_STATE = 33, 34


async def authenticate(connection: Connection, sasl: Sasl, known: Versions | None = None) -> None:
    """Authenticate on an open connection; `NotAuthenticated` with the broker's reason where that fails.

    Brokers before 1.0 know no SaslAuthenticate, which `known` tells: they take the tokens alone.
    """
    talk = mechanism(sasl)
    raw = sasl.raw or (known is not None and AUTHENTICATE not in known)
    try:
        await _shake_hands(connection, sasl, 0 if raw else 1)
        await (_raw(connection, talk) if raw else _framed(connection, talk, choose(api(AUTHENTICATE), known or {})))
    except Rejected as error:
        raise _failed(connection, sasl, str(error)) from None
    except Closed as error:
        raise _failed(connection, sasl, error.problem) from None


async def _shake_hands(connection: Connection, sasl: Sasl, version: int) -> None:
    body = await connection.ask(api(HANDSHAKE), version, {"mechanism": sasl.mechanism.upper()})
    if body["error_code"] == UNSUPPORTED_MECHANISM:
        offered = ", ".join(body["mechanisms"]) or "none"
        problem = f"the broker does not support this SASL mechanism; it offers {offered}"
        raise _failed(connection, sasl, problem, "choose one with --sasl-mechanism")
    if body["error_code"] == ILLEGAL_STATE:
        problem = f"the handshake failed with {describe(ILLEGAL_STATE)}: this listener does not use SASL"
        raise _failed(connection, sasl, problem, "omit the SASL options, or use the port of a SASL listener")
    if body["error_code"]:
        raise _failed(connection, sasl, f"the handshake failed with {describe(body['error_code'])}")


async def _framed(connection: Connection, talk: Mechanism, version: int) -> None:
    """Exchange tokens in SaslAuthenticate (KIP-152); `Rejected` for an error code in an answer."""
    token: bytes | None = talk.first()
    while token is not None:
        body = await connection.ask(api(AUTHENTICATE), version, {"auth_bytes": token})
        if body["error_code"]:
            raise Rejected(body["error_message"] or describe(body["error_code"]))
        token = talk.next(body["auth_bytes"])


async def _raw(connection: Connection, talk: Mechanism) -> None:
    """Exchange tokens without Kafka headers, as after SaslHandshake v0."""
    token: bytes | None = talk.first()
    while token is not None:
        exchange = await connection.answer(connection.send_token(token))
        assert exchange.response is not None, "every token has a response"
        token = talk.next(exchange.response.data)


def _failed(connection: Connection, sasl: Sasl, problem: str, remedy: str = WRONG_SECRET) -> NotAuthenticated:
    for secret in filter(None, (sasl.password, sasl.token)):  # a broker may say anything, that too
        problem = problem.replace(secret, "***")
    return NotAuthenticated(show(connection.address), f"SASL {sasl.mechanism.upper()}: {problem}", remedy)

"""SASL mechanisms as conversations of tokens: PLAIN (RFC 4616), SCRAM (RFC 5802, by scramp), OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any, TypeAlias

from ...errors import Closed, InputError, NotAuthenticated
from ...protocol.grammars import by_key as api
from ...protocol.grammars.errors import describe
from .connection import Connection
from .routes import Versions, choose
from .settings import Sasl, show

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MOST_ITERATIONS = 1_000_000
"""Of SCRAM's key derivation, which a broker asks for (RFC 5802, section 5.1); Kafka's own limit is 16,384."""


class Rejected(Exception):
    """One end does not believe the other; no secret stands in the text."""


Talk: TypeAlias = Generator[bytes, bytes, None]
"""A mechanism: yields what the client says, and is sent the broker's challenges, until it has nothing more to say.

Raises `Rejected` for a challenge that ends it.
"""


def mechanism(sasl: Sasl) -> Talk:
    """Return the mechanism of these settings; `InputError` for one that kdbg lacks, or that lacks a secret."""
    name = sasl.mechanism.upper()
    if name not in MECHANISMS:
        raise InputError(f"unknown SASL mechanism {sasl.mechanism!r}; use one of {', '.join(MECHANISMS)}")
    if name == "OAUTHBEARER":
        if not sasl.token:
            raise InputError("OAUTHBEARER requires a token; use --sasl-token-file or KDBG_SASL_TOKEN")
        return _oauthbearer(sasl.token)
    if not sasl.username:
        raise InputError(f"{name} requires a user name; use --sasl-username")
    if name == "PLAIN":
        return _plain(sasl)
    from scramp import ScramClient, ScramException

    try:
        return _scram(ScramClient([name], sasl.username, sasl.password))
    except ScramException as error:
        raise InputError(f"{name}: invalid user name or password: {error}") from None


def _plain(sasl: Sasl) -> Talk:
    yield f"\0{sasl.username}\0{sasl.password}".encode()


def _scram(client: Any) -> Talk:
    """Both ends prove that they know the password: the broker's proof comes last."""
    from scramp import ScramException

    try:
        challenge = yield client.get_client_first().encode()
        for part in challenge.split(b","):  # deriving the key blocks the event loop
            if part[:2] == b"i=" and part[2:].isdigit() and int(part[2:100]) > MOST_ITERATIONS:
                raise Rejected(f"the broker requires more than {MOST_ITERATIONS:,} iterations, the limit of kdbg")
        client.set_server_first(challenge.decode())
        challenge = yield client.get_client_final().encode()
        client.set_server_final(challenge.decode())
    except ScramException as error:
        text = str(error)
        if "signature doesn't match" in text:
            raise Rejected("server authentication failed: the broker's SCRAM signature is wrong") from None
        raise Rejected(text[:1].lower() + text[1:].replace(".: ", ": ")) from None
    except ValueError:
        raise Rejected("the broker sent an invalid SCRAM message") from None


def _oauthbearer(token: str) -> Talk:
    """One message; a broker that does not like it says why, and wants that acknowledged before it refuses."""
    complaint = yield f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    if complaint:
        yield b"\x01"
        raise Rejected(f"the broker rejected the token: {complaint.decode(errors='replace')}")


WRONG_SECRET = "check the user name, the password and the mechanism"
HANDSHAKE, AUTHENTICATE = 17, 36
UNSUPPORTED_MECHANISM, ILLEGAL_STATE = 33, 34


async def authenticate(connection: Connection, sasl: Sasl, known: Versions | None = None) -> None:
    """Authenticate on an open connection; `NotAuthenticated` with the broker's reason where that fails.

    Brokers before 1.0 know no SaslAuthenticate, which `known` tells: they take the tokens alone.
    """
    talk = mechanism(sasl)
    raw = sasl.raw or (known is not None and AUTHENTICATE not in known)
    version = choose(api(AUTHENTICATE), known or {})

    async def ask(token: bytes) -> bytes:
        """Send a token in SaslAuthenticate (KIP-152), or `raw` without Kafka headers, as after SaslHandshake v0; return
        the challenge. `Rejected` for an error code."""
        if raw:
            exchange = await connection.answer(connection.send_frame(token))
            assert exchange.response is not None, "every token has a response"
            return exchange.response.data
        body = await connection.ask(api(AUTHENTICATE), version, {"auth_bytes": token})
        if body["error_code"]:
            raise Rejected(body["error_message"] or describe(body["error_code"]))
        challenge: bytes = body["auth_bytes"]
        return challenge

    try:
        await _shake_hands(connection, sasl, 0 if raw else 1)
        with suppress(StopIteration):
            token = next(talk)
            while True:
                token = talk.send(await ask(token))
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


def _failed(connection: Connection, sasl: Sasl, problem: str, remedy: str = WRONG_SECRET) -> NotAuthenticated:
    for secret in filter(None, (sasl.password, sasl.token)):  # a broker may say anything, that too
        problem = problem.replace(secret, "***")
    return NotAuthenticated(show(connection.address), f"SASL {sasl.mechanism.upper()}: {problem}", remedy)

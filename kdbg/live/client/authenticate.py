"""SASL on an open connection: the handshake, then tokens, raw or in SaslAuthenticate (KIP-43, KIP-152)."""

from __future__ import annotations

from ...errors import Closed, NotAuthenticated
from ...protocol.grammars import by_key as api
from ...protocol.grammars.errors import describe
from .connection import Connection
from .sasl import Mechanism, Rejected, mechanism
from .settings import Sasl, show
from .versions import Versions, choose

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

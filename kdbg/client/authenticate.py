"""SASL on an open connection: the handshake, then tokens, raw or in SaslAuthenticate (KIP-43, KIP-152)."""

from __future__ import annotations

from typing import Any

from ..errors import Closed, NotAuthenticated
from ..grammars import api
from ..session.exchange import Exchange
from .connection import Connection
from .sasl import Mechanism, mechanism
from .settings import Sasl, show

UNSUPPORTED_MECHANISM = 33


async def authenticate(connection: Connection, sasl: Sasl) -> None:
    """Prove who the client is; `NotAuthenticated` with the broker's reason where it does not believe it."""
    talk = mechanism(sasl)
    await _shake_hands(connection, sasl, 0 if sasl.raw else 1)
    try:
        await (_raw(connection, talk) if sasl.raw else _framed(connection, talk))
    except ValueError as error:
        raise _failed(connection, sasl, f"the broker could not prove that it knows the password: {error}") from None
    except Closed:
        raise _failed(connection, sasl, "the broker hung up instead of answering") from None


async def _shake_hands(connection: Connection, sasl: Sasl, version: int) -> None:
    exchange = await connection.answer(
        connection.send(api("sasl-handshake"), version, {"mechanism": sasl.mechanism.upper()})
    )
    body = _body(exchange)
    if body.get("error_code") == UNSUPPORTED_MECHANISM:
        offered = ", ".join(body.get("mechanisms") or ()) or "none"
        raise _failed(
            connection, sasl, f"the broker does not take it; it offers {offered}", "choose one with --sasl-mechanism"
        )
    if body.get("error_code"):
        raise _failed(connection, sasl, f"the handshake ended in error {body['error_code']}")


async def _framed(connection: Connection, talk: Mechanism) -> None:
    """Tokens in SaslAuthenticate (KIP-152)."""
    token: bytes | None = talk.first()
    while token is not None:
        body = _body(await connection.answer(connection.send(api("sasl-authenticate"), 1, {"auth_bytes": token})))
        if body.get("error_code"):
            reason = body.get("error_message") or f"error {body['error_code']}"
            raise NotAuthenticated(
                show(connection.address), f"not authenticated: {reason}", "see whether user and password are right"
            )
        token = talk.next(body.get("auth_bytes") or b"")


async def _raw(connection: Connection, talk: Mechanism) -> None:
    """Tokens alone, as after SaslHandshake v0."""
    token: bytes | None = talk.first()
    while token is not None:
        exchange = await connection.answer(connection.send_token(token))
        assert exchange.response is not None
        token = talk.next(exchange.response.data)


def _body(exchange: Exchange) -> dict[str, Any]:
    message = exchange.response.message() if exchange.response is not None else None
    return message.body if message is not None else {}


def _failed(connection: Connection, sasl: Sasl, problem: str, remedy: str = "") -> NotAuthenticated:
    hint = remedy or "see whether user, password and mechanism are right"
    return NotAuthenticated(show(connection.address), f"SASL {sasl.mechanism.upper()}: {problem}", hint)

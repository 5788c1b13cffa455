"""SaslHandshake and SaslAuthenticate: who logs in, by which mechanism, for how long, and what it is told."""

from __future__ import annotations

from typing import Any

from ....exchanges.messages.exchange import Exchange
from ..accounts import Accounts
from ..evidence import Mark
from ..sessions import KafkaConnection

Body = dict[str, Any]
USERS = ("user", "username", "n", "authentication_id")
"""Fields of a token that name the user."""


def handshake(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of SaslHandshake."""
    session.mechanism = asked.get("mechanism") or session.mechanism
    session.offered_mechanisms = tuple(told.get("mechanisms") or ()) or session.offered_mechanisms
    code = told.get("error_code", 0)
    if code and session.refused is None:
        session.refused = mark, code, None


def authenticate(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, told: Body, exchange: Exchange
) -> None:
    """Take an exchange of SaslAuthenticate; nothing is kept of its tokens but the user's name."""
    message = exchange.request.message() if exchange.request is not None else None
    if message is not None and isinstance(message.body, dict):
        token = getattr(message.body.get("auth_bytes"), "value", None)
        if isinstance(token, dict):
            user = next((token[name] for name in USERS if token.get(name)), None)
            session.user = str(user) if user else session.user
    code = told.get("error_code", 0)
    if code:
        if session.refused is None:
            session.refused = mark, code, told.get("error_message")
        return
    if told:
        session.authenticated.append(mark)
        del session.authenticated[:-64]
        session.lifetime = told.get("session_lifetime_ms") or session.lifetime


READERS = {17: handshake, 36: authenticate}

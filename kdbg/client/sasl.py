"""SASL mechanisms as conversations of tokens: PLAIN (RFC 4616), SCRAM (RFC 5802, by scramp), OAUTHBEARER (RFC 7628)."""

from __future__ import annotations

from typing import Protocol

from ..errors import InputError
from .settings import Sasl

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


class Mechanism(Protocol):
    """What the client says first, and what it says to each challenge; None when it has nothing more to say.

    Raises ValueError for a challenge that proves the server wrong.
    """

    def first(self) -> bytes: ...

    def next(self, challenge: bytes) -> bytes | None: ...


def mechanism(sasl: Sasl) -> Mechanism:
    """The mechanism of these settings; `InputError` for one that kdbg does not have, or lacks a secret for."""
    name = sasl.mechanism.upper()
    if name not in MECHANISMS:
        raise InputError(f"no SASL mechanism {sasl.mechanism!r}; kdbg has {', '.join(MECHANISMS)}")
    if name == "OAUTHBEARER":
        if not sasl.token:
            raise InputError("OAUTHBEARER wants a token: --sasl-token-file, or the variable KDBG_SASL_TOKEN")
        return _OAuthBearer(sasl.token)
    if not sasl.username:
        raise InputError(f"{name} wants a user name: --sasl-username")
    return _Plain(sasl) if name == "PLAIN" else _Scram(name, sasl)


class _Plain:
    def __init__(self, sasl: Sasl) -> None:
        self.sasl = sasl

    def first(self) -> bytes:
        return f"\0{self.sasl.username}\0{self.sasl.password}".encode()

    def next(self, challenge: bytes) -> bytes | None:
        return None


class _Scram:
    def __init__(self, name: str, sasl: Sasl) -> None:
        from scramp import ScramClient

        self.client = ScramClient([name], sasl.username, sasl.password)
        self.rounds = 0

    def first(self) -> bytes:
        return bytes(self.client.get_client_first().encode())

    def next(self, challenge: bytes) -> bytes | None:
        from scramp import ScramException

        self.rounds += 1
        try:
            if self.rounds == 1:
                self.client.set_server_first(challenge.decode())
                return bytes(self.client.get_client_final().encode())
            self.client.set_server_final(challenge.decode())
        except ScramException as error:
            raise ValueError(str(error)) from None
        return None


class _OAuthBearer:
    def __init__(self, token: str) -> None:
        self.token = token

    def first(self) -> bytes:
        return f"n,,\x01auth=Bearer {self.token}\x01\x01".encode()

    def next(self, challenge: bytes) -> bytes | None:
        return b"\x01" if challenge else None  # a challenge is the server's complaint; this ends it politely

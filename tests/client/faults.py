"""One request, and the one line that it must fail with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kdbg.errors import ClientError
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.connection import Connection
from kdbg.live.client.settings import Address, Settings
from kdbg.protocol import grammars

from .servers import Peer, metadata

QUICK = Settings(timeout=0.25)
PATIENT = Settings(timeout=10)
METADATA = grammars.api("metadata")
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request"


async def ask(address: Address, settings: Settings = PATIENT, **kwargs: object) -> Exchange:
    """One Metadata request on a connection of its own."""
    connection = await Connection.open(address, settings, **kwargs)  # type: ignore[arg-type]
    try:
        return await connection.answer(connection.send(METADATA, 1, {"topics": []}))
    finally:
        await connection.close()


@contextmanager
def fails(kind: type[ClientError], *words: str) -> Iterator[None]:
    """What follows ends in one line that names the address, what happened, and what to try."""
    with pytest.raises(kind) as caught:
        yield
    error, line = caught.value, str(caught.value)
    assert type(error) is kind
    assert "\n" not in line
    assert line.startswith(f"{error.address}: {error.problem}")
    for word in words:
        assert word in line


async def answered(peer: Peer, *brokers: tuple[int, Address]) -> None:
    """Answer every request as a broker would."""
    while True:
        peer.tell(metadata(await peer.request(), *brokers))

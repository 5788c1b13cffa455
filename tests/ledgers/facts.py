"""Ledgers with one connection, and marks of exchanges, as tests here fill and read them."""

from __future__ import annotations

from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.ledgers.evidence import Mark, Occurrences
from kdbg.analysis.ledgers.sessions import KafkaConnection
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.peers import Peers

BROKER = ("10.0.0.2", 9092)
PEERS = Peers(1, ("10.0.0.1", 50000), BROKER, 1)


def mark(number: int = 1, time: int = 0, end: int | None = None, connection: int = 1) -> Mark:
    return Mark(number, time, time if end is None else end, connection)


def seen(*times: int) -> Occurrences:
    found = Occurrences()
    for number, time in enumerate(times, 1):
        found.add(mark(number, time, time + 1))
    return found


def book() -> tuple[Ledgers, KafkaConnection]:
    """Ledgers with one connection of the client shop."""
    ledgers = Ledgers(Engine().names_then)
    session = ledgers.session(PEERS)
    assert session is not None
    session.client_ids["shop"] += 1
    return ledgers, session

"""Who is who on connections: which software a client is, and which clients are brokers themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ledgers import Ledgers
    from ..ledgers.sessions import KafkaConnection

OF_BROKERS: frozenset[int] = frozenset((4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82))
"""APIs that brokers and controllers alone use."""


def software_by_client(book: Ledgers) -> dict[tuple[str, str], str]:
    """Return the software of client ids and hosts, where all their connections that say so say the same."""
    found: dict[tuple[str, str], str] = {}
    for session in book.sessions.values():
        if session.software:
            key = session.client_id, session.peers.client[0]
            found[key] = session.software if found.get(key, session.software) == session.software else ""
    return found


def is_broker(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether the asking end is a broker: it says so, by what it asks."""
    polls = book.polls.get(session.peers.number)
    return bool(OF_BROKERS & session.apis.keys()) or (polls is not None and polls.replica >= 0)

"""Where a connection can be taken up again by an engine that has seen nothing of it before."""

from __future__ import annotations

from ...streams.tcp.connection import Connection
from .framing import Framer


def quiescent_at(connection: Connection) -> tuple[int, int] | None:
    """Return the sequence numbers of the initiator's and the acceptor's next byte, where all before is done with.

    Every frame is complete, every request answered, and nothing waits to be told but exchanges that are complete;
    otherwise None.
    """
    sent, answered = connection.sent.quiescent, connection.answered.quiescent
    if sent is None or answered is None:
        return None
    if not all(isinstance(receiver, Framer) and receiver.quiescent for receiver, _ in (sent, answered)):
        return None
    return sent[1], answered[1]

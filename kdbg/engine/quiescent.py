"""Where a connection can be taken up again by a session that has seen nothing of it before."""

from __future__ import annotations

from ..tcp.table import Connection
from .framing import Framer
from .sides import RequestSide, ResponseSide


def at_rest(connection: Connection) -> tuple[int, int] | None:
    """The sequence numbers of the initiator's and the acceptor's next byte, where all before them is done with.

    Every frame is complete, every request answered, and nothing waits to be told; otherwise None.
    """
    sent, answered = connection.sent.resting, connection.answered.resting
    if sent is None or answered is None:
        return None
    for receiver, _ in (sent, answered):
        if not isinstance(receiver, Framer) or not receiver.resting:
            return None
        owner = receiver.owner
        if not isinstance(owner, RequestSide | ResponseSide) or not owner.conversation.resting:
            return None
    return sent[1], answered[1]

"""What is to be done with the two ends of a connection: bytes, waits, holds and ends, in the order of a queue.

`PendingRequest` is a request on its way; `HoldServer` is what a screen is to a relay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ..capture.write import Buffer
from ..exchanges.engine.requests import RequestHeader
from ..protocol.wire import Api
from ..protocol.wire.language import Direction
from ..protocol.wire.readings.endpoints import EndpointsReader


class Send(NamedTuple):
    """Bytes for an end. `seen` is what kdbg shows of them: the broker's own words, where addresses were rewritten."""

    data: Buffer
    seen: Buffer


class Wait(NamedTuple):
    """Time to pass before what stands behind it in the queue, in seconds."""

    seconds: float


class HangUp(NamedTuple):
    """The connection is to be closed, both ends of it; what stands before it in the queue still goes out."""


class Hold:
    """A message that stays where it is, and all behind it, until `then` says what goes in its place."""

    then: list[Effect] | None

    def __init__(self, asked: PendingRequest, direction: Direction, data: bytes, since: float) -> None:
        self.asked, self.direction, self.data, self.since = asked, direction, data, since
        self.then = None


Effect: TypeAlias = "Send | Wait | HangUp | Hold"
Out: TypeAlias = "deque[Effect]"


class PendingRequest:
    """A request on its way. `data` is the whole of it where a fault may concern it, without its size.

    `answer` is what kdbg answers in the broker's place, a frame; the broker never sees the request then. `answered` is
    False where none is wanted (acks=0). `own`: kdbg sent it, and the client sees nothing of its answer.
    """

    answered: bool
    endpoints: EndpointsReader | None

    __slots__ = ("answer", "answered", "api", "correlation_id", "data", "endpoints", "own", "version")
    data: bytes | None
    answer: bytes | None

    def __init__(self, header: RequestHeader | None, answered: bool, endpoints: EndpointsReader | None) -> None:
        self.api: Api | None = header.api if header is not None else None
        self.version: int | None = header.version if header is not None else None
        self.correlation_id: int | None = header.correlation_id if header is not None else None
        self.answered, self.endpoints = answered, endpoints
        self.data = self.answer = None
        self.own = False


class HoldServer(Protocol):
    """What holds messages of a relay."""

    @property
    def wants(self) -> bool:
        """Whether any message may be held; they all come whole then."""

    def hold(self, asked: PendingRequest, direction: Direction, data: bytes) -> Hold | None:
        """Return what stands in the queue for a message, without its size, that is held; None for one that is not."""

    def repeated(self, asked: PendingRequest) -> None:
        """Take note of a request of kdbg's own, which goes out now."""


def pending(outs: Sequence[Out]) -> int:
    """Return how many bytes stand in queues."""
    return sum(len(one.data) for out in outs for one in out if isinstance(one, (Send, Hold)))

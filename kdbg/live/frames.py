"""The bytes of one direction in, the same bytes out: passed on as they come, or frame by frame on request.

What comes out, put together, is what went in. Only the front of a frame is waited for, and frames that are held whole.
What is to be done with an end of a connection stands in a queue: bytes, waits, holds and ends, in their order.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol, TypeAlias

from ..budget import MEMORY, SMALL
from ..capture.write import Buffer
from ..exchanges.engine.requests import RequestHeader
from ..protocol.wire import Api
from ..protocol.wire.language import Direction
from ..protocol.wire.readings.endpoints import EndpointsReader

SIZE = struct.Struct(">i")
"""The size in front of a frame."""
MAX_FRAME = 128 << 20
"""Bytes of the longest frame that a broker may send or take by any setting that is in use; a longer one is none."""
MAX_HELD = 64 << 20
"""Bytes of the longest frame that is held whole, if --max-memory allows it; longer ones are passed on as they come."""
SHARE = 16
"""Part of --max-memory that one frame may take."""


class Decision(Enum):
    """What becomes of a frame, said by whoever has seen its front."""

    PASS = auto()
    HOLD = auto()
    MORE = auto()
    """Not to be said yet: more bytes of it are needed."""
    NO_FRAME = auto()
    """These are no frames; all bytes from here on are passed on."""


class FramePiece(NamedTuple):
    """Bytes of a direction: a part of a frame, or with `whole` one that was held, its size in front."""

    data: Buffer
    whole: bool = False


Judge = Callable[[int, bytes], Decision]
"""Decides on a frame, given its size and the front of it, without the four bytes that say the size."""
FRONT = 1 << 10
"""Bytes of a frame that a judge is shown at most; with so many, or all there are, it must not ask for more."""


class Kept:
    """Bytes that wait for more. They stay in the pieces they came in: one large buffer that grows is moved again and
    again, and leaves gaps that take several times its memory."""

    def __init__(self) -> None:
        self._pieces: list[bytearray] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, data: Buffer) -> None:
        """Keep a copy of bytes; small ones share a piece."""
        if self._pieces and len(self._pieces[-1]) + len(data) <= SMALL:
            self._pieces[-1] += data
        elif data:
            self._pieces.append(bytearray(data))

    def take(self) -> bytes:
        """Return all, and keep nothing."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


class Frames:
    """One direction. `judge` is called for each frame until it decides; `lost` says that frames are no longer cut.

    Frames that are passed on come out together, as the bytes that went in, unless they are wanted `singly`.
    """

    lost: bool = False

    def __init__(self, judge: Judge, *, singly: bool = False) -> None:
        self._judge, self._singly = judge, singly
        self._rest = 0
        self._wanted = 4
        self._holding = False
        self._held = Kept()

    @property
    def waiting(self) -> int:
        """Bytes that came and were not given out yet."""
        return len(self._held)

    @property
    def inside(self) -> bool:
        """Whether the last piece given out was a part of a frame whose end is still to come."""
        return self._rest > 0

    @property
    def holds(self) -> bool:
        """Whether a part of a frame is held until the rest has come."""
        return self._holding

    def feed(self, data: Buffer) -> Iterator[FramePiece]:
        """Yield what can be passed on now that these bytes came: views, of a view."""
        if self.lost or len(data) <= self._rest:
            self._rest -= len(data)
            yield FramePiece(data)
            return
        if self._held:
            self._held.add(data)
            if len(self._held) < self._wanted:
                return
            data = self._held.take()
        given, at, self._rest = 0, self._rest, 0
        if at and self._singly:
            yield FramePiece(data[:at])
            given = at
        while len(data) - at >= self._wanted:
            if self._holding:
                if at > given:
                    yield FramePiece(data[given:at])
                end = at + self._wanted
                self._wanted, self._holding = 4, False
                yield FramePiece(data[at:end], True)
                given = at = end
                continue
            size = int.from_bytes(data[at : at + 4], signed=True)
            decision = Decision.NO_FRAME
            if 0 <= size <= MAX_FRAME:
                decision = self._judge(size, bytes(data[at + 4 : at + 4 + min(size, FRONT)]))
            if decision is Decision.MORE:
                break
            if decision is Decision.NO_FRAME:
                self.lost = True
                at = len(data)
            elif decision is Decision.HOLD and size <= min(MAX_HELD, MEMORY.limit // SHARE):
                self._wanted, self._holding = 4 + size, True
            else:
                self._rest = max(at + 4 + size - len(data), 0)
                at = min(at + 4 + size, len(data))
                if self._singly:
                    yield FramePiece(data[given:at])
                    given = at
        if at > given:
            yield FramePiece(data[given:at])
        self._held.add(data[at:])

    def let_go(self) -> Iterator[FramePiece]:
        """Yield what has come of a frame that was to be held whole; its rest is passed on as it comes."""
        if self._holding:
            data = self._held.take()
            self._rest, self._wanted, self._holding = self._wanted - len(data), 4, False
            yield FramePiece(data)

    def end(self) -> Iterator[FramePiece]:
        """Yield what was awaited and never came: no more bytes come."""
        if self._held:
            yield FramePiece(self._held.take())


class Send(NamedTuple):
    """Bytes for an end. `seen` is what kdbg shows of them: the broker's own words, where addresses were rewritten."""

    data: Buffer
    seen: Buffer


class Wait(NamedTuple):
    """Time to pass before what follows it in the queue, in seconds."""

    seconds: float


class HangUp(NamedTuple):
    """The connection is to be closed, both ends of it; what stands before it in the queue still goes out."""


@dataclass(eq=False)
class Hold:
    """A message that stays where it is, and all after it, until `then` says what goes in its place."""

    asked: PendingRequest
    direction: Direction
    data: bytes
    since: float
    then: list[Effect] | None = None


Effect: TypeAlias = "Send | Wait | HangUp | Hold"
Out: TypeAlias = "deque[Effect]"


class PendingRequest:
    """A request on its way. `data` is the whole of it where a fault may concern it, without its size.

    `answer` is what kdbg answers in the broker's place, a frame; the broker never sees the request then. `answered` is
    False where none is wanted (acks=0). `own`: kdbg sent it, and the client sees nothing of its answer.
    """

    __slots__ = ("answer", "answered", "api", "correlation_id", "data", "endpoints", "own", "version")
    data: bytes | None
    answer: bytes | None

    def __init__(self, header: RequestHeader | None, answered: bool, endpoints: EndpointsReader | None) -> None:
        self.api: Api | None = header.api if header is not None else None
        self.version: int | None = header.version if header is not None else None
        self.correlation_id: int | None = header.correlation_id if header is not None else None
        self.answered = answered
        self.endpoints = endpoints
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


class Connection(Protocol):
    """A connection that holds bytes."""

    def let_go(self) -> None:
        """Keep no message whole any more, and report what is left."""


class Load:
    """The bytes of all connections: of messages that are kept whole, and of queues. More than `most` is too much.

    Messages are passed on in parts then, those of the connection that keeps most first. What stands in queues must be
    delivered: while `is_high`, connections whose queues hold anything are read no further, the others in small parts.
    """

    lost: int = 0
    total: int = 0

    def __init__(self, most: int | None = None, short: Callable[[int], None] = lambda lost: None) -> None:
        """Make an empty one; `short` gets the number of messages so far that passed without their faults and holds."""
        self.most: int = MEMORY.connections if most is None else most
        self._short = short
        self._kept: dict[Connection, int] = {}
        self._queued: dict[Connection, int] = {}

    @property
    def is_high(self) -> bool:
        """Whether connections hold more than they may."""
        return self.total > self.most

    def lose(self, messages: int) -> None:
        """Count messages that pass without their faults and holds."""
        if messages:
            self.lost += messages
            self._short(self.lost)

    def report(self, connection: Connection, kept: int, queued: int) -> None:
        """Take note of what a connection holds now; let go of messages where that is too much."""
        for amounts, size in ((self._kept, kept), (self._queued, queued)):
            self.total += size - amounts.pop(connection, 0)
            if size:
                amounts[connection] = size
        while self.is_high and self._kept:
            largest = max(self._kept, key=self._kept.__getitem__)
            before = self._kept[largest]
            if before <= SMALL:
                break
            largest.let_go()
            if self._kept.get(largest, 0) >= before:
                break

"""The one way from packets to the exchanges that a command wants, for files, pipes, archives and live traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import NamesThen
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import MASK
from ..messages.exchange import Exchange
from ..messages.peers import Peers
from .direction import HOLD
from .framing import Framer

FEW = 16
"""With fewer exchanges than so many at a time, they are large."""


def quiescent_at(connection: Connection) -> tuple[int, int] | None:
    """Return the sequence numbers of the initiator's and the acceptor's next byte, where all before is done with.

    Every frame is complete, every request answered, and nothing waits to be told but exchanges that are complete;
    otherwise None.
    """
    sent, answered = connection.sent, connection.answered
    for stream in (sent, answered):
        if not (stream.regular and isinstance(stream.receiver, Framer) and stream.receiver.quiescent):
            return None
    return sent.due & MASK, answered.due & MASK


PAUSE = HOLD / 1e9
"""Seconds after which a source that is waited on should give an empty block."""
Fits: TypeAlias = Callable[[Exchange], bool]
Choose: TypeAlias = Callable[[], "Fits | None"]


class Pairing(Protocol):
    """What makes exchanges of blocks of something: `Engine` of packets, `Conversations` of the lines of a log."""

    @property
    def connections(self) -> int: ...
    @property
    def other_connections(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def findings(self) -> list[tuple[Peers, Finding]]: ...

    topic_names: dict[UUID, str]
    names_then: NamesThen

    def chunks(self, blocks: Iterable[Any], /) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete, those of a block together."""


class Drive:
    """Iterate once over the exchanges of the packets in `blocks` that are wanted, one by one or by `chunks`.

    `done` is called with wanted exchanges once the caller is finished with them. `choose` is called when the first
    exchange is there, and so the first packet's time; it returns what says whether an exchange is wanted, or None: all
    are. `hear` is called with every exchange before that is yielded, `leave_out` with those that are not wanted. `left`
    is how many more are wanted, None for all: the iteration ends after the last, without another block, or after the
    exchange of the number `last`. `seen` counts exchanges, `wanted` those of them that were wanted.

    Names of topic ids are in `engine.names_then`, as they were known when the exchange at hand was returned; whoever
    takes chunks goes to that moment by `Exchange.names`. Findings that belong to no exchange are in `engine.findings`,
    those of the capture itself in its `problems`.
    """

    engine: Pairing
    seen: int
    wanted: int
    last: int | None
    is_split: bool = False
    """Whether the caller has several processes `select` the exchanges that are wanted: all those here are yielded."""

    def __init__(
        self,
        engine: Pairing,
        blocks: Iterable[Sequence[Any]],
        choose: Choose,
        *,
        left: int | None = None,
        hear: Callable[[Exchange], None] | None = None,
        leave_out: Callable[[Exchange], None] = lambda exchange: None,
        done: Callable[[Sequence[Exchange]], None] = lambda exchanges: None,
        last: int | None = None,
    ) -> None:
        self.engine, self.left, self.last = engine, left, last
        self._chunks_of = engine.chunks
        self._over = False
        self._fits: Fits | None = None
        self.seen = self.wanted = 0
        self._blocks, self._choose, self._hear, self._done, self._leave_out = blocks, choose, hear, done, leave_out

    def split(self, chunks: Callable[[Iterable[Any]], Iterator[list[Exchange]]]) -> None:
        """Let this take the place of the engine's `chunks`: it has other processes take most exchanges."""
        self._chunks_of, self.is_split = chunks, True

    @property
    def reads_all(self) -> bool:
        """Whether no exchange ends the reading and none is heard, so that the order of processing does not matter."""
        return self._hear is None and self.left is None and self.last is None

    def __iter__(self) -> Iterator[Exchange]:
        at = self.engine.names_then.at
        for chunk in self._chunks():
            for exchange in chunk:
                at(exchange.names)
                try:
                    yield exchange
                finally:  # also where no more are asked for
                    self._done((exchange,))

    def chunks(self) -> Iterator[list[Exchange]]:
        """Yield the wanted exchanges, those together that one block of packets completes."""
        for chunk in self._chunks():
            yield chunk
            self._done(chunk)

    def _chunks(self) -> Iterator[list[Exchange]]:
        if self.left is not None and self.left <= 0:
            return
        for number, chunk in enumerate(self._chunks_of(self._blocks)):
            if not number:
                self._fits = self._choose()
            if not self.is_split:
                chunk = self.select(chunk)
            if chunk:
                yield chunk
            if self.left == 0 or self._over:
                return

    def select(self, exchanges: list[Exchange]) -> list[Exchange]:
        """Return those of some exchanges that are wanted, up to the last one that is; count them."""
        fits, hear = self._fits, self._hear
        if fits is None and self.reads_all:
            found, seen = exchanges, len(exchanges)
        else:
            at, found, seen = self.engine.names_then.at, list[Exchange](), 0
            for exchange in exchanges:
                seen += 1
                at(exchange.names)
                wanted = fits is None or fits(exchange)
                if hear is not None:
                    hear(exchange)
                if wanted:
                    found.append(exchange)
                    if self.left is not None:
                        self.left -= 1
                else:
                    self._leave_out(exchange)
                self._over = exchange.number == self.last
                if self._over or (wanted and self.left == 0):
                    break
        self.seen += seen
        self.wanted += len(found)
        return found

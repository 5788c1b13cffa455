"""The one way from packets to the exchanges that somebody wants, for files, pipes, archives and live traffic alike.

    decode, report, library, a task of Spark:  blocks of packets ──► Drive(engine, …) ──► exchanges, each final

A source that is waited on (a pipe from tcpdump, an interface, a proxy) gives an empty block when nothing has come for a
while: what is complete is handed out then, and not held until the next packet comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from ..capture.packet import Packet
from ..messages.exchange import Exchange
from .engine import Engine
from .sides import HOLD

PAUSE = HOLD / 1e9
"""Seconds after which a source that is waited on should give an empty block."""
Fits: TypeAlias = Callable[[Exchange], bool]


def _nobody_hears(exchange: Exchange, wanted: bool) -> None:
    """Do nothing: what `hear` is unless the caller gives another."""


class Drive:
    """Iterate once over the exchanges of the packets in `blocks` that are wanted.

    `choose` is called when the first exchange is there, and so the first packet's time; it returns what says whether an
    exchange is wanted. `hear` is called with every exchange, and whether it is wanted, before that is yielded. `left`
    is how many more are wanted, None for all: the iteration ends behind the last, without another block.

    What is odd and belongs to no exchange is in `engine.findings`; what a capture itself has, its `problems` say.
    """

    engine: Engine

    def __init__(
        self,
        engine: Engine,
        blocks: Iterable[Sequence[Packet]],
        choose: Callable[[], Fits],
        *,
        left: int | None = None,
        hear: Callable[[Exchange, bool], None] = _nobody_hears,
    ) -> None:
        self.engine, self.left = engine, left
        self._blocks, self._choose, self._hear = blocks, choose, hear

    def __iter__(self) -> Iterator[Exchange]:
        if self.left is not None and self.left <= 0:
            return
        fits: Fits | None = None
        hear = self._hear
        for exchange in self.engine.run(self._blocks):
            if fits is None:
                fits = self._choose()
            wanted = fits(exchange)
            hear(exchange, wanted)
            if not wanted:
                continue
            if self.left is not None:
                self.left -= 1
            yield exchange
            if self.left == 0:
                return

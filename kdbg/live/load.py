"""What the connections of a proxy hold in memory together, bounded by --max-memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from ..budget import MEMORY, SMALL


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
    most: int
    total: int = 0

    def __init__(self, most: int | None = None, short: Callable[[int], None] = lambda lost: None) -> None:
        """Make an empty one; `short` gets the number of messages so far that passed without their faults and holds."""
        self.most = MEMORY.connections if most is None else most
        self._short = short
        self._kept = Counter[Connection]()
        self._queued = Counter[Connection]()

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
            self.total += size - amounts[connection]
            amounts[connection] = size
            if not size:
                del amounts[connection]
        while self.is_high and self._kept:
            largest = max(self._kept, key=self._kept.__getitem__)
            before = self._kept[largest]
            if before <= SMALL:
                break
            largest.let_go()
            if self._kept[largest] >= before:
                break

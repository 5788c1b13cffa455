"""Exchanges worked on by several processes, some of them at a time: by the one that pairs them, and by its copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ..messages.exchange import Exchange
from ..messages.serialization import Parcels
from .forks import Forks, Show

MOST, FEW = 256, 16
"""Exchanges of a piece of work; with fewer than so many at a time, they are large, and make a piece at once."""


class ExchangePool:
    """Takes exchanges by `add`; a subclass says in `do` what is to be done, and takes in `take` what came of it.

    What is shown of them goes to `show`; `topics` are the names of topic ids, which grow; `most` exchanges are a piece.
    """

    def __init__(self, copies: int, topics: dict[UUID, str], show: Show, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._exchanges: list[Exchange] = []
        self._parcels = Parcels(topics)
        self._forks: Forks[list[Exchange]] = Forks(copies, self, show)

    def do(self, exchanges: list[Exchange], show: Show) -> Any:
        """Work on exchanges, here or in a copy; return what `take` wants to know."""
        raise NotImplementedError

    def take(self, result: Any) -> None:
        """Take what `do` returned; in this process, in the order of exchanges, behind all that was shown."""
        raise NotImplementedError

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges; work on those at hand where there are enough."""
        self._exchanges += exchanges
        if len(self._exchanges) >= self._most or len(exchanges) < FEW:
            self._give()

    def wait(self) -> None:
        """Wait until all is done."""
        self._give()
        self._forks.wait()

    def close(self) -> None:
        """Let go of what is not done yet."""
        self._forks.close()

    def _give(self) -> None:
        exchanges, self._exchanges = self._exchanges, []
        if exchanges:
            self._forks.give(exchanges)

    def pack(self, exchanges: list[Exchange], copy: int) -> Iterable[bytes]:
        """Return exchanges as bytes, for a copy."""
        return self._parcels.pack(exchanges, copy)

    def do_packed(self, packed: bytes, show: Show) -> Any:
        """Work on exchanges in a copy."""
        return self.do(self._parcels.unpack(packed), show)

"""Messages that were read are remembered by whom they were read of; large ones no longer than memory allows."""

from __future__ import annotations

from typing import Final, Protocol

from ...budget import MEMORY

LARGE: Final = 1 << 20
"""Bytes of memory from which on it is seen to that a message is not remembered for long."""


class Half(Protocol):
    """Who remembers a message that was read."""

    def forget(self) -> None:
        """Forget it: it is read again when it is asked for."""


class Remembered:
    """The halves whose messages were read and are large: those read first forget theirs where all take too much."""

    def __init__(self) -> None:
        self._halves: dict[Half, int] = {}

    def remember(self, half: Half, taken: int) -> None:
        """Take note of a half whose message takes so much memory, in bytes."""
        self._halves.pop(half, None)
        self._halves[half] = taken
        while len(self._halves) > 1 and sum(self._halves.values()) > MEMORY.message // 4:
            oldest = next(iter(self._halves))
            del self._halves[oldest]
            oldest.forget()


REMEMBERED: Final = Remembered()

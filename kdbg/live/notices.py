"""Lines about trouble that comes again and again: the first at once, then at most one a second, with a count."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..protocol.findings.amounts import count

EVERY = 1.0
"""Seconds between two lines."""


class Notices:
    """Gives `say` the lines of trouble; `clock` is seconds. A line that has to wait is counted, not kept."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._next = float("-inf")
        self._left_out = 0

    def say(self, line: str) -> None:
        """Say a line, unless another was said within the last second."""
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = f" ({count(self._left_out, 'more line')} suppressed)" if self._left_out else ""
        self._next, self._left_out = now + EVERY, 0
        self._say(line + more)

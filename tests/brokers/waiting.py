"""Waiting for something that happens elsewhere: as short as possible, never for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 0.05
TIMEOUT = 90.0


class NotReady(RuntimeError):
    """It did not happen in time; the message ends with what the process logged last."""


def until(happened: Callable[[], object], problem: Callable[[], str], timeout: float = TIMEOUT) -> None:
    """Return once it happened; `problem` says what went wrong if it doesn't."""
    deadline = time.monotonic() + timeout
    while not happened():
        if time.monotonic() > deadline:
            raise NotReady(f"after {timeout:g} s: {problem()}")
        time.sleep(PAUSE)

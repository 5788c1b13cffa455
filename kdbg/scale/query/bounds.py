"""Bounds of what SQL may take: seconds, memory, files.

DuckDB bounds the memory of its own buffers, but not that of one value, such as `range(1000000000)`. So the system
bounds it as well, as long as DuckDB is at work: an allocation that is too large fails, and DuckDB says so.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from ...budget import MEMORY
from ...errors import InputError

PART = 2
"""DuckDB's buffers may take one part of so many of the memory that kdbg may take."""
SMALLEST = 1e-3
"""Seconds that are always left, so that the error comes from DuckDB."""


class Bounds(NamedTuple):
    """`seconds` that each question may take (None: any), and whether SQL may name `files` beside the given ones."""

    seconds: float | None = None
    files: bool = False


class Watch:
    """Interrupts a question that takes more than its seconds; only time inside `running` counts."""

    def __init__(self, seconds: float | None, interrupt: Callable[[], None]) -> None:
        self.seconds: float | None = seconds
        self._left = seconds
        self._interrupt = interrupt

    def begin(self) -> None:
        """Begin a question: all seconds are left."""
        self._left = self.seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make a context in which the question runs, within its seconds and its memory."""
        if self._left is None:
            with memory():
                yield
            return
        timer = threading.Timer(max(self._left, SMALLEST), self._interrupt)
        timer.daemon = True
        begun = monotonic()
        timer.start()
        try:
            with memory():
                yield
        finally:
            timer.cancel()
            self._left -= monotonic() - begun

    def refusal(self) -> InputError:
        """Return the error for a question that was interrupted."""
        return InputError(f"the query exceeds {self.seconds:g} s; raise --timeout, or select less")


@contextmanager
def memory() -> Iterator[None]:
    """Make a context in which the process allocates no more than `--max-memory` beside what it has; on Linux alone."""
    try:
        import resource

        has = int(re.findall(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[0]) << 10
    except (ImportError, OSError, IndexError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = has + MEMORY.limit
    for bound in before:
        most = most if bound == resource.RLIM_INFINITY else min(most, bound)
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)

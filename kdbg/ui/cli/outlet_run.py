"""Captures whose exchanges go to outlets alone: `kdbg export --otlp`, `kdbg stats --format prometheus`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...exchanges.engine.direction import Depth
from ...exchanges.filters.filter_set import Filters
from .outlets import Outlet
from .output import Writer
from .runner import Captures


class OutletRun(Captures):
    """Hands on the exchanges of one file after the other; then writes what `result` gives, if anything does."""

    reads_logs = True
    timed = True

    def __init__(
        self, filters: Filters, writer: Writer, outlets: Sequence[Outlet], depth: Depth,
        result: Callable[[], bytes] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(filters, writer)
        self.outlets, self._depth, self._result = outlets, depth, result

    @property
    def depth(self) -> Depth:  # type: ignore[override]  # of a run that is made once
        """How far all messages are read."""
        return "shallow" if self.filters.asks else self._depth

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Hand on what is in a capture, and count what is odd in it."""
        with self.driven(capture, name) as drive:
            for chunk in drive.chunks():
                self.hand_on(chunk)
                if drive.engine.findings:
                    self.tell(drive.engine, name)

    def close(self) -> None:
        """Write what came of it, and say what was read."""
        if self._result is not None:
            self.writer.write(self._result())
        super().close()

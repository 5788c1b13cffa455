"""Where spans go: a file of OTLP's JSON lines, or a collector; at once, or by a thread that holds nobody up.

A file is always written at once. For a collector what waits is bounded: live traffic loses spans rather than time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from ...errors import ClientError
from .otlp_json import line
from .span import Attributes, Span

if TYPE_CHECKING:
    from .collector import Collector

BATCH: Final = 512
"""Spans that are sent, or written as a line, together."""
WAITING: Final = 64
"""Batches that wait for a collector; more are lost."""
PATIENCE: Final = 5.0
"""Seconds that a collector has to take what is left at the end."""


class Sink(Protocol):
    """Takes spans, some together; `sent` and `lost` count them so far. `target` is how it is called."""

    target: str
    sent: int
    lost: int

    def take(self, spans: list[Span]) -> None:
        """Take spans; raise one of kdbg's errors, or `OSError`, where that cannot be."""

    def close(self) -> None:
        """Have all taken where it goes, as far as that can be."""


class Writable(Protocol):
    """A file that is open for writing bytes."""

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> None: ...


class FileSink:
    """Writes spans into a file that is open: a line for those that come together."""

    def __init__(self, target: str, file: Writable, resource: Attributes) -> None:
        self.target, self._file, self._resource = target, file, resource
        self.sent = self.lost = 0

    def take(self, spans: list[Span]) -> None:
        self._file.write(line(spans, self._resource))
        self._file.flush()
        self.sent += len(spans)

    def close(self) -> None:
        self._file.flush()


class CollectorSink:
    """Sends spans to a collector, and waits for its answer; raises `CannotConnect` or `WrongAnswer`."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.target: str = collector.url
        self.sent = self.lost = 0

    def take(self, spans: list[Span]) -> None:
        self._collector.send(spans)
        self.sent += len(spans)

    def close(self) -> None:
        self._collector.close()


class Behind:
    """Sends spans to a collector from a thread of its own: whoever gives them never waits.

    `tell` is called, by that thread, with a line on the first spans that are lost, and when a collector is back.
    """

    def __init__(self, collector: Collector, tell: Callable[[str], object]) -> None:
        self._collector, self._tell = collector, tell
        self.target: str = collector.url
        self.sent = self.lost = 0
        self._queue: deque[list[Span]] = deque()
        self._change = threading.Condition()
        self._over = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def take(self, spans: list[Span]) -> None:
        with self._change:
            if len(self._queue) >= WAITING:
                self.lost += len(spans)
            else:
                self._queue.append(spans)
                self._change.notify_all()

    def close(self) -> None:
        with self._change:
            self._over = True
            self._change.notify_all()
        self._thread.join(PATIENCE)
        self._collector.close()  # which ends a try that goes on
        self._thread.join(PATIENCE)
        with self._change:
            self.lost += sum(map(len, self._queue))
            self._queue.clear()

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._queue and not self._over:
                    self._change.wait()
                if not self._queue:
                    return
                spans = self._queue.popleft()
            try:
                self._collector.send(spans)
            except ClientError as error:
                self._came_to(len(spans), str(error))
            else:
                self._came_to(len(spans), "")

    def _came_to(self, count: int, trouble: str) -> None:
        with self._change:
            if trouble:
                self.lost += count
            else:
                self.sent += count
            changed, self._failing = bool(trouble) is not self._failing, bool(trouble)
        if changed:
            self._tell(f"spans are dropped: {trouble}" if trouble else f"{self.target} accepts spans again")

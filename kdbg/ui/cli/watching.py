"""A stream of packets, shown while it comes: what `kdbg watch`, the proxy and others that are live have in common.

    run = Watching(format, look, Writer(live=True), filters, "lo", stop)
    run.watch(stream)          # until the stream ends; returns the exit status

The stream is a pcap or pcapng file without an end, such as `live.outflow` writes into a pipe. Exchanges are shown as
`kdbg decode -` shows them, as soon as they are complete; one of which more might come, a short time later, by the clock
on the wall. What was left out of the stream, because it came faster than it is shown, is said where it is missing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, BinaryIO, Self

from ...capture import Capture
from ...capture.source import open_source
from ...exchanges.engine.driver import seldom_collected
from ...exchanges.filters.filter_set import Filters
from ...views.render.style import Look
from . import INTERRUPTED, drop_output
from .decoding import DecodeRun
from .outlets import Outlet
from .output import Writer
from .runner import LOST
from .stream_run import Streaming


class Watching(Streaming, DecodeRun):
    """Shows what a stream of packets says, while it comes.

    `stop` is called when the first Ctrl-C, or SIGTERM, comes: it has the stream end, of which all is shown that is in
    it by then. The second one ends at once, whatever is still to be shown. `name` is how the stream is called in what
    is said about it.
    """

    stop: Callable[[], object]
    at_once = True

    def __init__(
        self, format: str, look: Look, writer: Writer, filters: Filters, name: str, stop: Callable[[], object]
    ) -> None:
        super().__init__(format, look, writer, filters)
        self.name, self.stop = name, stop
        self.stopped: float | None = None
        """When the first Ctrl-C came, by the monotonic clock."""

    def beside(self, outlets: Sequence[Outlet]) -> Self:
        """Hand exchanges to outlets, too, which know where their time went; return the run."""
        self.outlets, self.timed = outlets, bool(outlets)
        return self

    def watch(self, stream: BinaryIO) -> int:
        """Show all of the stream; print the closing line, and return the exit status.

        It must have a descriptor, and hold nothing back: `os.fdopen(fd, "rb", buffering=0)`. Raise `CaptureError` for
        one that ends before it has begun.
        """
        with self.heard():
            try:
                with seldom_collected(), Capture(open_source(stream)) as capture:
                    self.files += 1
                    self.read(capture, self.name)
            except KeyboardInterrupt:
                self.status = INTERRUPTED
            if self.stopped is not None:
                self.status = INTERRUPTED
            self.ended()
            self.close()
        return self.status

    def ended(self) -> None:
        """Take notice that all is shown; the closing line comes behind."""

    def closing(self) -> list[str]:
        """Return the parts of the closing line; that nothing is missing is said, too, if it is known."""
        none = all(self.counts.get(noun) == 0 for noun in LOST)
        return super().closing() + ["no packets lost"] * none

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Make a context in which Ctrl-C and SIGTERM are heard as the class says; in a thread they are not."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._hear) for number in signals]
        try:
            yield
        finally:
            for each, was in zip(signals, before, strict=True):
                signal.signal(each, was)

    def _hear(self, number: int, frame: Any) -> None:
        if self.stopped is None:
            self.stopped = monotonic()
            self.stop()
        else:
            drop_output()  # which may be what does not take any more
            raise KeyboardInterrupt

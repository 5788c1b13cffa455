"""Makes the exchanges of a capture, and writes its index on the way: from the beginning, or from where one ended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...capture import Capture, open_capture
from ...errors import KdbgError
from . import checkpoint
from .cache import find, identity, load
from .layout import Summary, Unfit
from .writer import Before, IndexWriter

if TYPE_CHECKING:
    from ...capture.pcap import RawPacket
    from ...exchanges.engine.engine import Engine
    from ...exchanges.messages.exchange import Exchange


class Recorded:
    """Makes the exchanges that an engine makes, and writes the index of the capture that they are from.

    Where the capture gets no index, or that cannot be written, `problem` says why, and the exchanges come all the same.
    """

    problem: str = ""
    path: Path | None = None
    _writer: IndexWriter | None = None

    def __init__(
        self, engine: Any, capture: Capture, path: Path | None = None, *, before: Before | None = None
    ) -> None:
        self._engine: Engine = engine
        with self._noting():
            self._writer = IndexWriter(capture, engine, path, before)
            capture.batch = self._batch

    @classmethod
    def resumed(cls, capture: Capture, path: Path | None = None) -> Recorded | None:
        """Return what reads on where the index of a capture ends that was written when it was shorter; None without."""
        known = identity(capture.source)
        found = find(capture.source, known, shorter=True) if known is not None else None
        if found is None:
            return None
        file, summary = found
        try:
            start, size, *_ = summary.checkpoint or (0, 0)
            state = checkpoint.load(os.pread(file, size, start), capture.source.raw.fileno(), capture.secrets(None))
            capture.resume(state["position"], state["starts"][-1], state["read"])
            return cls(state["engine"], capture, path, before=(file, summary, state))
        except Unfit:
            return None
        finally:
            os.close(file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def _batch(self, data: bytes, raw: list[RawPacket]) -> None:
        if self._writer is not None:
            with self._noting():
                self._writer.batch(data, raw)

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete."""
        try:
            for chunk in self._engine.chunks(blocks):
                if self._writer is not None:
                    with self._noting():
                        self._writer.chunk(chunk)
                yield chunk
                if self._writer is not None:
                    self._writer.taken = len(self._engine.findings)  # who takes them empties the list
            if self._writer is not None:
                with self._noting():
                    self._writer.commit()
                    self.path, self._writer = self._writer.path, None
        finally:
            self._drop()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Give up the index where it cannot be written."""
        try:
            yield
        except (Unfit, KdbgError, OSError, OverflowError) as error:
            self.problem = str(error)
            self._drop()

    def _drop(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.drop()


def extended(name: str) -> tuple[int, Summary] | None:
    """Read what a capture has more than when its index was written; return the new index as `cache.load` does.

    None where there is no index of the shorter capture.
    """
    with open_capture(name) as capture:
        recorded = Recorded.resumed(capture)
        if recorded is not None:
            for _ in recorded.chunks(capture.blocks()):
                recorded.findings.clear()
            if recorded.path is not None:
                return load(recorded.path)
    return None

"""An engine whose exchanges go into an index on their way to the command that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...capture import Capture
from ...errors import KdbgError
from ...exchanges.messages.exchange import Exchange
from .writer import IndexWriter, Unfit

if TYPE_CHECKING:
    from ...exchanges.engine.driver import Pairing


class Recorded:
    """Makes the exchanges that an engine makes, and writes the index of the capture that they are from.

    Where the capture gets no index, or that cannot be written, `problem` says why, and the exchanges come all the same.
    """

    problem: str = ""
    path: Path | None = None

    def __init__(self, engine: Any, capture: Capture, path: Path | None = None) -> None:
        self._engine: Pairing = engine
        self._writer: IndexWriter | None = None
        try:
            self._writer = IndexWriter(capture, engine.known.searches, path)
        except (Unfit, KdbgError, OSError, OverflowError) as error:
            self.problem = str(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete."""
        findings = self._engine.findings
        told = 0
        try:
            for chunk in self._engine.chunks(blocks):
                self._try(partial(IndexWriter.chunk, engine=self._engine, exchanges=chunk, found=findings[told:]))
                yield chunk
                told = len(findings)  # who takes them empties the list
            self._try(partial(IndexWriter.commit, engine=self._engine, found=findings[told:]))
            if self._writer is not None:
                self.path, self._writer = self._writer.path, None
        finally:
            self._drop()

    def _try(self, write: Callable[[IndexWriter], None]) -> None:
        """Have something written; give up the index where that fails."""
        if self._writer is not None:
            try:
                write(self._writer)
            except (Unfit, KdbgError, OSError, OverflowError) as error:
                self.problem = str(error)
                self._drop()

    def _drop(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.drop()

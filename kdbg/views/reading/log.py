"""The entries of a broker's file, one after another: batches of a log, entries of an index, lines of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from ...capture.source import Source
from ...errors import CaptureError, InputError
from ...exchanges.filters.filter import ValueForm, matcher, pattern
from ...exchanges.filters.filter_set import Filters
from ...exchanges.filters.table import FILTERS
from ...exchanges.messages.message import Message
from ...payloads.segments import File, SegmentPiece
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ..render.style import Look
from ..render.text import html
from ..render.views import view


@dataclass(frozen=True)
class LogEntry:
    """One entry: `message` says what is in it, None for bytes that are none; `number` counts entries from 1."""

    number: int
    piece: SegmentPiece
    message: Message | None
    file: File
    name: str

    @property
    def position(self) -> int:
        """The place of its first byte in the file."""
        return self.piece.position

    @property
    def size(self) -> int:
        """Its bytes in the file."""
        return self.piece.size

    @property
    def findings(self) -> list[Finding]:
        """What is odd about it."""
        return self.piece.odd(self.message)

    def to_dict(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """Return what `kdbg decode --format json` prints of it, as dicts, lists, strings and numbers."""
        found: dict[str, Any] = orjson.loads(self.text("json", look=Look(show_secrets=show_secrets)))
        return found

    def text(self, format: str = "tree", *, look: Look | None = None) -> str:
        """Return it in one of the views of `kdbg decode`."""
        show = view(format).piece
        if show is None:
            raise InputError(f"the format {format!r} cannot show a {self.file.kind.title}")
        message = self.message
        if message is not None and self.file.is_log:  # views turn keys and values of records into text in place
            message = self.file.kind.message(self.piece)
        text = show(look or Look(width=100), self.file, self.name)(self.number, self.piece, message)
        return text.decode() if isinstance(text, bytes) else text

    def __repr__(self) -> str:
        odd = f" {count(len(self.findings), 'finding')}" if self.findings else ""
        return f"<LogEntry {self.number} at byte {self.position}, {count(self.size, 'byte')}{odd}>"

    def _repr_html_(self) -> str:
        """Return the tree for a notebook."""
        return html(self.text())


def entries(source: Source, file: File, filters: Filters) -> Iterator[LogEntry]:
    """Yield the entries of a file that pass the filters, no more than their limit."""
    chosen, left = PieceSelection(source.name, file, filters), filters.limit
    if left == 0 or not chosen.topic:
        return
    pieces = (piece for piece in file.pieces() if not piece.padding)
    for number, piece in enumerate(pieces, 1):
        message = None if piece.zeros else file.kind.message(piece)
        if chosen.passes(piece, message):
            yield LogEntry(number, piece, message, file, source.name)
            if left is not None and (left := left - 1) == 0:
                return


class PieceSelection:
    """Which pieces of a file the filters let through.

    Raises `CaptureError` for a filter that the file cannot be asked: nobody would miss what it let through.
    """

    def __init__(self, name: str, file: File, filters: Filters) -> None:
        self.file: File = file
        self.filters: Filters = filters
        self._dated: Filters | None = None
        asked = {one for one in filters.given if not FILTERS[one].pieces}
        asked |= {"topic"} if filters.topic and not file.place.topic else set()
        if not file.kind.timed:
            asked |= {one for one in filters.given if FILTERS[one].form is ValueForm.MOMENT}
        if asked:
            options = ", ".join(f"--{one.replace('_', '-')}" for one in sorted(asked))
            raise CaptureError(name, f"{options} cannot filter a {file.kind.title}", f"omit {options}")

    @property
    def topic(self) -> bool:
        """Whether the file is of a topic that is wanted."""
        wanted, topic = self.filters.topic, self.file.place.topic
        return not wanted or (topic is not None and matcher([pattern(each) for each in wanted])((topic,)))

    def passes(self, piece: SegmentPiece, message: Message | None) -> bool:
        """Whether a piece is wanted."""
        filters = self.filters
        if filters.errors and not piece.odd(message):
            return False
        if filters.since is None and filters.until is None:
            return True
        times = self.file.kind.times(message) if message is not None else None
        if times is None:
            return False
        if self._dated is None:  # the first piece with a time tells which day is meant
            self._dated = filters.dated(times[0] * 1_000_000)
        since, until = self._dated.since, self._dated.until
        return (since is None or times[1] >= since * 1000) and (until is None or times[0] <= until * 1000)

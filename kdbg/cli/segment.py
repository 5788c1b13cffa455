"""Files of a broker's disk in `kdbg decode`: recognised, their pieces filtered, shown and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..capture.source import Source
from ..errors import CaptureError
from ..filters.chosen import Filters
from ..filters.filter import Form
from ..filters.table import FILTERS
from ..findings import Finding, Kind
from ..findings.facts import CaptureTrouble
from ..messages.message import Message
from ..render.values import escape
from ..segments import File, Piece, more_wanted, open_file
from ..wire.readings.outline import count_records
from .filters import option_name

if TYPE_CHECKING:
    from .run import Run


def recognised(source: Source) -> File | None:
    """The file that a source is, if it is one of a broker's disk; nothing of it is used up."""
    head = source.feed.ahead(1)
    while more_wanted(head):
        seen, head = head, source.feed.ahead(len(head) + 1)
        if head == seen:
            break
    return open_file(source.name, head, source.stream.read1)


class SegmentRun:
    """Decodes one file; what is shown, counted and said goes through the `Run` that it is part of."""

    def __init__(self, run: Run, source: Source, file: File) -> None:
        self.run, self.source, self.file = run, source, file
        self.dated: Filters | None = None
        """The filters, once a piece has told which day it is."""
        self.refuse()

    def refuse(self) -> None:
        """Filters that a file cannot meet are refused, not passed over: nobody would miss what they let through."""
        filters, kind = self.run.filters, self.file.kind
        if self.run.view.piece is None:
            raise CaptureError(self.source.name, f"is a {kind.title}, which this view does not show", "choose another")
        asked = {name for name in filters.given if not FILTERS[name].pieces}
        asked |= {"topic"} if filters.topic and not self.file.place.topic else set()
        if not kind.timed:
            asked |= {name for name in filters.given if FILTERS[name].form is Form.MOMENT}
        if asked:
            options = ", ".join(map(option_name, sorted(asked)))
            problem = f"is a {kind.title}, which {options} cannot select from"
            raise CaptureError(self.source.name, problem, "leave that out")

    def __enter__(self) -> SegmentRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def decode(self) -> None:
        """Show the pieces that pass the filters, and count all."""
        run, file = self.run, self.file
        if run.filters.topic and file.place.topic not in run.filters.topic:
            return
        assert run.view.piece is not None, "refused before"
        run.writer.write(run.view.piece_header(run.look, file))
        render = run.view.piece(run.look, file, self.source.name)
        for number, (piece, message) in enumerate(self.read() if run.left != 0 else (), 1):
            if self.passes(piece, message):
                run.left = None if run.left is None else run.left - 1
                run.counts["shown"] += 1
                run.writer.write(render(number, piece, message))
            if run.left == 0:
                return
        if trouble := self.source.feed.trouble:
            run.note(Finding(Kind.CAPTURE, facts=CaptureTrouble(trouble)))
            run.say(f"{escape(self.source.name)}: {escape(trouble)}")

    def read(self) -> Iterator[tuple[Piece, Message | None]]:
        """The pieces with what they say, counted; zeros say nothing, and are passed over where they are padding."""
        run, kind = self.run, self.file.kind
        for piece in self.file.pieces():
            message = None if piece.zeros else kind.message(piece, shallow=run.view.shallow)
            for finding in piece.odd(message):
                run.note(finding)
            run.counts["bytes"] += piece.size
            run.counts["zeros"] += piece.zeros
            if message is not None and piece.whole:
                run.counts["batches" if self.file.is_log else "entries"] += 1
                run.counts["records"] += count_records(message.body.get("records", ()))
            if not piece.padding or run.view.data:
                run.counts["pieces"] += 1
                yield piece, message

    def passes(self, piece: Piece, message: Message | None) -> bool:
        """Whether a piece is to be shown."""
        run = self.run
        if run.filters.errors and not piece.odd(message):
            return False
        if run.filters.since is None and run.filters.until is None:
            return True
        times = self.file.kind.times(message) if message is not None else None
        if times is None:
            return False
        if self.dated is None:
            self.dated = run.filters.dated(times[0] * 1_000_000)
        since, until = self.dated.since, self.dated.until
        return (since is None or times[1] >= since * 1000) and (until is None or times[0] <= until * 1000)


def closing(counts: Counter[str]) -> list[str]:
    """What the closing line says of the files of a broker's disk."""
    plurals = {"batches": "batch", "records": "record", "entries": "entry", "bytes": "byte"}
    parts = [f"{counts[many]:,} {many if counts[many] != 1 else one}" for many, one in plurals.items() if counts[many]]
    return [*(parts or ["empty"]), *([f"{counts['zeros']:,} of them zero"] if counts["zeros"] else [])]

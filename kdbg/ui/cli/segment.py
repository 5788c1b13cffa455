"""Files of a broker's disk in `kdbg decode`: recognised, their pieces filtered, shown and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from ...capture.source import Source
from ...errors import CaptureError
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.message import Message
from ...payloads.segments import File, SegmentPiece
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import CaptureTrouble
from ...protocol.wire.readings.outline import count_records
from ...views.reading.log import PieceSelection
from ...views.render.style import Look
from ...views.render.values import escape
from ...views.render.views import View
from .output import Writer


class SegmentOwner(Protocol):
    """The run of `kdbg decode` that a file is part of: what is shown, counted and said goes through it."""

    view: View
    look: Look
    writer: Writer
    filters: Filters
    left: int | None
    counts: Counter[str]

    def note(self, finding: Finding) -> None:
        """Count a finding."""

    def say(self, text: str) -> None:
        """Say a line beside what is shown."""


class SegmentRun:
    """Decodes one file; what is shown, counted and said goes through the `SegmentOwner` that it is part of."""

    run: SegmentOwner
    source: Source
    file: File

    def __init__(self, run: SegmentOwner, source: Source, file: File) -> None:
        self.run, self.source, self.file = run, source, file
        if run.view.piece is None:
            raise CaptureError(
                source.name, f"a {file.kind.title}, which this format cannot show", "choose another --format"
            )
        self.chosen: PieceSelection = PieceSelection(source.name, file, run.filters)

    def decode(self) -> None:
        """Show the pieces that pass the filters, and count all."""
        run, file = self.run, self.file
        if not self.chosen.topic:
            return
        assert run.view.piece is not None, "refused before"
        run.writer.write(run.view.piece_header(run.look, file))
        render = run.view.piece(run.look, file, self.source.name)
        for number, (piece, message) in enumerate(self.read() if run.left != 0 else (), 1):
            if self.chosen.passes(piece, message):
                run.left = None if run.left is None else run.left - 1
                run.counts["shown"] += 1
                run.writer.write(render(number, piece, message))
            if run.left == 0:
                return
        if trouble := self.source.feed.trouble:
            run.note(Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(trouble)))
            run.say(f"{escape(self.source.name)}: {escape(trouble)}")

    def read(self) -> Iterator[tuple[SegmentPiece, Message | None]]:
        """Yield the pieces of the file with their messages, and count them; zeros have no message.

        Zeros that are padding are counted too, but yielded only for a view for programs.
        """
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


def closing(counts: Counter[str]) -> list[str]:
    """Return the closing line's parts on files of a broker's disk: batches, records, entries, bytes."""
    plurals = {"batches": "batch", "records": "record", "entries": "entry", "bytes": "byte"}
    parts = [f"{counts[many]:,} {many if counts[many] != 1 else one}" for many, one in plurals.items() if counts[many]]
    return [*(parts or ["empty"]), *([f"{counts['zeros']:,} of them zero"] if counts["zeros"] else [])]

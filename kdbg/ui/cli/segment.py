"""Files of a broker's disk, read piece by piece: `kdbg decode` shows pieces, `kdbg records` the records in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import CaptureError
from ...exchanges.messages.message import Message
from ...payloads.segments import SegmentPiece
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import CaptureTrouble
from ...protocol.wire.readings.outline import count_records
from ...views.reading import BrokerFile
from ...views.reading.log import PieceSelection
from ...views.render.values import escape

if TYPE_CHECKING:
    from .exchange_output import ExchangeOutput
    from .runner import Runner


class Segment:
    """Reads the pieces of one file; what is odd in them is counted by the runner. `records`: it must hold records."""

    def __init__(self, runner: Runner, disk: BrokerFile, *, records: bool = False) -> None:
        self.runner, self.source, self.file = runner, disk.source, disk.file
        if records and not self.file.is_log:
            raise CaptureError(self.source.name, f"a {self.file.kind.title}, which contains no records", "omit it")
        self.selection: PieceSelection = PieceSelection(disk.source.name, disk.file, runner.filters)

    def pieces(self, *, shallow: bool = False) -> Iterator[tuple[SegmentPiece, Message | None]]:
        """Yield the pieces of the file with their messages, whether they are wanted or not; zeros have no message."""
        for piece in self.file.pieces():
            message = None if piece.zeros else self.file.kind.message(piece, shallow=shallow)
            for finding in piece.odd(message):
                self.runner.findings.note(finding)
            yield piece, message

    def tell_trouble(self) -> None:
        """Say what is wrong with the file itself, once it is read to its end."""
        if trouble := self.source.feed.trouble:
            self.runner.findings.note(Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(trouble)))
            self.runner.say(f"{escape(self.source.name)}: {escape(trouble)}")


class SegmentOutput(Segment):
    """Shows the pieces of one file in the view of an output."""

    def __init__(self, runner: Runner, disk: BrokerFile, output: ExchangeOutput) -> None:
        self._view, self._look = output.view, output.look
        if self._view.piece is None:
            problem = f"a {disk.file.kind.title}, which this format cannot show"
            raise CaptureError(disk.source.name, problem, "choose another --format")
        super().__init__(runner, disk)

    def write(self) -> None:
        """Show the pieces that pass the filters, and count all."""
        runner, file, counts, number = self.runner, self.file, self.runner.counts, 0
        if not self.selection.topic:
            return
        assert self._view.piece is not None, "refused before"
        runner.writer.write(self._view.piece_header(self._look, file))
        render = self._view.piece(self._look, file, self.source.name)
        for piece, message in self.pieces(shallow=self._view.shallow) if runner.left != 0 else ():
            counts["bytes"] += piece.size
            counts["zeros"] += piece.zeros
            if message is not None and piece.whole:
                counts["batches" if file.is_log else "entries"] += 1
                counts["records"] += count_records(message.body.get("records", ()))
            if piece.padding and not self._view.data:
                continue  # only programs get it
            counts["pieces"] += 1
            number += 1
            if self.selection.passes(piece, message):
                runner.left = None if runner.left is None else runner.left - 1
                counts["shown"] += 1
                runner.writer.write(render(number, piece, message))
            if runner.left == 0:
                return
        self.tell_trouble()


def closing(counts: Counter[str]) -> list[str]:
    """Return the closing line's parts on files of a broker's disk: batches, records, entries, bytes."""
    plurals = {"batches": "batch", "records": "record", "entries": "entry", "bytes": "byte"}
    parts = [f"{counts[many]:,} {many if counts[many] != 1 else one}" for many, one in plurals.items() if counts[many]]
    return [*(parts or ["empty"]), *([f"{counts['zeros']:,} of them zero"] if counts["zeros"] else [])]

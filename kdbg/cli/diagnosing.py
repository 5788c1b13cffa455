"""One run of `kdbg diagnose`: captures through an engine into ledgers, judged at the end of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..capture import Capture
from ..diagnosis import diagnose
from ..filters.chosen import Filters
from ..findings import Finding
from ..findings.kinds import Severity
from ..ledgers import Ledgers
from ..logs.log import Log
from ..render.cases import CaseView, case_line
from ..render.look import Look
from ..render.values import escape
from . import UNDECODED
from .captures import Captures
from .output import Writer


class DiagnoseRun(Captures):
    """Judges one capture after the other; the status is 1 where something above a note was found."""

    look: Look
    hears_all = True

    def __init__(self, format: str, look: Look, writer: Writer, notes: bool = True, several: bool = False) -> None:
        super().__init__(Filters(), writer)
        self.look = look
        self.format: str = format
        self.notes: bool = notes
        self.several: bool = several
        self.ledgers: Ledgers | None = None

    def read(self, capture: Capture | Log, name: str) -> None:
        """Judge what is in a capture."""
        with self.driven(capture, name) as drive:
            ledgers = self.ledgers = Ledgers(drive.engine.names_then)
            for chunk in drive.chunks():
                ledgers.take(chunk)
                self._take_findings(ledgers)
            self._take_findings(ledgers)
        self.judge(ledgers, capture.source.name)

    def _take_findings(self, ledgers: Ledgers) -> None:
        """Take what belongs to no exchange away from the engine: it is told as part of a cause, or not at all."""
        ledgers.left_over(self.engine.findings)
        for _, finding in self.engine.findings:
            self.note(finding)
        self.engine.findings.clear()

    def blocks(self, capture: Capture | Log) -> Iterator[list[Any]]:
        """Yield the packets, which the ledgers see before the engine does."""
        for packets in super().blocks(capture):
            if self.ledgers is not None:
                self.ledgers.packets(packets)
            yield packets

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show what the rules find in the ledgers of a capture."""
        self.progress.hide()
        cases = [case for case in diagnose(ledgers) if self.notes or case.severity is not Severity.NOTE]
        if any(case.severity is not Severity.NOTE for case in cases) and not self.status:
            self.status = UNDECODED
        if self.format == "json":
            for case in cases:
                self.writer.write(case_line(case, file if self.several else None))
            return
        if self.several:
            self.writer.write(self.look.paint("heading", f"==> {escape(file)} <==") + "\n")
        for line in CaseView(self.look, file).lines(cases):
            self.writer.write(line)

    def note(self, finding: Finding) -> None:
        """Count a finding; it makes no exit status here."""
        self.findings[finding.kind] += 1

"""One run of `kdbg diagnose`: captures through an engine into ledgers, judged at the end of each."""

from __future__ import annotations

from ..diagnosis import diagnose
from ..findings.kinds import Severity
from ..ledgers import Ledgers
from ..render.cases import CaseView, case_line
from ..render.look import Look
from . import UNDECODED
from .judged import Judged
from .output import Writer


class DiagnoseRun(Judged):
    """Judges one capture after the other; the status is 1 where something above a note was found."""

    def __init__(self, format: str, look: Look, writer: Writer, notes: bool = True, several: bool = False) -> None:
        super().__init__(format, look, writer, several)
        self.notes: bool = notes

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show what the rules find in the ledgers of a capture."""
        cases = [case for case in diagnose(ledgers) if self.notes or case.severity is not Severity.NOTE]
        if any(case.severity is not Severity.NOTE for case in cases) and not self.status:
            self.status = UNDECODED
        if self.format == "json":
            for case in cases:
                self.writer.write(case_line(case, file if self.several else None))
            return
        self.headed(file)
        for line in CaseView(self.look, file).lines(cases):
            self.writer.write(line)

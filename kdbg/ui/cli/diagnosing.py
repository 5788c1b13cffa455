"""One run of `kdbg diagnose`: captures through an engine into ledgers, judged at the end of each."""

from __future__ import annotations

from ...analysis.ledgers import Ledgers
from ...exchanges.filters.filter_set import Filters
from ...views.render.style import Look
from . import UNDECODED
from .case_writer import Judge
from .ledger_run import LedgerRun
from .output import Writer


class DiagnoseRun(LedgerRun):
    """Judges one capture after the other; the status is 1 where something above a note was found."""

    def __init__(
        self, format: str, look: Look, writer: Writer, notes: bool = True, several: bool = False,
        filters: Filters | None = None,
    ) -> None:  # fmt: skip
        super().__init__(format, look, writer, several, filters)
        self.judging: Judge = Judge(format, look, writer, notes)

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show what the rules find in the ledgers of a capture."""
        if self.format != "json":
            self.headed(file)
        if self.judging.whole(ledgers, file, named=self.several) and not self.status:
            self.status = UNDECODED

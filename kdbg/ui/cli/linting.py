"""One run of `kdbg lint`: captures through an engine into ledgers, and every exchange before a linter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from ...analysis.diagnosis.lint import Linter, remark_object
from ...analysis.ledgers import Ledgers
from ...exchanges.engine.driver import Drive
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.kinds import Severity
from ...views.render.diagnosis import LintView
from ...views.render.style import Look
from . import UNDECODED
from .ledger_run import LedgerRun
from .output import Writer


class LintRun(LedgerRun):
    """Looks at one capture after the other; the status is 1 where something above a note was found."""

    def __init__(
        self, format: str, look: Look, writer: Writer, notes: bool = True, several: bool = False,
        filters: Filters | None = None,
    ) -> None:  # fmt: skip
        super().__init__(format, look, writer, several, filters)
        self.notes: bool = notes
        self.linter: Linter | None = None

    def chunks(self, drive: Drive) -> Iterator[Iterable[Exchange]]:
        """Yield the exchanges, and look at them once the ledgers have them."""
        self.linter = linter = Linter(self.ledgers) if self.ledgers is not None else None
        for chunk in super().chunks(drive):
            exchanges = list(chunk)
            yield exchanges
            if linter is not None:
                linter.take(exchanges)

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show what was found in a capture."""
        found = self.linter.remarks() if self.linter is not None else []
        remarks = [one for one in found if self.notes or one.lint.severity is not Severity.NOTE]
        if any(one.lint.severity is not Severity.NOTE for one in remarks) and not self.status:
            self.status = UNDECODED
        if self.format == "json":
            for remark in remarks:
                named = {"file": file} if self.several else {}
                self.writer.write(orjson.dumps({**remark_object(remark), **named}) + b"\n")
            return
        self.headed(file)
        for line in LintView(self.look).lines(remarks):
            self.writer.write(line)

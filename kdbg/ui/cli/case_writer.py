"""Ledgers judged for a person: all causes at the end, or those that are new while traffic goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.diagnosis import Case, diagnose
from ...analysis.ledgers import Ledgers
from ...protocol.findings.kinds import Severity
from ...views.render.diagnosis import CaseView, case_line
from ...views.render.style import Look
from .output import Writer


class Judge:
    """Writes what the rules find: as text, or as JSON with an object a line. `notes`: after-effects and notes, too."""

    def __init__(self, format: str, look: Look, writer: Writer, notes: bool = True) -> None:
        self.format: str = format
        self.look: Look = look
        self.writer: Writer = writer
        self.notes: bool = notes
        self._told: set[tuple[object, ...]] = set()
        self.found: list[Case] = []
        """All that was found when it was last looked."""

    def whole(self, ledgers: Ledgers, file: str, *, named: bool = False) -> bool:
        """Write all that is found; return whether something above a note is. `named`: JSON says of which capture."""
        self.found = diagnose(ledgers)
        return self.tell(self.found, file, file if named else None)

    def tell(self, cases: Sequence[Case], file: str, name: str | None) -> bool:
        """Write cases; return whether one is above a note.

        `file` is what shows the evidence, "" for none, and `name` what JSON calls the capture, None for nothing.
        """
        cases = [case for case in cases if self.notes or case.severity is not Severity.NOTE]
        if self.format == "json":
            for case in cases:
                self.writer.write(case_line(case, name))
        else:
            for line in CaseView(self.look, file).lines(cases):
                self.writer.write(line)
        return any(case.severity is not Severity.NOTE for case in cases)

    def news(self, ledgers: Ledgers, file: str) -> bool:
        """Write the causes above a note that were not written before; return whether there are any."""
        self.found = diagnose(ledgers)
        new = [case for case in self.found if case.severity is not Severity.NOTE and self._is_new(case)]
        for case in new:
            if self.format == "json":
                self.writer.write(case_line(case))
            else:
                for line in CaseView(self.look, file).one(case):
                    self.writer.write(line)
        return bool(new)

    def _is_new(self, case: Case) -> bool:
        key = (case.code, case.who.client_id, case.who.topic, case.who.group, case.who.transactional_id)
        if key in self._told:
            return False
        self._told.add(key)
        return True

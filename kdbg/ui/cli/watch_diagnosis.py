"""One run of `kdbg watch --diagnose`: what goes wrong on an interface, said when it is known."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

from ...analysis.ledgers import Ledgers
from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from . import UNDECODED
from .case_writer import Judge
from .interface import InterfaceRun

OFTEN = 2.0
"""Seconds between two looks at the ledgers while packets come."""
SHARE = 10
"""Times the last look's own time between two looks where nothing comes for now."""


class DiagnosedRun(InterfaceRun):
    """Says causes when they are found, and all of them once more at the end, with what has become of them."""

    fails_by_findings = False

    def judged_by(self, judge: Judge) -> DiagnosedRun:
        """Say who writes; return the run."""
        self.judge: Judge = judge
        self.ledgers: Ledgers | None = None
        self._looked: float = monotonic()
        self._cost: float = 0.0
        return self

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Judge what is captured, while it comes."""
        with self.driven(capture, name) as drive:
            ledgers = self.ledgers = Ledgers(drive.engine.names_then)
            for chunk in drive.chunks():
                ledgers.take(chunk)
                self.hand_on(chunk)
        if self.judge.whole(ledgers, "") and not self.status:
            self.status = UNDECODED
        self._tell_found()

    def blocks(self, capture: Capture | ApplicationLog) -> Iterator[list[Any]]:
        """Yield the packets, which the ledgers see before the engine does, and look at the ledgers now and then."""
        for packets in super().blocks(capture):
            ledgers = self.ledgers
            if ledgers is not None:
                ledgers.left_over(self.engine.findings)
                ledgers.packets(packets)
                if monotonic() - self._looked > (OFTEN if packets else SHARE * self._cost):
                    self._look(ledgers)
            yield packets

    def _look(self, ledgers: Ledgers) -> None:
        began = monotonic()
        self.judge.news(ledgers, "")
        self._tell_found()
        self.writer.flush()
        self._looked = monotonic()
        self._cost = self._looked - began

    def _tell_found(self) -> None:
        for outlet in self.outlets:
            outlet.judged(self.judge.found)

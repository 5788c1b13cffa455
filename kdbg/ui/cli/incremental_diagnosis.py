"""What diagnosis finds while captures are read for a screen: told now and then, and at the end of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any

from ...analysis.diagnosis import diagnose
from ...analysis.diagnosis.text import case_object
from ...analysis.ledgers import Ledgers
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ...protocol.wire.readings.topics import NamesThen
from ..tui.processes import Causes

OFTEN = 1.0
"""Seconds between two looks at the ledgers while packets come; where nothing comes for now, there is time for one."""
SHARE = 10
"""Looking takes at most one part in so many of the time."""
MOST = 500
"""Causes of a file that are told."""


class IncrementalDiagnosis:
    """Keeps the ledgers of one file after the other; gives to `tell` what the rules find in them, when that changes."""

    def __init__(self, tell: Callable[[Causes], None]) -> None:
        self._tell = tell
        self._ledgers: Ledgers | None = None
        self._file = 0
        self._looked = self._cost = 0.0
        self._new = False
        self._told: Causes | None = None

    def begin(self, file: int, names: NamesThen) -> None:
        """Begin a file; `names` are those of topic ids."""
        self._file, self._ledgers, self._told = file, Ledgers(names), None
        self._looked = monotonic()

    def through(self, blocks: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield blocks of packets, which the ledgers see before the engine does; look at these now and then."""
        for packets in blocks:
            if self._ledgers is not None and packets:
                self._ledgers.packets(packets)
                self._new = True
            yield packets
            self._look(OFTEN if packets else 0.0)

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Take exchanges, whether they are shown or not."""
        if self._ledgers is not None:
            self._ledgers.take(exchanges)
            self._new = True

    def left_over(self, findings: Iterable[tuple[Peers, Finding]]) -> None:
        """Take findings that belong to no exchange."""
        if self._ledgers is not None:
            self._ledgers.left_over(findings)
            self._new = True

    def end(self) -> None:
        """Tell what is found in the whole file, and forget it."""
        self._say(over=True)
        self._ledgers = None

    def _look(self, often: float) -> None:
        """Tell what is found so far, where something has come and it is time."""
        begun = monotonic()
        if self._new and begun - self._looked >= max(often, SHARE * self._cost):
            self._say(over=False)
            self._looked = monotonic()
            self._cost = self._looked - begun

    def _say(self, *, over: bool) -> None:
        if self._ledgers is None:
            return
        self._new = False
        cases = diagnose(self._ledgers)
        objects = tuple(map(case_object, cases[:MOST]))
        causes = Causes(self._file, objects, over, max(len(cases) - MOST, 0))
        if causes != self._told:
            self._told = causes
            self._tell(causes)

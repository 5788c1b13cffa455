"""A stream of packets that is read while it comes: what is lost of it is said, and whose connections they are."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...capture.files import Lost
from ...exchanges.engine.driver import Fits, Pairing
from ...protocol.findings.amounts import count
from ...streams.tcp.connection import Connection
from .process_filter import ProcessFilter
from .runner import LOST, Captures, totals

PAUSE = 0.025
"""Seconds of silence after which what is complete is shown."""
SELDOM = 1.0
"""Seconds between two lines on what was left out."""


class Streaming(Captures):
    """Reads a stream called `name`; `owned` finds the processes at the ends of connections, None where nobody does."""

    name: str
    owned: ProcessFilter | None = None
    lost: Lost = Lost()
    """What is missing, as far as it was said."""
    _lost_told: float = -SELDOM

    def blocks(self, capture: Capture | ApplicationLog) -> Iterator[list[Any]]:
        """Yield the packets, and say what is odd about connections, and missing, as soon as it is known."""
        for packets in capture.blocks(pause=PAUSE, singly=self.left is not None):
            yield packets
            if self.engine.findings:
                self.tell(self.engine, self.name)
            self._tell_lost(capture.lost)
            for outlet in self.outlets:
                outlet.tick(totals(capture, self.engine), idle=not packets)
            if self.owned is not None:
                self.owned.look(idle=not packets)

    def met(self, connection: Connection, client: int | None) -> None:
        """Find the processes of a connection, once it proves to be Kafka."""
        if self.owned is not None and client is not None:
            self.owned.met(connection, client)

    def choose(self, capture: Capture | ApplicationLog, engine: Pairing) -> Fits | None:
        """Return the filters as one, with that of processes."""
        fits, owned = super().choose(capture, engine), self.owned
        if owned is None or not owned.owners.narrowed:
            return fits
        wants = owned.wants
        return wants if fits is None else lambda exchange: wants(exchange) and fits(exchange)

    def _tell_lost(self, lost: Lost | None) -> None:
        """Say how many more packets are missing, but not too often."""
        if lost is None or lost == self.lost or monotonic() - self._lost_told < SELDOM:
            return
        for noun, missing in lost._asdict().items():
            if more := missing - self.lost._asdict()[noun]:
                self.say(
                    f"{self.name}: {count(more, 'packet')} {LOST[noun]}: they arrived faster than kdbg processed them"
                )
        self.lost, self._lost_told = lost, monotonic()

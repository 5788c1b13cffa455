"""Captures that a command judges as a whole: each through an engine into ledgers, which are looked at in the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...analysis.ledgers import Ledgers
from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...capture.packet import endpoint
from ...exchanges.engine.driver import Drive
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...views.reading.files import BrokerFile
from ...views.render.style import Look
from ...views.render.values import escape
from .output import Writer
from .runner import Captures


class LedgerRun(Captures):
    """Makes ledgers of one capture after the other; a command says in `judge` what it tells of them."""

    look: Look
    hears_all = True
    fails_by_findings = False

    def __init__(
        self, format: str, look: Look, writer: Writer, several: bool = False, filters: Filters | None = None
    ) -> None:
        super().__init__(filters or Filters(), writer)
        self.look = look
        self.format: str = format
        self.several: bool = several
        self.ledgers: Ledgers | None = None

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Judge what is in a capture."""
        with self.driven(capture, name) as drive:
            ledgers = self.ledgers = Ledgers(drive.engine.names_then)
            for chunk in self.chunks(drive):
                ledgers.take(chunk)
                self._take_findings(ledgers)
            self._take_findings(ledgers)
        self.progress.hide()
        self.judge(ledgers, capture.source.name)

    def opened(self, opened: Capture | ApplicationLog | BrokerFile, file: str, *, named: bool) -> None:
        """Read what was opened; a folder holds several captures, though one name was given."""
        self.several = self.several or named
        super().opened(opened, file, named=named)

    def chunks(self, drive: Drive) -> Iterator[Iterable[Exchange]]:
        """Yield the exchanges, as they come."""
        yield from drive.chunks()

    def _take_findings(self, ledgers: Ledgers) -> None:
        """Take what belongs to no exchange away from the engine: it is told as part of a judgement, or not at all."""
        ledgers.left_over(self.engine.findings)
        for _, finding in self.engine.findings:
            self.note(finding)
        self.engine.findings.clear()

    def blocks(self, capture: Capture | ApplicationLog) -> Iterator[list[Any]]:
        """Yield the packets, which the ledgers see before the engine does."""
        ports = self.filters.port
        for packets in super().blocks(capture):
            if self.ledgers is not None:
                self.ledgers.packets(
                    [one for one in packets if not ports.isdisjoint(ports_of(one))] if ports else packets
                )
            yield packets

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show what is found in the ledgers of a capture."""
        raise NotImplementedError

    def headed(self, file: str) -> None:
        """Name the capture, where there are several."""
        if self.several:
            self.writer.write(self.look.paint("heading", f"==> {escape(file)} <==") + "\n")


def ports_of(packet: Any) -> tuple[int, int]:
    """Return the ports of a packet's ends."""
    (_, source), (_, target) = endpoint(packet[2])
    return source, target

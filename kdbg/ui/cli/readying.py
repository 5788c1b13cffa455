"""One run of `kdbg readiness`: captures through an engine into ledgers, whose clients are held against a release."""

from __future__ import annotations

import orjson

from ...analysis.diagnosis.readiness import client_object, readiness, would_stop
from ...analysis.ledgers import Ledgers
from ...errors import InputError
from ...exchanges.filters.filter_set import Filters
from ...protocol.grammars import releases
from ...views.render.diagnosis import ReadinessView
from ...views.render.style import Look
from . import UNDECODED
from .ledger_run import LedgerRun
from .output import Writer


class ReadinessRun(LedgerRun):
    """Tells of one capture after the other; the status is 1 where a client would stop."""

    def __init__(
        self, format: str, look: Look, writer: Writer, release: str, several: bool = False,
        filters: Filters | None = None,
    ) -> None:  # fmt: skip
        super().__init__(format, look, writer, several, filters)
        self.release: str = release
        if releases.rank(release) > releases.rank(releases.newest()):
            raise InputError(f"unknown release {release}; the newest that kdbg knows is {releases.newest()}")

    def judge(self, ledgers: Ledgers, file: str) -> None:
        """Show which clients of a capture would stop."""
        clients = readiness(ledgers, self.release)
        if would_stop(clients) and not self.status:
            self.status = UNDECODED
        if self.format == "json":
            for client in clients:
                named = {"file": file} if self.several else {}
                self.writer.write(orjson.dumps({**client_object(client, self.release), **named}) + b"\n")
            return
        self.headed(file)
        for line in ReadinessView(self.look, self.release).lines(clients):
            self.writer.write(line)

"""One capture in one go: its packets through one engine, its rows out, table by table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...capture import Packet
from ...capture.keylog import KeyLog
from ...exchanges.engine.driver import Drive
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...views.tables.cells import Add
from ...views.tables.connections import Connections
from ...views.tables.message_columns import WantedRows
from ...views.tables.rows import Rows
from .archive.files import file_problems, file_rows, read_files
from .archive.plan import Plan, Split
from .stages.reading import SplitReading


class Alone:
    """Gives the rows of one capture to `add`: those that the pipeline makes of it.

    `plan` holds no other capture, and cuts none of its files. `ports` narrows to connections with one of these ports,
    `filters` to exchanges.
    """

    plan: Plan
    add: Add
    ports: frozenset[int]

    def __init__(
        self, plan: Plan, add: Add, filters: Filters, wanted: WantedRows, ports: frozenset[int] = frozenset()
    ) -> None:
        self.plan, self.add, self.ports = plan, add, ports
        self.name: str = plan.captures[plan.splits[0].capture]
        self._connections = Connections(numbered=False)
        self._keys = KeyLog().use(filters.tls_keys or ())
        self._engine = Engine(watch=self._connections.watch, keys=self._keys)
        topics = self._engine.names_then
        self._rows, self._fits = Rows(add, wanted, topics), filters.check(topics)
        self._read: list[Split] = []
        self._reports: list[dict[str, Any]] = []

    def run(self) -> Iterator[None]:
        """Read the capture; pauses behind each block of packets, so that the rows can be taken away."""
        drive = Drive(self._engine, self._blocks(), lambda: self._wants)
        at = self._engine.names_then.at
        for chunk in drive.chunks():
            for exchange in chunk:
                at(exchange.names)
                self._rows.exchange(self.name, exchange)
            yield
        self._tell()
        self._files()
        yield

    def _blocks(self) -> Iterator[list[Packet]]:
        """Yield the packets of all files, numbered through."""
        before = 0
        for place, split in enumerate(self.plan.splits):
            reading = SplitReading(self.plan, split._replace(shift=before), self.ports, self._keys)
            yield from reading.blocks()
            self._read.append(reading.split)
            self._reports.append(reading.report | {"split": place})
            before += reading.report["packets"]

    def _wants(self, exchange: Exchange) -> bool:
        """Take the numbers away from an exchange; return whether the filters let it through."""
        exchange.peers = self._connections.heard(exchange).peers
        return self._fits is None or self._fits(exchange)

    def _tell(self) -> None:
        """Add the connections, and the findings of theirs that belong to no exchange."""
        findings = self._engine.findings_by_connection()
        for number, spoken in self._connections.items():
            spoken.tell(self.name, findings.get(number, ()), self.add)

    def _files(self) -> None:
        plan = replace(self.plan, splits=self._read)
        read = read_files(plan, self._reports)
        for time, row in file_rows(plan, read):
            self.add("files", time, row, 0)
        for time, row, _ in file_problems(plan, read):
            self.add("problems", time, row, 0)

"""Exchanges in, tables filled: what is known of each exchange is found once, and summed up before it reaches a table.

Most exchanges of a connection differ in nothing that tables distinguish. So they are summed up by connection, API and
version first, and by cell where a table has some; tables get these sums, now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import UUID

from ...errors import InputError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.requested_wait import beyond_wait
from ...protocol.findings import Finding
from ...protocol.wire import Api
from ...protocol.wire.readings.outline import NamesThen, Outline, Topics
from .dimensions import INNER, Around, Cells, Dimension, Key, StatsCell, dimensions, unknown
from .measures import MEASURES, PARTS, SPENT, Sketch, Tally

MOST, UNLIMITED = 10_000, 1 << 62
"""Rows of a table, unless said otherwise."""


class StatsTable:
    """Rows by their keys, which hold the values of `by`.

    The first `most` keys have a row, exact however much comes; what comes under any other key is counted in `others`,
    and the keys of it are not known. With `erring`, cells without an error that is worth a look are left out.
    """

    def __init__(self, by: Sequence[Dimension], *, most: int = MOST, erring: bool = False) -> None:
        self.by: tuple[Dimension, ...] = tuple(by)
        self.most, self.erring = most, erring
        self.rows: dict[Key, Tally] = {}
        self.others: Tally | None = None
        self.inner: tuple[str, ...] = tuple(name for name in INNER if name in {one.name for one in by})
        """The dimensions of cells among them."""

    @property
    def grain(self) -> int:
        """The nanoseconds in its shortest time, 0 where it has none."""
        return min((one.grain for one in self.by if one.grain), default=0)

    def row(self, key: Key) -> Tally:
        """Return the tally of a key, made when it is first asked for."""
        found = self.rows.get(key)
        if found is None:
            if len(self.rows) >= self.most:
                self.others = self.others or Tally()
                return self.others
            found = self.rows[key] = Tally()
        return found

    def merge(self, rows: Mapping[Key, Tally]) -> None:
        """Take all rows of a table by the same dimensions."""
        for key, tally in rows.items():
            self.row(key).merge(tally)

    def sorted(self, by: str | None = None) -> list[tuple[Key, Tally]]:
        """Return the rows: by a dimension, least first, or by a measure, most first; raise `InputError` for neither.

        Without either, by time where that is a dimension, else by how many exchanges they have.
        """
        by = by or next((one.name for one in self.by if one.grain), "exchanges")
        places = [place for place, one in enumerate(self.by) if one.name == by]
        rows = sorted(self.rows.items(), key=lambda row: [order(value) for value in row[0]])
        if places:
            return sorted(rows, key=lambda row: order(row[0][places[0]]))
        known = MEASURES | SPENT
        measure = known.get(by) or known.get(f"{by}_ms")
        if measure is None or isinstance(measure.of(Tally()), dict):
            wanted = [one.name for one in self.by] + [name for name in MEASURES if name != "error_names"]
            raise InputError(unknown("unknown sort column", by, wanted))

        def amount(row: tuple[Key, Tally]) -> float:
            value = measure.of(row[1])
            return 1 if value is None else -value  # nothing is less than all

        return sorted(rows, key=amount)


def order(value: Any) -> tuple[int, Any]:
    """Return what values of one dimension are sorted by; what is missing comes last."""
    return (1, 0) if value is None else (0, value)


def folded(rows: Sequence[tuple[Key, Tally]], others: Tally | None = None) -> Tally | None:
    """Return a tally of rows that are not shown, and of what had no row; None where there is neither."""
    if not rows and others is None:
        return None
    found = Tally()
    for _, tally in rows:
        found.merge(tally)
    if others is not None:
        found.merge(others)
    return found


MOST_SUMS = 1 << 13
"""Sums that are kept apart before tables get them."""
MOST_CELLS, FEW_ROWS = 1 << 13, 16
"""Sets of cells that are remembered, and rows of messages of which they are."""
Kind: TypeAlias = "tuple[int, Api | None, int, str | None, str | None, int]"
"""Exchanges that differ in their cells alone: connection, API, version, client id, its software, and time."""


class Statistics:
    """Fills tables; `capture` tells which capture the exchanges that follow are from, `finish` ends it all."""

    def __init__(self, tables: Sequence[StatsTable]) -> None:
        self.tables = tables
        by_cells = dict[tuple[tuple[str, ...], bool], list[StatsTable]]()
        for table in tables:
            by_cells.setdefault((table.inner, table.erring), []).append(table)
        self._parts = [Sums(tables) for tables in by_cells.values()]
        self.file, self.captures = "", 0
        self.topics: NamesThen = NamesThen({})

    def capture(self, name: str, topics: NamesThen) -> None:
        """Begin a capture; `topics` are the names of topic ids, as an engine learns them."""
        self.finish()
        self.file, self.topics = name, topics
        self.captures += 1

    def take(self, exchanges: Sequence[Exchange], hear: Callable[[Finding], None]) -> None:
        """Count exchanges; `hear` is called with each of their findings."""
        at, parts = self.topics.at, self._parts
        for exchange in exchanges:
            at(exchange.names)
            facts = exchange.facts()
            findings: Sequence[Finding] = ()
            if not exchange.is_sound(shallow=True):
                findings = exchange.all_findings(shallow=True)
                for finding in findings:
                    hear(finding)
            late = beyond_wait(exchange)
            for part in parts:
                part.take(self, exchange, exchange.outlines() if facts is None else facts, late, findings)

    @contextmanager
    def separate(self) -> Iterator[list[dict[Key, Tally]]]:
        """Make a context that gives a list of the rows that tables get in it, of which the tables have none after it.

        These rows have no limit.
        """
        self.finish()
        before, found = [(table.rows, table.others, table.most) for table in self.tables], list[dict[Key, Tally]]()
        for table in self.tables:
            table.rows, table.others, table.most = {}, None, UNLIMITED
        try:
            yield found
        finally:
            self.finish()
            found += [table.rows for table in self.tables]
            for table, (rows, others, most) in zip(self.tables, before, strict=True):
                table.rows, table.others, table.most = rows, others, most

    def merge(self, tables: Iterable[Mapping[Key, Tally]]) -> None:
        """Add the rows that `separate` gave of exchanges after those here."""
        self.finish()
        for mine, rows in zip(self.tables, tables, strict=True):
            mine.merge(rows)

    def finish(self) -> None:
        """Give the tables all that was counted."""
        for part in self._parts:
            part.flush()


class Sums:
    """Sums on the way to tables that have the same cells."""

    def __init__(self, tables: Sequence[StatsTable]) -> None:
        self.tables = tables
        self._erring = tables[0].erring
        self._grain = min((table.grain for table in tables if table.grain), default=0)
        self._plain = not tables[0].inner
        self._cells = Cells(tables[0].inner)
        self._known: dict[tuple[Api | None, Sequence[Outline]], list[StatsCell]] = {}
        self.sums: dict[tuple[Kind, Key], tuple[Around, Tally]] = {}

    def take(
        self, whole: Statistics, exchange: Exchange, outlines: Sequence[Outline], late: int | None,
        findings: Sequence[Finding],
    ) -> None:  # fmt: skip
        """Count an exchange."""
        sound = not [codes for _, _, codes in outlines if codes]
        if sound and self._erring:
            return
        time = exchange.time
        when = time // self._grain * self._grain if self._grain and time != UNTIMED else UNTIMED if self._grain else 0
        half = exchange.request or exchange.response
        said = half.known.facts.get("software") if half is not None and half.known is not None else None
        kind = exchange.peers.number, exchange.api, exchange.version, exchange.client_id, said, when
        if sound and self._plain:
            tally = self._tally(kind, (), whole, exchange)
            for rows, _, _ in outlines:
                for row in rows:
                    if row[3]:
                        tally.records += row[3]
            self._add(tally, exchange, time, late, findings)
            return
        for cell in self._cells_of(exchange, outlines, whole.topics):
            if self._erring and not cell.errors:
                continue
            tally = self._tally(kind, cell.key, whole, exchange)
            tally.records += cell.records
            for code, count in cell.errors:
                tally.errors[code] = tally.errors.get(code, 0) + count
            for code, count in cell.steps:
                tally.steps[code] = tally.steps.get(code, 0) + count
            self._add(tally, exchange, time, late, findings)

    def flush(self) -> None:
        """Give the tables what was summed up."""
        for (_, cell), (around, tally) in self.sums.items():
            for table in self.tables:
                inner = iter(cell)
                key = tuple(one.of(around) if one.of is not None else None for one in table.by)
                if table.inner:
                    values = dict(zip(table.inner, inner, strict=True))
                    key = tuple(values.get(one.name, value) for one, value in zip(table.by, key, strict=True))
                table.row(key).merge(tally)
        self.sums.clear()

    def _tally(self, kind: Kind, cell: Key, whole: Statistics, exchange: Exchange) -> Tally:
        found = self.sums.get((kind, cell))
        if found is None:
            if len(self.sums) >= MOST_SUMS:
                self.flush()
            peers = exchange.peers
            around = Around(
                whole.file, peers.number, peers.client, peers.broker, exchange.api, exchange.version,
                exchange.client_id, *kind[-2:],
            )  # fmt: skip
            found = self.sums[kind, cell] = around, Tally()
            found[1].connections.add(whole.captures << 40 | peers.number)  # among those of all captures
        return found[1]

    def _add(self, tally: Tally, exchange: Exchange, time: int, late: int | None, findings: Sequence[Finding]) -> None:
        """Count what is the same in all cells of an exchange."""
        request, response = exchange.request, exchange.response
        tally.exchanges += 1
        if request is not None:
            tally.request_bytes += request.size
        if UNTIMED != time < tally.first:
            tally.first = time
        last = time
        if response is not None:
            tally.response_bytes += response.size
            last = response.last_time
        if last > tally.last:
            tally.last = last
        if late is not None:
            tally.late.add(late if late > 0 else 0)
        if exchange.timing is not None:
            for name in PARTS:
                part = getattr(exchange.timing.split, name)
                if part is not None:
                    sketch = tally.spent.get(name)
                    if sketch is None:
                        sketch = tally.spent[name] = Sketch()
                    sketch.add(part)
        for finding in findings:
            tally.findings[finding.kind.value] = tally.findings.get(finding.kind.value, 0) + 1

    def _cells_of(self, exchange: Exchange, outlines: Sequence[Outline], topics: Topics) -> list[StatsCell]:
        """Return the cells of an exchange; those of short messages are remembered, for most come again."""
        if type(outlines) is not tuple or sum(len(rows) for rows, _, _ in outlines) > FEW_ROWS:
            return self._cells.of(outlines, exchange.api, topics)
        key = exchange.api, outlines
        known = self._known.get(key)
        if known is None:
            known = self._cells.of(outlines, exchange.api, topics)
            if not any(isinstance(row[0], UUID) for rows, _, _ in outlines for row in rows):
                if len(self._known) >= MOST_CELLS:
                    self._known.clear()
                self._known[key] = known
        return known


SECTIONS: dict[str, tuple[str, ...]] = {
    "clients": ("client", "host", "software"),
    "brokers": ("broker",),
    "apis": ("api",),
    "errors": ("error", "api", "client", "topic"),
}
"""The tables by name, with their dimensions; `errors` holds nothing else."""


class Overview(dict[str, StatsTable]):
    """The tables by name, and `whole`: all exchanges in one row."""

    def __init__(self) -> None:
        super().__init__({name: StatsTable(dimensions(by), erring=name == "errors") for name, by in SECTIONS.items()})
        self.whole = StatsTable(())

    @property
    def tables(self) -> list[StatsTable]:
        """All tables, to be filled."""
        return [self.whole, *self.values()]

    @property
    def total(self) -> Tally:
        """The numbers of all exchanges."""
        return self.whole.row(())

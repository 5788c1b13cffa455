"""Captures as a DataFrame: `spark.read.format("kdbg")`, by Spark's Python Data Source API.

A task reads a whole capture, all the files that it was rolled into one after the other: a source cannot shuffle, and
connections must stay together. Where single captures are too large for that, `kdbg pipeline` makes tables to be read.
Filters that Spark pushes down choose captures by name and time, and packets by port; Spark applies all of them again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ...capture import Packet
from ...capture.keylog import KeyLog
from ...collector import seldom_collected
from ...errors import SparkError
from ...exchanges.engine.driver import Drive
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter import ValueForm
from ...exchanges.filters.filter_set import Filters
from ...exchanges.filters.table import FILTERS
from ...exchanges.messages.exchange import Exchange
from ...payloads.values.chosen import ReadBytes
from ...views.tables.arrow import TABLES, batch
from ...views.tables.cells import WIDTHS, Add, Cells
from ...views.tables.decoding import Connections
from ...views.tables.message_columns import WantedRows
from ...views.tables.rows import Rows
from .archive.files import file_rows, read_files
from .archive.plan import Plan, Split, nanoseconds, plan
from .stages.reading import SplitReading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def capture_rows(
    plan: Plan, add: Add, filters: Filters, wanted: WantedRows, ports: frozenset[int] = frozenset()
) -> Iterator[None]:
    """Give the rows of one capture to `add`, as the pipeline makes them; pause so that they can be taken away.

    `plan` holds no other capture, and cuts none of its files. `ports` narrows to connections with one of these ports,
    `filters` to exchanges. Memory holds the rows of a block of packets.
    """
    name, connections = plan.captures[plan.splits[0].capture], Connections(numbered=False)
    keys = KeyLog().use(filters.tls_keys or ())
    engine = Engine(watch=connections.watch, keys=keys)
    names = engine.names_then
    rows, fits = Rows(add, wanted, names), filters.check(names)
    splits: list[Split] = []
    reports: list[dict[str, Any]] = []

    def blocks() -> Iterator[list[Packet]]:
        """Yield the packets of all files, numbered through."""
        before = 0
        for place, split in enumerate(plan.splits):
            reading = SplitReading(plan.files[split.file], split._replace(shift=before), ports, keys)
            yield from reading.blocks()
            splits.append(reading.split)
            reports.append(reading.report | {"split": place})
            before += reading.report["packets"]

    def is_wanted(exchange: Exchange) -> bool:
        exchange.peers = connections.heard(exchange).peers  # not numbered: `ports` leave out others
        return fits is None or fits(exchange)

    for chunk in Drive(engine, blocks(), lambda: is_wanted).chunks():
        for exchange in chunk:
            names.at(exchange.names)
            rows.exchange(name, exchange)
        yield
    findings = engine.findings_by_connection()
    for number, spoken in connections.items():
        spoken.tell(name, findings.get(number, ()), add)
    plan = replace(plan, splits=splits)
    read = read_files(plan, reports)
    for table, time, row, _ in file_rows(plan, read):
        add(table, time, row, 0)
    yield


NAME = "kdbg"
DEFAULT = "exchanges"
FLAGS = ("rolled", "values", "show_secrets")
READERS = {"value": list, "key_as": list, "schema": list, "registry": str, "registry_config": str}
"""The options of `kdbg records` that say how keys and values are deserialized; lists are separated by commas."""
BATCH, BATCH_ROWS = 8 << 20, 4096
"""Bytes of large values, and rows, that go to Spark together."""


@dataclass(frozen=True)
class SourceOptions:
    """What the options say."""

    paths: list[str]
    table: str
    filters: Filters
    wanted: WantedRows
    rolled: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        """Read the options; raises `SparkError` for what they cannot be."""
        kept = {name: one for name, one in FILTERS.items() if one.archives}
        known = {"path", "paths", "table", *FLAGS, *READERS, *kept}
        unknown = sorted(set(options) - known)
        if unknown:
            raise SparkError(f"unknown option {unknown[0]!r}", f"use one of {', '.join(sorted(known))}")
        table = options.get("table", DEFAULT)
        if table not in TABLES:
            raise SparkError(f"unknown table {table!r}", f"use one of {', '.join(TABLES)}")
        paths = json.loads(options["paths"]) if "paths" in options else [options["path"]] if "path" in options else []
        if not paths:
            raise SparkError("no captures given", 'use .load("captures/")')
        flags = {name: _flag(name, options.get(name, "false")) for name in FLAGS}
        parsed: dict[str, Any] = {
            name: options[name] if options[name] in one.words else _parsed(name, one.form, options[name])
            for name, one in kept.items()
            if name in options
        }
        filters = Filters(**parsed)
        filters.refuse_numbers()
        filters.checks()  # an unknown API is refused before anything is read
        read = _readers(options)
        values = flags["values"] or read is not None
        wanted = WantedRows.of({table}, values=values, show_secrets=flags["show_secrets"], read=read)
        return cls(paths, table, filters, wanted, flags["rolled"])


def _readers(options: Mapping[str, str]) -> ReadBytes | None:
    """Return what deserializes keys and values, None if nothing is to be; raise `InputError` for what cannot be."""
    if not READERS.keys() & set(options):
        return None
    from ...live.client.deserializers import readers_of

    return readers_of({name: _listed(options.get(name, "")) if kind is list else options.get(name)
                       for name, kind in READERS.items()})  # fmt: skip


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parsed(name: str, form: ValueForm, text: str) -> Any:
    """Return a filter's value of this form from an option's text; lists are separated by commas."""
    parts = _listed(text)
    if form in (ValueForm.TEXTS, ValueForm.FILES):
        return parts
    if form is ValueForm.EXPRESSION:
        return text
    if form is ValueForm.FLAG:
        return _flag(name, text)
    found = list[float]()
    for part in parts if form is ValueForm.NUMBERS else [text]:
        try:
            found.append(_seconds(part) if form is ValueForm.MOMENT else float(part))
        except ValueError:
            use = "a time such as 2026-11-21T12:30" if form is ValueForm.MOMENT else "a number"
            raise SparkError(f"option {name}: invalid value {part!r}; use {use}") from None
    if form is ValueForm.NUMBERS:
        return [*map(int, found)]
    return int(found[0]) if form is ValueForm.COUNT else found[0]


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise SparkError(f"option {name}: invalid value {text!r}; use true or false")
    return text.lower() == "true"


def _seconds(text: str) -> float:
    """Return seconds since the epoch, from those or from a time in ISO's form."""
    try:
        return float(text)
    except ValueError:
        return _moment(datetime.fromisoformat(text))


def _moment(time: datetime) -> float:
    """Return seconds since the epoch; a time without a zone is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


class KdbgSource(DataSource):
    """`spark.read.format("kdbg").option("table", "partitions").load("captures/")`, once it is registered."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return from_arrow_schema(TABLES[SourceOptions.of(self.options).table])

    def reader(self, schema: StructType) -> DataSourceReader:
        return PushedDown(SourceOptions.of(self.options))


class DefaultSource(KdbgSource):
    """The same as Spark finds it by itself: in a session that may not push filters down, and fails where one could."""

    def reader(self, schema: StructType) -> DataSourceReader:
        return Captures(SourceOptions.of(self.options))


TIMED = (("request_time",), ("response_time",), ("start_time",), ("time",), ("first_time",))
"""Columns of which none is earlier than the first packet of its capture."""


class Captures(DataSourceReader):
    """Reads one table of captures; `captures`, `until` (seconds) and `ports` spare reading what nobody wants."""

    def __init__(self, chosen: SourceOptions) -> None:
        self.chosen = chosen
        self.captures: set[str] = set()
        self.until: float | None = None
        self.ports: set[int] = set()

    def partitions(self) -> Sequence[InputPartition]:
        """Return plans of one capture each, of those that may have rows that are wanted; one of None where none may.

        Raise `SparkError` where there is no capture.
        """
        whole = plan(self.chosen.paths, sys.maxsize, rolled=self.chosen.rolled)
        if not whole.files:
            raise SparkError(f"no captures in {', '.join(self.chosen.paths)}")
        whole = whole.between(None, nanoseconds(self.chosen.filters.until))
        until = nanoseconds(self.until)
        found: list[InputPartition] = []
        for number, splits in groupby(whole.splits, key=lambda split: split.capture):
            one = replace(whole, splits=list(splits), duplicates=[] if found else whole.duplicates)
            if self.captures in (set(), {whole.captures[number]}) and one.between(None, until).splits:
                found.append(InputPartition(one))
        return found or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one capture."""
        if partition.value is None:
            return
        table = self.chosen.table
        cells, most, size = list[Any](), BATCH_ROWS * WIDTHS[table], 0

        def add(of: str, time: int | None, more: Cells, bytes: int) -> None:
            nonlocal size
            if of == table:
                cells.extend(more)
                size += bytes

        ports = self.chosen.filters.port or frozenset()
        if table != "files" and not ports and len(self.ports) == 1:
            ports = frozenset(self.ports)
        with seldom_collected():
            for _ in capture_rows(partition.value, add, self.chosen.filters, self.chosen.wanted, ports):
                if len(cells) >= most or size > BATCH:
                    yield batch(cells, table)
                    cells.clear()
                    size = 0
        for start in range(0, len(cells), most):
            yield batch(cells[start : start + most], table)


class PushedDown(Captures):
    """Is told the conditions of the query too."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:
        """Learn from conditions, each of which every wanted row fulfills, what need not be read; return all of them."""
        for condition in filters:
            column, value = getattr(condition, "attribute", ()), getattr(condition, "value", None)
            if isinstance(condition, EqualTo) and column == ("capture",) and isinstance(value, str):
                self.captures.add(value)
            elif isinstance(condition, EqualTo) and column in (("broker",), ("client",)) and isinstance(value, str):
                port = value.rpartition(":")[2]
                self.ports |= {int(port)} if port.isdecimal() else set()
            elif isinstance(condition, LessThan | LessThanOrEqual | EqualTo) and column in TIMED:
                until = _moment(value) if isinstance(value, datetime) else None
                self.until = min((time for time in (self.until, until) if time is not None), default=None)
        return filters


def register(spark: SparkSession) -> None:
    """Make `format("kdbg")` known to a session, and let Spark push filters down to it."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(KdbgSource)

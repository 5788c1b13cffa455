"""Delta Lake tables: where they are stored, what their columns are, which files they consist of, and commits to them.

    OUT/exchanges/_delta_log/…                    the transaction log: the files of the table, version by version
    OUT/exchanges/date=2026-11-21/….parquet       files; one that is not in the log is not part of the table
    OUT/runs/                                     the runs that wrote the tables, and the files of each (commit.py)

deltalake (delta-rs) reads and writes the log, on local disks and in object stores with conditional puts.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import random
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ...errors import CaptureRefused, InputError, KdbgError
from ...extras import require
from ...views.tables.arrow import TABLES as COLUMNS
from ...views.tables.arrow import TYPES
from ...views.tables.columns import ABOUT, CAUSES, RUNS, STATE
from .archive.s3 import access, is_s3
from .archive.store import SETUP, URL, identity, refusals, resolve

if TYPE_CHECKING:
    from deltalake import DeltaTable

APPLICATION = "kdbg"
"""The application of kdbg's transactions; their version is the sequence number of a run."""
READS = 3
"""How often tables are opened anew while runs are committed."""
REPLACE, APPEND, FOLLOW, MIGRATE = "replace", "append", "follow", "migrate"
"""What a run does to the tables."""
UNREADABLE = frozenset({"columnMapping", "deletionVectors"})
"""Features of Delta that a table may have from others, whose Parquet files then do not hold what the table holds."""
ESCAPE = re.compile("%[0-9a-fA-F]{2}")
STORE_ERROR = re.compile(r"Error performing .*<Code>(\w+)</Code>.*")
DECORATION = re.compile(r"\x1b\[[0-9;]*m|↳")


def _schema(columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata={"comment": about}) for name, (kind, about) in columns.items()])


_DATE = {"date": (pa.date32(), "day of the row's time, in UTC; 1970-01-01 without a time")}
SCHEMAS: dict[str, pa.Schema] = {
    **{
        table: _schema({field.name: (field.type, ABOUT[table][field.name]) for field in columns} | _DATE)
        for table, columns in COLUMNS.items()
    },
    CAUSES: _schema({
        "run": (TYPES["text"], "run of the pipeline that found the cause"),
        "capture": (TYPES["text"], "the file, or the common name of the files of one rotated capture"),
        "place": (TYPES["int"], "place of the cause in the capture, 0 for the most important"),
        "severity": (TYPES["text"], "error, warning or note"),
        "cause": (TYPES["text"], "name of the cause: kdbg guide causes"),
        "object": (TYPES["text"], "the cause as kdbg diagnose --format json prints it"),
    }),
}  # fmt: skip
"""Every table's columns with their comments, in the order of their commits."""
RUN_COLUMNS = _schema({
    "sequence": (TYPES["long"], "number of the run: the version of its application transaction in each table"),
    "run": (TYPES["text"], "name of the run"),
    "started": (TYPES["time"], "time at which the run started"),
    "operation": (TYPES["text"], "replace, append, follow or migrate"),
    "kdbg": (TYPES["text"], "version of kdbg"),
    "entry": (TYPES["text"], "JSON: options, captures, files with their sizes, counts, findings"),
    "actions": (TYPES["text"], "JSON: files of the run by table, each as name, bytes and rows"),
})  # fmt: skip
RUN_COMMITTED = ["sequence", "operation", "actions"]


class TableFile(NamedTuple):
    """A file of a table: its name in the folder of the tables, its bytes and its rows."""

    name: str
    size: int
    rows: int


class StoredTables(NamedTuple):
    """The files of tables at one time. deltalake does not work in forked processes: these get the list."""

    out: str
    files: dict[str, list[TableFile]]


class DeltaFolder:
    """A folder of Delta tables; `out` is its path or URL. Raise `InputError` where deltalake is missing."""

    system: Any
    root: str

    def __init__(self, out: str) -> None:
        require("a folder of Delta tables", "query", "deltalake")
        self.out: str = identity(out.rstrip("/") or out)
        self.system, self.root, _ = resolve(self.out)
        self._uri = self.out.partition("?")[0] if URL.match(self.out) else self.out
        if ESCAPE.search(self._uri):  # deltalake 1.6 writes to the folder, and reads from that of the decoded name
            raise InputError(f"{self.out}: tables cannot be in a folder with %XX in its path; use another folder")
        self.options: dict[str, str] = access().delta_options(self.out, self.system) if is_s3(self.out) else {}

    def open(self, table: str) -> DeltaTable | None:
        """Return a table as it is now; None where there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        with delta_refusals(self.out):
            if isinstance(self.system, fs.LocalFileSystem) and not self._exists(f"{table}/_delta_log"):
                return None
            try:
                found = DeltaTable(f"{self._uri}/{table}", storage_options=self.options)
            except TableNotFoundError:
                return None
            protocol = found.protocol()
            wrong = UNREADABLE & {*(protocol.reader_features or ())}
            if wrong or protocol.min_reader_version == 2:
                features = ", ".join(sorted(wrong)) or "columnMapping"
                raise InputError(f"{self.out}/{table}: kdbg cannot read Delta tables with {features}")
        return found

    def opened(self, table: str) -> DeltaTable:
        """Return a table as it is now, made if there is none, with all columns of today."""
        from deltalake import CommitProperties, DeltaTable
        from deltalake import Schema as DeltaSchema
        from deltalake.exceptions import DeltaError

        schema = RUN_COLUMNS if table == RUNS else SCHEMAS[table]
        found = self.open(table)
        there = {field.name for field in found.schema().fields} if found is not None else set()
        new = [field for field in DeltaSchema.from_arrow(schema).fields if field.name not in there]
        if found is not None and not new:
            return found
        with delta_refusals(self.out):
            try:
                if found is None:
                    once = CommitProperties(max_commit_retries=0)
                    dated = ["date"] if "date" in schema.names else None
                    DeltaTable.create(
                        f"{self._uri}/{table}", schema, partition_by=dated, storage_options=self.options,
                        configuration={"delta.checkpointInterval": "10"}, commit_properties=once,
                    )  # fmt: skip
                else:
                    found.alter.add_columns(new)
            except DeltaError:  # another run may have made the table, or added the columns
                time.sleep(random() / 10)
                if (now := self.open(table)) is None or (found and now.version() == found.version()):
                    raise
        return self.opened(table)

    def log_files(self, table: DeltaTable, name: str) -> list[TableFile]:
        """Return the files that the log of a table lists."""
        with delta_refusals(self.out):
            actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        return [
            TableFile(f"{name}/{unquote(one['path'])}", one["size_bytes"], one.get("num_records") or 0)
            for one in actions
        ]

    def files(self, tables: Iterable[str]) -> StoredTables:
        """Return the files of some tables, of complete runs. Raise `InputError` where there are no tables.

        The tables are opened before the list of runs, so that each run that a table may have is in the list. Of a run
        that a table does not have yet, the files are in the list: of the last one alone, for each run is committed when
        all tables have those before it. A table that lacks more was opened too early.
        """
        names = [*tables]
        for _ in range(READS):
            opened = {name: (table, _done(table)) for name in names for table in [self.open(name)]}
            runs = self.runs(RUN_COMMITTED)
            if all(table is None or done >= runs[-1]["sequence"] - 1 for table, done in opened.values()):
                break
        found: dict[str, list[TableFile]] = {}
        for name, (table, done) in opened.items():
            files = [] if table is None else self.log_files(table, name)
            for run in runs:
                if run["sequence"] > done and run["actions"] is not None:
                    files = [] if run["operation"] == REPLACE else files
                    files += [TableFile(*one) for one in json.loads(run["actions"]).get(name, ())]
            found[name] = files
        return StoredTables(self.out, found)

    def runs(self, columns: list[str]) -> list[dict[str, Any]]:
        """Return these columns of the runs in their order. Raise `InputError` where there are none."""
        table = self.open(RUNS)
        rows = [] if table is None else self.run_rows(table, columns)
        if not rows and self._exists(STATE):
            raise InputError(f"{self.out}: tables of an earlier version; convert them with kdbg tables migrate")
        if not rows:
            raise InputError(f"{self.out}: no tables; create them with kdbg pipeline")
        return rows

    def roots(self) -> dict[str | None, list[str]]:
        """Return the folders below which the files of each run are that tables name by their paths."""
        return {row["run"]: json.loads(row["entry"]).get("roots", []) for row in self.runs(["run", "entry"])}

    def run_rows(self, table: DeltaTable, columns: list[str]) -> list[dict[str, Any]]:
        """Return these columns of the rows of the table of runs, in the order of the runs."""
        found: list[dict[str, Any]] = []
        with refusals(self.out):
            for file in self.log_files(table, RUNS):
                path = f"{self.root}/{file.name}"
                read = pq.read_table(path, columns=["sequence", *columns], filesystem=self.system, partitioning=None)
                found += read.to_pylist()
        return sorted(found, key=lambda row: int(row["sequence"]))

    def write(
        self, table: DeltaTable, name: str, files: Sequence[TableFile], sequence: int, *, replace: bool,
        metadata: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Commit files to a table as the next version after `table`, together with the sequence number of the run.

        Raise deltalake's own errors: `CommitFailedError` where another writer has committed that version.
        """
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import AddAction, RemoveAction

        now, schema = round(time.time() * 1000), RUN_COLUMNS if name == RUNS else SCHEMAS[name]
        adds: list[AddAction | RemoveAction] = [
            AddAction(
                file.name.partition("/")[2], file.size, _partition(file.name), now, True,
                json.dumps({"numRecords": file.rows}),
            )
            for file in files
        ]  # fmt: skip
        properties = CommitProperties(
            custom_metadata={**metadata, "rows": sum(file.rows for file in files)},
            max_commit_retries=0,
            app_transactions=[Transaction(APPLICATION, sequence)],
        )
        dated = ["date"] if "date" in schema.names else None
        mode = "overwrite" if replace else "append"
        table.create_write_transaction(adds, mode, table.schema(), dated, commit_properties=properties)

    def _exists(self, name: str) -> bool:
        with refusals(self.out):
            return bool(self.system.get_file_info(f"{self.root}/{name}").type != fs.FileType.NotFound)


def _done(table: DeltaTable | None) -> int:
    """Return the sequence number of the last run that a table has, 0 for none."""
    return 0 if table is None else table.transaction_version(APPLICATION) or 0


def _partition(name: str) -> dict[str, str | None]:
    """Return the partition values in the name of a file."""
    return {key: value for key, sign, value in (part.partition("=") for part in name.split("/")) if sign}


@contextmanager
def delta_refusals(name: str) -> Iterator[None]:
    """Make a context in which errors of deltalake and of the file system become `CaptureRefused` of one line."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except KdbgError:
        raise
    except (DeltaError, OSError) as error:
        problem = STORE_ERROR.sub(r"\1", " ".join(DECORATION.sub("", str(error)).split()))
        raise CaptureRefused(name, problem + SETUP * is_s3(name)) from error

"""A run's files become part of all tables at once: the commit to the table of runs decides, and all others follow it.

Delta has no transaction over several tables. So a run is committed in two steps:

1. One commit to the table `runs` adds a row that names the run, what it read, and its files in every table. It is made
   against the version that was checked: where another run was faster, it is checked again against the new one.
2. Each table gets the run's files, with the sequence number of the run as the version of an application transaction
   (application `kdbg`): every run exactly once, and in the order of the rows.

A run that is killed before the first commit has changed nothing. After it the run is complete: kdbg's readers take its
files from `runs` where a table does not have them yet (delta.py), and the next run commits them to the tables first.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from random import random
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyarrow import fs

from ... import __version__
from ...errors import InputError, KdbgError, SparkError
from ...views.tables.columns import RUNS, STATE
from .archive.store import HIDDEN, refusals
from .delta import APPEND, APPLICATION, REPLACE, RUN_COLUMNS, RUN_COMMITTED, SCHEMAS, DeltaFolder, TableFile
from .delta import delta_refusals as refusals_of_delta
from .parquet import ParquetFile

if TYPE_CHECKING:
    from deltalake import DeltaTable

TRIES = 100
"""Commits that are tried while other writers are faster."""
RESERVE = 1 << 20
"""Bytes that are kept free on a local disk until a run is decided, so that a full disk does not stop the commits after
it; the log entries of one table take some bytes for each file."""
Row: TypeAlias = dict[str, Any]
MakeRows: TypeAlias = Callable[[list[Row]], tuple[list[Row], bool]]
"""Takes the rows of the table of runs; returns new ones, and whether they replace all. It may raise."""


class Output(DeltaFolder):
    """The folder of the tables, as one run writes to it; `folder` has the run's temporary files."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self._rename()

    def _rename(self) -> None:
        self.started: datetime = datetime.now(UTC)
        self.run: str = f"{self.started:%Y%m%dT%H%M%S%f}-{platform.node()}-{os.getpid()}"
        self.folder: str = f"{self.out}/{HIDDEN}{self.run}"
        self._hidden = f"{self.root}/{HIDDEN}{self.run}"
        self._decided = False

    def entries(self) -> list[tuple[str, Row]]:
        """Return the names of the runs that wrote the tables, and what each noted; none where there are no tables."""
        table = self.open(RUNS)
        rows = [] if table is None else self.run_rows(table, ["run", "entry"])
        if not rows and self._exists(STATE):
            raise InputError(f"{self.out}: tables of an earlier version; convert them with kdbg tables migrate")
        return [(row["run"], json.loads(row["entry"])) for row in rows]

    def known(self) -> dict[str, int]:
        """Return the files that the tables hold, with their sizes at that time."""
        return {name: size for _, entry in self.entries() for name, size in entry["files"].items()}

    def begin(self) -> None:
        """Make the folder for temporary files, and delete those of runs that were killed."""
        self.entries()
        with refusals(self.out):
            self.system.create_dir(self._hidden)
        self.clear()

    def clear(self) -> None:
        """Delete the temporary files of runs that were killed on this machine."""
        with refusals(self.out):
            for name in self._names(self.root):
                if name.startswith(HIDDEN) and _is_dead(name.removeprefix(HIDDEN)):
                    self.system.delete_dir(f"{self.root}/{name}")

    def abandon(self) -> None:
        """Delete the run's temporary files, and unless it is committed its files in the tables."""
        found = [] if self._decided else [path for table in SCHEMAS for path in self._files(f"{self.root}/{table}")]
        for path in found:
            if path.rpartition("/")[2].startswith(f"{self.run}-"):
                self.system.delete_file(path)
        if self.system.get_file_info(self._hidden).type == fs.FileType.Directory:
            self.system.delete_dir(self._hidden)

    def drop(self, name: str) -> None:
        """Delete a folder inside the run's folder that is not needed any more."""
        if self.system.get_file_info(f"{self._hidden}/{name}").type == fs.FileType.Directory:
            self.system.delete_dir(f"{self._hidden}/{name}")

    def commit(self, files: Iterable[TableFile], entry: Row, *, append: bool) -> None:
        """Commit the files of finished tasks to the tables, in place of or beside those that are there."""

        def rows(before: list[Row]) -> tuple[list[Row], bool]:
            known = {name for row in before for name in json.loads(row["entry"])["files"]} if append else set()
            if twice := known & entry["files"].keys():
                raise SparkError(
                    f"another run added {min(twice)} to {self.out} at the same time",
                    "the tables contain the result of that run",
                )
            return [self.row(APPEND if append else REPLACE, entry, files)], not append

        self.commit_rows(rows)

    def commit_rows(self, make: MakeRows) -> None:
        """Commit rows to the table of runs, and then their files to the tables."""
        self._decide(make)
        try:
            self.settle()
        except KdbgError as error:
            raise SparkError(
                f"the run is committed, but not all tables have it: {error}", "the next run completes it"
            ) from error
        self.abandon()

    def row(self, operation: str, entry: Row, files: Iterable[TableFile] | None, run: str = "") -> Row:
        """Return a row of the table of runs; its sequence number is added when it is committed."""
        by_table: dict[str, list[TableFile]] = {}
        for file in files or ():
            by_table.setdefault(file[0].partition("/")[0], []).append(file)
        return {
            "run": run or self.run, "started": self.started, "operation": operation, "kdbg": __version__,
            "entry": json.dumps(entry), "actions": None if files is None else json.dumps(by_table),
        }  # fmt: skip

    def settle(self, runs: DeltaTable | None = None) -> None:
        """Commit the files of all runs to the tables that do not have them yet."""
        runs = runs or self.open(RUNS)
        rows = [] if runs is None else self.run_rows(runs, ["run", *RUN_COMMITTED])
        rows = [row for row in rows if row["actions"] is not None]
        with ThreadPoolExecutor(len(SCHEMAS)) as pool:
            for _ in pool.map(partial(self._settle, rows), SCHEMAS if rows else ()):
                pass

    def _settle(self, rows: Sequence[Row], name: str) -> None:
        """Commit the files of runs to one table, unless it has them."""
        from deltalake.exceptions import DeltaError

        for attempt in range(TRIES):
            table = self.opened(name)
            done = table.transaction_version(APPLICATION) or 0
            row = next((row for row in rows if row["sequence"] > done), None)
            if row is None:
                return
            files = [TableFile(*file) for file in json.loads(row["actions"]).get(name, ())]
            replace, said = row["operation"] == REPLACE, {"run": row["run"]}
            with refusals_of_delta(self.out):
                try:
                    self.write(table, name, files, row["sequence"], replace=replace, metadata=said)
                except DeltaError:  # where another writer was faster, there is a new version
                    if self.opened(name).version() == table.version():
                        raise
                    time.sleep(random() * min(attempt, 10) / 10)
        raise SparkError(f"{self.out}/{name}: other writers were faster {TRIES} times", "run the same command again")

    def _decide(self, make: MakeRows) -> None:
        """Commit rows to the table of runs, after a check of what is there."""
        from deltalake.exceptions import DeltaError

        reserve = self._reserve()
        for attempt in range(TRIES):
            table = self.opened(RUNS)
            self.settle(table)
            with refusals_of_delta(self.out):
                rows, replace = make(self.run_rows(table, [name for name in RUN_COLUMNS.names if name != "sequence"]))
                sequence = (table.transaction_version(APPLICATION) or 0) + 1
                rows = [{"sequence": sequence} | row for row in rows]
                file = ParquetFile(self.out, RUNS, self.run, RUN_COLUMNS)
                file.write(pa.Table.from_pylist(rows, RUN_COLUMNS))
                written = TableFile(*file.close())
                said = {"run": self.run}
                try:
                    self.write(table, RUNS, [written], sequence, replace=replace, metadata=said)
                    self._decided = True
                except (DeltaError, OSError):  # the commit may be there all the same
                    now = self.opened(RUNS)
                    self._decided = written in self.log_files(now, RUNS)
                    if not self._decided and now.version() == table.version():
                        raise
            if self._decided:
                if reserve:
                    self.system.delete_file(reserve)
                return
            self.system.delete_file(f"{self.root}/{written.name}")
            time.sleep(random() * min(attempt, 10) / 10)
        raise SparkError(f"{self.out}: other writers were faster {TRIES} times", "run the same command again")

    def _reserve(self) -> str:
        """Take room for the commits on a local disk; return the file's path, "" elsewhere."""
        if not isinstance(self.system, fs.LocalFileSystem):
            return ""
        path = f"{self._hidden}/reserve"
        with refusals(self.out):
            self.system.create_dir(self._hidden)
            with self.system.open_output_stream(path) as file:
                file.write(os.urandom(RESERVE))  # some file systems store zeros in no room
        return path

    def _names(self, folder: str) -> list[str]:
        return [info.base_name for info in self.system.get_file_info(fs.FileSelector(folder, allow_not_found=True))]

    def _files(self, folder: str) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
        return [info.path for info in found if info.type == fs.FileType.File]


def _is_dead(run: str) -> bool:
    """Return whether the process that wrote a run has ended; False for one that ran on another machine."""
    host, _, process = run.partition("-")[2].rpartition("-")
    if host != platform.node() or not process.isdecimal():
        return False
    with suppress(PermissionError):
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
    return False

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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from .archive.duplicates import Contents
from .archive.store import HIDDEN, refusals
from .delta import (
    APPEND,
    APPLICATION,
    REPLACE,
    RUN_COLUMNS,
    RUN_COMMITTED,
    SCHEMAS,
    DeltaFolder,
    TableFile,
    delta_refusals,
)  # fmt: skip
from .follow.progress import Progress
from .parquet import ParquetFile

if TYPE_CHECKING:
    from deltalake import DeltaTable

TRIES = 100
"""Commits that are tried while other writers are faster."""
OWN, WAITING = f"{HIDDEN}following", "waiting-"
"""The folder with what waits for the next run, and what the name of a run's folder in it begins with."""
RESERVED, RESERVE = "reserved", 1 << 20
"""Bytes that are kept free on a local disk until a run is decided, so that a full disk does not stop the commits after
it; the log takes some bytes more for each file."""
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
        self.name: str = self.run  # in the tables
        self.folder: str = f"{self.out}/{HIDDEN}{self.run}"
        self._hidden = f"{self.root}/{HIDDEN}{self.run}"
        self.waiting: str = f"{self.out}/{OWN}/{WAITING}{self.run}"
        """The folder for packets that wait for the next run."""
        self.is_decided: bool = False

    def entries(self) -> list[tuple[str, Row]]:
        """Return the names of the runs that wrote the tables, and what each noted; none where there are no tables."""
        table = self.open(RUNS)
        rows = [] if table is None else self.run_rows(table, ["run", "entry"])
        if not rows and self._exists(STATE):
            raise InputError(f"{self.out}: tables of an earlier version; convert them with kdbg tables migrate")
        return [(row["run"], json.loads(row["entry"])) for row in rows]

    def known(self) -> dict[str, int]:
        """Return the files that the tables hold, with their sizes at that time."""
        return {name: read.size for name, read in self.progress().files.items()}

    def progress(self) -> Progress:
        """Return how far captures were read by all runs."""
        return Progress.of(entry for _, entry in self.entries())

    def contents(self) -> list[Contents]:
        """Return what the captures hold that the tables were made of."""
        return [Contents(*one) for _, entry in self.entries() for one in entry.get("contents", ())]

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
        tables = () if self.is_decided else (*SCHEMAS, RUNS)
        for info in (info for table in tables for info in self.infos(table)):
            if info.base_name.startswith(f"{self.run}-"):
                self.system.delete_file(info.path)
        unused = (self._hidden,) if self.is_decided else (self._hidden, f"{self.root}/{OWN}/{WAITING}{self.run}")
        for folder in unused:
            if self.system.get_file_info(folder).type == fs.FileType.Directory:
                self.system.delete_dir(folder)

    def sweep(self, before: Progress) -> None:
        """Delete packets that no run waits for any more: those that waited `before`, and of runs that were killed."""
        kept, former = ({*map(_folder, progress.waiting)} for progress in (self.progress(), before))
        with refusals(self.out):
            for name in self._names(f"{self.root}/{OWN}"):
                run = name.removeprefix(WAITING)
                if run != name and name not in kept and (name in former or _is_dead(run)):
                    self.system.delete_dir(f"{self.root}/{OWN}/{name}")

    def drop(self, name: str) -> None:
        """Delete a folder inside the run's folder that is not needed any more."""
        if self.system.get_file_info(f"{self._hidden}/{name}").type == fs.FileType.Directory:
            self.system.delete_dir(f"{self._hidden}/{name}")

    def commit(self, files: Iterable[TableFile], entry: Row, *, append: bool, before: Progress | None = None) -> None:
        """Commit the files of finished tasks to the tables, in place of or beside those that are there.

        A run that appends began with what had been read `before`.
        """
        former = before or Progress()

        def rows(there: list[Row]) -> tuple[list[Row], bool]:
            now = Progress.of(json.loads(row["entry"]) for row in there)
            if append:
                former.check(now, entry, self.out)
            former.points |= now.points
            return [self.row(APPEND if append else REPLACE, entry, files)], not append

        self.commit_rows(rows)
        self.sweep(former)

    def commit_rows(self, make: MakeRows) -> None:
        """Commit rows to the table of runs, and then their files to the tables."""
        self._decide(make)
        self.drop(RESERVED)
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

        for _ in self.tries():
            table = self.opened(name)
            done = table.transaction_version(APPLICATION) or 0
            pending = [(row, json.loads(row["actions"]).get(name)) for row in rows if row["sequence"] > done]
            if not pending:
                return
            row, files = next((one for one in pending if one[1] or one[0]["operation"] == REPLACE), pending[-1])
            files = [TableFile(*file) for file in files or ()]
            replace, said = row["operation"] == REPLACE, {"run": row["run"]}
            with delta_refusals(self.out):
                try:
                    self.write(table, name, files, row["sequence"], replace=replace, metadata=said)
                except DeltaError:  # where another writer was faster, there is a new version
                    if self.opened(name).version() == table.version():
                        raise

    def _decide(self, make: MakeRows) -> None:
        """Commit rows to the table of runs, after a check of what is there."""
        from deltalake.exceptions import DeltaError

        columns = [name for name in RUN_COLUMNS.names if name != "sequence"]
        for _ in self.tries():
            table = self.opened(RUNS)
            self.settle(table)
            rows, replace = make(self.run_rows(table, columns))
            sequence = (table.transaction_version(APPLICATION) or 0) + 1
            rows = [row | {"sequence": sequence} for row in rows]
            with delta_refusals(self.out):
                self._reserve(RESERVE + 4 * len(rows[-1]["actions"]))
                file = ParquetFile(self.out, RUNS, self.run, RUN_COLUMNS)
                file.write(pa.Table.from_pylist(rows, RUN_COLUMNS))
                written = TableFile(*file.close())
                self.is_decided = True  # until the opposite is certain
                try:
                    self.write(table, RUNS, [written], sequence, replace=replace, metadata={"run": self.run})
                except (DeltaError, OSError):
                    now = self.opened(RUNS)
                    self.is_decided = rows[-1] in self.run_rows(now, RUN_COLUMNS.names)
                    if not self.is_decided and now.version() == table.version():
                        raise
            if self.is_decided:
                return

    def tries(self) -> Iterator[None]:
        """Yield as often as a commit is tried while other writers are faster, with pauses between."""
        for attempt in range(TRIES):
            yield
            time.sleep(random() * min(attempt, 10) / 10)
        raise SparkError(f"{self.out}: other writers were faster {TRIES} times", "run the same command again")

    def _reserve(self, size: int) -> None:
        """Take room for the commits on a local disk, until `drop` gives it back."""
        if isinstance(self.system, fs.LocalFileSystem):
            self.system.create_dir(f"{self._hidden}/{RESERVED}")
            with self.system.open_output_stream(f"{self._hidden}/{RESERVED}/bytes") as file:
                file.write(os.urandom(size))  # some file systems store zeros in no room

    def _names(self, folder: str) -> list[str]:
        return [info.base_name for info in self.system.get_file_info(fs.FileSelector(folder, allow_not_found=True))]

    def infos(self, folder: str) -> list[Any]:
        """Return the files in a folder of the tables, and in its folders, as pyarrow describes them."""
        selector = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True, recursive=True)
        return [info for info in self.system.get_file_info(selector) if info.type == fs.FileType.File]


def _folder(file: str) -> str:
    """Return the name of the folder of a file."""
    return file.rpartition("/")[0].rpartition("/")[2]


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

"""All or nothing: a run's files wait in a hidden folder, and become part of the tables once all of them are there.

    OUT/exchanges/date=2026-11-21/….parquet     the tables, one folder each
    OUT/causes/….jsonl                          what diagnosis found, if it was asked
    OUT/_kdbg.json                              which runs they are made of; written last
    OUT/.kdbg-<run>/                            a run that is not finished

Files are named after their run. A folder without `_kdbg.json` holds no tables, and a file of a run that is not named in
it is none of theirs; what a killed run left behind is cleared away by the next one.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from pyarrow import fs

from ... import __version__
from ...errors import SparkError
from ...views.tables.columns import CAUSES, STATE, TABLES
from .archive.store import identity, refusals, resolve

HIDDEN = ".kdbg-"
FOLDERS = (*TABLES, CAUSES)
"""The folders that a run's files are in."""
RENAMING = ("local", "hdfs")
"""File systems that rename a folder in one step; object stores have no folders, and copy its files one by one."""


class Output:
    """The folder of the tables, and in it the hidden `folder` of a run."""

    system: Any
    root: str

    def __init__(self, out: str) -> None:
        self.out: str = identity(out.rstrip("/") or out)
        self.system, self.root, _ = resolve(self.out)
        self.started: datetime = datetime.now(UTC)
        self.run: str = f"{self.started:%Y%m%dT%H%M%S%f}-{platform.node()}-{os.getpid()}"
        self.folder: str = f"{self.out}/{HIDDEN}{self.run}"
        self._hidden = f"{self.root}/{HIDDEN}{self.run}"

    def state(self) -> dict[str, Any]:
        """Return the content of `_kdbg.json`; {} where there is none."""
        with refusals(self.out):
            if self.system.get_file_info(f"{self.root}/{STATE}").type != fs.FileType.File:
                return {}
            with self.system.open_input_stream(f"{self.root}/{STATE}") as file:
                found: dict[str, Any] = json.loads(file.read())
        return found

    def known(self) -> dict[str, int]:
        """Return the files that the tables hold, with their sizes at that time."""
        return {name: size for run in self.state().get("runs", ()) for name, size in run["files"].items()}

    def runs(self) -> set[str]:
        """Return the names of the runs that wrote the tables; none where there are no tables."""
        return {run["run"] for run in self.state().get("runs", ())}

    def files_of(self, table: str, runs: set[str]) -> list[str]:
        """Return the paths of a table's files that these runs have written."""
        files = self._files(f"{self.root}/{table}")
        return [path for path in files if path.rpartition("/")[2].rpartition("-")[0] in runs]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs out of the folder meanwhile; raise `SparkError` where another is at work in it.

        The system lets go of the lock when the process ends, however that is. Object stores have none: there a run that
        comes late is refused when it commits files that the tables hold by then.
        """
        if self.system.type_name != "local":
            yield
            return
        with refusals(self.out):
            self.system.create_dir(self.root)
        lock = os.open(self.root, os.O_RDONLY)
        busy = SparkError(f"another run writes to {self.out}", "wait for it to end, or use another --out")
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise busy from None
            except OSError:  # not every file system can lock a folder
                pass
            yield
        finally:
            os.close(lock)
            with suppress(OSError):  # it is not empty, as a rule
                os.rmdir(self.root)  # noqa: PTH106 - a name of pyarrow's

    def begin(self) -> None:
        """Make the run's folder, and delete what killed runs have left; what they had put away is put back first."""
        with refusals(self.out):
            self.system.create_dir(self._hidden)
            for name in self._names(self.root):
                if name.startswith(HIDDEN) and _dead(name.removeprefix(HIDDEN)):
                    self._restore(f"{self.root}/{name}")
                    self.system.delete_dir(f"{self.root}/{name}")
            finished = self.runs()
            for path in self._tables(self.root) if finished else ():
                run = path.rpartition("/")[2].rpartition("-")[0]
                if run not in finished and _dead(run):
                    self.system.delete_file(path)

    def abandon(self) -> None:
        """Delete all that this run has written."""
        if self.system.get_file_info(self._hidden).type == fs.FileType.Directory:
            self.system.delete_dir(self._hidden)

    def drop(self, name: str) -> None:
        """Delete a folder inside the run's folder that is not needed any more."""
        if self.system.get_file_info(f"{self._hidden}/{name}").type == fs.FileType.Directory:
            self.system.delete_dir(f"{self._hidden}/{name}")

    def commit(self, files: Iterable[str], run: dict[str, Any], *, append: bool) -> None:
        """Move the files of finished tasks into the tables, in place of or beside those that are there."""
        before = self.state().get("runs", []) if append else []
        twice = {name for other in before for name in other["files"]} & run["files"].keys()
        if twice:
            raise SparkError(
                f"another run added {min(twice)} to {self.out} at the same time",
                "the tables contain the result of that run",
            )
        state = {
            "kdbg": __version__,
            "runs": [*before, {"run": self.run, "started": self.started.isoformat()} | run],
            "tables": TABLES,
        }
        files = list(files)
        with refusals(self.out):
            with self.system.open_output_stream(f"{self._hidden}/{STATE}") as file:  # before anything is replaced
                file.write(json.dumps(state, indent=1).encode())
            try:
                if append:
                    self._add(files)
                else:
                    self._replace(set(files))
                self.system.move(f"{self._hidden}/{STATE}", f"{self.root}/{STATE}")
            except BaseException:
                for name in files if append else ():
                    if self.system.get_file_info(f"{self.root}/{name}").type == fs.FileType.File:
                        self.system.delete_file(f"{self.root}/{name}")
                if not append:
                    self._restore(self._hidden)
                raise
        self.abandon()

    def _replace(self, files: set[str]) -> None:
        """Replace the tables of earlier runs by the run's."""
        for path in self._tables(self._hidden):
            if path.removeprefix(f"{self._hidden}/") not in files:  # of an attempt that came to nothing
                self.system.delete_file(path)
        self.system.create_dir(f"{self._hidden}/old")
        renames = self.system.type_name in RENAMING
        there, new = self._names(self.root), self._names(self._hidden)
        for name in (STATE, *FOLDERS):  # what is not told of any more is no part of the tables
            if name not in there:
                continue
            if renames:
                self.system.move(f"{self.root}/{name}", f"{self._hidden}/old/{name}")
            elif name == STATE:
                self.system.delete_file(f"{self.root}/{name}")
            else:
                self.system.delete_dir(f"{self.root}/{name}")
        for table in FOLDERS:
            if table in new and renames:
                self.system.move(f"{self._hidden}/{table}", f"{self.root}/{table}")
            elif table in new:
                self._add(path.removeprefix(f"{self._hidden}/") for path in self._files(f"{self._hidden}/{table}"))

    def _restore(self, hidden: str) -> None:
        """Put back the tables that a run had put away into its folder, unless its own are complete.

        The state goes first and comes back last: where it is put away and no other is there, the run was not complete.
        """
        old = self._names(f"{hidden}/old")
        if STATE not in old or STATE in self._names(self.root):
            return
        for name in (*FOLDERS, STATE):
            if name in old:
                if name in self._names(self.root):
                    self.system.delete_dir(f"{self.root}/{name}")
                self.system.move(f"{hidden}/old/{name}", f"{self.root}/{name}")

    def _add(self, files: Iterable[str]) -> None:
        """Move the run's files beside those that are there."""
        for name in files:
            self.system.create_dir(f"{self.root}/{name.rpartition('/')[0]}")
            self.system.move(f"{self._hidden}/{name}", f"{self.root}/{name}")

    def _names(self, folder: str) -> list[str]:
        return [info.base_name for info in self.system.get_file_info(fs.FileSelector(folder, allow_not_found=True))]

    def _tables(self, folder: str) -> list[str]:
        """Return the tables' files in a folder."""
        return [path for table in FOLDERS for path in self._files(f"{folder}/{table}")]

    def _files(self, folder: str) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
        return [info.path for info in found if info.type == fs.FileType.File]


def _dead(run: str) -> bool:
    """Return whether the process that wrote a run has ended; False for one that ran on another machine."""
    host, _, process = run.partition("-")[2].rpartition("-")
    if host != platform.node() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False

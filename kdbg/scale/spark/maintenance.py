"""Delta tables kept in order: small files merged, old files deleted, versions listed, former folders converted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ...errors import InputError
from ...views.tables.columns import CAUSES, RUNS, STATE
from ...views.tables.columns import TABLES as COLUMNS
from .archive.store import refusals
from .commit import OWN, Output
from .delta import MIGRATE, SCHEMAS, TableFile, delta_refusals
from .follow.followed import RUN_NAME
from .parquet import ParquetFile

ALL = (*SCHEMAS, RUNS)
"""The tables in a folder."""


def compact(output: Output) -> Iterator[tuple[str, int, int]]:
    """Merge the small files of each table; yield (table, files before, files after)."""
    from deltalake.exceptions import CommitFailedError

    output.runs([])
    output.settle()
    for name in ALL:
        for _ in output.tries():
            table = output.opened(name)
            before = len(output.log_files(table, name))
            with delta_refusals(output.out), suppress(CommitFailedError):  # a writer replaced these files meanwhile
                table.optimize.compact(max_concurrent_tasks=1)
                yield name, before, len(output.log_files(output.opened(name), name))
                break


def vacuum(output: Output, hours: int, *, dry_run: bool) -> Iterator[tuple[str, list[str]]]:
    """Delete files that no version of the last hours refers to; yield the files of each table.

    What a run that is still at work has written is younger than the retention, unless that is shorter than a run.
    """
    output.runs([])
    output.settle()
    for name in ALL:
        table = output.opened(name)
        with delta_refusals(output.out):
            yield name, table.vacuum(hours, dry_run, enforce_retention_duration=False, full=True)
    if not dry_run:
        output.clear()


def history(output: Output) -> Iterator[tuple[str, int, datetime, str, int | None, str | None]]:
    """Yield (table, version, time, operation, rows, run) for each version of each table, the latest first."""
    output.runs([])
    for name in ALL:
        table = output.open(name)
        with delta_refusals(output.out):
            versions = [] if table is None else table.history()
        for one in versions:
            mode = one.get("operationParameters", {}).get("mode", "")
            when = datetime.fromtimestamp(one["timestamp"] / 1000, UTC)
            operation = (mode if one["operation"] == "WRITE" else one["operation"]).lower()
            yield name, one["version"], when, operation, one.get("rows"), one.get("run")


def migrate(output: Output) -> int:
    """Convert the tables of a folder in which `_kdbg.json` names the runs; return how many runs there are.

    Their files stay where they are. The folder is as it was up to the commit, and `_kdbg.json` is deleted after it.
    """
    system, state = output.system, f"{output.root}/{STATE}"
    with refusals(output.out):
        if system.get_file_info(state).type != fs.FileType.File:
            raise InputError(f"{output.out}: no tables of an earlier version")
        with system.open_input_stream(state) as opened:
            said = opened.read()
        try:
            entries = {str(entry["run"]): {"files": {}, **entry} for entry in json.loads(said)["runs"]}
        except (ValueError, KeyError, TypeError):
            entries = {}
        if not entries:
            raise InputError(f"{output.out}/{STATE}: not the list of runs of a pipeline")
        causes = [info.path for info in output.infos(CAUSES) if info.path.endswith(".jsonl")]
        runs = output.open(RUNS)
        if runs is None or not output.run_rows(runs, []):  # else it was killed after the commit
            files = [*_files(output, entries), *_causes(output, causes)]
            rows = [output.row(MIGRATE, entry, None, run) for run, entry in entries.items()]
            rows[-1]["actions"] = output.row(MIGRATE, {}, files)["actions"]
            output.commit_rows(lambda before: (rows, True))
        output.settle()
        for path in [*causes, state]:
            system.delete_file(path)
    return len(entries)


def _files(output: Output, runs: Mapping[str, Any]) -> Iterator[TableFile]:
    """Yield the files of these runs; a batch that was killed on its way into the tables is not part of them."""
    pending = f"{output.root}/{OWN}/pending.json"
    killed: set[str] = set()
    if output.system.get_file_info(pending).type == fs.FileType.File:
        with output.system.open_input_stream(pending) as opened:
            said = json.loads(opened.read())
        killed = {*said["files"]} if said["commit"] != runs.get(RUN_NAME, {}).get("commit") else set()
    for info in (info for table in COLUMNS for info in output.infos(table)):
        name = info.path.removeprefix(f"{output.root}/")
        if info.base_name.rpartition("-")[0] in runs and info.extension == "parquet" and name not in killed:
            rows = pq.read_metadata(info.path, filesystem=output.system).num_rows
            yield TableFile(name, info.size, rows)


def _causes(output: Output, paths: list[str]) -> Iterator[TableFile]:
    """Write causes that stand in JSON lines as a file of the table; yield it."""
    rows: list[dict[str, Any]] = []
    for path in paths:
        with output.system.open_input_stream(path) as opened:
            lines = opened.read().splitlines()
        run = path.rpartition("/")[2].rpartition("-")[0]
        try:
            rows += [
                {"run": run, "capture": one["file"], "place": place, "severity": one["severity"], "cause": one["cause"],
                 "object": orjson.dumps(one).decode()}
                for place, one in enumerate(map(orjson.loads, lines))
            ]  # fmt: skip
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}: a line is not a cause") from None
    if rows:
        file = ParquetFile(output.out, CAUSES, output.run, SCHEMAS[CAUSES])
        file.write(pa.Table.from_pylist(rows, SCHEMAS[CAUSES]))
        yield TableFile(*file.close())

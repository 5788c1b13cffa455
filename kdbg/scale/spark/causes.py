"""The causes that a pipeline with `--diagnose` has found, read back: capture by capture, as they were judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pyarrow.parquet as pq

from ...analysis.diagnosis import Case
from ...analysis.diagnosis.text import stored_case
from ...errors import InputError
from ...protocol.findings.amounts import count
from ...views.tables.columns import CAUSES
from .archive.store import refusals
from .delta import DeltaFolder

PIPELINE = "create them with kdbg pipeline CAPTURES… --diagnose"


def judgements(folder: str) -> Iterator[tuple[str, bool, list[Case]]]:
    """Yield each capture of a folder of tables, run after run, and what was found in it, the weightiest first.

    It goes by its file, or by its name where it has several, which the value after it says: then the numbers of
    exchanges and packets count through all of them. Raise `InputError` where the folder holds no tables, or any of its
    runs did not judge its captures.
    """
    tables = DeltaFolder(folder)
    files = tables.files([CAUSES]).files[CAUSES]
    runs = [(row["run"], json.loads(row["entry"])) for row in tables.runs(["run", "entry"])]
    lacking = sum(CAUSES not in entry for _, entry in runs)
    if lacking:
        which = "the tables were" if len(runs) == 1 else f"{lacking:,} of {count(len(runs), 'run')} were"
        raise InputError(f"{folder}: no causes, as {which} made without --diagnose; {PIPELINE}")
    by_run: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        with refusals(folder):
            path = f"{tables.root}/{file.name}"
            rows = pq.read_table(path, filesystem=tables.system, partitioning=None).to_pylist()
        for row in rows:
            by_run.setdefault(row["run"], []).append(row)
    for run, entry in runs:
        found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in entry[CAUSES]}
        for row in sorted(by_run.get(run, ()), key=lambda row: int(row["place"])):
            try:
                one = orjson.loads(row["object"])
            except orjson.JSONDecodeError:
                one = None
            if not isinstance(one, dict):
                raise InputError(f"{folder}: an object in the table {CAUSES} is not a cause")
            found.setdefault(row["capture"], []).append(one)
        for name, objects in found.items():
            try:
                cases = [stored_case(one) for one in objects]
            except ValueError as error:
                raise InputError(f"{folder}: {error}") from None
            file = entry[CAUSES].get(name)
            is_path = isinstance(file, str)  # else of kdbg 0.1
            yield (file or name) if is_path else name, bool(file) != is_path, cases

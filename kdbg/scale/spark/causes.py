"""The causes that a pipeline with `--diagnose` has found, read back: capture by capture, as they were judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ...analysis.diagnosis import Case
from ...analysis.diagnosis.text import stored_case
from ...errors import InputError
from ...protocol.findings.amounts import count
from ...views.tables.columns import CAUSES
from .archive.store import refusals
from .commit import Output

PIPELINE = "create them with kdbg pipeline CAPTURES… --diagnose"


def judgements(folder: str) -> Iterator[tuple[str, bool, list[Case]]]:
    """Yield each capture of a folder of tables, run after run, and what was found in it, the weightiest first.

    Beside its name is whether it was rolled into several files: the numbers of exchanges and packets count through all
    of them. Raise `InputError` where the folder holds no tables, or any of its runs did not judge its captures.
    """
    output = Output(folder)
    runs = output.state().get("runs", ())
    if not runs:
        raise InputError(f"{folder}: no tables; {PIPELINE}")
    lacking = sum(CAUSES not in run for run in runs)
    if lacking:
        which = "the tables were" if len(runs) == 1 else f"{lacking:,} of {count(len(runs), 'run')} were"
        raise InputError(f"{folder}: no causes, as {which} made without --diagnose; {PIPELINE}")
    for run in runs:
        found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in run[CAUSES]}
        for path in sorted(output.files_of(CAUSES, {run["run"]})):
            with refusals(path), output.system.open_input_stream(path) as file:
                lines = file.read().splitlines()
            for line in lines:
                try:
                    one = orjson.loads(line)
                except orjson.JSONDecodeError:
                    one = None
                if not isinstance(one, dict):
                    raise InputError(f"{path}: a line is not a cause")
                found.setdefault(str(one.get("file")), []).append(one)
        for name, objects in found.items():
            try:
                cases = [stored_case(one) for one in objects]
            except ValueError as error:
                raise InputError(f"{folder}: {error}") from None
            yield name, bool(run[CAUSES].get(name)), cases

"""Writers of tables that tests kill: `python -m tests.spark.writers HOW OUT NAME` writes until it is killed.

Each row is in two tables, so that a run that is in one of them alone is seen. What is committed is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import dataset

from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.delta import DeltaFolder, TableFile
from kdbg.scale.spark.follow.followed import Followed
from kdbg.scale.spark.maintenance import compact
from kdbg.scale.spark.parquet import Tables
from kdbg.views.tables.cells import LAYOUTS

BOTH = {"groups": "group_id", "problems": "text"}
EVERY = 4
"""Appends between two compactions."""


def row(table: str, name: str) -> tuple[object, ...]:
    """The cells of a row of a table that holds a name."""
    return tuple(name if column == BOTH[table] else None for column in LAYOUTS[table])


def write(output: Output, *names: str) -> list[TableFile]:
    """Rows into the tables' folders; the files."""
    tables = Tables(output.folder)
    for table in BOTH:
        for name in names:
            tables.add(table, 0, row(table, name))
    return [TableFile(*file) for file in tables.close()["files"]]


def commit(out: object, *names: str, append: bool = False) -> Output:
    """The same, committed by a run that read files of these names."""
    output = Output(str(out))
    output.begin()
    output.commit(write(output, *names), {"files": dict.fromkeys(names, 1)}, append=append)
    return output


def same(rows: dict[str, list[str]]) -> list[str]:
    """The names in each of the tables, which are the same in all."""
    first, *others = rows.values()
    assert all(other == first for other in others), rows
    return first


def groups(out: object) -> list[str]:
    """The names in the tables, as kdbg reads them."""
    folder, found = DeltaFolder(str(out)), dict[str, list[str]]()
    for table, files in folder.files(BOTH).files.items():
        schema = pa.schema([(BOTH[table], pa.string())])
        paths = [f"{folder.root}/{file.name}" for file in files]
        rows = dataset.dataset(paths, schema, "parquet", folder.system).to_table() if paths else schema.empty_table()
        found[table] = sorted(rows.column(0).to_pylist())
    return same(found)


def stored(out: object) -> list[str]:
    """The names in the tables, as any other reader of Delta finds them."""
    folder, found = DeltaFolder(str(out)), dict[str, list[str]]()
    for table in BOTH:
        read: Any = DeltaTable(f"{folder.out}/{table}", storage_options=folder.options)
        found[table] = sorted(read.to_pyarrow_table(columns=[BOTH[table]]).column(0).to_pylist())
    return same(found)


def replace(out: str, name: str, number: int) -> None:
    commit(out, f"{name}-{number}", f"{name}-{number}+")


def append(out: str, name: str, number: int) -> None:
    commit(out, f"{name}-{number}", append=True)


def follow(out: str, name: str, number: int) -> None:
    output = Followed(out)
    entry = output.recover()
    output.begin()
    after = {"commit": entry.get("commit", 0) + 1, "files": {}}
    output.commit(write(output, f"{name}-{number}"), after)


def compacting(out: str, name: str, number: int) -> None:
    if number % EVERY == EVERY - 1:
        assert [*compact(Output(out))]
    append(out, name, number)


WRITERS: dict[str, Callable[[str, str, int], None]] = {
    "replace": replace, "append": append, "follow": follow, "compact": compacting
}  # fmt: skip


def main(how: str, out: str, name: str, most: str = "") -> None:
    for number in range(int(most)) if most else count():
        WRITERS[how](out, name, number)
        print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

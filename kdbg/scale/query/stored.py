"""A pipeline's tables in a database: datasets of Parquet files, wherever they lie."""

from __future__ import annotations

from collections.abc import Set

from ...errors import InputError
from ..spark.commit import Output
from .database import Database
from .schemas import SCHEMAS


def show(database: Database, folder: str, tables: Set[str]) -> None:
    """Put some of the tables in a folder into a database. Raise `InputError` where the folder holds no tables."""
    import pyarrow as pa
    from pyarrow import dataset

    output = Output(folder)
    runs = output.runs()
    if not runs:
        raise InputError(f"{output.out}: no complete tables; create them with kdbg pipeline")
    days = dataset.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
    for table in tables:
        files = output.files_of(table, runs)
        if files:
            schema = SCHEMAS[table].append(pa.field("date", pa.date32()))
            database.show(table, dataset.dataset(
                files, schema, "parquet", output.system, days, partition_base_dir=f"{output.root}/{table}"
            ))  # fmt: skip

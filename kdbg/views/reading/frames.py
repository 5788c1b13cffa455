"""A reading as columns: the tables of `kdbg pipeline`, made in memory."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...errors import InputError
from ...exchanges.messages.exchange import Exchange
from ...extras import install
from ..tables.cells import Cells
from ..tables.message_columns import WantedRows
from ..tables.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa

TOLD = ("exchanges", "partitions", "records", "groups", "problems")
"""The tables that exchanges tell of; the others are about files and connections."""


def arrow(name: str, exchanges: Iterable[Exchange], topics: dict[UUID, str], table: str) -> pa.Table:
    """Return a table of the exchanges of a capture; raise `InputError` for no such table, or without pyarrow."""
    if table not in TOLD:
        raise InputError(f"unknown table {table!r}; use one of {', '.join(TOLD)}")
    if find_spec("pyarrow") is None:
        raise InputError(f"tables need the package pyarrow; {install('spark')}")
    import pyarrow as pa

    from ..tables.arrow import batch

    return pa.Table.from_batches([batch(cells(name, exchanges, topics, table), table)])


def cells(name: str, exchanges: Iterable[Exchange], topics: dict[UUID, str], table: str) -> list[Any]:
    """Return the cells of all rows of one table."""
    found: list[Any] = []

    def add(kind: str, time: int | None, cells: Cells, size: int) -> None:
        if kind == table:
            found.extend(cells)

    wanted = WantedRows.of({table})
    make = Rows(add, wanted, topics)
    for exchange in exchanges:
        make.exchange(name, exchange)
    return found

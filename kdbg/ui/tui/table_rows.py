"""Rows of tables in a feed, in place of exchanges: what the tables know of one, and its messages where they stand.

A parcel of the spool is a pickled dict here, of columns, each a list with a value for each row.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.serialization import unpack
from ...protocol.findings.amounts import count
from ...views.render.style import Look
from ...views.render.values import escape
from .contents import Looked
from .feed import ExchangeFeed
from .fields import MessageFields, OpenedExchange, OpenedField, opened
from .index import Parcel
from .pieces import StyledText

KEPT = 32
"""Parcels that are kept as columns."""
MORE = "searching the other tables and the capture …"
Columns: TypeAlias = "dict[str, list[Any]]"
Described: TypeAlias = "Mapping[str, Mapping[str, tuple[str, str]]]"
"""Table by table, the kind of each column, and what it says."""


class Beside(NamedTuple):
    """Rows of other tables about an exchange, by their table; `more` of each are left out."""

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    more: Mapping[str, int]


class Original(NamedTuple):
    """An exchange as its capture has it, packed; or why there is none. `topics` are the names of topic ids."""

    numbers: bytes = b""
    common: bytes = b""
    data: bytes = b""
    topics: Mapping[UUID, str] = {}
    missing: str = ""

    def exchange(self) -> Exchange | None:
        """Return it."""
        if self.missing:
            return None
        return next(one for _, one in unpack(self.numbers, self.common, self.data, dict(self.topics)))


class TableRows:
    """Rows of the table of exchanges; `described` says what columns mean."""

    unjudged: str = "tables contain no packets to diagnose; run kdbg diagnose on the captures"

    def __init__(self, feed: ExchangeFeed, look: Look, described: Described) -> None:
        self._feed, self._look, self._described = feed, look, described
        self._parcels: OrderedDict[int, Columns] = OrderedDict()

    def row(self, position: int) -> dict[str, Any]:
        """Return a row."""
        parcel, place = self._feed.index.place(position)
        return {name: values[place] for name, values in self._columns(parcel).items()}

    def _columns(self, parcel: Parcel) -> Columns:
        found = self._parcels.get(parcel.start)
        if found is None:
            found = pickle.loads(self._feed.data(parcel))  # what this program wrote
            while len(self._parcels) >= KEPT:
                self._parcels.popitem(last=False)
            self._parcels[parcel.start] = found
        return found

    def about(self, position: int) -> list[StyledText]:
        row = self.row(position)
        wrong = [StyledText(f"✗ {escape(name)}", "bad") for name in dict.fromkeys(row["errors"] or ())]
        notes = [StyledText(f"! {escape(note.partition(':')[0])}", "note") for note in row["notes"] or ()]
        names = " ".join(map(escape, (*(row["topics"] or ()), *(row["groups"] or ()))))
        return [*wrong, *notes, *([StyledText(names)] if names else [])]

    def look_at(self, position: int) -> Looked:
        part = MessageFields("exchange", self._fields("exchanges", self.row(position)), missing=MORE)
        return Looked(position, None, OpenedExchange([part], []), {})

    def more(self, looked: Looked) -> tuple[Any, ...] | None:
        return (self.row(looked.position),)

    def fuller(self, looked: Looked, told: Any) -> Looked:
        if isinstance(told, Beside):
            parts = [*looked.opened.parts, *(self._part(table, told) for table in told.rows)]
            return looked._replace(opened=OpenedExchange(parts, []))
        first, *others = looked.opened.parts
        known = [replace(first, missing=""), *others]
        exchange = told.exchange()
        if exchange is None:
            missing = MessageFields("bytes", missing=f"not in tables; {escape(told.missing)}")
            return looked._replace(opened=OpenedExchange([*known, missing], []))
        found = opened(exchange, told.topics, self._look)
        return looked._replace(
            exchange=exchange, topics=told.topics, opened=OpenedExchange([*known, *found.parts], found.buffers)
        )

    def _part(self, table: str, beside: Beside) -> MessageFields:
        rows, more = beside.rows[table], beside.more.get(table, 0)
        fields = [one for at, row in enumerate(rows) for one in self._fields(table, row, f"[{at}].")]
        part = MessageFields(table, fields, missing=count(len(rows) + more, "row"))
        if more:
            part.notes.append(f"the first {len(rows):,} of {len(rows) + more:,}; use kdbg query for all")
        return part

    def _fields(self, table: str, row: Mapping[str, Any], front: str = "") -> list[OpenedField]:
        """Return the columns of a row that say something."""
        about = self._described[table]
        return [
            OpenedField(f"{front}{name}", cell_text(value), *about.get(name, ("", "")), None)
            for name, value in row.items()
            if value is not None and value != []
        ]


def cell_text(value: Any) -> str:
    """Return a value of a column as text, escaped."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return value.hex(" ") or "no bytes"
    if isinstance(value, dict):
        return ", ".join(f"{escape(str(key))}: {cell_text(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell_text, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{escape(value)}"' if isinstance(value, str) else str(value)

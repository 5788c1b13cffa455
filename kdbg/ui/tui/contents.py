"""What stands in a feed, and how it is looked at: exchanges with their messages, or rows of tables."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.serialization import unpack
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.outline import NamesThen, names_by_then
from ...views.render.style import Look
from ...views.render.summary import Summary
from ...views.render.values import escape
from .feed import ExchangeFeed
from .fields import MessageFields, OpenedExchange, OpenedField, opened
from .index import Parcel
from .pane import StyledText


class Looked(NamedTuple):
    """What the user looks at: its position, its fields, and the exchange, None where there are no messages of it.

    `topics` are the names of topic ids, `file` is where its messages can be had by its number, "" for nowhere.
    """

    position: int
    exchange: Exchange | None
    opened: OpenedExchange
    topics: Mapping[UUID, str]
    file: str = ""


class ExchangeContents:
    """Exchanges with their messages, of files by their names; a live stream has none.

    `unjudged` says why no causes can be named, "" where they can.
    """

    unjudged: str = ""

    def __init__(self, feed: ExchangeFeed, look: Look, files: Sequence[str]) -> None:
        self._feed, self._look, self._files = feed, look, files
        self._summaries: list[tuple[NamesThen, Summary]] = []

    def about(self, position: int) -> list[StyledText]:
        """Return what an exchange was about: what went wrong first."""
        exchange, file = self._feed.exchange(position), self._feed.index.who_of(position).file
        while len(self._summaries) <= file:
            names = NamesThen(self._feed.index.topics[len(self._summaries)])
            self._summaries.append((names, Summary(self._look, names)))
        names, summary = self._summaries[file]
        names.at(exchange.names)
        told = summary.subject(exchange)
        pieces = [StyledText(one.text, one.style) for one in told.wrong]
        return [*pieces, StyledText(told.others)] if told.others else pieces

    def look_at(self, position: int) -> Looked:
        """Read what there is to see of an exchange, in no time worth naming."""
        exchange, file = self._feed.exchange(position), self._feed.index.who_of(position).file
        topics = self._feed.index.topics[file]
        found = opened(exchange, names_by_then(topics, exchange.names), self._look)
        return Looked(position, exchange, found, topics, "" if self._feed.most is not None else self._files[file])

    def more(self, looked: Looked) -> tuple[Any, ...] | None:
        """Return what the job `more` is asked for the rest of it; None where there is none."""
        return None

    def fuller(self, looked: Looked, told: Any) -> Looked:
        """Return it with what that job has told."""
        return looked


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
    """An exchange as its capture has it, packed; or why there is none. `topics` are the names of topic ids.

    `command` is what shows it, "" where its number is unknown.
    """

    numbers: bytes = b""
    common: bytes = b""
    data: bytes = b""
    topics: Mapping[UUID, str] = {}
    missing: str = ""
    command: str = ""

    def exchange(self) -> Exchange | None:
        """Return it."""
        if self.missing:
            return None
        return next(one for _, one in unpack(self.numbers, self.common, self.data, dict(self.topics)))


class TableRows(ExchangeContents):
    """Rows of the table of exchanges; `described` says what columns mean."""

    unjudged: str = "tables contain no packets to diagnose; run kdbg diagnose on the captures"

    def __init__(self, feed: ExchangeFeed, look: Look, described: Described) -> None:
        self._feed, self._look, self._described = feed, look, described
        self._columns: Callable[[Parcel], Columns] = lru_cache(KEPT)(self._read)

    def row(self, position: int) -> dict[str, Any]:
        """Return a row."""
        parcel, place = self._feed.index.place(position)
        return {name: values[place] for name, values in self._columns(parcel).items()}

    def _read(self, parcel: Parcel) -> Columns:
        found: Columns = pickle.loads(self._feed.data(parcel))  # what this program wrote
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
            parts = [*looked.opened.parts]
            for table, rows in told.rows.items():
                whole = len(rows) + told.more.get(table, 0)
                fields = [one for at, row in enumerate(rows) for one in self._fields(table, row, f"[{at}].")]
                parts.append(MessageFields(table, fields, missing=count(whole, "row")))
                if whole > len(rows):
                    parts[-1].notes.append(f"the first {len(rows):,} of {whole:,}; use kdbg query for all")
            return looked._replace(opened=OpenedExchange(parts, []))
        first, *others = looked.opened.parts
        known = [replace(first, missing="", notes=[told.command] if told.command else []), *others]
        exchange = told.exchange()
        if exchange is None:
            missing = MessageFields("bytes", missing=f"not in tables; {escape(told.missing)}")
            return looked._replace(opened=OpenedExchange([*known, missing], []))
        found = opened(exchange, told.topics, self._look)
        return looked._replace(
            exchange=exchange, topics=told.topics, opened=OpenedExchange([*known, *found.parts], found.buffers)
        )

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

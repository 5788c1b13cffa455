"""What was measured: tables of numbers, kept as JSON (result.json), shown as Markdown, held against those of last time.

A column of ratios says which way is better, and a ratio that got worse than last time is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

Cell: TypeAlias = float | str | None
Unit: TypeAlias = Literal["s", "ms", "µs", "MB", "GB", "×", "count", "text"]
WORSE = 1.1
"""Times worse than last time that is still noise."""
FORMS: dict[str, Callable[[Any], str]] = {
    "s": "{:.2f} s".format, "ms": "{:.0f} ms".format, "µs": lambda value: f"{value:,.{1 if value < 100 else 0}f} µs",
    "MB": "{:,.0f} MB".format, "GB": "{:.2f} GB".format, "×": "{:.2f}".format, "count": "{:,.0f}".format,
    "text": str,
}  # fmt: skip


class Column(NamedTuple):
    """`better` of a ratio: 1 where more is better, -1 where less is; 0 for what is not held against last time's."""

    title: str
    unit: Unit = "×"
    better: int = 0


@dataclass
class Table:
    """`name` is its key in result.json, `what` the title of the column with the names of the rows."""

    name: str
    what: str
    columns: Sequence[Column]
    rows: dict[str, list[Cell]] = field(default_factory=dict)

    def add(self, row: str, *cells: Cell) -> None:
        assert len(cells) == len(self.columns), row
        self.rows[row] = list(cells)

    def column(self, title: str) -> dict[str, Cell]:
        """The cells of a column, by row."""
        place = [column.title for column in self.columns].index(title)
        return {row: cells[place] for row, cells in self.rows.items()}

    def markdown(self, before: Table | None = None, *, only: Callable[[str], bool] = lambda row: True) -> str:
        """The table; with that of `before`, each ratio has last time's behind it."""
        head = [self.what, *(column.title for column in self.columns)]
        align = ["---", *("---" if column.unit == "text" else "---:" for column in self.columns)]
        lines = [[row, *self._texts(row, before)] for row in self.rows if only(row)]
        return "\n".join("| " + " | ".join(line) + " |" for line in (head, align, *lines))

    def _texts(self, row: str, before: Table | None) -> list[str]:
        found = []
        for column, cell in zip(self.columns, self.rows[row], strict=True):
            text = "–" if cell is None else FORMS[column.unit](cell)
            if column.better and before is not None and (was := before.known(row, column)) is not None:
                text += f" (was {FORMS[column.unit](was)})"
            found.append(text)
        return found

    def known(self, row: str, column: Column) -> float | None:
        """A ratio, if it is in this table."""
        titles = [known.title for known in self.columns]
        cell = self.rows[row][titles.index(column.title)] if row in self.rows and column.title in titles else None
        return cell if isinstance(cell, float) else None

    def worse(self, before: Table) -> Iterable[str]:
        """A line for each ratio that got worse."""
        for column in self.columns:
            for row in self.rows if column.better else ():
                now, was = self.known(row, column), before.known(row, column)
                if now and was and (was / now) ** column.better > WORSE:
                    yield f"{row}, {column.title}: {now:.2f}, was {was:.2f}"


def together(tables: Iterable[Table], before: Mapping[str, Table] | None = None) -> str:
    """Tables as Markdown, one after another; with those of `before`, and what got worse since."""
    known = before or {}
    parts = [table.markdown(known.get(table.name)) for table in tables if table.rows]
    worse = [line for table in tables if table.name in known for line in table.worse(known[table.name])]
    return "\n\n".join(parts + (["Worse than last time:\n" + "\n".join(worse)] if worse else []))


class Results:
    """The file of results: tables by name, each with the line that says when and where it was measured."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.settings: dict[str, str] = {name: table["setting"] for name, table in kept.items()}
        self.tables: dict[str, Table] = {name: _table(name, table) for name, table in kept.items()}

    def put(self, setting: str, tables: Iterable[Table]) -> None:
        """Take tables in place of last time's; those without rows were not measured."""
        for table in tables:
            if table.rows:
                self.tables[table.name], self.settings[table.name] = table, setting

    def save(self) -> None:
        kept = {name: _plain(self.settings[name], table) for name, table in sorted(self.tables.items())}
        lines = json.dumps(kept, ensure_ascii=False, indent=1).replace("\n    ", " ").replace("\n   ]", "]")
        self._path.write_text(lines + "\n", encoding="utf-8")


def _plain(setting: str, table: Table) -> dict[str, Any]:
    rows = {row: [round(cell, 4) if isinstance(cell, float) else cell for cell in cells]
            for row, cells in table.rows.items()}  # fmt: skip
    return {"setting": setting, "what": table.what, "columns": [list(column) for column in table.columns], "rows": rows}


def _table(name: str, kept: Mapping[str, Any]) -> Table:
    return Table(name, kept["what"], [Column(*column) for column in kept["columns"]], dict(kept["rows"]))

"""The parts of the manual that are made from the code: the tables' columns, the filters, the metrics."""

from __future__ import annotations

import re
from collections.abc import Callable

from kdbg.filters.table import FILTERS
from kdbg.filters.where.vocabulary import TERMS
from kdbg.guide import text
from kdbg.signals.families import FAMILIES
from kdbg.tables import columns

YES = {True: "yes", False: ""}


def tables() -> str:
    """Return a section for each table, with a row for each column."""
    parts = []
    for name, kinds in columns.TABLES.items():
        rows = [f"| `{column}` | {kind} | {columns.ABOUT[name][column]} |" for column, kind in kinds.items()]
        parts.append("\n".join([f"## {name}", "", "| column | type | what it is |", "| --- | --- | --- |", *rows, ""]))
    return "\n".join(parts)


def filters() -> str:
    """Return the table of filters."""
    rows = [
        f"| `{name}` | {one.form.value} | {one.help} | {YES[one.archives]} | {YES[one.pieces]} |"
        for name, one in FILTERS.items()
    ]
    return "\n".join(["| filter | value | chooses | archives | files |", "| --- | --- | --- | --- | --- |", *rows, ""])


def names() -> str:
    """Return the table of the names of expressions."""
    rows = [f"| `{name}` | {term.about} |" for name, term in TERMS.items()]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows, ""])


def families() -> str:
    """Return the table of metrics."""
    rows = [
        f"| `{one.full_name}` | {one.type.value} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |"
        for one in FAMILIES.values()
    ]
    return "\n".join(["| metric | type | labels | what it is |", "| --- | --- | --- | --- |", *rows, ""])


PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("tables", "tables"): tables,
    ("filters", "filters"): filters,
    ("where", "names"): names,
    ("telemetry", "families"): families,
}
"""By (topic, marker), what makes the text between `<!-- marker -->` and `<!-- /marker -->`."""


def filled(topic: str, marker: str) -> str:
    """Return a topic's text with the part between its markers made anew."""
    made = PARTS[topic, marker]()
    return re.sub(
        rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", lambda found: found[1] + made + found[2], text(topic),
        flags=re.DOTALL,
    )  # fmt: skip

"""The parts of the manual that are made from the code: the tables' columns and the filters."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator

from kdbg.filters.table import FILTERS
from kdbg.filters.where.vocabulary import TERMS
from kdbg.guide import text
from kdbg.tables import columns

from .blocks import TOP

SOURCE = TOP / "kdbg" / "tables" / "columns.py"
SHARED = {"WHO": columns.WHO, "WHAT": columns.WHAT}
YES = {True: "yes", False: ""}


def tables() -> str:
    """Return a section for each table, with a row for each column; comments of the source say what it is."""
    found = comments()
    parts = []
    for name, described in columns.TABLES.items():
        rows = [
            f"| `{column}` | {kind} | {found.get((name, column)) or shared(found, column)} |"
            for column, kind in described.items()
        ]
        parts.append("\n".join([f"## {name}", "", "| column | type | what it is |", "| --- | --- | --- |", *rows, ""]))
    return "\n".join(parts)


def shared(found: dict[tuple[str, str], str], column: str) -> str:
    """Return the comment on a column that several tables have."""
    return next((found[name, column] for name in SHARED if (name, column) in found), "")


def comments() -> dict[tuple[str, str], str]:
    """Return the comment behind each column of columns.py, by (table or shared dict, column)."""
    source = SOURCE.read_text(encoding="utf-8")
    by_line = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    return {
        (table, column): by_line[line]
        for table, column, line in keys(ast.parse(source))
        if line in by_line and not by_line[line].startswith("fmt:")
    }


def keys(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yield (table or shared dict, column, line) for each column."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name = getattr(target, "id", "")
        if name in SHARED:
            yield from ((name, column, line) for column, line in strings(node.value))  # type: ignore[attr-defined]
        if name == "TABLES":
            for key, value in zip(node.value.keys, node.value.values, strict=True):  # type: ignore[attr-defined]
                yield from ((key.value, column, line) for column, line in strings(value))


def strings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the keys of all dicts in an expression, with their lines."""
    for part in ast.walk(node):
        if isinstance(part, ast.Dict):
            yield from ((key.value, key.lineno) for key in part.keys if isinstance(key, ast.Constant))


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


PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("tables", "tables"): tables,
    ("filters", "filters"): filters,
    ("where", "names"): names,
}
"""By (topic, marker), what makes the text between `<!-- marker -->` and `<!-- /marker -->`."""


def filled(topic: str, marker: str) -> str:
    """Return a topic's text with the part between its markers made anew."""
    made = PARTS[topic, marker]()
    return re.sub(
        rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", lambda found: found[1] + made + found[2], text(topic),
        flags=re.DOTALL,
    )  # fmt: skip

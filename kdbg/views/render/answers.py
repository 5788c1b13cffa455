"""Answers of SQL as text: a table that fits the screen, CSV, JSON Lines. What was captured is escaped in each.

Where a table has more columns than the width has room for, each row becomes a block, a line a column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

from .jsonlines import dump
from .style import Look
from .values import cells, content, cut, escape

AnswerRow = Sequence[Any]
NUMBERS = int, float, Decimal
SOLID = (*NUMBERS, date, timedelta)
"""What is of no use when it is cut."""
GAP = 2
LEAST = 8
"""Columns of the screen that a text gets at least."""
ANY_WIDTH = 1 << 20
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet calculates."""
NUMBER = re.compile(r"[+-]\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
LARGEST = 1 << 63


def table(columns: Sequence[str], rows: Sequence[AnswerRow], look: Look) -> str:
    """Return the rows as a table of lines at most `look.max_line` columns wide, or as blocks where that is too narrow.

    Long texts are cut with an ellipsis; numbers, dates and durations are never cut. Where the look wants long lines,
    nothing is cut.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = [escape(name) for name in columns]
    texts = [[cell(value) for value in row] for row in rows]
    solid = [_all(column, SOLID) for column in zip(*rows, strict=True)] or [False] * len(names)
    right = [_all(column, NUMBERS) for column in zip(*rows, strict=True)] or [False] * len(names)
    widths = [max(map(cells, column)) for column in zip(names, *texts, strict=True)]
    least = (width if whole else min(width, LEAST) for width, whole in zip(widths, solid, strict=True))
    if sum(least) + GAP * (len(names) - 1) > look.max_line:
        return blocks(names, texts, look)
    shape = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    for i in range(len(names)):
        shape.add_column(justify="right" if right[i] else "left", no_wrap=solid[i])
    for line in (names, *texts):
        shape.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in line))
    paper = Console(file=io.StringIO(), width=min(look.max_line, ANY_WIDTH), color_system=None, legacy_windows=False)
    with paper.capture() as captured:
        paper.print(shape)
    head, *lines = (line.rstrip() for line in captured.get().splitlines())
    return "\n".join([look.paint("dim", head), *lines, ""])


def blocks(names: Sequence[str], texts: Sequence[Sequence[str]], look: Look) -> str:
    """Return a block of lines for each row, one line a column; names and texts must be escaped already."""
    wide = max(map(cells, names))
    room = look.max_line - wide - GAP
    return "\n".join(
        "".join(
            f"{look.paint('name', name + ' ' * (wide - cells(name)))}{' ' * GAP}{cut(text, room)}\n"
            for name, text in zip(names, row, strict=True)
        )
        for row in texts
    )


def csv_line(values: AnswerRow, *, raw: bool = False) -> str:
    """Return one line of CSV, newline included; if not `raw`, without texts that spreadsheets take for formulas.

    Null is an empty field; lists, mappings, bytes and booleans are written as JSON.
    """
    if not raw:
        values = [guarded(value) if isinstance(value, str) else value for value in values]
    line = io.StringIO()
    fields = []
    for value in values:
        if isinstance(value, (list, dict, bytes, bool)):
            fields.append(dump(_json(value)).decode().rstrip("\n"))
        else:
            fields.append("" if value is None else escape(str(_json(value))))
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue()


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before what begins like one."""
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def json_line(columns: Sequence[str], row: AnswerRow) -> bytes:
    """Return the row as one line of JSON: an object with the names of the columns as keys."""
    return dump(dict(zip(columns, map(_json, row), strict=True)))


def cell(value: Any) -> str:
    """Return the text of a value for a cell of a table, escaped; null is a dash.

    A point in time is shown to the millisecond; seconds and milliseconds that are zero are left out.
    """
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}".removesuffix(".000").removesuffix(":00")
    if isinstance(value, bytes):
        return content(value)
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if isinstance(value, dict):
        return ", ".join(f"{cell(key)}: {cell(item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape(str(value))


def _json(value: Any) -> Any:
    """Return a value in a form that JSON has.

    Points in time are written in ISO 8601, in UTC; infinities, NaN and whole decimals beyond 64 bits become text.
    """
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return float(value) if value % 1 else int(value) if abs(value) < LARGEST else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {_json(key): _json(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (str, bytes, int)) else str(value)


def _all(column: Sequence[Any], types: tuple[type, ...]) -> bool:
    """Return whether a column holds only values of these types, nulls aside; False if it holds nothing but nulls."""
    found = {type(value) for value in column} - {type(None)}
    return bool(found) and all(issubclass(kind, types) for kind in found)

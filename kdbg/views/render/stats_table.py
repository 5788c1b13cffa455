"""A table of numbers, on a screen, in a pipe, as JSON Lines and as CSV; and where the time of exchanges went.

Text uses the width that it has, and leaves out what says nothing.

Where it is too wide, measures of less weight are left out first; then names of clients and topics are cut. Names of
errors never are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...analysis.stats.dimensions import SECOND, Dimension, Key
from ...analysis.stats.measures import MEASURES, ON, SPENT, Measure, Unit
from ...analysis.stats.tally import PARTS, Tally
from ...exchanges.messages.peers import endpoint
from .columns import GAP
from .style import Look
from .summary import short, size
from .values import cells, clocks, cut, escape, moment

NONE = "–"


def value_text(one: Dimension, value: Any) -> str:
    """Return the value of a dimension for a person, escaped; a dash where there is none."""
    if value is None:
        return NONE
    if one.grain:
        return moment(value)[: 19 if one.grain == SECOND else 16]
    if isinstance(value, tuple):
        return escape(endpoint((str(value[0]), value[1])))
    if one.name == "connection":
        return f"c{value}"
    if one.name == "version":
        return f"v{value}"
    return escape(str(value))


def value_data(one: Dimension, value: Any) -> Any:
    """Return the value of a dimension for a program."""
    if value is None:
        return None
    if one.grain:
        return iso(value)[:19] + "Z"
    return endpoint((str(value[0]), value[1])) if isinstance(value, tuple) else value


def measure_text(one: Measure, found: Any) -> str:
    """Return a measure for a person; a dash where there is none."""
    if found is None:
        return NONE
    if one.unit is Unit.BYTES:
        return size(found)
    if one.unit is Unit.MILLISECONDS:
        return short(round(found * 1e6)) if found else "0"
    if one.unit is Unit.MOMENT:
        return clocks[found // 1_000_000]
    if one.unit is Unit.NAMES:
        return ", ".join(f"{name} {count:,}" for name, count in found.items())
    return f"{found:,}"


def measure_data(one: Measure, found: Any) -> Any:
    """Return a measure for a program."""
    return iso(found) if one.unit is Unit.MOMENT and found is not None else found


def iso(time: int) -> str:
    """Return a time in nanoseconds since 1970 in ISO 8601, to the microsecond."""
    return f"{moment(time).replace(' ', 'T')}Z"


WEIGHTS = (
    "exchanges", "errors", "p99_ms", "p50_ms", "request_bytes", "response_bytes", "p95_ms", "no_response", "findings",
    "expected_errors", "records", "max_ms", "connections", "first_time", "last_time",
)  # fmt: skip
"""The measures shown, the last of which go first where there is no room."""
IF_ANY = ("errors", "no_response", "findings", "expected_errors", "records")
"""Those that are left out where they are 0 in every row."""
CUT = ("client", "software", "host", "topic", "group", "file", "api")
"""Dimensions whose values may be cut."""
COMFORT, LEAST = 26, 8
"""Columns that are left of what is cut, before measures are left out and at last."""
ANY_WIDTH = 1 << 30


class Lines(NamedTuple):
    """The lines of a table: its heading, and one for each row."""

    heading: str
    rows: list[str]


class Column(NamedTuple):
    """A column of texts, the first of which is its heading, and the styles of all texts; () where none has any."""

    texts: list[str]
    right: bool = False
    styles: Sequence[str] = ()
    cut: bool = False

    @property
    def width(self) -> int:
        return max(map(cells, self.texts))

    def within(self, width: int) -> Column:
        """Return the column cut to a width."""
        return self._replace(texts=[cut(text, width) for text in self.texts])


def lines(
    by: Sequence[Dimension],
    rows: Sequence[tuple[Key | str, Tally]],
    look: Look,
    width: int = ANY_WIDTH,
    measures: Sequence[str] | None = None,
) -> Lines:
    """Return a table `width` columns wide at most; a row with a text in place of a key is headed by that text.

    `measures` are those shown, in the order of their weight; all that say something, if not given, and which errors
    there were.
    """
    heads = _dimensions(by, rows)
    wanted = [
        name for name in measures or WEIGHTS if name not in IF_ANY or any(MEASURES[name].of(tally) for _, tally in rows)
    ]
    if measures is None and "errors" in wanted and not any(one.name == "error" for one in by):
        wanted.append("error_names")
    columns = {name: _measure(MEASURES[name], rows) for name in wanted}
    heads, shown = _fitted(heads, columns, width)
    ordered = [column for name, column in sorted(shown.items(), key=lambda item: list(MEASURES).index(item[0]))]
    return joined([*heads, *ordered], look, width)


def _dimensions(by: Sequence[Dimension], rows: Sequence[tuple[Key | str, Tally]]) -> list[Column]:
    heads = []
    for place, one in enumerate(by):
        texts = [one.name]
        for key, _ in rows:
            if isinstance(key, str):
                texts.append("" if place else key)
            else:
                texts.append(value_text(one, key[place]))
        styles = ["", *("bad" if tally.errors else "dim" for _, tally in rows)] if one.name == "error" else []
        heads.append(Column(texts, one.name == "partition", styles, one.name in CUT))
    return heads


def _measure(one: Measure, rows: Sequence[tuple[Key | str, Tally]]) -> Column:
    texts = [one.title, *(measure_text(one, one.of(tally)) for _, tally in rows)]
    styles = ["", *["bad"] * len(rows)] if one.name in ("errors", "error_names") else []
    return Column(texts, one.unit is not Unit.NAMES, styles)


def _fitted(heads: list[Column], columns: dict[str, Column], width: int) -> tuple[list[Column], dict[str, Column]]:
    """Return the columns that there is room for."""

    def excess() -> int:
        shown = [*heads, *(column for name, column in columns.items() if name != "error_names")]
        names = _longest(columns["error_names"]) + GAP if "error_names" in columns else 0
        return sum(column.width + GAP for column in shown) - GAP + names - width

    heads, columns = list(heads), dict(columns)
    _cut(heads, excess, COMFORT)
    for name in reversed(columns.copy()):
        if excess() <= 0 or len(columns.keys() - {"error_names"}) <= FEWEST:
            break
        if name not in ("errors", "error_names"):
            del columns[name]
    _cut(heads, excess, LEAST)
    return heads, columns


def _cut(heads: list[Column], excess: Callable[[], int], least: int) -> None:
    """Cut the widest of the columns that may be, down to so many letters, until nothing is too much."""
    while (left := excess()) > 0:
        places = [place for place, column in enumerate(heads) if column.cut and column.width > least]
        if not places:
            return
        widest = max(places, key=lambda place: heads[place].width)
        heads[widest] = heads[widest].within(max(heads[widest].width - left, least, heads[widest].width - 4))


FEWEST = 1
"""Measures that stay, however narrow the screen is; names of errors aside."""


def joined(columns: Sequence[Column], look: Look, width: int) -> Lines:
    """Return the lines; the last column is wrapped into the room that is left."""
    widths = [column.width for column in columns]
    start = sum(each + GAP for each in widths[:-1])
    made = []
    for number, texts in enumerate(zip(*(column.texts for column in columns), strict=True)):
        words = [
            text.rjust(each - cells(text) + len(text)) if column.right else text.ljust(each - cells(text) + len(text))
            for text, each, column in zip(texts, widths, columns, strict=True)
        ]
        last = [words[-1]] if columns[-1].right else _wrapped(texts[-1], width - start)
        pieces = []
        for count, text in enumerate(last):
            fronts = words[:-1] if not count else [" " * len(word) for word in words[:-1]]
            styled = [
                look.paint(column.styles[number], word)
                if number and column.styles and word.strip() not in QUIET
                else word
                for column, word in zip(columns, [*fronts, text], strict=True)
            ]
            pieces.append((" " * GAP).join(styled).rstrip())
        made.append("\n".join(pieces))
    return Lines(look.paint("dim", made[0]), made[1:])


QUIET = ("", "0", "–")


def _longest(column: Column) -> int:
    """Return how wide a column of lists must be, if they are wrapped."""
    return max(cells(part) + 1 for text in column.texts for part in text.split(", "))


def _wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines, broken behind commas."""
    found = [""]
    for part in text.split(", ") if text else []:
        word = f"{found[-1]}, {part}" if found[-1] else part
        if len(word) <= width or not found[-1]:
            found[-1] = word
        else:
            found[-1] += ","
            found.append(part)
    return found


HEADING = "where the time went"
SHOWN = ("p50", "p95", "sum")


def spent_lines(
    by: Sequence[Dimension], rows: Sequence[tuple[Key | str, Tally]], look: Look, width: int = ANY_WIDTH
) -> Lines:
    """Return the table, `width` columns wide where that can be; a row with a text in place of a key is headed by it.

    The names of a row stand at its first line. Rows of which nothing is known have no line.
    """
    heads: list[list[str]] = [[one.name] for one in by]
    parts = [HEADING]
    numbers: list[list[str]] = [[title] for title in SHOWN]
    for key, tally in rows:
        first = True
        for part in PARTS:
            if part not in tally.spent or not tally.spent[part].total:
                continue
            for place, (one, texts) in enumerate(zip(by, heads, strict=True)):
                named = (key if not place else "") if isinstance(key, str) else value_text(one, key[place])
                texts.append(named if first else "")
            first = False
            parts.append(ON[part])
            for title, texts in zip(SHOWN, numbers, strict=True):
                measure = SPENT[f"{part}_{title}_ms"]
                texts.append(measure_text(measure, measure.of(tally)))
    columns = [Column(texts) for texts in heads]
    return joined([*columns, Column(parts), *(Column(texts, right=True) for texts in numbers)], look, width)


OTHERS = "others"


def measures(*, timed: bool) -> dict[str, Measure]:
    """Return the measures that rows have; `timed`: where the time went, too."""
    return MEASURES | SPENT if timed else MEASURES


def json_row(
    by: Sequence[Dimension], key: Key | str, tally: Tally, more: dict[str, Any] | None = None, *, timed: bool = False
) -> bytes:
    """Return the line of a row; a text in place of a key is that of several rows that are not shown."""
    from .jsonlines import dump

    found = dict(more or {})
    if isinstance(key, str):
        found[OTHERS] = key
    else:
        found |= {one.name: value_data(one, value) for one, value in zip(by, key, strict=True)}
    return dump(found | {name: measure_data(one, one.of(tally)) for name, one in measures(timed=timed).items()})


def csv_row(by: Sequence[Dimension], key: Key | str, tally: Tally, *, raw: bool = False, timed: bool = False) -> str:
    """Return the line of a row, formulas in it if `raw`; a text in place of a key stands in its first field."""
    from .answers import csv_line

    values = [key, *[None] * (len(by) - 1)] if isinstance(key, str) else [
        value_data(one, value) for one, value in zip(by, key, strict=True)
    ]  # fmt: skip
    measured = [measure_data(one, one.of(tally)) for one in measures(timed=timed).values()]
    return csv_line((*values, *measured), raw=raw)


def csv_head(by: Sequence[Dimension], *, timed: bool = False) -> str:
    """Return the line of the columns' names."""
    from .answers import csv_line

    return csv_line([*(one.name for one in by), *measures(timed=timed)])

"""A table of numbers, on a screen, in a pipe, as JSON Lines and as CSV; and the first screen of `kdbg stats`.

Text uses the width that it has, and leaves out what says nothing.

Where it is too wide, measures of less weight are left out first; then names of clients and topics are cut. Names of
errors never are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...analysis.stats.dimensions import SECOND, Dimension, Key
from ...analysis.stats.measures import MEASURES, ON, PARTS, SPENT, Measure, Tally, Unit, named
from ...analysis.stats.statistics import SECTIONS, Overview
from ...exchanges.messages.peers import endpoint
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count, rounded
from .columns import GAP
from .style import Look
from .summary import short, size
from .values import cells, clocks, cut, escape, latency, moment

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
    heads = []
    for place, one in enumerate(by):
        texts = [("" if place else key) if isinstance(key, str) else value_text(one, key[place]) for key, _ in rows]
        styles = ["", *("bad" if tally.errors else "dim" for _, tally in rows)] if one.name == "error" else []
        heads.append(Column([one.name, *texts], one.name == "partition", styles, one.name in CUT))
    wanted = [
        name for name in measures or WEIGHTS if name not in IF_ANY or any(MEASURES[name].of(tally) for _, tally in rows)
    ]
    if measures is None and "errors" in wanted and not any(one.name == "error" for one in by):
        wanted.append("error_names")
    columns = {}
    for name in wanted:
        measure = MEASURES[name]
        texts = [measure.title, *(measure_text(measure, measure.of(tally)) for _, tally in rows)]
        styles = ["", *["bad"] * len(rows)] if name in ("errors", "error_names") else []
        columns[name] = Column(texts, measure.unit is not Unit.NAMES, styles)
    heads, shown = _fitted(heads, columns, width)
    ordered = [column for name, column in sorted(shown.items(), key=lambda item: list(MEASURES).index(item[0]))]
    return joined([*heads, *ordered], look, width)


def _fitted(heads: list[Column], columns: dict[str, Column], width: int) -> tuple[list[Column], dict[str, Column]]:
    """Return the columns that there is room for."""

    def excess() -> int:
        shown = [*heads, *(column for name, column in columns.items() if name != "error_names")]
        names = 0
        if "error_names" in columns:  # which are wrapped
            names = max(cells(part) + 1 for text in columns["error_names"].texts for part in text.split(", ")) + GAP
        return sum(column.width + GAP for column in shown) - GAP + names - width

    heads, columns = list(heads), dict(columns)
    _cut(heads, excess, 26)  # columns that are left before measures are left out
    for name in reversed(columns.copy()):
        if excess() <= 0 or len(columns.keys() - {"error_names"}) <= 1:  # a measure stays, however narrow the screen is
            break
        if name not in ("errors", "error_names"):
            del columns[name]
    _cut(heads, excess, 8)
    return heads, columns


def _cut(heads: list[Column], excess: Callable[[], int], least: int) -> None:
    """Cut the widest of the columns that may be, down to so many letters, until nothing is too much."""
    while (left := excess()) > 0:
        places = [place for place, column in enumerate(heads) if column.cut and column.width > least]
        if not places:
            return
        widest = max(places, key=lambda place: heads[place].width)
        width = max(heads[widest].width - left, least, heads[widest].width - 4)
        heads[widest] = heads[widest]._replace(texts=[cut(text, width) for text in heads[widest].texts])


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
        last = [words[-1]]
        if not columns[-1].right:
            last = [""]
            for part in texts[-1].split(", ") if texts[-1] else []:  # lines break after commas
                word = f"{last[-1]}, {part}" if last[-1] else part
                if len(word) <= width - start or not last[-1]:
                    last[-1] = word
                else:
                    last[-1] += ","
                    last.append(part)
        pieces = []
        for line, text in enumerate(last):
            fronts = words[:-1] if not line else [" " * len(word) for word in words[:-1]]
            styled = [
                look.paint(column.styles[number], word)
                if number and column.styles and word.strip() not in ("", "0", NONE)
                else word
                for column, word in zip(columns, [*fronts, text], strict=True)
            ]
            pieces.append((" " * GAP).join(styled).rstrip())
        made.append("\n".join(pieces))
    return Lines(look.paint("dim", made[0]), made[1:])


SHOWN = ("p50", "p95", "sum")


def spent_lines(
    by: Sequence[Dimension], rows: Sequence[tuple[Key | str, Tally]], look: Look, width: int = ANY_WIDTH
) -> Lines:
    """Return the table, `width` columns wide where that can be; a row with a text in place of a key is headed by it.

    The names of a row stand at its first line. Rows of which nothing is known have no line.
    """
    heads: list[list[str]] = [[one.name] for one in by]
    parts = ["where the time went"]
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
        found["others"] = key
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


SECTION_MEASURES = {
    "clients": ("exchanges", "errors", "request_bytes", "response_bytes", "connections", "no_response"),
    "brokers": ("exchanges", "errors", "p50_ms", "p95_ms", "p99_ms", "request_bytes", "response_bytes", "connections"),
    "apis": (
        "exchanges",
        "errors",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "request_bytes",
        "response_bytes",
        "max_ms",
        "no_response",
    ),
    "errors": ("errors", "first_time", "last_time"),
}
"""Section by section the measures shown, those of the most weight first."""
SECTION_WEIGHTS = {"errors": 0.6, "apis": 0.7}
"""How readily rows of a section are left out where there is no room for all, 1 for most."""
TIMES = "latencies (±1%) exclude the allowed wait, such as fetch.max.wait.ms"
"""The note below."""


def screen(
    found: Overview,
    findings: Mapping[str, int],
    packets: int | None,
    look: Look,
    width: int = ANY_WIDTH,
    height: int | None = None,
) -> str:
    """Return the screen; with a `height` no more lines than that, as far as every section keeps a row.

    `findings` are all, with those that belong to no exchange; `packets` how many were read, None if unknown.
    """
    head, tail = _head(found.total, packets, look), _tail(found, findings, look)
    sections = {}
    for name, table in found.items():
        if table.rows:
            rows: list[tuple[Key | str, Tally]] = list(table.sorted("errors" if name == "errors" else None))
            rows += [("others", table.others)] if table.others is not None else []
            sections[name] = lines(table.by, rows, look, width, SECTION_MEASURES[name])
    room = None if height is None else height - len(head) - len(tail)
    airy = room is None or sum(2 + _many(part.rows) for part in sections.values()) + 1 <= room
    if room is not None and not airy:
        room -= len(sections)
        _shorten(sections, room)
    made = head
    for name, part in sections.items():
        left = len(found[name].rows) - len(part.rows)
        more = [look.paint("dim", f"… {left:,} more: --by {','.join(SECTIONS[name])}")] if left else []
        made = [*made, *([""] if airy else []), part.heading, *part.rows, *more]
    return "\n".join([*made, *([""] if airy else []), *tail, ""])


def _head(total: Tally, packets: int | None, look: Look) -> list[str]:
    """Return the time span, and the totals."""
    if not total.exchanges:
        return [look.paint("heading", "no exchanges"), *([] if packets is None else [count(packets, "packet")])]
    begin, end = moment(total.first)[:23], moment(total.last)[:23]
    span = total.last - total.first
    until = end[11:] if end[:10] == begin[:10] else end
    rate = f" ({rounded(total.exchanges / span * 1e9)}/s)" if span > 0 else ""
    parts = [
        f"{count(total.exchanges, 'exchange')}{rate}",
        count(len(total.connections), "connection"),
        *([] if packets is None else [count(packets, "packet")]),
        f"req {size(total.request_bytes)}B",
        f"resp {size(total.response_bytes)}B",
    ]
    when = f"{begin} to {until} UTC · {latency(span)}" if span > 0 else f"{begin} UTC"
    return [look.paint("heading", when), " · ".join(parts)]


def _tail(found: Overview, findings: Mapping[str, int], look: Look) -> list[str]:
    """Return what was not answered, what is odd, the normal steps, and what the times are."""
    lines, total = [], found.total
    if total.unanswered:
        by_api = [(str(key[0] or "unknown"), tally.unanswered) for key, tally in found["apis"].sorted("no_response")]
        listed = ", ".join(f"{name} {count:,}" for name, count in by_api if count)
        lines.append(f"{look.paint('note', 'no response')}  {total.unanswered:,}: {listed}")
    odd = sorted(
        ((kind, count) for kind, count in findings.items() if kind != Kind.NO_RESPONSE),
        key=lambda item: (-item[1], item[0]),
    )
    if odd:
        listed = ", ".join(f"{kind} {count:,}" for kind, count in odd)
        lines.append(f"{look.paint('note', 'findings')}  {listed}  {look.paint('dim', f'kdbg explain {odd[0][0]}')}")
    if total.steps:
        listed = ", ".join(f"{name} {count:,}" for name, count in named(total.steps).items())
        lines.append(look.paint("dim", f"expected errors  {listed}"))
    if total.late.counts:
        lines.append(look.paint("dim", TIMES))
    return lines


def _shorten(sections: dict[str, Lines], room: int) -> None:
    """Leave out the last rows of the longest sections until all have room; each keeps one, and says what is missing."""
    whole = {name: part.rows for name, part in sections.items()}

    def used() -> int:
        return sum(_many(part.rows) + (len(part.rows) < len(whole[name])) for name, part in sections.items())

    while used() > room:
        longest = max(sections, key=lambda name: _many(sections[name].rows) * SECTION_WEIGHTS.get(name, 1.0))
        if len(sections[longest].rows) <= 1:
            return
        sections[longest] = sections[longest]._replace(rows=sections[longest].rows[:-1])


def _many(rows: list[str]) -> int:
    """Return how many lines rows take; some are wrapped."""
    return sum(row.count("\n") + 1 for row in rows)

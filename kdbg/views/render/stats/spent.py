"""Where the time of exchanges went, as a table: of each row, a line for each part that took any."""

from __future__ import annotations

from collections.abc import Sequence

from ....analysis.stats.dimensions import Dimension, Key
from ....analysis.stats.measures import ON, SPENT
from ....analysis.stats.tally import PARTS, Tally
from ..style import Look
from .table import ANY_WIDTH, Column, Lines, joined
from .values import measure_text, value_text

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

"""Tables of numbers for other programs: JSON Lines and CSV with the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....analysis.stats.dimensions import Dimension, Key
from ....analysis.stats.measures import MEASURES, SPENT, Measure
from ....analysis.stats.tally import Tally
from ..answers import csv_line
from ..jsonlines import dump
from .values import measure_data, value_data

OTHERS = "others"


def measures(*, timed: bool) -> dict[str, Measure]:
    """Return the measures that rows have; `timed`: where the time went, too."""
    return MEASURES | SPENT if timed else MEASURES


def json_row(
    by: Sequence[Dimension], key: Key | str, tally: Tally, more: dict[str, Any] | None = None, *, timed: bool = False
) -> bytes:
    """Return the line of a row; a text in place of a key is that of several rows that are not shown."""
    found = dict(more or {})
    if isinstance(key, str):
        found[OTHERS] = key
    else:
        found |= {one.name: value_data(one, value) for one, value in zip(by, key, strict=True)}
    return dump(found | {name: measure_data(one, one.of(tally)) for name, one in measures(timed=timed).items()})


def csv_row(by: Sequence[Dimension], key: Key | str, tally: Tally, *, raw: bool = False, timed: bool = False) -> str:
    """Return the line of a row, formulas in it if `raw`; a text in place of a key stands in its first field."""
    values = [key, *[None] * (len(by) - 1)] if isinstance(key, str) else [
        value_data(one, value) for one, value in zip(by, key, strict=True)
    ]  # fmt: skip
    measured = [measure_data(one, one.of(tally)) for one in measures(timed=timed).values()]
    return csv_line((*values, *measured), raw=raw)


def csv_head(by: Sequence[Dimension], *, timed: bool = False) -> str:
    """Return the line of the columns' names."""
    return csv_line([*(one.name for one in by), *measures(timed=timed)])

"""One value of a dimension or a measure: as a person reads it, and as a program does."""

from __future__ import annotations

from typing import Any

from ....analysis.stats.dimensions import SECOND, Dimension
from ....analysis.stats.measures import Measure, Unit
from ..exchange_header import clocks, endpoint, moment
from ..summary import short, size
from ..values import escape

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

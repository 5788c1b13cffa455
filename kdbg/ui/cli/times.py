"""Points in time and durations as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any, TypeAlias

import click

Moment: TypeAlias = float | time
"""Seconds since the epoch, or a time of day: of the capture's first day, then."""
UNITS = (("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("s", 1000.0))
"""How units of durations are written, and how many milliseconds they are."""
LAST = 253_402_300_800
"""Seconds from 1970 to the year 10000."""


class When(click.ParamType):  # type: ignore[type-arg]
    """Turns what the user wrote into a `Moment`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        found = next((moment for read in READERS if (moment := read(value)) is not None), None)
        if found is None:
            self.fail(
                f"invalid time {value!r}; use 12:30:01.5, 2026-11-21T12:30:01.5, or seconds since 1970", param, ctx
            )
        return found


class Milliseconds(click.ParamType):  # type: ignore[type-arg]
    """A duration in milliseconds, which may have its unit behind it: 100, 100ms, 250us, 1.5s."""

    name = "milliseconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text, factor = str(value).strip(), 1.0
        for unit, longer in UNITS:
            if text.endswith(unit):
                text, factor = text.removesuffix(unit), longer
                break
        number = _seconds(text)
        if number is None:
            self.fail(f"invalid duration {value!r}; use 100 or 100ms, 250us, 1.5s", param, ctx)
        return number * factor


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < LAST else None


def _date(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _time_of_day(text: str) -> time | None:
    try:
        return time.fromisoformat(text)
    except ValueError:
        return None


READERS: tuple[Callable[[str], Moment | None], ...] = (_seconds, _date, _time_of_day)

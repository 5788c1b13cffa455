"""Numbers with their nouns, in the singular or the plural, as all texts have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

COUNTED = re.compile("{([a-z_]+):([a-z][a-z ]+)}")
"""A field whose format is a noun."""


def count(number: int, noun: str) -> str:
    """Return a number with commas and its noun, in the plural unless the number is 1: `1,200 bytes`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def times(number: int) -> str:
    """Return how often something happened: `once`, `2 times`."""
    return "once" if number == 1 else count(number, "time")


def rounded(number: float) -> str:
    """Return a number to three digits, never with an exponent: `0.25`, `12.3`, `1,234`."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}"


def filled(pattern: str, values: Mapping[str, Any]) -> str:
    """Return a pattern with values: `{size:byte}` is a number with its noun, as `count` returns it."""
    plain, counted = _parts(pattern)
    if counted:
        values = {**values, **{f"{name} {noun}": count(values[name], noun) for name, noun in counted}}
    return plain.format_map(values)


@cache
def _parts(pattern: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a pattern whose fields with a noun have both for a name, and the names and nouns of those."""
    return COUNTED.sub(r"{\1 \2}", pattern), COUNTED.findall(pattern)


def _plural(noun: str) -> str:
    """Return the plural of a noun: batches, entries, bytes, epochs."""
    if noun.endswith(("tch", "sh", "s", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"

"""Numbers with their nouns, in the singular or the plural, as all texts have them."""

from __future__ import annotations

from string import Formatter
from typing import Any


def count(number: int, noun: str) -> str:
    """Return a number with commas and its noun, in the plural unless the number is 1: `1,200 bytes`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def times(number: int) -> str:
    """Return how often something happened: `once`, `2 times`."""
    return "once" if number == 1 else count(number, "time")


def rounded(number: float) -> str:
    """Return a number to three digits, never with an exponent: `0.25`, `12.3`, `1,234`."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}"


class Amounts(Formatter):
    """Fill templates: `{size:byte}` is a number with its noun, as `count` returns it."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a number with its noun where the format is a noun, otherwise what Python's formats return."""
        if len(format_spec) > 1 and format_spec[0].isalpha():
            return count(value, format_spec)
        return str(super().format_field(value, format_spec))


def _plural(noun: str) -> str:
    """Return the plural of a noun: batches, entries, bytes, epochs."""
    if noun.endswith(("tch", "sh", "s", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"

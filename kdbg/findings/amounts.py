"""Numbers with their nouns, in the singular or the plural, as all texts have them."""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1: `1200 bytes`."""
    return f"{number} {noun if number == 1 else _plural(noun)}"


def count(number: int, noun: str) -> str:
    """Return a number with commas and its noun, in the plural unless the number is 1: `1,200 bytes`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def times(number: int) -> str:
    """Return how often something happened: `once`, `2 times`."""
    return "once" if number == 1 else f"{number:,} times"


def _plural(noun: str) -> str:
    """Return the plural of a noun: batches, entries, bytes, epochs."""
    if noun.endswith(("tch", "sh", "s", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"

"""Several ranges of versions at once: one taken out of the others, and in words."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Versions


def minus(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """What is left of some ranges where others are taken out of each."""
    left = list(filter(None, ranges))
    for other in others:
        left = [rest for versions in left for rest in versions.without(other)]
    return left


def common(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """What is in one of some ranges and in one of others."""
    others = list(others)
    return [both for versions in ranges for other in others if (both := versions & other)]


def difference(one: Versions, other: Versions) -> list[Versions]:
    """What is in one of two ranges alone."""
    return minus([one], [other]) + minus([other], [one])


def joined(ranges: Iterable[Versions]) -> list[Versions]:
    """The same versions in as few ranges as will do, in order."""
    found: list[Versions] = []
    for versions in sorted(filter(None, ranges)):
        if found and versions.first <= found[-1].last + 1:
            found[-1] = Versions(found[-1].first, max(found[-1].last, versions.last))
        else:
            found.append(versions)
    return found


def listed(ranges: Iterable[Versions]) -> str:
    """`version 3`, `versions 1-2, 4+`; nothing where there are none."""
    text = ", ".join(map(str, joined(ranges)))
    return f"version{'s' * (not text.isdecimal())} {text}" if text else ""

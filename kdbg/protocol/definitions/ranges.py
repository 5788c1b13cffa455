"""Several ranges of versions at once: one taken out of the others, and in words."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Versions


def minus(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """Return what is left of each range after all the others are taken out of it."""
    left = list(filter(None, ranges))
    for other in others:
        left = [rest for versions in left for rest in versions.without(other)]
    return left


def common(ranges: Iterable[Versions], others: Iterable[Versions]) -> list[Versions]:
    """Return the versions that are in one of `ranges` and in one of `others`."""
    others = list(others)
    return [both for versions in ranges for other in others if (both := versions & other)]


def difference(one: Versions, other: Versions) -> list[Versions]:
    """Return the versions that are in one of two ranges, but not in both."""
    return minus([one], [other]) + minus([other], [one])


def joined(ranges: Iterable[Versions]) -> list[Versions]:
    """Return the same versions in as few ranges as possible, in order."""
    found: list[Versions] = []
    for versions in sorted(filter(None, ranges)):
        if found and versions.first <= found[-1].last + 1:
            found[-1] = Versions(found[-1].first, max(found[-1].last, versions.last))
        else:
            found.append(versions)
    return found


def listed(ranges: Iterable[Versions]) -> str:
    """Write ranges as `version 3` or `versions 1-2, 4+`; "" where there are no versions."""
    text = ", ".join(map(str, joined(ranges)))
    return f"version{'s' * (not text.isdecimal())} {text}" if text else ""

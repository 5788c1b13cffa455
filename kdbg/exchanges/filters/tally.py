"""What filters asked for that was never there, and what there was in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .names import Pattern

MOST = 1000
"""Different values that are remembered: a hostile capture may hold any number of them."""
LONGEST = 64
"""Characters by which texts are compared with what was asked for."""


class Unmatched(NamedTuple):
    """A value that nothing fitted: the `filter` by its name, the value as it was written, `there` the nearest first."""

    filter: str
    value: str
    there: tuple[Any, ...]

    @property
    def near(self) -> Any:
        """What was probably meant, None where nothing looks like it."""
        best = self.there[0] if self.there else None
        return best if isinstance(best, str) and likeness(self.value, best) > 0.7 else None


class Tally:
    """One filter's values: those that nothing has fitted so far are `open`, and `there` counts what there was."""

    def __init__(self, patterns: Iterable[Pattern], offers: Callable[[Any], bool]) -> None:
        self.open: list[Pattern] = list(patterns)
        self.offers = offers
        self.there: Counter[Any] = Counter()

    def note(self, values: Sequence[Any]) -> None:
        """Take what one exchange has."""
        self.open = [pattern for pattern in self.open if not pattern.found_in(values)]
        for value in values:
            if len(self.there) < MOST or value in self.there:
                self.there[value] += 1

    def offered(self) -> Counter[Any]:
        """Return what there was and is worth being offered; all of it where nothing is."""
        return Counter({value: count for value, count in self.there.items() if self.offers(value)}) or self.there


class FilterTally:
    """The tallies of all filters, over one capture or several."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def tally(self, name: str, patterns: Iterable[Pattern], offers: Callable[[Any], bool]) -> Tally:
        """Return the tally of a filter, the same for every capture."""
        return self._tallies.setdefault(name, Tally(patterns, offers))

    def unmatched(self) -> list[Unmatched]:
        """Return what was asked for and never there; exchanges that an earlier filter refused do not count."""
        return [
            Unmatched(name, one.written, tuple(nearest(one.written.removeprefix("!"), tally.offered())))
            for name, tally in self._tallies.items()
            for one in sorted(tally.open, key=lambda one: one.written)
        ]


def nearest(wanted: str, there: Counter[Any]) -> list[Any]:
    """Return the values of a tally, those that look most like what is wanted first, then the most frequent."""
    if all(isinstance(value, int) for value in there) and wanted.removeprefix("-").isdecimal():
        return sorted(there, key=lambda value: (abs(value - int(wanted)), value))
    return sorted(there, key=lambda value: (-round(likeness(wanted, str(value)), 1), -there[value], str(value)))


def likeness(wanted: str, value: str) -> float:
    """Return how much two texts look alike, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, wanted[:LONGEST].lower(), value[:LONGEST].lower(), autojunk=False).ratio()

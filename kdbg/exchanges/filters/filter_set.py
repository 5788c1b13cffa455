"""What filters asked for that was never there, and what there was in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import time
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ...errors import InputError
from .filter import Check, CheckContext, Filter, Pattern, Reads, Topics, ValueForm, matcher
from .parse import on_day_of, parse_value
from .table import FILTERS, Options

if TYPE_CHECKING:
    from ..messages.exchange import Exchange
    from .where.expression import Expression


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


NO_TOPICS: Topics = {}


class Filters:
    """The filters that were given, by their names in `table.FILTERS`; what says nothing (None, False) is left out.

    Each stands as an attribute, None where it was not given. Raises `InputError` for a name that no filter has and for
    a value that is not of the filter's form.
    """

    __slots__ = ("given",)
    given: Mapping[str, Any]

    def __init__(self, **given: Unpack[Options]) -> None:
        found = {name: parse_value(name, value) for name, value in given.items()}
        object.__setattr__(self, "given", {name: value for name, value in found.items() if _says_something(value)})

    def __getattr__(self, name: str) -> Any:
        if name in FILTERS:
            return self.given.get(name)
        raise AttributeError(f"unknown filter {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("filters do not change: `but` makes others")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filters) and self.given == other.given

    def __hash__(self) -> int:
        return hash(frozenset(self.given.items()))

    def __bool__(self) -> bool:
        return bool(self.given)

    def __repr__(self) -> str:
        return f"Filters({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self.given),)

    def but(self, **changes: Any) -> Filters:
        """Return these filters with others in place of those that are named; None takes one away."""
        return Filters(**{**self.given, **changes})

    def dated(self, first: int | None) -> Filters:
        """Return them with times of day on the day of the capture's first packet, `first` nanoseconds since 1970."""
        times = {name: value for name, value in self.given.items() if isinstance(value, time)}
        return self.but(**{name: on_day_of(value, first) for name, value in times.items()}) if times else self

    @property
    def asks(self) -> bool:
        """Whether exchanges are asked: not all that there are need be wanted."""
        return any(FILTERS[name].asks for name in self.given)

    @property
    def timed(self) -> bool:
        """Whether exchanges are asked where their time went, so that somebody must work that out."""
        return any(expression.timed for _, expression in self._expressions())

    @property
    def last(self) -> int | None:
        """The number of the last exchange that can fit; None where nothing says."""
        chosen = self.exchange
        return max(last for _, last in chosen) if chosen else None

    def checks(self, topics: Topics = NO_TOPICS, seen: FilterTally | None = None) -> list[Check]:
        """Return the checks on exchanges, cheap ones first; `topics` tells the names of topic ids.

        What they find, and what they do not, is noted in `seen`. Raises `UnknownApi` for an API that is not known.
        Times of day must have been given their day before.
        """
        asked = sorted(self.given, key=self._reads)
        about = CheckContext(topics, self.given)
        return [_check(name, FILTERS[name], self.given[name], about, seen) for name in asked if FILTERS[name].asks]

    def _reads(self, name: str) -> Reads:
        """Return how much of an exchange a filter looks at."""
        one = FILTERS[name]
        if one.expression is None:
            return one.reads
        return Reads.BODIES if one.expression(self.given[name]).bodies else Reads.HEADERS

    def _expressions(self) -> Iterator[tuple[str, Expression]]:
        """Yield the expressions among the values, by their filters' names."""
        for name, value in self.given.items():
            if (parse := FILTERS[name].expression) is not None:
                yield name, parse(value)

    def refuse_numbers(self) -> None:
        """Raise `InputError` for what means nothing in archives, where connections and exchanges have no numbers."""
        for name, expression in self._expressions():
            for numbered in expression.without_archives:
                raise InputError(
                    f"--{name}: {numbered} has no meaning in archives, which have no exchange or connection numbers"
                )

    def check(self, topics: Topics = NO_TOPICS, seen: FilterTally | None = None) -> Check | None:
        """Return whether all checks hold, as one question; None where there are none."""
        checks = self.checks(topics, seen)
        if not checks:
            return None
        return checks[0] if len(checks) == 1 else lambda exchange: all(check(exchange) for check in checks)

    def select(self, exchanges: Iterable[Exchange], topics: Topics = NO_TOPICS) -> Iterator[Exchange]:
        """Yield those of `exchanges` that fit, no more than `limit`; `topics` tells the names of topic ids."""
        fits, left = self.check(topics), self.limit
        if left == 0:
            return
        for exchange in exchanges:
            if fits is None or fits(exchange):
                yield exchange
                if left is not None and (left := left - 1) == 0:
                    return


def _check(name: str, one: Filter, value: Any, asked: CheckContext, seen: FilterTally | None) -> Check:
    """Return the check of one filter."""
    if one.make is not None:
        check = one.make(value, asked)
        return check if seen is None or one.form is not ValueForm.EXPRESSION else _hit(name, value, check, seen)
    assert one.of is not None
    patterns, of = [one.pattern(each) for each in value], one.of
    fits = matcher(patterns)
    if seen is None:
        return lambda exchange: fits(tuple(of(exchange, asked)))
    tally = seen.tally(name, patterns, one.offers)

    def noted(exchange: Exchange) -> bool:
        values = tuple(of(exchange, asked))
        if tally.open:
            tally.note(values)
        return fits(values)

    return noted


def _hit(name: str, value: str, check: Check, seen: FilterTally) -> Check:
    """Return a check that notes whether any exchange fitted it."""
    tally = seen.tally(name, [Pattern(value, True)], lambda fitted: False)

    def noted(exchange: Exchange) -> bool:
        fits = check(exchange)
        if fits and tally.open:
            tally.note((True,))
        return fits

    return noted


def _restored(given: dict[str, Any]) -> Filters:
    return Filters(**given)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value not in (frozenset(), ())

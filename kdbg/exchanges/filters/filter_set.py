"""Which exchanges a person wants to see: the filters that were given, all of which must hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import time
from typing import TYPE_CHECKING, Any, Unpack

from ...errors import InputError
from .filter import Check, CheckContext, Filter, Reads, Topics, ValueForm
from .names import Pattern, matcher
from .parse import on_day_of, parse_value
from .table import FILTERS, Options
from .tally import FilterTally

if TYPE_CHECKING:
    from ..messages.exchange import Exchange

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
        raise AttributeError(f"no filter {name!r}")

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
        return any(FILTERS[name].timed(value) for name, value in self.given.items())

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
        return one.reads if one.reads_of is None else one.reads_of(self.given[name])

    def refuse_numbers(self) -> None:
        """Raise `InputError` for what means nothing in archives, where connections and exchanges have no numbers."""
        for name, value in self.given.items():
            for numbered in FILTERS[name].numbered(value):
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

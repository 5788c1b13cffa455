"""The filters that were given: how their values are taken, the checks they make, and what was never found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ...errors import InputError
from .filter import Check, CheckContext, Filter, PathLike, Pattern, Reads, Topics, ValueForm, matcher
from .table import FILTERS, Options

if TYPE_CHECKING:
    from ..messages.exchange import Exchange
    from .where.expression import Expression


def _convert(value: Any, one: Filter) -> Any:
    """Return a value in the form of its filter; raise `TypeError` or `ValueError` for one that is not of it."""
    match one.form:
        case ValueForm.TEXTS:
            texts = frozenset([value] if isinstance(value, (str, int)) else value)
            return frozenset(str(text) if isinstance(text, int) else _only(str, text) for text in texts)
        case ValueForm.NUMBERS:
            numbers = frozenset(_only(int, number) for number in ([value] if isinstance(value, int) else value))
            if not all(number in one.within for number in numbers):
                raise ValueError
            return numbers
        case ValueForm.RANGES:
            ends = isinstance(value, tuple) and all(type(end) is int for end in value)
            single = (isinstance(value, (int, str)) or ends) and value != ()
            return frozenset(map(_range, [value] if single else value))
        case ValueForm.FLAG:
            if isinstance(value, str) and value not in one.words:
                raise ValueError
            return value if isinstance(value, str) else bool(value)
        case ValueForm.MILLISECONDS:
            return float(value)
        case ValueForm.MOMENT:  # seconds since the epoch, or a time of day
            if isinstance(value, datetime):
                return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
            return value if isinstance(value, time) else float(value)
        case ValueForm.EXPRESSION:
            if not _only(str, value).strip():
                raise ValueError
        case ValueForm.FILES:
            paths = [value] if isinstance(value, (str, PathLike)) else value
            plain = (path.__fspath__() if isinstance(path, PathLike) else path for path in paths)
            return tuple(dict.fromkeys(_only(str, path) for path in plain))
        case ValueForm.COUNT:
            if _only(int, value) < 0:
                raise ValueError
    return value


def _range(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        ends = value.split("-")
        value = (int(ends[0]), int(ends[-1])) if len(ends) <= 2 and all(map(str.isdecimal, ends)) else None
    first, last = value if isinstance(value, tuple) else (value, value)
    if not 0 < _only(int, first) <= _only(int, last):
        raise ValueError
    return first, last


def _only(kind: type, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise TypeError
    return value


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
        self.patterns: tuple[Pattern, ...] = tuple(patterns)
        self.offers, self.most = offers, MOST
        self.begin(MOST)

    def begin(self, most: int) -> None:
        """Forget what was noted, and note this many different values."""
        self.most, self.open = most, list(self.patterns)
        self.there: Counter[Any] = Counter()

    def add(self, open: Iterable[str], there: Counter[Any]) -> None:
        """Take what was noted of exchanges after those here, with no limit: values as they were written, and counts."""
        self.open = [one for one in self.open if one.written in open]
        for value, count in there.items():
            if len(self.there) < self.most or value in self.there:
                self.there[value] += count

    def note(self, values: Sequence[Any], times: int = 1) -> None:
        """Take what so many exchanges have."""
        self.open = [pattern for pattern in self.open if not pattern.found_in(values)]
        for value in values:
            if len(self.there) < self.most or value in self.there:
                self.there[value] += times


class FilterTally(dict[str, Tally]):
    """The tallies of all filters by their names, over one capture or several.

    What is checked stands for so many exchanges as `times` says.
    """

    times = 1

    def take(self, most: int | None = None) -> dict[str, tuple[frozenset[str], Counter[Any]]]:
        """Return what was noted, for `add`; begin again, with this many different values of each filter."""
        found = {name: (frozenset(one.written for one in tally.open), tally.there) for name, tally in self.items()}
        for tally in self.values():
            tally.begin(most or MOST)
        return found

    def add(self, found: Mapping[str, tuple[frozenset[str], Counter[Any]]]) -> None:
        """Take what `take` returned of exchanges after those here."""
        for name, noted in found.items():
            self[name].add(*noted)

    def unmatched(self) -> list[Unmatched]:
        """Return what was asked for and never there; exchanges that an earlier filter refused do not count."""
        found: list[Unmatched] = []
        for name, tally in self.items():
            worth = (
                Counter({value: count for value, count in tally.there.items() if tally.offers(value)}) or tally.there
            )
            for one in sorted(tally.open, key=lambda one: one.written):
                found.append(Unmatched(name, one.written, tuple(nearest(one.written.removeprefix("!"), worth))))
        return found


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
        says: dict[str, Any] = {}
        for name, value in given.items():
            if name not in FILTERS:
                import difflib

                near = difflib.get_close_matches(name, FILTERS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(FILTERS)}"
                raise InputError(f"unknown filter {name!r}; {hint}")
            one = FILTERS[name]
            try:
                taken = None if value is None else _convert(value, one)
            except (TypeError, ValueError):
                wanted = " or ".join([one.form.value, *map(repr, one.words)])
                raise InputError(f"invalid value {value!r} of {name}: expected {wanted}") from None
            if taken is not None and taken is not False and taken not in (frozenset(), ()):
                says[name] = taken
        object.__setattr__(self, "given", says)

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
        return partial(Filters, **self.given), ()

    def but(self, **changes: Any) -> Filters:
        """Return these filters with others in place of those that are named; None takes one away."""
        return Filters(**{**self.given, **changes})

    def dated(self, first: int | None) -> Filters:
        """Return them with times of day on the day of the capture's first packet, `first` nanoseconds since 1970."""
        times = {name: value for name, value in self.given.items() if isinstance(value, time)}
        found: dict[str, float] = {}
        for name, moment in times.items():
            zone = moment.tzinfo or UTC
            day = datetime.fromtimestamp((first or 0) / 1e9, zone).date()
            found[name] = datetime.combine(day, moment, zone).timestamp()
        return self.but(**found) if found else self

    @property
    def asks(self) -> bool:
        """Whether exchanges are asked: not all that there are need be wanted."""
        return any(FILTERS[name].asks for name in self.given)

    @property
    def timed(self) -> bool:
        """Whether exchanges are asked where their time went, so that it must be computed."""
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
        about, expressions = CheckContext(topics, self.given), dict(self._expressions())

        def reads(name: str) -> Reads:
            if name not in expressions:
                return FILTERS[name].reads
            return Reads.BODIES if expressions[name].bodies else Reads.HEADERS

        asked = sorted(self.given, key=reads)
        return [_check(name, FILTERS[name], self.given[name], about, seen) for name in asked if FILTERS[name].asks]

    def _expressions(self) -> Iterator[tuple[str, Expression]]:
        """Yield the expressions among the values, by their filters' names."""
        for name, value in self.given.items():
            if (expression := FILTERS[name].expression) is not None:
                yield name, expression(value)

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


def _check(name: str, one: Filter, value: Any, asked: CheckContext, seen: FilterTally | None) -> Check:
    """Return the check of one filter."""
    if one.make is not None:
        check = one.make(value, asked)
        if seen is None or one.form is not ValueForm.EXPRESSION:
            return check
        hits = seen.setdefault(name, Tally([Pattern(value, True)], lambda fitted: False))

        def noting(exchange: Exchange) -> bool:
            found = check(exchange)
            if found and hits.open:
                hits.note((True,))
            return found

        return noting
    assert one.of is not None
    patterns, of = [one.pattern(each) for each in value], one.of
    fits = matcher(patterns)
    if seen is None:
        return lambda exchange: fits(tuple(of(exchange, asked)))
    tally = seen.setdefault(name, Tally(patterns, one.offers))

    def noted(exchange: Exchange) -> bool:
        values = tuple(of(exchange, asked))
        if tally.open:
            tally.note(values, seen.times)
        return fits(values)

    return noted

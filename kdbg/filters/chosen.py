"""Which exchanges a person wants to see: the filters that were given, all of which must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import InputError
from .filter import Check, Form, Topics
from .table import FILTERS, Options

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
        taken = {name: _taken(name, value) for name, value in given.items()}
        object.__setattr__(self, "given", {name: value for name, value in taken.items() if _says_something(value)})

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
        return self.but(**{name: _on_day_of(value, first) for name, value in times.items()}) if times else self

    def checks(self, topics: Topics = NO_TOPICS) -> list[Check]:
        """Return the checks on exchanges, cheap ones first; `topics` tells the names of topic ids.

        Raises `UnknownApi` for an API that is not known. Times of day must have been given their day before.
        """
        asked = sorted(self.given, key=lambda name: FILTERS[name].reads)
        return [make(self.given[name], topics) for name in asked if (make := FILTERS[name].make) is not None]

    def check(self, topics: Topics = NO_TOPICS) -> Check | None:
        """Return whether all checks hold, as one question; None where there are none."""
        checks = self.checks(topics)
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


def _restored(given: dict[str, Any]) -> Filters:
    return Filters(**given)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value != frozenset()


def _taken(name: str, value: Any) -> Any:
    """Return a value in the form that its filter keeps."""
    if name not in FILTERS:
        import difflib

        near = difflib.get_close_matches(name, FILTERS, n=1)
        raise InputError(
            f"no filter {name!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(FILTERS)}")
        )
    form = FILTERS[name].form
    try:
        taken = None if value is None else TAKEN[form](value)
        if form is Form.NUMBERS and taken is not None and not all(number in FILTERS[name].within for number in taken):
            raise ValueError
        return taken
    except (TypeError, ValueError):
        raise InputError(f"{name} cannot be {value!r}: it wants {WANTED[form]}") from None


def _texts(value: Any) -> frozenset[str]:
    texts = frozenset([value] if isinstance(value, (str, int)) else value)
    return frozenset(str(text) if isinstance(text, int) else _only(str, text) for text in texts)


def _numbers(value: Any) -> frozenset[int]:
    return frozenset(_only(int, number) for number in ([value] if isinstance(value, int) else value))


def _only(kind: type, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise TypeError
    return value


def _moment(value: Any) -> float | time:
    """Return seconds since the epoch, or a time of day."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return value if isinstance(value, time) else float(value)


def _count(value: Any) -> int:
    if _only(int, value) < 0:
        raise ValueError
    return int(value)


def _on_day_of(moment: time, first: int | None) -> float:
    zone = moment.tzinfo or UTC
    return datetime.combine(datetime.fromtimestamp((first or 0) / 1e9, zone).date(), moment, zone).timestamp()


TAKEN: dict[Form, Callable[[Any], Any]] = {
    Form.TEXTS: _texts,
    Form.NUMBERS: _numbers,
    Form.FLAG: bool,
    Form.MILLISECONDS: float,
    Form.MOMENT: _moment,
    Form.COUNT: _count,
}
WANTED = {
    Form.TEXTS: "a text or several",
    Form.NUMBERS: "a whole number or several",
    Form.FLAG: "true or false",
    Form.MILLISECONDS: "a number of milliseconds",
    Form.MOMENT: "seconds since 1970, a datetime or a time of day",
    Form.COUNT: "a whole number",
}
"""Form by form: what takes a value, and what is said of one that it does not take."""

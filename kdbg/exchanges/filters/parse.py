"""How the value of a filter is taken: from what a program or the command line gave into the form that is kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

from ...errors import InputError
from .filter import Filter, PathLike, ValueForm
from .table import FILTERS


def parse_value(name: str, value: Any) -> Any:
    """Return a value in the form that its filter keeps; raise `InputError` where it has none."""
    if name not in FILTERS:
        import difflib

        near = difflib.get_close_matches(name, FILTERS, n=1)
        raise InputError(
            f"unknown filter {name!r}; " + (f"did you mean {near[0]}?" if near else f"use one of {', '.join(FILTERS)}")
        )
    one = FILTERS[name]
    try:
        return None if value is None else FORMS[one.form][0](value, one)
    except (TypeError, ValueError):
        raise InputError(f"invalid value {value!r} of {name}: expected {_wanted(one)}") from None


def on_day_of(moment: time, first: int | None) -> float:
    """Return a time of day on the day of a point in time, `first` nanoseconds since the epoch."""
    zone = moment.tzinfo or UTC
    return datetime.combine(datetime.fromtimestamp((first or 0) / 1e9, zone).date(), moment, zone).timestamp()


def _texts(value: Any, one: Filter) -> frozenset[str]:
    texts = frozenset([value] if isinstance(value, (str, int)) else value)
    return frozenset(str(text) if isinstance(text, int) else _only(str, text) for text in texts)


def _numbers(value: Any, one: Filter) -> frozenset[int]:
    numbers = frozenset(_only(int, number) for number in ([value] if isinstance(value, int) else value))
    if not all(number in one.within for number in numbers):
        raise ValueError
    return numbers


def _ranges(value: Any, one: Filter) -> frozenset[tuple[int, int]]:
    single = isinstance(value, (int, str)) or (isinstance(value, tuple) and all(type(end) is int for end in value))
    return frozenset(map(_range, [value] if single and value != () else value))


def _range(value: Any) -> tuple[int, int]:
    """Return the first and the last number of a range."""
    if isinstance(value, str):
        ends = value.split("-")
        value = (int(ends[0]), int(ends[-1])) if len(ends) <= 2 and all(map(str.isdecimal, ends)) else None
    first, last = value if isinstance(value, tuple) else (value, value)
    if not 0 < _only(int, first) <= _only(int, last):
        raise ValueError
    return first, last


def _flag(value: Any, one: Filter) -> bool | str:
    if isinstance(value, str) and value not in one.words:
        raise ValueError
    return value if isinstance(value, str) else bool(value)


def _only(kind: type, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise TypeError
    return value


def _moment(value: Any, one: Filter) -> float | time:
    """Return seconds since the epoch, or a time of day."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return value if isinstance(value, time) else float(value)


def _expression(value: Any, one: Filter) -> str:
    if not _only(str, value).strip():
        raise ValueError
    return str(value)


def _files(value: Any, one: Filter) -> tuple[str, ...]:
    paths = [value] if isinstance(value, (str, PathLike)) else value
    plain = (path.__fspath__() if isinstance(path, PathLike) else path for path in paths)
    return tuple(dict.fromkeys(_only(str, path) for path in plain))


def _count(value: Any, one: Filter) -> int:
    if _only(int, value) < 0:
        raise ValueError
    return int(value)


def _wanted(one: Filter) -> str:
    return FORMS[one.form][1] + "".join(f" or {word!r}" for word in one.words)


FORMS: dict[ValueForm, tuple[Callable[[Any, Filter], Any], str]] = {
    ValueForm.TEXTS: (_texts, "one or several strings"),
    ValueForm.NUMBERS: (_numbers, "one or several integers"),
    ValueForm.RANGES: (_ranges, "a number from 1, or a range such as 17-20"),
    ValueForm.FLAG: (_flag, "true or false"),
    ValueForm.MILLISECONDS: (lambda value, one: float(value), "a number of milliseconds"),
    ValueForm.MOMENT: (_moment, "seconds since 1970, a datetime or a time of day"),
    ValueForm.EXPRESSION: (_expression, "an expression, such as 'latency_ms > 100'"),
    ValueForm.FILES: (_files, "one or several file paths"),
    ValueForm.COUNT: (_count, "an integer"),
}
"""Form by form: what takes a value, and what is said of one that it does not take."""

"""Tests that run many cases as one item: pytest needs milliseconds for each item, and each worker collects them all."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import count
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

ALL = "KDBG_TESTS_ALL"
"""Set in the environment where the tests run that are for the night (`python -m tests --all`)."""
FAILURES = (Exception, pytest.fail.Exception)
NAMED = 20
"""How many failed cases the first line of a failure names; all are shown below it."""
LONGEST = 100
"""Characters of a case's name that are made of a value."""

Case = TypeVar("Case")
Ids = Callable[[Any], object] | Iterable[object] | None
Test = Callable[..., None]


def by_day(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """Return all cases at night, each `every`-th otherwise: for cases that differ by chance, or by a place."""
    return cases if ALL in os.environ else cases[::every]


def fewer_by_day(count: int, every: int) -> int:
    """Return how many cases of a random kind are tried: all at night, each `every`-th otherwise."""
    return len(by_day(range(count), every))


def ends_by_day(cases: Iterable[Case], of: Callable[[Case], object]) -> list[Case]:
    """Return all cases at night, the first and the last of each kind otherwise: for cases that differ by version."""
    kinds: dict[object, list[Case]] = {}
    for case in cases:
        kinds.setdefault(of(case), []).append(case)
    return [
        case for kind in kinds.values() for at, case in enumerate(kind) if ALL in os.environ or at in (0, len(kind) - 1)
    ]


def for_each(
    names: str | Sequence[str], cases: Iterable[Any], *, by: Callable[[Any], object] | None = None, ids: Ids = None
) -> Callable[[Test], Test]:
    """Parametrize a test as `pytest.mark.parametrize` does, but run many cases in one item.

    Each case runs, and each that fails is named and shown. `by` returns the item that a case belongs to, of the
    first argument; without it one item runs all cases. The cases of an item share the test's fixtures.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    items: dict[str, dict[str, tuple[Any, ...]]] = {}
    given_names = iter(ids) if ids is not None and not callable(ids) else None
    for case in cases:
        values, name = case_of(case, len(arguments))
        if given_names is not None:
            name = str(next(given_names))
        elif not name:
            name = "-".join(label(value, ids if callable(ids) else None) for value in values)
        item = items.setdefault("" if by is None else str(by(values[0])), {})
        item[unused(name, item)] = values
    parameter = f"cases_of_{arguments[0]}"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*instance: object, **given: Any) -> None:
            item = items.get("", {}) if by is None else given.pop(parameter)
            failed: dict[str, BaseException] = {}
            skipped: list[BaseException] = []
            for name, values in item.items():
                try:
                    test(*instance, **dict(zip(arguments, values, strict=True)), **given)
                except FAILURES as error:
                    error.add_note(f"case: {name}")
                    failed[name] = error
                except pytest.skip.Exception as error:
                    skipped.append(error)
            if len(skipped) == len(item) > 0:
                raise skipped[0]
            if len(failed) == 1:
                raise next(iter(failed.values()))
            if failed:
                some = ", ".join([*failed][:NAMED]) + (" …" if len(failed) > NAMED else "")
                raise BaseExceptionGroup(f"{len(failed)} of {len(item)} cases: {some}", [*failed.values()])

        kept = [one for name, one in inspect.signature(test).parameters.items() if name not in arguments]
        if by is None:
            run.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
            return run
        kept.append(inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY))
        run.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        return pytest.mark.parametrize(parameter, items.values(), ids=items)(run)

    return decorate


def case_of(case: Any, count: int) -> tuple[tuple[Any, ...], str]:
    """Return the values of a case, and its name if it has one."""
    name = ""
    if isinstance(case, ParameterSet):
        assert not case.marks, "a case cannot have marks of its own"
        return tuple(case.values), str(case.id or "")
    values = (case,) if count == 1 else tuple(case)
    assert len(values) == count, case
    return values, name


def label(value: object, ids: Callable[[Any], object] | None) -> str:
    """Return a short name of a value."""
    named = ids(value) if ids is not None else None
    if named is None and type(value).__str__ is object.__str__:
        named = next((name for at in ("__name__", "name") if isinstance(name := getattr(value, at, None), str)), None)
    return str(value if named is None else named)[:LONGEST]


def unused(name: str, names: Container[str]) -> str:
    """Return the name, with a number where it is taken."""
    return next(one for number in count() if (one := f"{name}-{number}" if number else name) not in names)

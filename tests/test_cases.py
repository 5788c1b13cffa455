"""A test of many cases runs each, and names each that fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

import pytest

from .cases import ALL, by_day, ends_by_day, fewer_by_day, for_each, label

ran: list[int] = []


def small(number: int) -> None:
    ran.append(number)
    assert number < 3, f"{number} is large"


def failure(test: Callable[[], None]) -> BaseException:
    ran.clear()
    with pytest.raises(BaseException) as caught:
        test()
    return caught.value


def test_each_case_runs_whichever_fails() -> None:
    failed = failure(for_each("number", [5, 1, 7])(small))
    assert ran == [5, 1, 7]
    assert isinstance(failed, ExceptionGroup)
    assert failed.message == "2 of 3 cases: 5, 7"
    assert [(str(one).splitlines()[0], one.__notes__) for one in failed.exceptions] == [
        ("5 is large", ["case: 5"]),
        ("7 is large", ["case: 7"]),
    ]


def test_one_failure_is_raised_as_it_is() -> None:
    failed = failure(for_each("number", [1, 4, 2], ids=lambda number: f"n{number}")(small))
    assert isinstance(failed, AssertionError)
    assert failed.__notes__ == ["case: n4"]


def test_cases_of_one_name_are_all_run() -> None:
    for_each("number", [1, 1])(small)()
    assert isinstance(failure(for_each("number", [1, 9, 9])(small)), ExceptionGroup)
    assert ran == [1, 9, 9]


def test_names_of_cases_are_those_of_parametrize() -> None:
    given = [pytest.param(5, 9, id="five"), (6, 7)]
    failed = failure(for_each(("number", "other"), given)(lambda number, other: small(number)))
    assert isinstance(failed, ExceptionGroup)
    assert failed.message == "2 of 2 cases: five, 6-7"
    failed = failure(for_each("number", [4, 5], ids=["four", "five"])(small))
    assert isinstance(failed, ExceptionGroup)
    assert failed.message == "2 of 2 cases: four, five"


class Message(NamedTuple):
    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.name}-v{self.version}"


def test_names_of_values_tell_them_apart() -> None:
    values = [Message("Fetch", 3), inspect, small, b"\0", Namespace("a"), "x" * 200]
    assert [label(value, None) for value in values] == [
        "Fetch-v3",
        "inspect",
        "small",
        "b'\\x00'",
        "a",
        "x" * 100,
    ]


class Namespace:
    def __init__(self, name: str) -> None:
        self.name = name


def test_cases_that_are_skipped_hide_no_other() -> None:
    def skip(number: int) -> None:
        if number == 1:
            pytest.skip("not here")
        small(number)

    assert isinstance(failure(for_each("number", [1, 9])(skip)), AssertionError)
    for_each("number", [1, 2])(skip)()
    assert isinstance(failure(for_each("number", [1])(skip)), pytest.skip.Exception)


def test_what_a_test_calls_a_failure_is_one() -> None:
    def fail(number: int) -> None:
        pytest.fail(f"number {number}")

    failed = failure(for_each("number", [1, 2])(fail))
    assert isinstance(failed, BaseExceptionGroup)
    assert len(failed.exceptions) == 2


def test_items_are_divided_and_other_arguments_remain() -> None:
    @for_each("one, two", [(1, 2), (3, 4), (5, 6)], by=lambda one: one > 2)
    def add(one: int, two: int, tmp_path: list[int]) -> None:
        tmp_path.append(one + two)

    (mark,) = add.pytestmark  # type: ignore[attr-defined]
    parameter, items = mark.args
    assert mark.kwargs["ids"].keys() == {"False", "True"}
    assert [*inspect.signature(add).parameters] == ["tmp_path", parameter]
    sums: list[int] = []
    for item in items:
        add(**{parameter: item}, tmp_path=sums)
    assert sums == [3, 7, 11]


class TestOfAClass:
    @for_each("number", [1, 2])
    def test_a_method_has_its_instance(self, number: int) -> None:
        assert isinstance(self, TestOfAClass)
        assert number


@for_each("number", range(3))
@pytest.mark.parametrize("size", [3, 4])
def test_marks_and_fixtures_stay(number: int, size: int, tmp_path: object) -> None:
    assert number < size
    assert tmp_path


@pytest.mark.parametrize(("night", "expected"), [(False, [0, 3, 6]), (True, [*range(7)])])
def test_by_day_some_cases_run_and_at_night_all(
    night: bool, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALL, "1") if night else monkeypatch.delenv(ALL, raising=False)
    assert list(by_day(range(7), 3)) == expected
    assert fewer_by_day(7, 3) == len(expected)
    ends = ["a1", "a4", "b1", "c1", "c2"]
    assert ends_by_day(["a1", "b1", "a2", "a3", "a4", "c1", "c2"], of=lambda case: case[0]) == (
        ["a1", "a2", "a3", "a4", "b1", "c1", "c2"] if night else ends
    )

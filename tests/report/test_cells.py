"""Values as the page shows them."""

from __future__ import annotations

import pytest

from kdbg.views.report.cells import LONGEST, duration, shown, size, table, when
from kdbg.views.report.facts import Listing

from ..cases import for_each


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123_456, "123 kB"), (5 * 10**12, "5.0 TB")]
)
def test_bytes(number: int, text: str) -> None:
    assert size(number) == text


@for_each(
    ("microseconds", "text"),
    [(7, "7 µs"), (1500, "1.5 ms"), (2_000_000, "2 s"), (120_000_000, "2 min"), (9_000_000_000, "2.5 h"),
     (432_000_000_000, "5 days")],
)  # fmt: skip
def test_durations(microseconds: int, text: str) -> None:
    assert duration(microseconds) == text


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(1_795_264_200_001_500, "2026-11-21 12:30:00.001"), (-(10**18), "0001-01-01 00:00:00.000"),
     (10**18, "9999-12-31 23:59:59.999")],
)  # fmt: skip
def test_times_stay_within_the_calendar(microseconds: int, text: str) -> None:
    assert when(microseconds) == text


def test_text_shows_what_is_in_it_and_is_cut_where_it_is_long() -> None:
    assert shown("a\x1b[31m\u202eb") == "a\\x1b[31m\\u202eb"
    assert shown("C:\\logs") == "C:\\logs"
    assert shown("x" * 1000) == "x" * (LONGEST - 1) + "…"


def test_what_is_missing_is_a_dash_that_sorts_last() -> None:
    found = table("things", {"thing": "text", "times": "count"}, Listing([("a", None), (None, 1234)], 5))
    assert [[cell.text for cell in row] for row in found.rows] == [["a", "–"], ["–", "1,234"]]
    assert (found.rows[0][1].sort, found.left) == (-1, 5)

"""Answers of SQL: tables that fit, blocks where they cannot, CSV and JSON that other programs read."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.views.render.answers import cell, csv_line, json_line, table
from kdbg.views.render.style import Look
from kdbg.views.render.values import cells

from ..cases import for_each

NARROW = Look(width=80)
WHOLE = Look(width=80, long_lines=True)
MOMENT = datetime(2026, 11, 21, 12, 30, 1, 250_000, UTC)
HOSTILE = "\x1b[31m\x9b2J\u202e[bold]\n"


def test_numbers_end_in_line_and_what_is_not_there_is_a_dash() -> None:
    rows = [("Fetch", 7, 1.5, None), (None, 1000, None, "x")]
    assert table(["api", "times", "ms", "what"], rows, NARROW) == (
        "api    times   ms  what\n"
        "Fetch      7  1.5  –\n"
        "–       1000    –  x\n"
    )  # fmt: skip


def test_texts_are_cut_to_the_width_and_numbers_are_not() -> None:
    rows = [("a" * 100, 123_456_789, MOMENT)]
    cut = table(["text", "number", "time"], rows, NARROW)
    assert all(cells(line) <= 80 for line in cut.splitlines())
    assert "…" in cut
    assert "  123456789  2026-11-21 12:30:01.250" in cut
    assert "a" * 100 in table(["text", "number", "time"], rows, WHOLE)


def test_what_has_no_room_as_a_table_becomes_blocks() -> None:
    names = [f"column{n}" for n in range(12)]
    shown = table(names, [["x" * 100, *range(11)]] * 2, NARROW).splitlines()
    assert shown[:2] == ["column0   " + "x" * 69 + "…", "column1   0"]
    assert shown[12] == ""
    assert len(shown) == 25
    assert len(table(names, [["x" * 100, *range(11)]] * 2, WHOLE).splitlines()) == 3


def test_an_answer_without_rows_still_names_its_columns() -> None:
    assert table(["api", "times"], [], NARROW) == "api  times\n"


def test_the_head_is_painted() -> None:
    assert table(["api"], [("Fetch",)], Look("STANDARD")) == "\x1b[90mapi\x1b[0m\nFetch\n"


@pytest.mark.parametrize("value", [HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}, HOSTILE.encode()])
def test_nothing_captured_reaches_a_terminal_as_it_is(value: Any) -> None:
    for shown in (table([HOSTILE], [(value,)], WHOLE), csv_line([value]), json_line([HOSTILE], [value]).decode()):
        assert shown.endswith("\n")
        assert shown.replace("\n", "").isprintable()
    assert "[bold]" in table(["name"], [(value,)], WHOLE), "what looks like markup is text"


def test_many_columns_of_hostile_names_stay_blocks_of_lines() -> None:
    shown = table([HOSTILE] * 30, [[HOSTILE] * 30], NARROW)
    assert shown.count("\n") == 30
    assert shown.replace("\n", "").isprintable()


@for_each(
    ("value", "shown"),
    [
        (datetime(2026, 11, 21, 12, 30, tzinfo=UTC), "2026-11-21 12:30"),
        (datetime(2026, 11, 21, 12, 30, 5, tzinfo=UTC), "2026-11-21 12:30:05"),
        (MOMENT, "2026-11-21 12:30:01.250"),
        (date(2026, 11, 21), "2026-11-21"),
        (True, "true"),
        (["a", None], "a, –"),
        ({"k": [1]}, "k: 1"),
        (b"key", '"key"'),
        (b"\xff", "1 byte  ff"),
    ],
)
def test_values_as_a_person_reads_them(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_json_has_types_and_csv_has_texts() -> None:
    row = (1, None, MOMENT, Decimal("2.50"), Decimal(10**20), ["a", MOMENT], {"k": b"\xff"}, True, float("nan"))
    names = "abcdefghi"
    assert json.loads(json_line(names, row)) == {
        "a": 1, "b": None, "c": "2026-11-21T12:30:01.250000Z", "d": 2.5, "e": str(10**20),
        "f": ["a", "2026-11-21T12:30:01.250000Z"], "g": {"k": {"base64": "/w=="}}, "h": True, "i": "nan",
    }  # fmt: skip
    [fields] = csv.reader(io.StringIO(csv_line(row)))
    assert fields == [
        "1", "", "2026-11-21T12:30:01.250000Z", "2.5", str(10**20), '["a","2026-11-21T12:30:01.250000Z"]',
        '{"k":{"base64":"/w=="}}', "true", "nan",
    ]  # fmt: skip


texts = st.text('aé漢\x1b\n\\"[],…')


@given(st.lists(texts | st.integers() | st.none() | st.lists(texts), min_size=1, max_size=8))
def test_a_table_holds_to_its_width_and_csv_to_its_fields(row: list[Any]) -> None:
    names = [f"c{n}" for n in range(len(row))]
    assert all(cells(line) <= 80 for line in table(names, [row], NARROW).splitlines())
    [fields] = csv.reader(io.StringIO(csv_line(row)))
    assert len(fields) == len(row)


@for_each("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_has_no_formulas_unless_asked_for(text: str) -> None:
    escaped = text.replace("\t", "\\t").replace("\r", "\\r")
    for raw, shown in ((False, f"'{escaped}"), (True, escaped)):
        [fields] = csv.reader(io.StringIO(csv_line([text, 1], raw=raw), newline=""))
        assert fields == [shown, "1"]


@pytest.mark.parametrize("number", ["-5", "+1.5", "-2e10", -7])
def test_numbers_in_csv_stay_numbers(number: str | int) -> None:
    assert csv_line([number]).strip() == str(number)

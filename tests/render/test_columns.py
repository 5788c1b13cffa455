"""Rows of words as columns."""

from __future__ import annotations

from kdbg.views.render.columns import LEAST, aligned, wrap
from kdbg.views.render.style import Look

ROWS = [("a", "1", "a lamp"), ("bcd", "20", "two lamps of the same kind, and a third")]


def test_columns_are_as_wide_as_what_stands_in_them_and_the_last_is_wrapped() -> None:
    assert aligned(ROWS, Look(width=34), indent=1, right=(1,)) == [
        " a     1  a lamp",
        " bcd  20  two lamps of the same",
        "          kind, and a third",
    ]


def test_words_that_are_too_wide_push_the_rest_of_their_line_aside() -> None:
    rows = [*ROWS, ("e" * 9, "3", "x")]
    assert aligned(rows, Look(), widest=8)[-1] == "eeeeeeeee  3   x"
    assert aligned(rows, Look(), widest=9)[0] == "a          1   a lamp"


def test_only_words_are_painted_and_only_in_columns_with_a_style() -> None:
    look = Look("STANDARD")
    assert aligned([("a", "b", ""), ("", "d", "e")], look, ("name", "")) == [
        f"{look.paint('name', 'a')}  b",
        "   d  e",
    ]


def test_words_are_never_broken_and_a_column_is_never_narrower_than_the_least() -> None:
    assert wrap("a" * 40 + " b-c", LEAST) == ["a" * 40, "b-c"]
    assert wrap("long-hyphenated-compound words", 26) == ["long-hyphenated-compound", "words"]
    assert wrap("one two three four five six", 1) == ["one two three four five", "six"]
    assert wrap("one\xa0two three", LEAST) == ["one two three"]
    assert wrap("x" * 20 + " one\xa0two", LEAST) == ["x" * 20, "one two"]
    assert aligned([("", "")], Look()) == [""]

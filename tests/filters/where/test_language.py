"""What is asked in Python follows the language: beside the library's own evaluation, value by value."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
from kdbg.exchanges.filters.where import library, semantics
from kdbg.exchanges.filters.where.closures import Asking, Writer
from kdbg.exchanges.filters.where.library import decoded
from kdbg.exchanges.filters.where.semantics import Undecided
from kdbg.exchanges.filters.where.vocabulary import OPEN, TERMS, Term

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 2**63 - 1, -(2**63), 0.0, 1.0, -0.5, 1e300, math.inf, math.nan, "", "a", "ab", "é",
    "1", b"", b"a", [], [1], [1.0], [True], [1, "a"], [[1]], {}, {"a": 1}, {"a": 1.0, "b": None},
    datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC), timedelta(seconds=1), timedelta(days=1),
]  # fmt: skip
OPERATORS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in", "_+_": "+",
             "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "_&&_": "&&", "_||_": "||"}  # fmt: skip
MISSING, REFUSED = object(), object()


@cache
def program(text: str, *types: str) -> Any:
    """The checked expression, None where these types are refused before anything is asked."""
    try:
        return library._environment(tuple(zip("ab", types or ("dyn", "dyn"), strict=True))).compile(text)
    except RuntimeError:
        return None


def by_library(text: str, a: Any, b: Any) -> Any:
    """What the library itself says, `MISSING` for an error."""
    try:
        made = program(text, library._type_of(a), library._type_of(b))
        if made is None:
            return REFUSED
        found = made.eval(data={"a": library._given(a), "b": library._given(b)})
    except RuntimeError:
        return MISSING
    return MISSING if found.type().name().lower() in ("error", "unknown") else library._converted(found.plain_value())


class Functions:
    """Asks the functions that are made of the same expression."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values: dict[str, Any] = {}
        for name in "ab":
            term = Term("dyn", lambda exchange, topics, name=name: self.values[name], "", OPEN)  # type: ignore[misc]
            monkeypatch.setitem(TERMS, name, term)  # type: ignore[arg-type]
        self.made: dict[str, Any] = {}

    def __call__(self, text: str, a: Any, b: Any) -> Any:
        self.values = {"a": a, "b": b}
        if text not in self.made:
            self.made[text] = Writer(deep=True).write(decoded(program(text).serialize()), {})
        asking = Asking({}, 9)
        asking.exchange = None  # type: ignore[assignment]
        try:
            return self.made[text](asking)
        except Undecided:
            return MISSING


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Functions:
    return Functions(monkeypatch)


def same(one: Any, other: Any) -> bool:
    if other is REFUSED:
        return True
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))


@pytest.mark.parametrize("operator", OPERATORS.values())
def test_operators(operator: str, functions: Functions) -> None:
    for one, other in product(VALUES, VALUES):
        text = f"a {operator} b"
        wanted, found = by_library(text, a=one, b=other), functions(text, a=one, b=other)
        assert same(found, wanted), f"{one!r} {operator} {other!r} is {wanted!r}, not {found!r}"


@pytest.mark.parametrize("text", ["!a", "-a", "size(a)", "a.size()", "a ? 1 : 2", "a.b", "has(a.a)", "a[0]", "a[b]",
                                  'a["a"]', "string(a)", "int(a)", "double(a)", "bool(a)", "a.startsWith(b)",
                                  'a.matches("a")', "a.exists(x, x == b)", "a.all(x, x > b)", "a.exists_one(x, x == b)",
                                  "a.map(x, x + b)", "a.filter(x, x != b)", "a.map(x, x > b, x)", "[a, b, 1]",
                                  "a == [b]", "a.exists(x, a.exists(y, x == y && x == b))",
                                  "(a == b || a > b) && !(a < b)", "a.exists(x, x) || b", "1 in a",
                                  "a == null"])  # fmt: skip
def test_all_else(text: str, functions: Functions) -> None:
    for one, other in product(VALUES, [None, True, 0, 1, "a", [1]]):
        wanted, found = by_library(text, a=one, b=other), functions(text, a=one, b=other)
        if isinstance(one, dict) and isinstance(found, list) and isinstance(wanted, list):
            found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
        assert same(found, wanted), f"{text} of {one!r}, {other!r} is {wanted!r}, not {found!r}"


def test_what_stands_in_messages_is_what_json_has() -> None:
    one = UUID(int=5)
    assert semantics.field({"topic_id": one}, "topic_id") == str(one)
    assert semantics.equal([one], [str(one)])
    assert semantics.field({"value": b"text"}, "value") == "text"
    assert semantics.field({"value": b"\xff"}, "value") == b"\xff"
    assert semantics.field({"data": b"text"}, "data") == b"text"


def test_text_that_is_none_does_no_harm() -> None:
    assert library.function("matches", 2, method=True)("\udcff\ud800x", "x$") is True

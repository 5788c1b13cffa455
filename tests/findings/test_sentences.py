"""Sentences are made in one place, of facts alone; no other code makes one, and none takes one apart."""

from __future__ import annotations

import ast
import re
import string
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import kdbg
from kdbg.protocol.findings import Finding, Kind, faults
from kdbg.protocol.findings import facts as of
from kdbg.protocol.findings.amounts import rounded
from kdbg.protocol.findings.facts import FactKind
from kdbg.protocol.findings.faults import FaultKind
from kdbg.protocol.findings.text import SENTENCES, beside, sentence

from ..cases import for_each

ROOT = Path(kdbg.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if not path.is_relative_to(ROOT / "protocol" / "findings"))
FACTS = get_args(of.Facts)
PLAIN = (of.PlainFact, faults.PlainFault)
VALUED = (faults.ValueFact,)
KINDS = (FactKind, FaultKind)
OF_A_FINDING = {"length", "side", "sender"}
SHOWING = [ROOT / place for place in (
    "errors.py", "live/client", "live/mocking", "scale/query", "scale/signals", "scale/spark", "ui/cli", "views/render",
    "views/report", "views/tables",
)]  # fmt: skip
"""Where something is shown to a person, or raised to them; `mock.problems` are lines for the author of a test."""
SURGERY = {
    "endswith", "find", "index", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "translate",
}  # fmt: skip
"""What takes a string apart."""
SEARCHES = {"findall", "finditer", "fullmatch", "match", "search", "sub"}
TEXTS = {"text", "problem", "explanation", "kind", "reason"}
WORDS = {"what"}
"""Names of variables that hold what bytes look like, in words."""
ERRORS = {"WireError", "BadValue", "BadLength"}
NO_FINDINGS = {"given.text", "self.text"}
"""Texts of other things: what the user gave, what a reader of definitions goes through."""
ASKED_FOR = {"text": ("finding", "found", "odd"), "problem": ("error", "broken")}


def shows(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in SHOWING)


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def called() -> frozenset[str]:
    """The names of all that is called anywhere."""
    return frozenset(name_of(node.func) for path in FILES for node in nodes(path) if isinstance(node, ast.Call))


def name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def is_text(node: ast.expr) -> bool:
    """Whether an expression may be what a finding, an error or a guess says: `x.text`, `x.kind`, `str(finding)`."""
    if isinstance(node, ast.Attribute):
        return node.attr in TEXTS
    if isinstance(node, ast.Name):
        return node.id in WORDS
    named = isinstance(node, ast.Call) and name_of(node.func) == "str" and node.args
    return bool(named) and isinstance(node.args[0], ast.Name) and node.args[0].id in ("finding", "found", "odd")  # type: ignore[attr-defined]


def test_every_fact_has_a_sentence_and_every_sentence_its_facts() -> None:
    assert set(FACTS) == SENTENCES.keys() | {of.Stopped, of.InPayload, of.MessageMistake, *PLAIN, *VALUED}
    assert len({facts.__name__ for facts in FACTS}) == len(FACTS), "they are told apart by their names"


@for_each("facts", SENTENCES, ids=lambda facts: facts.__name__)
def test_a_sentence_is_made_of_values_that_the_facts_have(facts: Any) -> None:
    words = SENTENCES[facts]
    if not callable(words):
        used = {name for _, name, _, _ in string.Formatter().parse(words) if name is not None}
        assert used <= {*facts._fields, *OF_A_FINDING}
        assert set(facts._fields) <= used, "a fact that nothing tells of"
        assert not (used & OF_A_FINDING) - set(facts._fields) or facts not in get_args(faults.Fault)
    values = [example(kind) for kind in get_type_hints(facts).values()]
    said = sentence(facts(*values), length=3, side="request", sender="client")
    assert said == said.strip()
    assert said
    assert said[-1] not in ".:;,"


def example(kind: Any) -> Any:
    if kind == tuple[str, ...]:
        return "a", "b"
    if kind == tuple[tuple[int, str, tuple[int, ...]], ...]:
        return (3, "Metadata", (1, 0)), (1, "Fetch", (2,))
    return {int: 7, str: "x", bool: True}.get(kind, FaultKind.NO_BOOLEAN.of(2))


@for_each("facts", [each for kind in PLAIN for each in kind], ids=str)
def test_a_plain_sentence_is_made_of_the_values_of_a_finding(facts: of.PlainFact | faults.PlainFault) -> None:
    used = {name for _, name, _, _ in string.Formatter().parse(facts.value) if name is not None}
    assert used <= (OF_A_FINDING if isinstance(facts, of.PlainFact) else set())
    said = sentence(facts, length=3, side="request", sender="client")
    assert said == said.strip()
    assert said[-1] not in ".:;,"


@cache
def of_values() -> dict[FactKind | FaultKind, list[set[str]]]:
    """By the kinds of facts with values: the names of those values, wherever such facts are made."""
    found: dict[FactKind | FaultKind, list[set[str]]] = {kind: [] for kinds in KINDS for kind in kinds}
    for call in (node for path in FILES for node in nodes(path) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "of":
            for kinds, name in re.findall(r"(FactKind|FaultKind)\.(\w+)", ast.unparse(call.func.value)):
                found[globals()[kinds][name]].append({f"{keyword.arg}" for keyword in call.keywords} or {"value"})
    return found


@for_each("kind", [each for kinds in KINDS for each in kinds], ids=str)
def test_a_sentence_of_values_is_made_of_those_that_its_facts_are_given(kind: FactKind | FaultKind) -> None:
    used = {name for _, name, _, _ in string.Formatter().parse(kind.value) if name is not None}
    values = of_values()[kind]
    assert values, "a fact that nothing tells"
    for given in values:
        assert given <= used, "a value that nothing tells of"
        assert used - given <= (OF_A_FINDING if isinstance(kind, FactKind) else set())
    said = sentence(kind.of(**dict.fromkeys(used, 7)), length=3, side="request", sender="client")
    assert said == said.strip()
    assert said[-1] not in ".:;,"


@for_each("facts", [*FACTS, *(each for kind in (*PLAIN, *KINDS) for each in kind)], ids=str)
def test_every_fact_is_found_somewhere(facts: Any) -> None:
    if isinstance(facts, Enum):
        assert any(
            isinstance(node, ast.Attribute) and node.attr == facts.name for path in FILES for node in nodes(path)
        )
    elif facts not in (*PLAIN, *VALUED):
        assert facts.__name__ in called()


@for_each("path", FILES, ids=lambda path: path.relative_to(ROOT))
def test_no_sentence_is_taken_apart(path: Path) -> None:
    for node in nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        cut = [node.func.value] if node.func.attr in SURGERY else []
        cut += node.args if node.func.attr in SEARCHES else []
        for each in filter(is_text, cut):
            assert ast.unparse(each) in NO_FINDINGS, ast.unparse(node)


@for_each("path", [path for path in FILES if not shows(path)], ids=lambda path: path.relative_to(ROOT))
def test_no_sentence_is_made_or_asked_for_where_nothing_is_shown(path: Path) -> None:
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert not f"{node.module}".endswith(("findings.text", "findings.sentences"))
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node.value) not in ASKED_FOR.get(node.attr, ()), ast.unparse(node)
        if isinstance(node, ast.Call) and name_of(node.func) in {"Finding", *ERRORS}:
            given = [*node.args[2:], *(keyword.value for keyword in node.keywords if keyword.arg in ("fault", "facts"))]
            assert not any(isinstance(value, ast.JoinedStr) for value in given), ast.unparse(node)
            if name_of(node.func) in ERRORS:
                assert not isinstance(node.args[2], ast.Constant), ast.unparse(node)


def test_beside_the_bytes_a_finding_names_the_field_and_no_byte() -> None:
    few = of.Stopped(20, faults.TooFewBytes("STRING", 6, 1))
    assert beside(Finding(Kind.TRUNCATED, "request", "a.b", 20, 0, few)) == "a.b: STRING needs 6 bytes, only 1 left"
    assert beside(Finding(Kind.TRUNCATED, "request", "", 20, 0, few)) == "message: STRING needs 6 bytes, only 1 left"
    assert (
        beside(Finding(Kind.UNEXPECTED_NULL, "request", "a", 2, 2, FaultKind.NULL_FORBIDDEN.of("STRING")))
        == "a: STRING must not be null"
    )
    assert beside(Finding(Kind.TRAILING_BYTES, "request", "", 2, 1, FaultKind.LEFTOVER.of(1))) == (
        "1 trailing byte after the last field"
    )
    inside = Finding(Kind.MALFORMED_PAYLOAD, "request", "a", 9, 0, of.InPayload("B", few, True))
    assert beside(inside) == "a: invalid B: message: STRING needs 6 bytes, only 1 left"
    assert inside.text == f"{beside(inside)} (byte 13 of the frame, 0x000d)"
    assert inside._replace(start=None).text == beside(inside), "its place is in bytes that the message does not have"


@for_each(
    ("number", "text"),
    [(0.25, "0.25"), (12.34, "12.3"), (999.4, "999"), (999.5, "1,000"), (1234.5, "1,234"), (1_234_567, "1,234,567")],
)
def test_numbers_have_three_digits_and_no_exponent(number: float, text: str) -> None:
    assert rounded(number) == text

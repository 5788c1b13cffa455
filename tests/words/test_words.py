"""All texts that users read follow the rules: those of the source code, of the guide and of the README."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from kdbg.protocol.findings.facts import PlainFact
from kdbg.protocol.findings.faults import PlainFault, ValueFact
from kdbg.protocol.findings.text import SENTENCES, sentence

from .allowed import FILE, MOST, allowed, left
from .collect import texts
from .facts import facts
from .rules import Violation, numbers_of, violations
from .texts import NUMBERS, Kind, Text

LISTED = 40
FEWEST = {
    Kind.SUMMARY: 25, Kind.COMMAND: 40, Kind.OPTION: 150, Kind.FINDING: 150, Kind.EXPLANATION: 30, Kind.LINT: 30,
    Kind.TITLE: 45, Kind.CAUSE: 45, Kind.ADVICE: 45, Kind.HEAD: 20, Kind.ERROR: 300, Kind.PAGE: 1500,
    Kind.MEANING: 900, Kind.OTHER: 1000, Kind.FACT: 40, Kind.ALTERNATIVE: 30,
}  # fmt: skip
"""How many texts of a kind there are at least: fewer mean that they are not collected any more."""


@cache
def remaining() -> tuple[list[Violation], list[str]]:
    """What no entry of the list allows, and the entries that nothing needs."""
    found, unused = left(violations(), allowed(FILE.read_text()))
    return found, ["\t".join(entry) for entry in unused]


def test_all_texts_follow_the_rules() -> None:
    found, _ = remaining()
    listed = "\n".join(map(str, found[:LISTED]))
    assert not found, f"{len(found):,} violations; python -m tests.words lists all\n{listed}"


def test_each_entry_of_the_allow_list_is_needed() -> None:
    _, unused = remaining()
    assert not unused


def test_the_allow_list_has_at_most_60_entries() -> None:
    assert len(allowed(FILE.read_text())) <= MOST


@pytest.mark.parametrize("number", NUMBERS)
def test_sentences_of_findings_have_correct_plurals_and_separators(number: int) -> None:
    found = []
    for one in facts(number):
        said = sentence(one, side="request", sender="client", length=number)
        text = Text("kdbg/protocol/findings/text.py", 0, Kind.FINDING, (said,))
        found += [f"{type(one).__name__}: {said}" for _ in numbers_of(text, said)]
    assert not found, "\n".join(found)


def test_facts_are_made_of_every_sentence() -> None:
    assert {type(one) for one in facts(1)} == {*SENTENCES, PlainFact, PlainFault, ValueFact}


def test_texts_of_every_kind_are_collected() -> None:
    counts = Counter(text.kind for text in texts())
    assert {kind: counts[kind] for kind, fewest in FEWEST.items() if counts[kind] < fewest} == {}
    assert set(FEWEST) == set(Kind)

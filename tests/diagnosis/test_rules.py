"""What all rules have: a code, words that can be filled, a line in the guide, codes that exist."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import pytest

import kdbg
from kdbg.analysis.diagnosis import Evidence, Rule, Who
from kdbg.analysis.diagnosis.rules import MODULES, RULES
from kdbg.analysis.diagnosis.text import SENTENCES, UNKNOWN
from kdbg.protocol.findings.amounts import times

from ..cases import for_each
from ..words.rules import definitions

ROOT = Path(kdbg.__file__).parent
GUIDE = (ROOT / "ui" / "guide" / "causes.md").read_text()
SHARED = "".join((ROOT / "analysis" / "diagnosis" / name).read_text() for name in ("queries.py",))
GIVEN = {"count", "times", "probably", *UNKNOWN}
ALL = [(module, name) for module in MODULES for name, rule in vars(module).items() if isinstance(rule, Rule)]
"""All rules, and those that have another sentence for the same cause: as module and name."""
NOUNS = {
    "client_id": "client", "host": "host", "broker": "broker|address", "topic": "topic", "partition": "partition",
    "group": "group", "transactional_id": "transactional id", "listener": "address|traffic to", "cluster_id": "cluster",
    "principal": "user", "node_id": "broker",
}  # fmt: skip
"""Facts that are names, each with the noun that stands before it."""
VERBS = {
    "Add", "Check", "Choose", "Commit", "Correct", "Find", "Lower", "Move", "Raise", "Remove", "Restart", "Reuse",
    "Set", "Upgrade", "Use",
}  # fmt: skip
"""Verbs that advice begins with."""


def rendered(template: str, number: int) -> str:
    """A template, all its amounts the same number and all its names short."""
    facts: dict[str, Any] = {"times": times(number), "probably": ""}
    for _, name, form, conversion in Formatter().parse(template):
        if name is not None and name not in facts:
            facts[name] = 0.5 if "%" in (form or "") else number if form or conversion else "x"
    return SENTENCES.vformat(template, (), facts)


def test_every_rule_has_the_name_of_its_code() -> None:
    named = [(name.replace("_", "-"), vars(module)[name]) for module, name in ALL if not name.startswith("_")]
    assert sorted(named, key=lambda each: each[0]) == list(RULES.items())
    assert len(RULES) > 50


@for_each("rule", RULES.values(), ids=lambda rule: rule.code)
def test_the_guide_lists_it(rule: Rule) -> None:
    assert f"| `{rule.code}` | {rule.severity.value} | {rule.milestone} | {rule.title} |" in GUIDE


def test_the_guide_lists_no_other() -> None:
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \| (?:error|warning|note) \|", GUIDE, re.M)) == RULES.keys()


@for_each("rule", RULES.values(), ids=lambda rule: rule.code)
def test_what_it_explains_exists(rule: Rule) -> None:
    assert rule.explains <= RULES.keys() - {rule.code}


@for_each("rule", RULES.values(), ids=lambda rule: rule.code)
def test_its_templates_name_only_what_its_code_gives(rule: Rule) -> None:
    name = rule.code.replace("-", "_")
    module = next(module for module in MODULES if name in vars(module))
    given = GIVEN | set(re.findall(r'"(\w+)":', definitions(inspect.getsource(module))[name] + SHARED))
    for template in (rule.sentence, rule.advice, *rule.alternatives):
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        assert names <= given, names - given
        assert not template.startswith(" ")
    assert not rule.sentence.endswith(".")


@for_each("number", [1, 2, 1_234_567])
@for_each("module, name", ALL)
def test_its_amounts_are_written_right(module: ModuleType, name: str, number: int) -> None:
    rule = vars(module)[name]
    for template in (rule.sentence, rule.advice, *rule.alternatives):
        text = rendered(template, number)
        assert not re.search(r"(?<![.,\d])1 (?!ms\b)(?:\w+ )?\w+s\b", text), text
        assert not re.search(r"\d{5}", text.replace("1048576", "").replace("104857600", "")), text


@for_each("module, name", ALL)
def test_its_texts_have_their_form(module: ModuleType, name: str) -> None:
    rule = vars(module)[name]
    sentence, advice = rendered(rule.sentence, 12), rendered(rule.advice, 12)
    assert len(rule.title) <= 50
    assert not rule.title.startswith(("a ", "an ", "the "))
    assert len(sentence) <= 190, "30 characters are left for names"
    assert sentence[0].islower() or sentence[0].isdigit()
    assert sentence.count(":") <= 1
    assert len(advice) <= 200
    assert advice.endswith((".", ". x"))
    assert advice.split()[0] in VERBS
    for noun, template in ((noun, template) for noun in NOUNS for template in (rule.sentence, rule.advice)):
        assert not re.search(rf"(?<!{')(?<!'.join(f'{one} ' for one in NOUNS[noun].split('|'))}){{{noun}}}", template)


@for_each("module, name", ALL)
def test_it_says_probably_once_where_it_may_be_wrong(module: ModuleType, name: str) -> None:
    """The hedge has its place in the sentences of rules that give a certainty."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.case"
    ]
    uncertain = any(keyword.arg == "certainty" for call in calls for keyword in call.keywords)
    sentence = vars(module)[name].sentence
    assert sentence.count("{probably}") == uncertain
    assert not re.search(r"\b(?:probably|possibly|may|might)\b(?!})", re.sub("may hold", "", sentence))


def test_a_case_is_not_changed() -> None:
    case = next(iter(RULES.values())).case(Who(), 1, 2, 1, Evidence())
    with pytest.raises(AttributeError):
        case.count = 2  # type: ignore[misc]

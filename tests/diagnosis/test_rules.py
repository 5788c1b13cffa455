"""What all rules have: a code of its file, words that can be filled, a line in the guide, codes that exist."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import kdbg
from kdbg.diagnosis import Evidence, Rule, Who
from kdbg.diagnosis.rules import BY_CODE, NAMES, RULES
from kdbg.diagnosis.text import UNKNOWN

ROOT = Path(kdbg.__file__).parent
GUIDE = (ROOT / "guide" / "causes.md").read_text()
SHARED = "".join((ROOT / "diagnosis" / name).read_text() for name in ("advertised.py", "by_error.py", "malformed.py"))
GIVEN = {"count", "times", *UNKNOWN}


def test_every_file_has_the_rule_of_its_name() -> None:
    assert len(RULES) > 50
    assert [rule.code.replace("-", "_") for rule in RULES] == list(NAMES)
    assert len(BY_CODE) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_guide_lists_it(rule: Rule) -> None:
    assert f"| `{rule.code}` | {rule.severity.value} | {rule.title} |" in GUIDE


def test_the_guide_lists_no_other() -> None:
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \| (?:error|warning|note) \|", GUIDE, re.M)) == BY_CODE.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_what_it_explains_exists(rule: Rule) -> None:
    assert rule.explains <= BY_CODE.keys() - {rule.code}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_its_templates_name_only_what_its_file_gives(rule: Rule) -> None:
    path = ROOT / "diagnosis" / "rules" / f"{rule.code.replace('-', '_')}.py"
    given = GIVEN | set(re.findall(r'"(\w+)":', path.read_text() + SHARED))
    for template in (rule.sentence, rule.advice, *rule.alternatives):
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        assert names <= given, names - given
        assert not template.startswith(" ")
    assert not rule.sentence.endswith(".")


def test_a_case_is_not_changed() -> None:
    case = RULES[0].case(Who(), 1, 2, 1, Evidence())
    with pytest.raises(AttributeError):
        case.count = 2  # type: ignore[misc]

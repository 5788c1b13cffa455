"""What each rule finds in the staged incidents, and from which packet on: as `cases.json` here has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kdbg.analysis.diagnosis import Case, diagnose
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.analysis.diagnosis.text import advice, case_object, sentence
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

from ..cases import for_each
from .books import STAGED, truths
from .golden import same

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "cases.json"
BY_CAUSE: dict[str, list[str]] = {}
for truth in truths(STAGED):
    if not truth["healthy"] and truth["cause_code"] in RULES:
        BY_CAUSE.setdefault(truth["cause_code"], []).append(truth["file"])


def whole(case: Case) -> Json:
    """A case with all that is printed of it, and what it is ordered by."""
    return {**case_object(case), "weight": case.weight}


def brief(case: Case) -> str:
    return f"{case.severity.value} {case.certainty} {case.count}"


def watched(path: Path, code: str) -> tuple[list[Json], list[str]]:
    """All cases of a capture at its end, and how the case of one rule came about, packet by packet."""
    engine, steps = Engine(), list[str]()
    ledgers = Ledgers(engine.names_then)
    find, before = RULES[code].find, ""
    for number, packets in enumerate(singly(path), 1):
        ledgers.packets(packets)
        ledgers.take(engine.receive_all(packets))
        now = " | ".join(map(brief, find(ledgers)))
        if bool(now) != bool(before) or now.rpartition(" ")[0] != before.rpartition(" ")[0]:
            steps.append(f"{number}: {now}")
        before = now
    ledgers.take(engine.close())
    ledgers.left_over(engine.findings)
    for case in diagnose(ledgers):
        assert len(re.findall("probably|possibly", sentence(case))) == (case.certainty != "certain"), sentence(case)
        assert len(sentence(case)) <= 220, sentence(case)
        assert len(advice(case)) <= 200, advice(case)
    return [whole(case) for case in diagnose(ledgers)], steps


def singly(path: Path) -> Iterator[Any]:
    with open_capture(path) as capture:
        yield from capture.blocks(singly=True)


@for_each("code", BY_CAUSE, by=str)
def test_each_rule_finds_what_it_found(code: str) -> None:
    for name in BY_CAUSE[code]:
        cases, steps = watched(STAGED / name, code)
        same(GOLDEN, name, {"cases": cases, "steps": steps})


def test_each_rule_has_the_words_that_it_had() -> None:
    """Those of causes that no incident is staged of, and what they explain, too."""
    for code, rule in RULES.items():
        words = rule._replace(find=None, explains=sorted(rule.explains), severity=rule.severity.value)  # type: ignore[arg-type]
        same(GOLDEN, f"rule {code}", list(words))

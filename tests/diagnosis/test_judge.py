"""Which findings a cause explains: those of the same party that did not end before it began."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.analysis.diagnosis import BEFORE, Evidence, Rule, Who, after_effects
from kdbg.analysis.diagnosis.case import Case
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.protocol.findings import Severity

START = 1_795_000_000_000_000_000
CAUSE = next(rule for rule in RULES.values() if rule.explains and rule.severity is not Severity.NOTE)
EFFECT = next(RULES[code] for code in sorted(CAUSE.explains) if CAUSE.code not in RULES[code].explains)


def case(rule: Rule, since: int, until: int, who: Who | None = None, **more: Any) -> Case:
    return rule.case(who or Who(), START + since, START + until, 1, Evidence(), **more)


def explained(cause: Case, effect: Case) -> bool:
    """Whether the cause makes the other a note that names it, in either order."""
    found = [{each.code: each for each in after_effects(order, {})} for order in ([cause, effect], [effect, cause])]
    assert found[0] == found[1]
    assert found[0][cause.code] == cause
    effect = found[0][effect.code]
    assert (effect.because == cause.code) is (effect.severity is Severity.NOTE)
    return bool(effect.because)


@pytest.mark.parametrize(
    ("until", "expected"),
    [(10 * BEFORE, True), (4 * BEFORE, True), (4 * BEFORE - 1, False), (BEFORE, False)],
)
def test_a_finding_that_ended_before_its_cause_began_has_another_cause(until: int, expected: bool) -> None:
    """A second is left for what was requested before and is answered after."""
    assert explained(case(CAUSE, 5 * BEFORE, 6 * BEFORE), case(EFFECT, BEFORE, until)) is expected


@pytest.mark.parametrize("field", ["client_id", "topic", "group", "transactional_id"])
def test_another_party_has_another_cause(field: str) -> None:
    def who(name: str | None) -> Who:
        return Who(**{field: name})

    for mine, its, expected in (("a", "a", True), ("a", "b", False), ("a", None, True), (None, "b", True)):
        assert explained(case(CAUSE, 0, 1, who(mine)), case(EFFECT, 0, 1, who(its))) is expected, (mine, its)


def test_a_note_explains_nothing_nor_does_a_cause_explain_itself() -> None:
    assert not explained(case(CAUSE, 0, 1, severity=Severity.NOTE), case(EFFECT, 0, 1))
    twice = [case(CAUSE, 0, 1), case(CAUSE, 2, 3)]
    assert after_effects(twice, {}) == twice

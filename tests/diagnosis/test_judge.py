"""Which findings a cause explains: those of the same party that did not end before it began."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.analysis.diagnosis import BEFORE, Evidence, Rule, Who, after_effects, with_rivals
from kdbg.analysis.diagnosis.case import Case
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.analysis.diagnosis.text import alternatives
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


def test_a_guess_explains_nothing_but_is_a_rival_of_what_it_would_explain() -> None:
    guess, effect = case(CAUSE, 0, 1, certainty="guess"), case(EFFECT, 0, 1)
    assert not explained(guess, effect)
    for order in ([guess, effect], [effect, guess]):
        (one,) = with_rivals(order, {})
        assert (one.code, one.rivals) == (order[0].code, (order[1],))
    assert len(with_rivals([guess, case(EFFECT, 0, 1, severity=Severity.NOTE)], {})) == 2
    assert len(with_rivals([case(CAUSE, 0, 1, certainty="likely"), effect], {})) == 2


@pytest.mark.parametrize(
    ("numbers", "packets", "certainty", "expected"),
    [
        ((2, 3), (), "likely", True),
        ((), (7,), "likely", True),
        ((2,), (), "certain", False),
        ((3,), (8,), "guess", False),
    ],
)
def test_uncertain_causes_with_the_same_evidence_are_rivals(
    numbers: tuple[int, ...], packets: tuple[int, ...], certainty: str, expected: bool
) -> None:
    one = Case(CAUSE, Who(), START, START + 1, 1, Evidence((1, 2), (7,)), certainty="likely")
    unrelated = (rule for rule in RULES.values() if rule.code not in CAUSE.explains and not rule.explains)
    other = next(rule for rule in unrelated if rule is not CAUSE)
    two = Case(other, Who(), START, START + 1, 1, Evidence(numbers, packets), certainty=certainty)  # type: ignore[arg-type]
    assert (len(with_rivals([one, two], {})) == 1) is expected


def test_what_decides_between_rivals_is_said() -> None:
    rival = case(RULES["proxy-without-backend"], 0, 1, Who(host="h", broker="b:1"), certainty="guess")
    shown = case(RULES["never-commits"], 0, 1, certainty="likely", facts={"offset": 0}, rivals=(rival,))
    said = alternatives(shown)[-1]
    assert said.startswith("proxy-without-backend (guess): address b:1 closed 1 connection")
    assert ". To decide: Check that" in said

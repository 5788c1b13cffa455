"""Trials: those that are kept are of today's rules, they bound the certainty of cases, and people can see them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kdbg.analysis.diagnosis import trials as module
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.analysis.diagnosis.text import HEDGES
from kdbg.analysis.diagnosis.trials import CERTAINTIES, Certainty, Trials, certainty, trials

from ..cli.calls import call

UNTRIED = {
    "malformed-response": "no staged broker writes malformed responses; tests/mistakes has such messages",
    "not-kafka": "staged runs with another protocol have rules that name it",
    "not-readable": "of captures that cannot be judged",
    "short-lived-members": "staged in ../shared/incidents2",
    "producer-fenced": "comes before the cause only where that is cut off",
}
"""Rules that were never right in a trial, and why."""


def test_each_rule_was_tried() -> None:
    right = {
        code
        for code, by_claim in trials().items()
        if any(hits for one in by_claim.values() for hits, _ in one.values())
    }
    assert trials().keys() <= RULES.keys(), "python -m tests.incidents.trials --write"
    assert RULES.keys() - right == UNTRIED.keys()


@pytest.mark.parametrize(("hits", "misses", "expected"), [
    (19, 1, "certain"), (18, 1, "likely"), (7, 3, "likely"), (6, 3, "guess"), (0, 1, "guess"), (0, 0, "likely"),
])  # fmt: skip
def test_a_case_is_as_certain_as_trials_show(
    monkeypatch: pytest.MonkeyPatch, hits: int, misses: int, expected: Certainty
) -> None:
    kept: Mapping[str, Mapping[Certainty, Trials]] = {
        "one": {claim: {"whole": (hits, 0), "first 60 %": (0, misses)} for claim in CERTAINTIES}
        if hits + misses
        else {}
    }
    monkeypatch.setattr(module, "trials", lambda: kept)
    for claim in CERTAINTIES:
        assert certainty.__wrapped__("one", claim) == max(claim, expected, key=CERTAINTIES.index)


def test_a_rule_is_explained() -> None:
    text = call("diagnose", "--explain-rule", "hot-partition").out
    for part in (
        "hot-partition  warning: ",
        "looks for: topics",
        "milestone: records",
        "fix: ",
        "see: ",
        "whole",
        "right in",
    ):
        assert part in text
    (one,) = call("diagnose", "--explain-rule", "hot-partition", "-f", "json").lines
    assert (one["cause"], one["milestone"], one["trials"]) == ("hot-partition", "records", trials()["hot-partition"])
    assert set(one["trials"]) <= HEDGES.keys()
    named = call("diagnose", "--explain-rule", "rebalance-blocked").out
    assert ("CLIENT_ID" in named, "{" in named) == (True, False)
    assert call("diagnose", "--explain-rule", "hot-partitions").status == 2
    assert call("diagnose").status == 2


@pytest.mark.parametrize("code", RULES)
def test_every_rule_says_what_it_looks_for(code: str) -> None:
    assert (RULES[code].find.__doc__ or "").startswith("Look for ")

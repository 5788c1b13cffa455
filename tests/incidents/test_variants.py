"""What diagnosis says of staged runs in parts, at other speeds, beside one another, and among healthy clients."""

from __future__ import annotations

import json

import pytest

from ..cases import for_each
from .test_diagnosed import UNSEEN
from .trials import FAILING, KEPT, TRUTH, all_outcomes, counted, mixed_trials, outcome

SEEN = [one["name"] for one in FAILING if one["name"] not in UNSEEN]
LEAST = {"whole": 0.95, "first 60 %": 0.85, "last 70 %": 0.8, "half the speed": 0.9, "beside another": 0.9,
         "among fifty": 0.9}  # fmt: skip
"""By kind of trial: the least share of failing runs whose cause is named first, where the capture still shows it."""
QUIET = 0.98
"""The least share of healthy runs without a cause above a note, in each kind of trial."""


@for_each("place", range(0, len(SEEN), 50))
def test_two_failures_are_both_named_and_one_among_fifty_clients_is(place: int) -> None:
    runs = TRUTH[SEEN[place]], TRUTH[SEEN[(place + 7) % len(SEEN)]]
    for trial in mixed_trials(*runs):
        found = outcome(trial)
        assert found.named, (trial.kind, trial.runs, found.sentences)


@pytest.mark.nightly  # judges all runs in all ways
def test_the_cause_comes_first_in_nearly_all_trials() -> None:
    found = list(all_outcomes(list(TRUTH)))
    for kind in dict.fromkeys(one.kind for one in found):
        failing = [one.first for one in found if one.kind == kind and not one.healthy and one.shown]
        healthy = [one.first for one in found if one.kind == kind and one.healthy]
        assert not failing or sum(failing) >= LEAST[kind] * len(failing), kind
        assert not healthy or sum(healthy) >= QUIET * len(healthy), kind
    kept = counted(one for one in found)
    assert json.loads(KEPT.read_text()) == kept, "python -m tests.incidents.trials --write"

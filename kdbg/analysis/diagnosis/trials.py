"""How often rules were right in trials, and how certain their cases are for that reason.

`trials.json` has the hits and misses of each rule, by what its cases claim and by kind of trial: staged failures with
real brokers and clients, and healthy traffic, whole, in part, at another speed, mixed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Certainty = Literal["certain", "likely", "guess"]
CERTAINTIES: tuple[Certainty, ...] = ("certain", "likely", "guess")
LEAST: dict[Certainty, float] = {"certain": 0.95, "likely": 0.7, "guess": 0.0}
"""The least share of hits among trials."""
Trials: TypeAlias = Mapping[str, tuple[int, int]]
"""Hits and misses, by kind of trial."""


@cache
def trials() -> Mapping[str, Mapping[Certainty, Trials]]:
    """Return all trials, by the code of the rule and what its cases claim."""
    found: Mapping[str, Mapping[Certainty, Trials]] = json.loads((files(__package__) / "trials.json").read_bytes())
    return found


@cache
def certainty(code: str, claim: Certainty) -> Certainty:
    """Return how certain a case of a rule is: what it claims, or less where trials show less, or where there are none.

    `claim` is what the kind of its evidence can show at most. Where no trial had that, those with less evidence count.
    """
    by_claim = trials().get(code, {})
    weaker = CERTAINTIES[CERTAINTIES.index(claim) :]
    by_kind: Trials = next((by_claim[one] for one in weaker if one in by_claim), {})
    hits, misses = (sum(counts) for counts in zip(*by_kind.values(), strict=True)) if by_kind else (0, 0)
    shown = next(one for one in CERTAINTIES if hits >= LEAST[one] * (hits + misses)) if hits + misses else "likely"
    return max(claim, shown, key=CERTAINTIES.index)

"""Each mistake that programs make, made in messages of different APIs and versions: named, and nothing else named.

Each run tries a few of each; `KDBG_MISTAKES=20 python -m tests main tests/mistakes/test_named.py` many.
"""

from __future__ import annotations

import os
from functools import cache

from kdbg.findings.mistakes import MISTAKES

from .making import ANY, BATCH, NAMES, cases
from .messages import Sample
from .score import blamed, explained, misled, samples, score

EACH, SEED = int(os.environ.get("KDBG_MISTAKES", "4")), 77
NAMED = 0.9


@cache
def mixed() -> list[Sample]:
    return samples(SEED, fresh=False)


def test_each_mistake_is_named_and_none_wrongly() -> None:
    total = named = 0
    wrong = []
    for name in [*ANY, *BATCH]:
        made = score(cases(name, mixed(), SEED, EACH))
        total, named = total + len(made.cases), named + len(made.named)
        wrong += [(name, str(one.sample), found.text, one.data.hex()) for one, found in made.wrong]
        assert made.named, name
    assert wrong == []
    assert named >= NAMED * total


def test_explain_names_them_too() -> None:
    requests = [one for one in mixed() if one.direction == "request"]
    made = [one for name in [*ANY, *BATCH][::3] for one in cases(name, requests, SEED, 1)]
    assert len(score(made, explained).named) >= NAMED * len(made)


def test_a_valid_message_has_none() -> None:
    assert blamed(mixed()[: 25 * EACH]) == []


def test_a_damaged_byte_is_not_taken_for_another_mistake() -> None:
    assert misled(mixed()[: 25 * EACH], SEED) == []


def test_every_kind_has_its_words_and_is_made_here_or_in_a_connection() -> None:
    made = set().union(*NAMES.values())
    of_frames = {"size-missing", "wrong-size", "raw-sasl-token", "sasl-authenticate-after-v0", "reused-correlation-id"}
    assert made | of_frames == MISTAKES.keys()
    for kind, words in MISTAKES.items():
        assert kind == kind.lower()
        assert not words.sentence.endswith(".")
        assert words.explanation.endswith(".")

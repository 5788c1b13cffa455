"""Every message that the grammars can make, pasted in some form between log lines: found, and named.

Each run tries a sample; `KDBG_PASTED=2000 python -m tests main tests/guess/test_generated.py` a wide one.
"""

from __future__ import annotations

import os
import random
import struct
from functools import cache

import pytest

from kdbg.analysis.pasted.search import takes_of
from kdbg.exchanges.guess.candidates import Guess, Hints, Sure, sureness
from kdbg.exchanges.guess.pieces import pieces

from ..cases import by_day
from ..grammars.subjects import MESSAGES, Spoken, full
from ..pasted.forms import FORMS, log

SAMPLE = int(os.environ.get("KDBG_PASTED", "24"))
LARGEST = 6000
"""Bytes of a message that is tried."""
CUT_FROM, CUT_TO = 41, 400
AMONG_THREE = 0.8


@cache
def sample(seed: int) -> list[tuple[Spoken, bytes]]:
    """Messages with everything in them, behind their sizes."""
    chance = random.Random(seed)
    found = []
    for subject in chance.choices(MESSAGES, k=2 * SAMPLE):
        data = subject.whole(full(subject))
        if len(data) < LARGEST:
            found.append((subject, struct.pack(">i", len(data)) + data))
    return found[:SAMPLE]


def rank(guesses: list[Guess], subject: Spoken) -> int:
    """The place of the guess that names a message; beyond all where none does."""
    right = [
        guess.api.key == subject.api.key and guess.direction == subject.direction and subject.version in guess.versions
        for guess in guesses
    ]
    return right.index(True) if True in right else len(guesses)


def is_surely_wrong(guesses: list[Guess], subject: Spoken) -> bool:
    return bool(guesses) and sureness(guesses) is Sure.CERTAIN and rank(guesses, subject) > 0


@pytest.mark.parametrize("seed", by_day(range(2), 2))
def test_a_generated_message_is_found_in_every_form_and_named(seed: int) -> None:
    chance, far = random.Random(seed), []
    for subject, data in sample(seed):
        form = chance.choice(list(FORMS))
        (take,) = takes_of(log(chance, FORMS[form](data)))
        assert take.data == data, (str(subject), form)
        guesses = next(pieces(take.data, Hints(cut=take.cut))).guesses
        place = rank(guesses, subject)
        assert place < len(guesses), f"{subject} is not named"
        assert place == 0 or (subject.direction == "response" and not is_surely_wrong(guesses, subject)), str(subject)
        far += [str(subject)] if place > 2 else []
    assert len(far) <= (1 - AMONG_THREE) / 2 * len(sample(seed)), far


@pytest.mark.parametrize("said", [True, False])
def test_a_generated_message_that_is_cut_is_among_three_and_never_surely_another(said: bool) -> None:
    chance, named, tried = random.Random(said), 0, 0
    for subject, data in sample(2 + said):
        if len(data) <= CUT_FROM:
            continue
        end = chance.randrange(CUT_FROM, min(len(data), CUT_TO))
        guesses = next(pieces(data[:end], Hints(cut=said))).guesses
        assert not is_surely_wrong(guesses, subject), (str(subject), end)
        named, tried = named + (rank(guesses, subject) < 3), tried + 1
    assert named >= AMONG_THREE * tried

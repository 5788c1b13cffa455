"""How sure it is what bytes are: certain, likely or a guess."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from .hints import Guess
from .reason import Reason
from .single_message import Alone

AHEAD, AHEAD_CUT = 12.0, 16.0
"""Bits by which the best reading must be ahead of all others to be likely; one that is cut by more."""
ENOUGH = 20
"""Bytes that a reading of a message that was cut off needs to be likely."""


SHORT = 12
"""Bytes: fewer fit so much that no part or body of them is likely."""


class Sure(StrEnum):
    """How sure a reading is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "a guess"


def sureness(guesses: Sequence[Guess]) -> Sure:
    """Return how sure the first of the guesses is, beside the others."""
    first = guesses[0]
    if first.reason in (Reason.TOLD, Reason.TOLD_API):
        return Sure.CERTAIN
    if first.reason in (Reason.CHECKSUM, Reason.CORRELATION_ID):
        return Sure.LIKELY if first.mended or first.faults else Sure.CERTAIN
    if first.reason in (Reason.STRUCTURE, Reason.TOKEN):
        return Sure.LIKELY
    ahead = _lead(guesses)
    if first.reason is Reason.HEADER:
        return _of_request(first, ahead)
    if first.end - first.start < SHORT and first.size is None:
        return Sure.GUESS
    sound = not first.faults and (first.exact or (first.cut and first.end - first.start >= ENOUGH))
    return Sure.LIKELY if sound and ahead >= (AHEAD if first.exact else AHEAD_CUT) else Sure.GUESS


def _of_request(first: Guess, ahead: float) -> Sure:
    fits = first.size == first.end - first.start
    if fits and (first.plain or (first.client and ahead >= AHEAD)):
        return Sure.CERTAIN
    if first.faults or ahead < AHEAD or not first.client:
        believed = first.client or (not first.faults and ahead >= AHEAD)
        return Sure.LIKELY if ahead > 0 and believed else Sure.GUESS
    whole = first.exact or (first.cut and first.size is not None)
    return Sure.CERTAIN if whole else Sure.LIKELY


def _lead(guesses: Sequence[Guess]) -> float:
    """Return by how many bits the first is ahead of the next that is something else."""
    first = _what(guesses[0])
    return next((guess.score - guesses[0].score for guess in guesses[1:] if _what(guess) != first), 1000.0)


def _what(guess: Guess) -> tuple[object, ...]:
    return (guess.api.title if isinstance(guess.api, Alone) else guess.api, guess.direction)

"""What goes into guessing and what comes out of it: what the user said, a guess with its reason, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ...protocol.grammars import plain
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from .structures import Mended, Reason

WORD = re.compile(r"[A-Za-z][A-Za-z_]{3,40}")
MOST_WORDS = 1 << 16
"""Characters of a text that are looked at."""
AHEAD, AHEAD_CUT = 12.0, 16.0
"""Bits by which the best reading must be ahead of all others to be likely; one that is cut by more."""
ENOUGH = 20
"""Bytes that a reading of a message that was cut off needs to be likely."""
SHORT = 12
"""Bytes: fewer fit so much that no part or body of them is likely."""


def words_of(text: str | None) -> frozenset[str]:
    """Return the words of a text, as names of APIs and payloads are compared."""
    return frozenset(plain(word) for word in WORD.findall((text or "")[:MOST_WORDS]))


class Hints(NamedTuple):
    """What the user said of the bytes. `header` False: messages begin at their body, without size and header.

    `cut`: more bytes followed, which are not there. `named` are words of the text around, as `grammars.plain`
    gives them.
    """

    api: Api | None = None
    version: int | None = None
    direction: Direction | None = None
    header: bool = True
    cut: bool = False
    named: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        """Whether nothing was said of what the bytes are."""
        return self.api is None and self.direction is None and self.header


@dataclass(frozen=True)
class Guess:
    """What bytes may be: a message that begins at `start` and ends at `end`, as far as it is there.

    `size` is what stands in front (then `start` is 4), None where nothing does. `versions` are all that read the same
    out of the bytes; `version` is the newest of them. `exact`: it reads to the last byte, and not further.
    """

    api: Api
    version: int
    direction: Direction
    start: int
    end: int
    score: float
    reason: Reason
    size: int | None = None
    header: bool = True
    exact: bool = True
    versions: tuple[int, ...] = ()
    faults: int = 0
    """Values that no peer would write."""
    cut: bool = False
    """The bytes end before the message does."""
    mended: Mended | None = None
    """A field that is wrong, where all the rest says so."""
    doubts: tuple[str, ...] = ()
    """Fields of a record batch whose values no peer would write."""
    client: bool = True
    """Whether a request's header names a client, or its API key is not 0: half of a correlation id often is."""
    plain: bool = False
    """Whether it is a request whose header has a known key and version, and names a client.

    Never one of Produce: its key is the first half of many correlation ids.
    """
    likelihood: float = 0.0
    """Among the guesses made together: they add up to one."""


class Extent(NamedTuple):
    """Where a message may stand in the bytes, and how odd that would be."""

    start: int
    end: int
    size: int | None
    score: float


class Sure(StrEnum):
    """How sure a reading is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "a guess"


def sureness(guesses: Sequence[Guess]) -> Sure:
    """Return how sure the first of the guesses is, beside the others."""
    first = guesses[0]
    if first.reason in (Reason.GIVEN, Reason.GIVEN_API):
        return Sure.CERTAIN
    if first.reason in (Reason.CHECKSUM, Reason.CORRELATION_ID):
        return Sure.LIKELY if first.mended or first.faults else Sure.CERTAIN
    if first.reason in (Reason.STRUCTURE, Reason.TOKEN):
        return Sure.LIKELY
    others = (guess for guess in guesses[1:] if subject(guess) != subject(first))
    ahead = next((guess.score - first.score for guess in others), 1000.0)
    if first.reason is Reason.HEADER:
        fits = first.size == first.end - first.start
        if fits and (first.plain or (first.client and ahead >= AHEAD)):
            return Sure.CERTAIN
        if first.faults or ahead < AHEAD or not first.client:
            believed = first.client or (not first.faults and ahead >= AHEAD)
            return Sure.LIKELY if ahead > 0 and believed else Sure.GUESS
        whole = first.exact or (first.cut and first.size is not None)
        return Sure.CERTAIN if whole else Sure.LIKELY
    if first.end - first.start < SHORT and first.size is None:
        return Sure.GUESS
    sound = not first.faults and (first.exact or (first.cut and first.end - first.start >= ENOUGH))
    return Sure.LIKELY if sound and ahead >= (AHEAD if first.exact else AHEAD_CUT) else Sure.GUESS


def subject(guess: Guess) -> tuple[object, Direction]:
    """Return what bytes are guessed to be, whatever its version."""
    return getattr(guess.api, "title", guess.api), guess.direction

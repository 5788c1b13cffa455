"""What goes into guessing and what comes out of it: what the user said, a place in the bytes, a guess."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from ...protocol.grammars import plain
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction
from .batches import Mended
from .reason import Reason

WORD = re.compile(r"[A-Za-z][A-Za-z_]{3,40}")
MOST_WORDS = 1 << 16
"""Characters of a text that are looked at."""


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

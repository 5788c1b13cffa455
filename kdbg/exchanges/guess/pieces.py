"""Bytes that may hold several messages and other things around them: cut into pieces, with guesses about each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ...protocol.findings.quirks import Sure
from ...protocol.wire import Api
from ..engine.requests import begins, prove, search
from ..mistakes import Examination, Mistake, find_misframed
from .hints import Guess, Hints
from .infer import NOTHING, infer
from .invalid_messages import mistake_of
from .partial_header import int32
from .reason import Reason
from .sequence import Sequence

EMPTY, ENDING = 16, 12
"""Zeros that are the rest of a buffer; zeros that a message may end with."""


LITTLE_ENDIAN = ("little-endian-size", "little-endian-header")
HEADER = 512
"""Bytes of a request in which its header ends."""


class GuessedSpan(NamedTuple):
    """Bytes `start` to `end` of what was given, and the guesses about them, counted from `start`; none: no message."""

    start: int
    end: int
    guesses: list[Guess]
    mistakes: tuple[Mistake, ...] = ()
    """The mistakes of its writer that explain why it is not valid."""
    examined: bool = True
    """Whether all changes that may undo a mistake were tried."""
    empty: bool = False
    """Nothing but zeros behind a message: the rest of the buffer that it stood in."""

    @property
    def mistake(self) -> Mistake | None:
        """The first of its mistakes."""
        return self.mistakes[0] if self.mistakes else None


Asked: TypeAlias = dict[int, tuple[Api, int]]
"""Requests by their correlation id: (api, version)."""


def requests_in(data: bytes) -> Asked:
    """Return the requests that bytes begin with, one after the other, whatever stands before or after these bytes."""
    found: Asked = {}
    start = 0
    while (head := begins(data[start : start + HEADER])) is not None and head.api is not None and head.known:
        found[head.correlation_id] = head.api, head.version
        start += 4 + int32(data, start)
    return found


def pieces(data: bytes, told: Hints = NOTHING, asked: Asked | None = None) -> Iterator[GuessedSpan]:
    """Yield the messages in the bytes, one after the other, and the bytes between them that are none.

    `asked` are requests that stand elsewhere, before or after.
    """
    start = sure = 0
    asked = dict(asked or {})
    sequence = Sequence()
    while start < len(data):
        if start and told.nothing and len(data) - start >= EMPTY and not any(data[start:]):
            yield GuessedSpan(start, len(data), [], empty=True)
            return
        if told.header and start >= sure:
            sure = _frames(data, start)
        rest = data[start : start + 4 + int32(data, start)] if start < sure else data[start:]
        misframed = find_misframed(rest, after=start > 0) if told.nothing and start >= sure else None
        rest = rest[: misframed.end] if misframed is not None else rest
        guesses = infer(rest, told, asked)
        if told.nothing and not (guesses and guesses[0].exact):
            guesses = _before_zeros(rest) or guesses
        end = guesses[0].end if guesses else len(rest)
        if start >= sure and told.nothing and not _is_sure(guesses, rest) and _junk(rest) < len(rest):
            guesses, end = [], _junk(rest)
        out_of_order = misframed.mistake if misframed is not None else None
        if guesses and out_of_order is None:
            out_of_order = sequence.take(guesses[0], rest[guesses[0].start : guesses[0].end])
        if guesses and guesses[0].direction == "request" and guesses[0].header:
            first = guesses[0]
            asked[int32(rest, first.start + 4)] = first.api, first.version
        examined = mistake_of(rest, guesses) if told.header and not told.cut else Examination()
        mistakes = examined.mistakes + ((out_of_order,) if out_of_order is not None else ())
        why = mistakes[0] if mistakes else None
        if why is not None and why.start < 0 and why.kind in LITTLE_ENDIAN:
            guesses, end = [], len(rest)
        elif why is not None and why.sure is not Sure.GUESS:
            guesses = [guess for guess in guesses if _is_of(why, guess)] or guesses
        yield GuessedSpan(start, start + end, guesses, mistakes, examined=examined.complete)
        start += end


def _is_of(mistake: Mistake, guess: Guess) -> bool:
    """Return whether a guess is that of the message that a mistake is in."""
    return (guess.api.name, guess.version, guess.direction) == (mistake.api, mistake.version, mistake.direction)


def _before_zeros(data: bytes) -> list[Guess]:
    """Return guesses about bytes that are followed by the rest of a buffer, as if it were not there; none if not."""
    said = len(data.rstrip(b"\0"))
    if len(data) - said < EMPTY or said < EMPTY:
        return []
    found = (infer(data[:end]) for end in range(said, said + ENDING + 1))
    exact = [guesses for guesses in found if guesses and guesses[0].exact and not guesses[0].faults]
    return min(exact, key=lambda guesses: guesses[0].score, default=[])


def _is_sure(guesses: list[Guess], data: bytes) -> bool:
    """Return whether to keep the first guess rather than look for a request further on that proves itself."""
    first = guesses[0] if guesses else None
    if first is None or (first.size is None and first.reason is Reason.WHOLE and int32(data, 0) + 4 != len(data)):
        return False
    return first.exact or first.direction == "request"


def _frames(data: bytes, start: int) -> int:
    """Return where the run of complete frames that begins at `start` ends; `start` if there are too few of them.

    Three are enough, or two that end with the data.
    """
    end, count = start, 0
    while 4 <= int32(data, end) <= len(data) - end - 4:
        end, count = end + 4 + int32(data, end), count + 1
    return end if count > 2 or (count == 2 and end == len(data)) else start


def _junk(data: bytes) -> int:
    """Return how many bytes stand before the next request that proves itself; all of them if there is none."""
    place = search(data, 1)
    while place is not None:
        if prove(data, place + 4, place + 4 + int32(data, place)):
            return place
        place = search(data, place + 1)
    return len(data)

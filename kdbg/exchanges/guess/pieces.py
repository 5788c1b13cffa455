"""Bytes that may hold several messages and other things around them: cut into pieces, with guesses about each.

With each piece are the mistakes of its writer: those that explain why it is not valid, and those that only the order of
pasted messages shows, such as a correlation id that is used twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ..engine.requests import begins, prove, search
from ..messages.message import read
from ..mistakes import Examination, Mistake, RequestOrder, examine, find_frame_mistake, find_misframed
from ..mistakes.connection import SASL_AUTHENTICATE
from .hints import Guess, Hints, Reason
from .infer import NOTHING, infer, int32
from .structures import Alone, Structure, hints_for

PRODUCE = 0
TRIED = 3
"""Guesses that mistakes are looked for in."""
EMPTY, ENDING = 16, 12
"""Zeros that are the rest of a buffer; zeros that a message may end with."""
LITTLE_ENDIAN = ("little-endian-size", "little-endian-header")
HEADER = 512
"""Bytes of a request in which its header ends."""
Asked: TypeAlias = dict[int, tuple[Api, int]]
"""Requests by their correlation id: (api, version)."""


class MessageOrder:
    """Takes messages in the order in which they are pasted."""

    def __init__(self) -> None:
        self._order = RequestOrder()
        self._frames: set[bytes] = set()

    def take(self, guess: Guess, frame: bytes) -> Mistake | None:
        """Return the mistake of the next message by those before it; `frame` begins at its header.

        The same bytes once more are a message that was pasted twice. Nothing says whether the first of two requests
        with one correlation id was still in flight.
        """
        authenticate = find(SASL_AUTHENTICATE)
        if guess.api is SASL_TOKEN and authenticate is not None:
            return self._order.see_token(frame, authenticate) if guess.direction == "request" else None
        if not guess.header:
            return None
        if guess.direction == "response":
            self._order.see_response(int32(frame, 0))
            return None
        again = frame in self._frames
        self._frames.add(frame)
        answered = not again and _is_answered(guess, frame)
        found = self._order.see_request(frame, guess.api, guess.version, answered=answered)
        if found is None or found.kind != "reused-correlation-id":
            return found
        return None if again else found._replace(sure=Sure.GUESS)


def _is_answered(guess: Guess, frame: bytes) -> bool:
    """Return whether a request gets a response: all do but Produce with acks 0."""
    return guess.api.key != PRODUCE or read(guess.api, guess.version, "request", frame).body.get("acks") != 0


class Intended(NamedTuple):
    """A message that bytes may be intended to be: it begins at `start`, after its size if it has one."""

    start: int
    size: int | None
    api: Api
    version: int
    direction: Direction


def mistake_of(data: bytes, guesses: Sequence[Guess]) -> Examination:
    """Return the mistake that explains best why bytes are no valid message, and whether all changes were tried."""
    first = guesses[0] if guesses else None
    if first is not None and first.exact and not first.faults and not _is_any(first):
        checked = first.direction == "request" and _is_known(first)
        return _examined(data, _intended(first)) if checked else Examination()
    if (found := find_frame_mistake(data)) is not None:
        return Examination((found,))
    intended = [*_claimed(data), *(_intended(guess) for guess in guesses if _is_known(guess))]
    complete = True
    for one in list(dict.fromkeys(intended))[:TRIED]:
        examination = _examined(data, one)
        if examination.mistakes:
            return examination
        complete = complete and examination.complete
    return Examination(complete=complete)


def _examined(data: bytes, one: Intended) -> Examination:
    return examine(data[one.start :], api=one.api, version=one.version, direction=one.direction, size=one.size)


def _is_any(guess: Guess) -> bool:
    """Return whether a guess is that of a part of a message, which fits many bytes."""
    return isinstance(guess.api, Alone) and guess.reason is Reason.WHOLE


def _intended(guess: Guess) -> Intended:
    return Intended(guess.start, guess.size, guess.api, guess.version, guess.direction)


def _is_known(guess: Guess) -> bool:
    return guess.api.key >= 0 and guess.header and guess.api.reads(guess.direction, guess.version)


def _claimed(data: bytes) -> Iterator[Intended]:
    """Yield the request that a known key and version after a size name, though the rest of its header is not valid."""
    size = int32(data, 0)
    if len(data) < 16 or size not in (len(data), len(data) - 4):
        return
    api, version = find(int32(data, 4) >> 16), int32(data, 4) & 0xFFFF
    if api is not None and api.reads("request", version):
        yield Intended(4, size, api, version, "request")


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


class PastedBytes(Protocol):
    """Bytes that stand somewhere; `cut`: more followed, which are not there."""

    @property
    def data(self) -> bytes: ...
    @property
    def cut(self) -> bool: ...


AnyBytes = TypeVar("AnyBytes", bound=PastedBytes)


def pieces_of(
    takes: Sequence[AnyBytes], told: Hints, named: Structure | None
) -> Iterator[tuple[AnyBytes, Iterator[GuessedSpan]]]:
    """Yield bytes that stand in several places, each with its pieces; requests in one tell the responses in another.

    `named` is the structure that all are.
    """
    asked = {number: request for take in takes for number, request in requests_in(take.data).items()}
    for take in takes:
        of_take = told._replace(cut=take.cut)
        of_take = of_take if named is None else hints_for(named, take.data, of_take)
        yield take, pieces(take.data, of_take, asked)


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
    order = MessageOrder()
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
            out_of_order = order.take(guesses[0], rest[guesses[0].start : guesses[0].end])
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

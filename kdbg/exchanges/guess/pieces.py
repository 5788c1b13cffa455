"""Bytes that may hold several messages and other things around them: cut into pieces, with guesses about each.

With each piece are the mistakes of its writer: those that explain why it is not valid, and those that only the order of
pasted messages shows, such as a correlation id that is used twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire import Api
from ..engine.requests import begins, prove, search
from ..messages.message import read
from ..mistakes.connection import SASL_AUTHENTICATE, RequestOrder, find_frame_mistake, find_misframed
from ..mistakes.finder import Examination, examine
from ..mistakes.search import Mistake
from .candidates import Guess, Hints
from .infer import NOTHING, frame_run, infer
from .structures import Alone, Reason, Structure, signed

PRODUCE = 0
EMPTY, ENDING = 16, 12
"""Zeros that are the rest of a buffer; zeros that a message may end with."""
LITTLE_ENDIAN = ("little-endian-size", "little-endian-header")
HEADER = 512
"""Bytes of a request in which its header ends."""
Asked: TypeAlias = dict[int, tuple[Api, int]]
"""Requests by their correlation id: (api, version)."""


def order_mistake(order: RequestOrder, frames: set[bytes], guess: Guess, frame: bytes) -> Mistake | None:
    """Return the mistake of the next message that is pasted by those before it; `frame` begins at its header.

    The same bytes once more are a message that was pasted twice; `frames` are those before. Nothing says whether the
    first of two requests with one correlation id was still in flight.
    """
    authenticate = find(SASL_AUTHENTICATE)
    if guess.api is SASL_TOKEN and authenticate is not None:
        return order.see_token(frame, authenticate) if guess.direction == "request" else None
    if not guess.header:
        return None
    if guess.direction == "response":
        order.see_response(signed(frame, 0))
        return None
    again = frame in frames
    frames.add(frame)
    asks = guess.api.key != PRODUCE or read(guess.api, guess.version, "request", frame).body.get("acks") != 0
    found = order.see_request(frame, guess.api, guess.version, answered=asks and not again)
    if found is None or found.kind != "reused-correlation-id":
        return found
    return None if again else found._replace(sure=Sure.GUESS)


def mistake_of(data: bytes, guesses: Sequence[Guess]) -> Examination:
    """Return the mistake that explains best why bytes are no valid message, and whether all changes were tried."""
    first = guesses[0] if guesses else None
    any_part = first is not None and isinstance(first.api, Alone) and first.reason is Reason.WHOLE  # it fits many bytes
    valid = first is not None and first.exact and not first.faults and not any_part
    if not valid and (found := find_frame_mistake(data)) is not None:
        return Examination((found,))
    if valid:
        guesses = guesses[: guesses[0].direction == "request"]
    likely = (one for one in guesses if one.api.key >= 0 and one.header and one.api.reads(one.direction, one.version))
    intended = [(one.start, one.size, one.api, one.version, one.direction) for one in likely]
    named, number, said = find(signed(data, 4) >> 16), signed(data, 4) & 0xFFFF, signed(data, 0)
    sized = len(data) >= 16 and said in (len(data), len(data) - 4)
    if not valid and sized and named is not None and named.reads("request", number):
        intended.insert(0, (4, said, named, number, "request"))  # whatever the rest of its header
    complete = True
    for start, size, api, version, direction in list(dict.fromkeys(intended))[:3]:
        examination = examine(data[start:], api=api, version=version, direction=direction, size=size)
        if examination.mistakes:
            return examination
        complete = complete and examination.complete
    return Examination(complete=complete)


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
    """Nothing but zeros after a message: the rest of the buffer that it stood in."""


def pieces_of(
    parts: Sequence[tuple[bytes, bool]], told: Hints, named: Structure | None
) -> Iterator[Iterator[GuessedSpan]]:
    """Yield the pieces of bytes that stand in several places; requests in one tell the responses in another.

    `parts` are the bytes, each with whether more followed; `named` is the structure that all are.
    """
    asked: Asked = {}
    for data, _ in parts:
        start = 0  # requests that bytes begin with, one after the other
        while (head := begins(data[start : start + HEADER])) is not None and head.api is not None and head.known:
            asked[head.correlation_id] = head.api, head.version
            start += 4 + signed(data, start)
    for data, cut in parts:
        of_part = told._replace(cut=cut)
        if named is not None:
            alone, version = named(data, told.version)
            of_part = of_part._replace(api=alone, version=version, direction="response", header=False)
        yield pieces(data, of_part, asked)


def pieces(data: bytes, told: Hints = NOTHING, asked: Asked | None = None) -> Iterator[GuessedSpan]:
    """Yield the messages in the bytes, one after the other, and the bytes between them that are none.

    `asked` are requests that stand elsewhere, before or after.
    """
    start = sure = 0
    asked = dict(asked or {})
    order, frames = RequestOrder(), set[bytes]()
    while start < len(data):
        if start and told.nothing and len(data) - start >= EMPTY and not any(data[start:]):
            yield GuessedSpan(start, len(data), [], empty=True)
            return
        if told.header and start >= sure:
            run, count = frame_run(data, start)  # three are enough, or two that end with the data
            sure = run if count > 2 or (count == 2 and run == len(data)) else start
        rest = data[start : start + 4 + signed(data, start)] if start < sure else data[start:]
        misframed = find_misframed(rest, after=start > 0) if told.nothing and start >= sure else None
        out_of_order: Mistake | None = None
        if misframed is not None:
            end, out_of_order = misframed
            rest = rest[:end]
        guesses = infer(rest, told, asked)
        if told.nothing and not (guesses and guesses[0].exact):
            guesses = _before_zeros(rest) or guesses
        end = guesses[0].end if guesses else len(rest)
        first = guesses[0] if guesses else None
        kept = first is not None and (first.exact or first.direction == "request")
        if first is not None and first.size is None and first.reason is Reason.WHOLE:
            kept = kept and signed(rest, 0) + 4 == len(rest)
        if start >= sure and told.nothing and not kept and (junk := _junk(rest)) < len(rest):
            guesses, end = [], junk
        if guesses and out_of_order is None:
            frame = rest[guesses[0].start : guesses[0].end]
            out_of_order = order_mistake(order, frames, guesses[0], frame)
        if guesses and guesses[0].direction == "request" and guesses[0].header:
            asked[signed(rest, guesses[0].start + 4)] = guesses[0].api, guesses[0].version
        examined = mistake_of(rest, guesses) if told.header and not told.cut else Examination()
        mistakes = examined.mistakes + ((out_of_order,) if out_of_order is not None else ())
        why = mistakes[0] if mistakes else None
        if why is not None and why.start < 0 and why.kind in LITTLE_ENDIAN:
            guesses, end = [], len(rest)
        elif why is not None and why.sure is not Sure.GUESS:
            meant = why.api, why.version, why.direction
            guesses = [one for one in guesses if (one.api.name, one.version, one.direction) == meant] or guesses
        yield GuessedSpan(start, start + end, guesses, mistakes, examined=examined.complete)
        start += end


def _before_zeros(data: bytes) -> list[Guess]:
    """Return guesses about bytes that are followed by the rest of a buffer, as if it were not there; none if not."""
    said = len(data.rstrip(b"\0"))
    if len(data) - said < EMPTY or said < EMPTY:
        return []
    found = (infer(data[:end]) for end in range(said, said + ENDING + 1))
    exact = [guesses for guesses in found if guesses and guesses[0].exact and not guesses[0].faults]
    return min(exact, key=lambda guesses: guesses[0].score, default=[])


def _junk(data: bytes) -> int:
    """Return how many bytes stand before the next request that proves itself; all of them if there is none."""
    place = search(data, 1)
    while place is not None:
        if prove(data, place + 4, place + 4 + signed(data, place)):
            return place
        place = search(data, place + 1)
    return len(data)

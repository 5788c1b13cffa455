"""The messages that bytes are intended to be, though they are not valid, and the mistake in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...protocol.grammars import find
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction
from ..mistakes import Examination, examine, find_frame_mistake
from .hints import Guess
from .partial_header import int32
from .reason import Reason
from .single_message import Alone

TRIED = 3
"""Guesses that mistakes are looked for in."""


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
        return _examine(data, _intended(first)) if checked else Examination()
    if (found := find_frame_mistake(data)) is not None:
        return Examination((found,))
    intended = [*_claimed(data), *(_intended(guess) for guess in guesses if _is_known(guess))]
    complete = True
    for one in list(dict.fromkeys(intended))[:TRIED]:
        examination = _examine(data, one)
        if examination.mistakes:
            return examination
        complete = complete and examination.complete
    return Examination(complete=complete)


def _examine(data: bytes, one: Intended) -> Examination:
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

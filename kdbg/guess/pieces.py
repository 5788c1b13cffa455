"""Bytes that may hold several messages and other things around them: cut into pieces, with guesses about each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..engine.requests import prove, search
from ..wire import Api
from .infer import NOTHING, Guess, Told, infer, int32


class Piece(NamedTuple):
    """Bytes `start` to `end` of what was given, and the guesses about them, counted from `start`; none: no message."""

    start: int
    end: int
    guesses: list[Guess]


def pieces(data: bytes, told: Told = NOTHING) -> Iterator[Piece]:
    """The messages in the bytes, one after the other, and what stands between them."""
    start = sure = 0
    asked: dict[int, tuple[Api, int]] = {}
    while start < len(data):
        if told.header and start >= sure:
            sure = _frames(data, start)
        rest = data[start : start + 4 + int32(data, start)] if start < sure else data[start:]
        guesses = infer(rest, told, asked)
        end = guesses[0].end if guesses else len(rest)
        if start >= sure and told == NOTHING and not _is_sure(guesses) and _junk(rest) < len(rest):
            guesses, end = [], _junk(rest)
        if guesses and guesses[0].direction == "request" and guesses[0].header:
            asked[int32(rest, guesses[0].start + 4)] = guesses[0].api, guesses[0].version
        yield Piece(start, start + end, guesses)
        start += end


def _is_sure(guesses: list[Guess]) -> bool:
    """Whether the first guess is better than a request that proves itself further on."""
    return bool(guesses) and (guesses[0].exact or guesses[0].direction == "request")


def _frames(data: bytes, start: int) -> int:
    """Where the last of the complete frames ends that follow one another from here on; `start` for too few of them."""
    end, count = start, 0
    while 4 <= int32(data, end) <= len(data) - end - 4:
        end, count = end + 4 + int32(data, end), count + 1
    return end if count > 2 or (count == 2 and end == len(data)) else start


def _junk(data: bytes) -> int:
    """How many bytes there are in front of the next request that proves itself."""
    place = search(data, 1)
    while place is not None:
        if prove(data, place + 4, place + 4 + int32(data, place)):
            return place
        place = search(data, place + 1)
    return len(data)

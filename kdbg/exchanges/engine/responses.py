"""What a response looks like from outside: little more than a correlation id, which clients count up."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from itertools import groupby

from .identify import fits_any
from .search import MAX_FRAME, Buffer, size_at

AHEAD, FAR = 100, 10_000
"""How much higher the next correlation id may be, and how far from the newest request's: clients count."""
FEW, LOOK_ALIKES = 64, 256
"""Correlation ids that are searched for one after the other, and places without a length in front of them."""
GROUPS = 64
"""Sorts of correlation ids that are searched for at once; those of one sort differ in their last byte only."""


def steps(one: int, other: int) -> int:
    """Return how far it is from one correlation id to another, negative for backwards; ids wrap at 32 bits."""
    return ((other - one + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def beyond(one: int, ahead: int) -> int:
    """Return the correlation id that stands so many steps behind another one."""
    return ((one + ahead + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def begin(data: bytes, count: int) -> bool:
    """Return whether bytes begin with so many whole responses, all that make sense, to requests with near numbers."""
    start, last = 0, None
    for _ in range(count):
        if len(data) - start < 8:
            return False
        size, correlation_id = size_at(data, start)[0], size_at(data, start + 4)[0]
        if not 4 <= size <= len(data) - start - 4 or (last is not None and abs(steps(last, correlation_id)) > AHEAD):
            return False
        start, last = start + 4 + size, correlation_id
    start = 0
    for _ in range(count):
        end = start + 4 + size_at(data, start)[0]
        if not fits_any(data[start + 4 : end]):
            return False
        start = end
    return True


def find(ids: Iterable[int], data: Buffer, start: int) -> int | None:
    """Return the first place from `start` on that `pattern` would find, -1 for none; for a few ids, without compiling.

    None: too many places look like one of the ids, and a pattern is faster.
    """
    first, tries = len(data), LOOK_ALIKES
    for number in ids:
        word, place = struct.pack(">i", number), start + 3
        while (place := data.find(word, place + 1, first + 8)) >= 0:
            if 4 <= size_at(data, place - 4)[0] <= MAX_FRAME:
                first = place - 4
                break
            tries -= 1
            if not tries:
                return None
    return first if first < len(data) else -1


def pattern(ids: Iterable[int]) -> re.Pattern[bytes]:
    """Return the pattern of a length of 4 bytes to 128 MiB, followed by one of these correlation ids."""
    words = [struct.pack(">i", number) for number in ids]
    sorts = [(head, [word[3] for word in same]) for head, same in groupby(words, lambda word: word[:3])]
    if len(sorts) > GROUPS:
        sorts = sorts[: GROUPS // 2] + sorts[-GROUPS // 2 :]
    choices = [re.escape(head) + b"[%b]" % b"".join(b"\\x%02x" % last for last in lasts) for head, lasts in sorts]
    size = rb"(?:\x00(?:\x00(?:\x00[\x04-\xff]|[\x01-\xff].)|[\x01-\xff]..)|[\x01-\x07]...)"
    return re.compile(size + b"(?:" + b"|".join(choices) + b")", re.DOTALL)

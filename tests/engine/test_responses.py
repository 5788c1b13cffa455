"""Where a response may stand: a search for a few ids without a pattern finds what the pattern would."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.exchanges.engine.identify import LOOK_ALIKES, find, pattern
from kdbg.exchanges.engine.search import MAX_FRAME


def by_pattern(ids: list[int], data: bytes, start: int) -> int:
    found = pattern(ids).search(data, start)
    return found.start() if found else -1


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_it_is_the_place_that_the_pattern_finds(seed: int, start: int) -> None:
    rng = random.Random(seed)
    ids = [rng.choice([rng.randrange(4), rng.randrange(-(2**31), 2**31)]) for _ in range(rng.randint(1, 5))]
    words = [struct.pack(">i", number) for number in ids]
    sizes = [struct.pack(">I", size) for size in (0, 3, 4, 300, MAX_FRAME, MAX_FRAME + 1, 0xFFFFFFFF)]
    data = b"".join(
        rng.choice([rng.choice(words), rng.choice(sizes), rng.randbytes(rng.randrange(4))]) for _ in range(12)
    )
    assert find(ids, data, start) in {by_pattern(ids, data, start), None}
    assert find(ids, bytearray(data), start) == find(ids, data, start)


@pytest.mark.parametrize("number", [0, 5, -1])
def test_of_many_look_alikes_the_pattern_finds_the_true_one(number: int) -> None:
    word = struct.pack(">i", number)
    false, true = b"\xff\xff\xff\xff" + word, struct.pack(">i", 9) + word
    few = false * (LOOK_ALIKES // 16)
    assert find([number], few + true, 0) == by_pattern([number], few + true, 0) == len(few)
    assert find([number], false * 5 * LOOK_ALIKES + true, 0) is None

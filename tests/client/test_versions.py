"""Which version is spoken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kdbg.live.client.routes import choose
from kdbg.protocol import grammars

from ..cases import for_each

METADATA = grammars.api("metadata")
NEWEST = METADATA.versions[-1]


@for_each(
    ("offered", "within", "version"),
    [
        ((0, 5), None, 5),
        ((0, 99), None, NEWEST),
        ((3, 5), range(1, 4), 3),
        ((3, 5), range(4, 5), 4),
        ((3, 5), range(2), 1),
        ((3, 5), range(7, 9), 7),
        ((0, 5), range(7, 9), 7),
        ((20, 30), None, NEWEST),
    ],
)
def test_the_highest_that_both_know(offered: tuple[int, int], within: range | None, version: int) -> None:
    assert choose(METADATA, {3: offered}, within) == version


def test_a_broker_that_does_not_tell_gets_the_lowest() -> None:
    assert choose(METADATA, {}) == 0
    assert choose(METADATA, {}, range(4, 9)) == 4


def test_an_api_that_is_not_offered_is_asked_for_in_the_highest() -> None:
    assert choose(METADATA, {0: (0, 3)}) == NEWEST
    assert choose(METADATA, {0: (0, 3)}, range(2, 5)) == 4


VERSIONS = st.integers(0, 20)


@given(VERSIONS, VERSIONS, VERSIONS, VERSIONS)
def test_it_is_always_one_that_is_wanted_and_if_possible_one_that_is_offered(a: int, b: int, c: int, d: int) -> None:
    (lowest, highest), (first, last) = sorted((a, b)), sorted((c, d))
    chosen = choose(METADATA, {3: (lowest, highest)}, range(first, last + 1))
    both = set(range(lowest, highest + 1)) & set(range(first, last + 1))
    assert chosen == max(both) if both else first <= chosen <= last

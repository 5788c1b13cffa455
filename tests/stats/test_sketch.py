"""Quantiles: within the error that is promised, and those of parts add up to those of the whole."""

from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from kdbg.analysis.stats.measures import EXACT, WITHIN, Sketch

from ..cases import for_each

NUMBERS = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 1 << 45)), min_size=1, max_size=60)


def sketch(numbers: list[int]) -> Sketch:
    made = Sketch()
    for number in numbers:
        made.add(number)
    return made


@given(NUMBERS, st.sampled_from([0.0, 0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_within_the_promised_error(numbers: list[int], part: float) -> None:
    true = sorted(numbers)[max(ceil(part * len(numbers)) - 1, 0)]
    found = sketch(numbers).quantile(part)
    assert found is not None
    assert abs(found - true) <= WITHIN * true
    assert true >= EXACT or found == true


@given(NUMBERS, NUMBERS)
def test_parts_add_up_to_the_whole(one: list[int], other: list[int]) -> None:
    whole, merged = sketch(one + other), sketch(one)
    merged.merge(sketch(other))
    assert (merged.counts, merged.most) == (whole.counts, whole.most)


@for_each("power", range(1, 62))
def test_neighbours_at_powers_of_two_keep_their_order(power: int) -> None:
    numbers = [2**power - 1, 2**power, 2**power + 1]
    places = [sketch([number]).counts for number in numbers]
    keys = [next(iter(counts)) for counts in places]
    assert keys == sorted(keys)
    assert all(abs((sketch([n]).quantile(0.5) or 0) - n) <= WITHIN * n for n in numbers)


def test_of_nothing_there_is_none() -> None:
    assert Sketch().quantile(0.5) is None


def test_a_quantile_is_no_more_than_the_largest_number() -> None:
    """The middle of its step is 1,003,520."""
    assert sketch([1_000_003]).quantile(0.99) == 1_000_003


def test_a_sketch_stays_small() -> None:
    """An hour in nanoseconds has 42 binary digits: 64 keys for each that is not among the first seven, at most."""
    assert len(sketch(list(range(0, 3600 * 10**9, 10**8 + 7))).counts) <= EXACT + 64 * 36

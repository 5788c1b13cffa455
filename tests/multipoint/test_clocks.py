"""How far two clocks are apart, by the messages that two places saw: bounds, what makes them weaker, when they end."""

from __future__ import annotations

from kdbg.exchanges.messages.capture_points import Bounds
from kdbg.exchanges.multipoint.flows import AGE, DOUBTS, DRIFT, ClockOffset, Way


def known(low: int = 40, high: int = 100) -> ClockOffset:
    """A clock of which one message each way bounds how far it is ahead, both at time 0."""
    apart = ClockOffset(7)
    apart.learn(1, high, 0)
    apart.learn(0, low, 0)
    return apart


def test_messages_both_ways_bound_the_difference() -> None:
    apart = ClockOffset(7)
    seen = [(apart.latest, apart.bounds)]
    messages: tuple[tuple[Way, int, int], ...] = (
        (1, 100, 10), (0, 40, 20), (1, 100, 21), (0, 60, 30), (0, 50, 40), (1, 90, 50), (1, 95, 51),
    )  # fmt: skip
    for way, late, time in messages:
        apart.learn(way, late, time)
        seen.append((apart.latest, apart.bounds))
    assert seen == [
        (7, None), (100, None), (70, Bounds(40, 100)), (70, Bounds(40, 100)), (80, Bounds(60, 100)),
        (80, Bounds(60, 100)), (75, Bounds(60, 90)), (75, Bounds(60, 90)),
    ]  # fmt: skip
    assert (apart.first, apart.steps, apart.time) == ((20, Bounds(40, 100)), [], 0)


def test_one_way_alone_is_the_likeliest_difference() -> None:
    above, below = ClockOffset(7), ClockOffset(7)
    above.learn(1, 100, 0)
    below.learn(0, 40, 0)
    assert (above.latest, above.bounds, below.latest, below.bounds) == (100, None, 40, None)
    above.learn(1, 90, 0)
    below.learn(0, 50, 0)
    assert (above.latest, above.first, below.latest, below.first) == (90, None, 50, None)


def test_bounds_may_meet() -> None:
    above, below = known(), known()
    above.learn(1, 40, 0)
    below.learn(0, 100, 0)
    assert (above.bounds, below.bounds) == (Bounds(40, 40), Bounds(100, 100))


def test_a_clock_was_set_where_several_messages_in_a_row_contradict_the_bounds() -> None:
    ways: tuple[tuple[Way, Way, int, int], ...] = ((1, 0, 39, 100), (0, 1, 101, 40))
    for way, back, wrong, right in ways:
        apart = known()
        for _ in range(DOUBTS - 1):
            apart.learn(back, 140 - wrong, 1)
        for _ in range(2):
            for _ in range(DOUBTS - 1):
                apart.learn(way, wrong, 1)
            assert (apart.bounds, apart.steps) == (Bounds(40, 100), []), "a message that was sent twice"
            apart.learn(way, right, 1)
        for time in range(DOUBTS):
            apart.learn(way, wrong, 10 + time)
        assert (apart.latest, apart.bounds, apart.steps) == (wrong, None, [17])
        for contradiction in range(DOUBTS):
            assert len(apart.steps) == 1, contradiction
            apart.learn(back, 140 - wrong, 30)
        assert apart.steps == [17, 30]
    for way, back, wrong, _ in ways:
        unproved = ClockOffset(7)
        unproved.learn(back, 70, 0)
        for _ in range(DOUBTS):
            assert (unproved.latest, unproved.steps) == (70, [])
            unproved.learn(way, wrong, 0)
        assert (unproved.latest, unproved.steps) == (wrong, [0])
    assert DOUBTS == 8


def test_bounds_grow_by_what_clocks_drift() -> None:
    apart = known()
    apart.learn(1, 10**6, AGE)
    assert (apart.bounds, apart.time) == (Bounds(40, 100), 0)
    apart.learn(1, 10**6, AGE + 1)
    assert (apart.bounds, apart.time) == (Bounds(40 - 101, 100 + 101), AGE + 1)
    apart.learn(0, -(10**9), AGE + 1 + 10**10)
    assert (apart.bounds, apart.time) == (Bounds(-61 - 2_000_000, 201 + 2_000_000), AGE + 1 + 10**10)
    again = known()
    again.learn(1, 10**6, AGE + 1)
    again.learn(1, 10**6, 2 * AGE + 1)
    assert (again.bounds, again.time) == (Bounds(-61, 201), AGE + 1)
    assert again.at(AGE + 1, None, None) == Bounds(-161, 301)
    one_way = ClockOffset(0)
    one_way.learn(1, 100, 0)
    one_way.learn(1, 10**6, AGE + 1)
    one_way.learn(0, 0, AGE + 1)
    assert one_way.bounds == Bounds(0, 201)
    other_way = ClockOffset(0)
    other_way.learn(0, 100, 0)
    other_way.learn(0, -(10**6), AGE + 1)
    other_way.learn(1, 1000, AGE + 1)
    assert other_way.bounds == Bounds(-1, 1000)
    assert (AGE, DRIFT) == (500_000, 5_000)


def test_bounds_at_a_time_take_others_that_are_known_then() -> None:
    apart = known()
    found = [
        apart.at(time, low, high)
        for time, low, high in (
            (0, None, None), (10**9, None, None), (-(10**9), None, None), (0, -50, 150), (0, -70, 210),
            (0, 200, None), (0, 201, None), (0, None, -60), (0, None, -61),
        )
    ]  # fmt: skip
    assert found == [
        Bounds(-60, 200), Bounds(40 - 200_100, 100 + 200_100), Bounds(40 - 200_100, 100 + 200_100), Bounds(-50, 150),
        Bounds(-60, 200), Bounds(200, 200), None, Bounds(-60, -60), None,
    ]  # fmt: skip
    nothing, above, below = ClockOffset(0), ClockOffset(0), ClockOffset(0)
    above.learn(1, 100, 0)
    below.learn(0, 40, 0)
    assert [nothing.at(0, None, None), nothing.at(0, 1, None), nothing.at(0, 1, 2)] == [None, None, Bounds(1, 2)]
    assert [above.at(0, None, None), above.at(0, 5, None), above.at(0, None, 5)] == [None, Bounds(5, 200), None]
    assert [below.at(0, None, None), below.at(0, 5, None), below.at(0, None, 5)] == [None, None, Bounds(-60, 5)]

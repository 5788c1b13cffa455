"""Messages that are alike are counted; those that differ in time or correlation id are not."""

from __future__ import annotations

from kdbg.exchanges.engine.in_flight import MAX_IN_FLIGHT, Repeats


def test_only_messages_of_one_time_and_correlation_id_are_alike() -> None:
    repeats = Repeats()
    messages = [(1, 7), (1, 8), (1, 7), (1, 8), (1, 7), (2, 7), (2, 7), (3, 7), (1, 7)]
    assert [repeats.count(*message) for message in messages] == [0, 0, 1, 1, 2, 0, 1, 0, 0]


def test_what_is_remembered_is_bounded() -> None:
    repeats = Repeats()
    for number in range(3 * MAX_IN_FLIGHT):
        repeats.count(0, number)
    assert repeats._counts is not None
    assert len(repeats._counts) <= MAX_IN_FLIGHT + 2

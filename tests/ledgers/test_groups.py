"""Committed offsets of a group: responses that were captured late do not undo what is known."""

from __future__ import annotations

from itertools import permutations

from kdbg.analysis.ledgers.groups import Group


def test_the_latest_offset_counts_in_whatever_order_responses_come() -> None:
    """Two responses of one moment: the one captured last counts."""
    for order in permutations([(10, 5), (20, 7), (30, 6)]):
        group = Group("sums")
        for time, offset in order:
            group.holds("tills", 0, offset, time)
        assert group.offsets["tills", 0] == (6, 30), order
        group.holds("tills", 0, 9, 30)
        assert group.offsets["tills", 0] == (9, 30)


def test_an_offset_that_was_not_committed_is_forgotten_and_no_other() -> None:
    group = Group("sums")
    group.holds("tills", 0, 5, 10)
    group.holds("tills", 1, 5, 10)
    group.forgets("tills", 0, 9)
    group.forgets("tills", 2, 10)
    assert dict(group.offsets.items()) == {("tills", 0): (5, 10), ("tills", 1): (5, 10)}
    group.forgets("tills", 0, 10)
    assert dict(group.offsets.items()) == {("tills", 1): (5, 10)}

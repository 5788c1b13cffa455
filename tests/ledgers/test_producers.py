"""Offsets of transactions: which of them a group holds, in whatever order connections tell of them."""

from __future__ import annotations

from itertools import permutations

from kdbg.analysis.ledgers.evidence import Mark
from kdbg.analysis.ledgers.groups import Group
from kdbg.analysis.ledgers.producers import Transactional

from ..cases import for_each

TOLD = [(10, 0), (30, 1), (50, 2), (70, 3)]
"""When an offset was told, and of which partition."""
ENDS = [(20, True), (40, False), (60, True)]
"""When transactions ended, and whether they were committed; the last one is open."""


def mark(time: int) -> Mark:
    return Mark(number=1, time=time, end=time, connection=1)


@for_each("first", range(len(TOLD) + len(ENDS)))
def test_offsets_are_held_of_transactions_that_were_committed_in_any_order(first: int) -> None:
    events = [*TOLD, *ENDS]
    others = [number for number in range(len(events)) if number != first]
    for order in permutations(others):
        txn, group = Transactional("sums"), Group("sums")
        for number in (first, *order):
            time, what = events[number]
            if number < len(TOLD):
                txn.offset(group, "tills", what, time, mark(time))
            else:
                txn.over(time, bool(what))
        held = {partition: (one.offset, one.time) for (_, partition), one in group.offsets.items()}
        assert held == {0: (10, 20), 2: (50, 60)}, (first, order)
        assert txn.ended == ENDS[-1]

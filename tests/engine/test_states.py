"""The tables of states: every state is in them, every one can be reached, and nothing leads out of an end."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from kdbg.exchanges.engine.states import (
    CLASSIFICATION,
    FRAMING,
    Classification,
    DirectionEvent,
    Framing,
    Sign,
    Transitions,
    next_state,
)  # fmt: skip

TABLES: list[tuple[Transitions[Any, Any], type[Enum], type[Enum], set[Enum], set[Enum]]] = [
    (
        CLASSIFICATION, Classification, Sign, {Classification.UNKNOWN},
        {Classification.KAFKA, Classification.TLS, Classification.PROXIED, Classification.FOREIGN},
    ),
    (FRAMING, Framing, DirectionEvent, {Framing.SYNCED, Framing.SEARCHING}, {Framing.ENDED}),
]  # fmt: skip


@pytest.mark.parametrize(("table", "states", "events", "first", "last"), TABLES, ids=["classification", "framing"])
def test_a_table_is_whole(
    table: Transitions[Any, Any], states: type[Enum], events: type[Enum], first: set[Enum], last: set[Enum]
) -> None:
    assert set(table) == set(states)
    assert {event for after in table.values() for event in after} == set(events)
    assert {state for state, after in table.items() if not after} == last
    reached = set(first)
    for _ in states:
        reached |= {after for state in reached for after in table[state].values()}
    assert reached == set(states)


@pytest.mark.parametrize(("table", "states", "events", "first", "last"), TABLES, ids=["classification", "framing"])
def test_what_is_in_no_table_cannot_happen(
    table: Transitions[Any, Any], states: type[Enum], events: type[Enum], first: set[Enum], last: set[Enum]
) -> None:
    for state in states:
        for event in events:
            if event in table[state]:
                assert next_state(table, state, event) is table[state][event]
            else:
                with pytest.raises(KeyError):
                    next_state(table, state, event)

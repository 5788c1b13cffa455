"""How surprising values are: what sense costs, and that nonsense costs more than the bytes it came from."""

from __future__ import annotations

from typing import Any

from kdbg.exchanges.guess.headerless import records_api
from kdbg.exchanges.messages.score import score
from kdbg.protocol.grammars.meanings import AclOperations
from kdbg.protocol.wire.nodes import Node

RECORDS: Node = records_api.at("response", 0).fields[0].node


def message(value: bytes | None) -> dict[str, Any]:
    return {"magic": 1, "offset": 0, "key": None, "value": value}


def test_a_message_costs_what_a_batch_of_its_size_does() -> None:
    """A message of magic 0 or 1 names no length of its own: its header is twenty bytes or so, beside its value."""
    for value in (b"x", b"x" * 1000):
        batch = {"magic": 2, "batch_length": 20 + len(value), "records": []}
        assert score(RECORDS, [message(value)]) == score(RECORDS, [batch])


def test_messages_without_a_value_are_not_for_free() -> None:
    """Else a record set of nothing but tombstones would beat any other reading of the same bytes."""
    none, one, two = (score(RECORDS, [message(None)] * count) for count in range(3))
    assert two - one == one - none == 40
    assert score(RECORDS, [message(b"")]) == one


def test_bytes_that_are_no_entry_cost_more_than_they_say() -> None:
    assert score(RECORDS, [{"raw": bytes(10)}]) - score(RECORDS, []) > 8 * 10


def test_a_bit_set_costs_little_where_its_bits_are_few_or_not_asked_for() -> None:
    """AclOperations: no bits, "not asked for", a few bits, and bits that nobody gave a meaning."""
    nothing, unasked, few, odd = (score(AclOperations, value) for value in (0, -(2**31), 1 << 5, (1 << 30) + 7))
    assert nothing == unasked < few < odd

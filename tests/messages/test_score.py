"""How surprising values are: what sense costs, and that nonsense costs more than the bytes it came from."""

from __future__ import annotations

import math

from kdbg.exchanges.guess.structures import records_api
from kdbg.exchanges.messages.score import number_bits
from kdbg.exchanges.messages.weigh import weigh
from kdbg.protocol.grammars.meanings import AclOperations
from kdbg.protocol.wire.nodes import Node

RECORDS: Node = records_api.at("response", 0).fields[0].node


def bits(data: bytes) -> float:
    found = weigh([RECORDS], data, 0, math.inf)
    assert found is not None
    return found.bits


def message(value: bytes | None) -> bytes:
    """A message of magic 1 without a key; its checksum does not matter here."""
    size = (-1 if value is None else len(value)).to_bytes(4, "big", signed=True)
    body = bytes(4) + b"\1\0" + bytes(8) + b"\xff" * 4 + size + (value or b"")
    return bytes(8) + len(body).to_bytes(4, "big") + body


def test_messages_without_a_value_are_not_for_free() -> None:
    """Else a record set of nothing but tombstones would beat any other reading of the same bytes."""
    one, two, three = (bits(message(None) * count) for count in (1, 2, 3))
    assert min(two - one, three - two) > 40
    assert bits(message(b"")) == one


def test_bytes_that_are_no_entry_cost_more_than_they_say() -> None:
    assert bits(bytes(range(40, 80))) > 8 * 40


def test_a_bit_set_costs_little_where_its_bits_are_few_or_not_asked_for() -> None:
    """AclOperations: no bits, "not asked for", a few bits, and bits that nobody gave a meaning."""
    nothing, unasked, few, odd = (
        number_bits(AclOperations, value, "") for value in (0, -(2**31), 1 << 5, (1 << 30) + 7)
    )
    assert nothing == unasked < few < odd

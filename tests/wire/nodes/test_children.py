"""What `children` says of a grammar, and how values are reached and changed through it."""

from __future__ import annotations

from typing import Any

import construct
import pytest

from kdbg.errors import BadLength
from kdbg.protocol.wire import Int16
from kdbg.protocol.wire.language.types import Array, At
from kdbg.protocol.wire.nodes import INT8, INT16, Field, LengthPrefixed, Node, NullableStruct, WireStruct, children

INNER = WireStruct((Field("id", INT8),), None)
OUTER = WireStruct((Field("id", INT8), Field("tick", INT16)), {0: Field("note", INT8, tag=0)})


def test_the_fields_of_a_structure_come_in_the_order_of_the_wire_the_tagged_last() -> None:
    assert [(child.key, child.always, child.repeated) for child in children(OUTER)] == [
        ("id", True, False), ("tick", True, False), ("note", False, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "key", "repeated"),
    [
        (Array(Int16).at(At(0, False)), "", True),
        (NullableStruct(INNER), "", False),
        (LengthPrefixed(INT8, INNER), "", False),
    ],
)
def test_what_holds_one_node_has_one_child_without_a_name(node: Node, key: str, repeated: bool) -> None:
    assert [(child.key, child.repeated) for child in children(node)] == [(key, repeated)]


@pytest.mark.parametrize(("value", "found"), [({"id": 5}, [[5], [], []]), ({}, [[], [], []]), (None, [[], [], []])])
def test_fields_that_a_value_lacks_are_passed_over(value: Any, found: list[list[int]]) -> None:
    assert [list(child.values(value)) for child in children(OUTER)] == found


def test_values_are_changed_where_they_are_and_nowhere_else() -> None:
    value: Any = {"id": 5, "note": 7}
    for child in children(OUTER):
        assert child.replaced(value, lambda number: number + 1) is value
        assert child.replaced(None, lambda number: number + 1) is None
    assert value == {"id": 6, "note": 8}


def test_the_place_of_a_tagged_field_that_does_not_fill_its_size() -> None:
    data = bytes.fromhex("05 0007 01 00 03 09 0000")
    with pytest.raises(BadLength) as caught:
        OUTER.parse(data)
    assert (caught.value.path, caught.value.start) == ("(parsing).note", 6)


@pytest.mark.parametrize("node", [INNER, NullableStruct(INNER), LengthPrefixed(INT8, INNER)])
def test_what_is_built_can_be_named_by_constructs_around_it(node: Node) -> None:
    around = construct.Struct("lamp" / node, "again" / construct.Rebuild(construct.Byte, construct.this.lamp["id"]))
    assert around.build({"lamp": {"id": 5}})[-2:] == b"\x05\x05"

"""A grammar field by field, with their paths."""

from __future__ import annotations

import pytest

from kdbg.protocol.wire import Int8, String
from kdbg.protocol.wire.language.types import Array, At, Nullable, Prefixed, Struct, Tag
from kdbg.protocol.wire.nodes import INT32
from kdbg.protocol.wire.readings.layout import tails, walk

LAMPS = Struct(
    "room" / String,
    "lamps" / Array("watts" / Int8, "maker" / Nullable(Struct("name" / String)), "hours" / Array(Int8)),
    "plan" / Prefixed(INT32, Struct("floor" / Int8)),
    "note" / Tag(0, String),
).structure(At(0, True))


def test_every_field_comes_in_the_order_of_the_wire_with_the_path_of_its_structures() -> None:
    assert [path for path, _, _ in walk(LAMPS)] == [
        "room", "lamps", "lamps[].watts", "lamps[].maker", "lamps[].maker.name", "lamps[].hours", "plan", "plan.floor",
        "note",
    ]  # fmt: skip


def test_beside_a_field_stands_the_structure_that_it_is_one_of() -> None:
    found = {path: (field, struct) for path, field, struct in walk(LAMPS)}
    assert all(field in struct.members for field, struct in found.values())
    assert found["room"][1] is found["note"][1] is LAMPS
    assert [field.name for field in found["lamps[].maker.name"][1].members] == ["name"]
    assert [path for path, _, _ in walk(LAMPS, "house")][:3] == ["house.room", "house.lamps", "house.lamps[].watts"]


@pytest.mark.parametrize(
    ("path", "ends"),
    [
        ("room", ["room"]),
        ("lamps[].maker.name", ["name", "maker.name", "lamps[].maker.name"]),
    ],
)
def test_the_ends_of_a_path(path: str, ends: list[str]) -> None:
    assert tails(path) == ends

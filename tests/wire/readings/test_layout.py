"""A layout as rows, and two layouts compared; that the rows are Kafka's is for tests/grammars/test_layouts.py."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.wire import Int8, Int16, String
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.types import Array, At, Nullable, Prefixed, Since, Struct, Tag, Until
from kdbg.protocol.wire.readings.layout import Change, LayoutRow, compare, layout

DECLARED = Struct(
    "id" / Int8,
    "rows" / Array("name" / String, "numbers" / Since(1, Nullable(Array(Int16)))),
    "maybe" / Nullable(Struct("a" / Int8)),
    "plain" / Until(0, Struct("b" / Int8)),
    "note" / Since(1, Tag(2, String)),
)


def test_a_row_for_every_field_in_wire_order() -> None:
    assert list(layout(DECLARED.structure(At(0, False)))) == [
        LayoutRow("id", "int8"),
        LayoutRow("rows", "array"),
        LayoutRow("rows[].name", "string"),
        LayoutRow("maybe", "nullable_struct"),
        LayoutRow("maybe.a", "int8"),
        LayoutRow("plain", "struct"),
        LayoutRow("plain.b", "int8"),
    ]


def test_tagged_fields_have_a_row_that_names_the_known_ones() -> None:
    assert list(layout(DECLARED.structure(At(1, True)))) == [
        LayoutRow("id", "int8"),
        LayoutRow("rows", "compact_array"),
        LayoutRow("rows[].name", "compact_string"),
        LayoutRow("rows[].numbers", "compact_nullable_array"),
        LayoutRow("rows[].numbers[]", "int16"),
        LayoutRow("rows[].~", "tagged_fields", ()),
        LayoutRow("maybe", "nullable_struct"),
        LayoutRow("maybe.a", "int8"),
        LayoutRow("maybe.~", "tagged_fields", ()),
        LayoutRow("~", "tagged_fields", ((2, "note"),)),
        LayoutRow("~2:note", "compact_string"),
    ]


def test_what_stands_behind_a_length_is_shown() -> None:
    struct = Struct("message" / Prefixed(Int8, Struct("crc" / Int8))).structure(At(0, False))
    assert list(layout(struct)) == [LayoutRow("message", "record"), LayoutRow("message.crc", "int8")]


def test_a_layout_can_be_put_below_a_path() -> None:
    assert [row.path for row in layout(Struct("a" / Int8).structure(At(0, True)), "body")] == ["body.a", "body.~"]


def test_a_comparison_says_what_came_changed_and_went() -> None:
    old = Struct("a" / Int8, "gone" / Int8, "b" / String).structure(At(0, False))
    new = Struct("a" / Int16, "came" / Int8, "b" / String).structure(At(0, False))
    assert compare(old, new) == [
        Change("~", "a", "int16", "int8"),
        Change("+", "came", "int8"),
        Change("-", "gone", "int8"),
    ]


def test_equal_layouts_have_no_changes() -> None:
    metadata = grammars.api("Metadata")
    assert compare(metadata.at("response", 3), metadata.at("response", 4)) == []
    assert [
        (change.sign, change.path) for change in compare(metadata.at("response", 4), metadata.at("response", 5))
    ] == [
        ("+", "topics[].partitions[].offline_replicas"),
        ("+", "topics[].partitions[].offline_replicas[]"),
    ]


def test_becoming_flexible_changes_strings_and_adds_tags() -> None:
    heartbeat = grammars.api("Heartbeat")
    changes = compare(heartbeat.at("request", 3), heartbeat.at("request", 4))
    assert [(change.sign, change.path, change.type, change.former) for change in changes] == [
        ("~", "group_id", "compact_string", "string"),
        ("~", "member_id", "compact_string", "string"),
        ("~", "group_instance_id", "compact_nullable_string", "nullable_string"),
        ("+", "~", "tagged_fields", ""),
    ]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_comparison_turned_round_says_the_opposite(direction: Direction) -> None:
    turned = {"+": "-", "-": "+", "~": "~"}
    for api in grammars.apis():
        for old, new in pairwise(api.versions):
            there = compare(api.at(direction, old), api.at(direction, new))
            back = compare(api.at(direction, new), api.at(direction, old))
            assert sorted((turned[c.sign], c.path) for c in there) == sorted((c.sign, c.path) for c in back)

"""The fast reading: it agrees with the slow one wherever that finds nothing, and refuses wherever it finds something.

Whatever the bytes: one of UNREADABLE or an end that is not the message's, never another exception, never a list that
the bytes do not allow. Messages are taken from tests/grammars/test_every_version.py's own maker of values.
"""

from __future__ import annotations

import importlib.util
import sys
import tracemalloc
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import WireError
from kdbg.protocol import grammars
from kdbg.protocol.grammars import headers, records
from kdbg.protocol.wire import Boolean, Bytes, Int16, Int64, String, Uuid
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.types import Array, At, Nullable, Struct, Tag
from kdbg.protocol.wire.nodes import (
    INT8,
    INT32,
    UVARINT,
    Field,
    Length,
    NullableStruct,
    RemainingBytes,
    UuidNode,
    WireArray,
    WireStruct,
    build,
)
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, items_reader, message_reader, reader

from ...cases import for_each


@cache
def values() -> ModuleType:
    """tests/grammars/values.py, which stands in another folder of tests."""
    path = Path(__file__).parents[2] / "grammars" / "values.py"
    spec = importlib.util.spec_from_file_location("values_of_grammars", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Message = tuple[WireStruct, bytes]


@cache
def message(key: int, direction: Direction, version: int, number: int) -> Message:
    """One of the values of a message, built."""
    grammar = grammars.by_key(key).at(direction, version)
    made = list(values().variants(grammar))
    return grammar, build(grammar, made[number % len(made)])


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message of any API, direction and version."""
    key = draw(st.sampled_from([0, 1, 1, 3, 11, 18, 32, 68, 77, 88, *grammars.ENTRIES]))
    version = draw(st.sampled_from(grammars.by_key(key).versions))
    return message(key, draw(st.sampled_from(DIRECTIONS)), version, draw(st.integers(0, 30)))


@st.composite
def damaged(draw: st.DrawFn) -> Message:
    """A message with some bytes changed, cut out, doubled or cut off."""
    grammar, data = draw(messages())
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(out), 1) - 1))
        how = draw(st.sampled_from(["flip", "set", "cut", "drop", "double", "insert"]))
        if how == "flip" and out:
            out[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "set" and out:
            out[place] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]))
        elif how == "cut":
            del out[place:]
        elif how == "drop":
            del out[place : place + draw(st.integers(1, 8))]
        elif how == "double":
            out[place:place] = out[place : place + draw(st.integers(1, 40))]
        else:
            out[place:place] = draw(st.binary(min_size=1, max_size=8))
    return grammar, bytes(out)


def assert_agrees(grammar: WireStruct, data: bytes) -> None:
    """The property: a clean reading is the slow reading's, and a slow reading without findings is a clean one."""
    inspection = inspect(grammar, data)
    try:
        value, end = reader(grammar)(data, 0)
    except UNREADABLE:
        assert inspection.findings
        return
    if end != len(data):
        assert inspection.findings
        return
    assert inspection.findings == []
    assert repr(value) == repr(inspection.value)


@given(messages())
def test_clean_messages_are_read_alike(made: Message) -> None:
    grammar, data = made
    value, end = reader(grammar)(data, 0)
    assert end == len(data)
    assert_agrees(grammar, data)
    assert repr(value) == repr(grammar.parse(data))


@given(st.lists(damaged(), min_size=8, max_size=8))
def test_damaged_messages_are_read_alike_or_refused(made: list[Message]) -> None:
    for grammar, data in made:
        assert_agrees(grammar, data)


@given(st.lists(damaged(), min_size=4, max_size=4))
def test_construct_raises_wire_errors_alone(made: list[Message]) -> None:
    """The third reading: never another exception, and where it reads to the end, what the others read."""
    for grammar, data in made:
        try:
            value = grammar.parse(data)
        except WireError:
            assert inspect(grammar, data).findings
            continue
        inspection = inspect(grammar, data)
        if not inspection.findings:
            assert repr(value) == repr(inspection.value)


@given(st.sampled_from(list(grammars.ENTRIES)), st.sampled_from(DIRECTIONS), st.binary(max_size=60))
def test_any_bytes_at_all_are_read_alike_or_refused(key: int, direction: Direction, data: bytes) -> None:
    api = grammars.by_key(key)
    for version in api.versions:
        assert_agrees(api.at(direction, version), data)


HUGE = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff" * 8]


@for_each("huge", HUGE, ids=bytes.hex)
@for_each("direction", DIRECTIONS)
def test_huge_counts_take_no_memory(direction: Direction, huge: bytes) -> None:
    """A count is written over every place of a message; two thousand million items never come to be."""
    grammar, data = message(3, direction, 12, 1)
    everywhere = [data[:place] + huge + data[place + len(huge) :] for place in range(0, len(data), 7)]
    inspect(grammar, data)
    tracemalloc.start()
    try:
        for changed in everywhere:
            assert_agrees(grammar, changed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 2**20


def test_no_items_are_made_of_nothing() -> None:
    """An item without bytes would let a count of two thousand million be believed; no grammar has such an array."""
    for api in grammars.apis():
        for direction in DIRECTIONS:
            for version in api.versions:
                grammar = api.at(direction, version)
                smallest = [build(array.item, array.item.default()) for array in arrays(grammar)]
                assert all(smallest), (api.name, direction, version)


def arrays(node: Any) -> list[WireArray]:
    below = [found for child in values().children(node) for found in arrays(child)]
    return [node, *below] if isinstance(node, WireArray) else below


@pytest.mark.parametrize("count", [2**31 - 1, -1, -(2**31), 10_000])
def test_counts_of_a_batch_are_not_believed(count: int) -> None:
    node = records.Records.at(At(0, False))
    data = build(node, [{"records": [{"value": "v"}]}])
    changed = data[:61] + count.to_bytes(4, "big", signed=True) + data[65:]
    with pytest.raises(UNREADABLE):
        reader(node)(changed, 0)
    assert inspect(node, changed).findings


class TestReader:
    grammar = Struct(
        "a" / Int16, "b" / Boolean, "c" / Array(Int64), "d" / Array(Uuid), "e" / Nullable(String), "f" / Array(Boolean),
        "g" / Nullable(Struct("x" / Bytes)), "h" / Tag(1, String), "i" / Int16,
    ).structure(At(0, True))  # fmt: skip

    def test_it_may_begin_anywhere(self) -> None:
        data = build(self.grammar, {"c": [1, 2], "d": [UuidNode().default()], "f": [True, False], "h": "h"})
        for start in (0, 1, 9):
            value, end = reader(self.grammar)(b"\xaa" * start + data, start)
            assert (value, end) == (self.grammar.parse(data), start + len(data))

    def test_what_is_behind_the_end_is_not_looked_at(self) -> None:
        data = build(self.grammar, {})
        assert reader(self.grammar)(data + b"\xff" * 9, 0) == (self.grammar.parse(data), len(data))

    def test_it_is_made_once_and_can_be_looked_at(self) -> None:
        assert reader(self.grammar) is reader(self.grammar)
        source: str = reader(self.grammar).source  # type: ignore[attr-defined]
        assert source.startswith("def read(data, pos=0):")
        assert "unpack_hB(data, pos)" in source, "neighbours of fixed width are read at once"

    def test_a_header_and_a_body_are_read_at_once(self) -> None:
        body = grammars.api("Metadata").at("request", 1)
        header = build(headers.REQUEST[1], {"api_key": 3, "client_id": "me"})
        both = message_reader(headers.REQUEST[1], body)
        data = header + build(body, {"topics": [{"name": "t"}]})
        assert both(data, 0) == ((headers.REQUEST[1].parse(header), {"topics": [{"name": "t"}]}), len(data))
        with pytest.raises(UNREADABLE):
            both(data[:5], 0)

    def test_items_are_read_by_a_count_from_outside(self) -> None:
        assert items_reader(INT8)(b"\x01\x02\x03", 1, 2) == ([2, 3], 3)
        assert items_reader(INT32)(b"", 0, 0) == ([], 0)
        with pytest.raises(UNREADABLE):
            items_reader(INT8)(b"\x01", 0, 2)

    def test_the_rest_is_all_there_is(self) -> None:
        assert reader(RemainingBytes())(b"abc", 1) == (b"bc", 3)
        assert reader(RemainingBytes())(b"", 0) == (b"", 0)

    def test_shallow_reading_leaves_records_unread(self) -> None:
        node = records.Records.at(At(0, False))
        data = build(node, [{"records": [{"value": "v"}]}, {"magic": 1, "value": "w"}])
        deep, shallow = reader(node)(data, 0)[0], reader(node, shallow=True)(data, 0)[0]
        assert [("records" in batch) for batch in (deep[0], shallow[0])] == [True, False]
        assert deep[1] == shallow[1]
        assert shallow[0].items() <= deep[0].items()

    @pytest.mark.parametrize("text", ["8080808080808080808001", "80808080808080808080", "8080808010", "8000", "ff"])
    def test_varints_that_are_too_long_are_refused(self, text: str) -> None:
        with pytest.raises(UNREADABLE):
            reader(UVARINT)(bytes.fromhex(text), 0)

    def test_tagged_fields_behind_the_bytes_are_refused(self) -> None:
        grammar = WireStruct((Field("a", INT8),), {1: Field("b", INT8, tag=1)})
        assert reader(grammar)(bytes.fromhex("05 01 01 01 07"), 0) == ({"a": 5, "b": 7}, 5)
        for text in ("05 01 01 01", "05 01 02 01 07", "05 01 01 02 0707", "05 02 01 01 07", "05 01 01 7f 07"):
            with pytest.raises(UNREADABLE):
                reader(grammar)(bytes.fromhex(text), 0)

    def test_a_null_structure_and_one_that_is_there(self) -> None:
        node = NullableStruct(WireStruct((Field("a", INT8),), None))
        assert reader(node)(b"\xff", 0) == (None, 1)
        assert reader(node)(b"\x01\x05", 0) == ({"a": 5}, 2)


def test_arrays_that_come_again_are_copies_of_their_own() -> None:
    """Arrays of numbers are remembered once they came twice; what was handed out must not change what comes later."""
    grammar = grammars.api("ApiVersions").at("response", 0)
    body = {"error_code": 0, "api_keys": [{"api_key": n, "min_version": 0, "max_version": n} for n in range(30)]}
    data = build(grammar, body)
    read = [reader(grammar)(data, 0)[0] for _ in range(4)]
    assert read == [body] * 4
    for one in read[:3]:
        one["api_keys"][0]["api_key"] = 99
        one["api_keys"].append({})
    assert read[3] == body
    assert reader(grammar)(data, 0)[0] == body
    assert reader(grammar)(data[:-6] + b"\0\7\0\0\0\7", 0)[0]["api_keys"][-1]["api_key"] == 7


@pytest.mark.parametrize("count", [1, 2, 30])
def test_items_of_numbers_may_have_tagged_fields(count: int) -> None:
    """Where no item has any, all are read at once; wherever one has, it is seen, and numbers are not taken for it."""
    item = WireStruct((Field("a", INT8), Field("b", INT32)), {1: Field("c", INT8, tag=1)})
    grammar = WireArray("ARRAY", Length(UVARINT, 1), item, nullable=False)
    plain = [{"a": 0, "b": n} for n in range(count)]
    for at in range(count):
        tagged = [{**one, **({"c": 7} if n == at else {})} for n, one in enumerate(plain)]
        assert reader(grammar)(build(grammar, tagged), 0)[0] == tagged
    data = build(grammar, plain)
    assert reader(grammar)(data, 0) == (plain, len(data))
    for end in range(len(data)):
        with pytest.raises(UNREADABLE):
            reader(grammar)(data[:end], 0)

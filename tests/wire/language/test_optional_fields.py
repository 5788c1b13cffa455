"""Optional fields, as the draft of KIP-482 had them: a buffer in front of the message and of every structure.

FOO is the draft's own example, without the dots it ends in. Its bytes are written by hand; VARINT is zigzag, so that
a length of n is written as 2n.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BuildError, WireError
from kdbg.protocol.wire import Boolean, Bytes, Float64, Int8, Int16, Int32, Int64, String, UInt16, UInt32, Uuid
from kdbg.protocol.wire.language import Api
from kdbg.protocol.wire.language.types import Array, At, Default, Nullable, Optional, Secret, Struct
from kdbg.protocol.wire.nodes import TAGGED, Fixed, Node, NullableStruct, Sized, UuidNode, WireArray, WireStruct, build
from kdbg.protocol.wire.readings.annotate import Inspection, inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader
from kdbg.protocol.wire.readings.layout import bnf, compare, layout
from kdbg.protocol.wire.readings.secrets import Hidden, hide

from ...cases import for_each

FOO = Struct(
    "user_agent" / Optional(0x0001, Default(Nullable(String), None)),
    "foos" / Array(
        "bar" / Optional(0x0001, Default(String, "hello world")),
        "baz" / Int16,
    ),
)  # fmt: skip
API = Api(9000, "Foo", Struct(), FOO, versions=range(10), optional=range(9, 10))
WITH = At(9, False, optional=True)
V9 = API.at("response", 9)

EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "one of them in the message, one in a structure": (
        "0c 0001 0004 6b646267"  # 6 bytes, tag 1: user_agent, a string of 4
        " 00"  # end of the message's optional fields
        " 00000002"  # foos
        " 06 0001 0001 78 00 0001"  # 3 bytes, tag 1: bar, a string of 1; end; baz
        " 00 0002",  # end; baz
        {"user_agent": "kdbg", "foos": [{"bar": "x", "baz": 1}, {"baz": 2}]},
    ),
    "none of them": ("00 00000000", {"foos": []}),
    "null": ("04 0001 ffff 00 00000000", {"user_agent": None, "foos": []}),
    "empty": ("04 0001 0000 00 00000000", {"user_agent": "", "foos": []}),
    "a length of two bytes": (
        "8402 0001 0080" + "61" * 128 + " 00 00000000",  # 130 bytes: 260 = 2 * 128 + 4, low seven bits first
        {"user_agent": "a" * 128, "foos": []},
    ),
    "tags up to the highest": (
        "02 0000 aa 04 0001 0000 02 7fff bb 02 8000 cc 02 ffff dd 00 00000000",  # unsigned: 8000 is above 7fff
        {TAGGED: {0: b"\xaa", 0x7FFF: b"\xbb", 0x8000: b"\xcc", 0xFFFF: b"\xdd"}, "user_agent": "", "foos": []},
    ),
    "unknown ones in a structure": (
        "00 00000001 06 0002 010203 00 0007",
        {"foos": [{TAGGED: {2: b"\1\2\3"}, "baz": 7}]},
    ),
}
KNOWN = {name for name, (_, value) in EXAMPLES.items() if TAGGED not in repr(value)}


def kinds(inspection: Inspection) -> list[str]:
    return [finding.kind for finding in inspection.findings]


def assert_tiled(inspection: Inspection) -> None:
    end = 0
    for span in inspection.spans:
        assert span.start == end
        end = span.end
    assert end == len(inspection.buffers[0].data)


@for_each("name", EXAMPLES)
def test_the_example_of_the_draft(name: str) -> None:
    text, value = EXAMPLES[name]
    data = bytes.fromhex(text)
    assert V9.parse(data) == value
    assert build(V9, value) == data
    inspection = inspect(V9, data)
    assert inspection.value == value
    assert inspection.broken is None
    assert_tiled(inspection)


@for_each("name", EXAMPLES)
def test_the_fast_reading_leaves_unknown_tags_to_the_slow_one(name: str) -> None:
    data = bytes.fromhex(EXAMPLES[name][0])
    if name in KNOWN:
        assert repr(reader(V9)(b"\xaa" + data, 1)) == repr((inspect(V9, data).value, 1 + len(data)))
        return
    with pytest.raises(UNREADABLE):
        reader(V9)(data, 0)
    assert set(kinds(inspect(V9, data))) == {"unknown-tag"}


@for_each("version", range(9))
def test_versions_before_have_no_buffer(version: int) -> None:
    node = API.at("response", version)
    data = bytes.fromhex("00000001 0007")
    assert node.parse(data) == {"foos": [{"baz": 7}]} == reader(node)(data, 0)[0]
    with pytest.raises(BuildError, match="user_agent: this version has no such field"):
        build(node, {"user_agent": "kdbg"})


def test_a_message_and_structures_that_declare_none_have_a_buffer_too() -> None:
    """An empty message is a single zero byte."""
    assert build(API.at("request", 9), {}) == b"\x00"
    plain = Struct("a" / Struct("b" / Int8), "c" / Nullable(Struct("d" / Int8))).structure(WITH)
    # the message's, then a's; the marker 1 of c stands in front of its buffer
    data = bytes.fromhex("00 00 05 01 00 06")
    assert plain.parse(data) == {"a": {"b": 5}, "c": {"d": 6}} == reader(plain)(data, 0)[0]
    assert build(plain, {"a": {"b": 5}, "c": None}) == bytes.fromhex("00 00 05 ff")


def test_a_structure_may_be_optional_and_has_its_own_buffer() -> None:
    node = Struct("a" / Optional(3, Struct("b" / Optional(4, Int8), "c" / Int8))).structure(WITH)
    # 6 bytes, tag 3: [1 byte, tag 4: b; end; c]; end
    data = bytes.fromhex("0c 0003 02 0004 07 00 08 00")
    assert node.parse(data) == {"a": {"b": 7, "c": 8}} == reader(node)(data, 0)[0]
    assert build(node, {"a": {"b": 7, "c": 8}}) == data
    assert build(node, {"a": {}}) == bytes.fromhex("04 0003 00 00 00"), "its length is never 0"


def test_a_null_structure_is_one_byte() -> None:
    """As KIP-893 has it; the 0 that a tagged one is written with is a habit of Kafka's classes for those."""
    node = Struct("a" / Optional(5, Nullable(Struct("b" / Int8)))).structure(WITH)
    for text, value in (("02 0005 ff 00", None), ("06 0005 01 00 07 00", {"b": 7})):  # marker, its own buffer's end, b
        data = bytes.fromhex(text)
        assert node.parse(data) == {"a": value} == reader(node)(data, 0)[0]
        assert build(node, {"a": value}) == data


def test_an_array_of_numbers_may_be_optional() -> None:
    node = Struct("a" / Optional(0x8000, Array(Int16))).structure(WITH)
    data = bytes.fromhex("10 8000 00000002 0001 0002 00")
    assert node.parse(data) == {"a": [1, 2]} == reader(node)(data, 0)[0]
    assert build(node, {"a": [1, 2]}) == data


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        (
            "02 0003 aa 02 0002 bb 00 00000000",
            {TAGGED: {3: b"\xaa", 2: b"\xbb"}, "foos": []},
            "tag 2 follows tag 3; tags must be unique and ascending",
        ),
        (
            "04 0001 0000 06 0001 0001 62 00 00000000",
            {"user_agent": "b", "foos": []},
            "tag 1 follows tag 1; tags must be unique and ascending",
        ),
    ],
    ids=["descending", "twice"],
)
def test_tags_out_of_order_are_reported_and_reading_goes_on(text: str, value: Any, problem: str) -> None:
    data = bytes.fromhex(text)
    inspection = inspect(V9, data)
    assert (inspection.value, inspection.broken) == (value, None)
    found = next(finding for finding in inspection.findings if finding.kind == "tag-order")
    assert found.text == problem
    assert_tiled(inspection)
    with pytest.raises(WireError, match=problem):
        V9.parse(data)
    with pytest.raises(UNREADABLE):
        reader(V9)(data, 0)


@for_each(
    ("text", "kind", "problem"),
    [
        (
            "01 0001 00 00000000",
            "invalid-length",
            "tagged_fields: an optional field has the invalid length -1 (byte 0 ",
        ),
        (
            "06 0001 0000 00 00000000",
            "invalid-length",
            ("user_agent: tag 1 declares 3 bytes, but its value has 2 (byte 3 "),
        ),
        (
            "04 0001 0001 78 00 00000000",
            "invalid-length",
            ("user_agent: tag 1 declares 2 bytes, but its value has 3 (byte 3 "),
        ),
        ("04 00", "truncated", "tagged_fields: UINT16 needs 2 bytes, only 1 left (byte 1 "),
        ("0a 0007 0000", "truncated", "tagged_fields: BYTES needs 5 bytes, only 2 left (byte 3 "),
        ("04 0001 0000", "truncated", "tagged_fields: VARINT needs 1 byte, only 0 left (byte 5 "),
        ("ffffffffff", "invalid-value", "tagged_fields: VARINT does not end within 5 bytes (byte 0 "),
    ],
)
def test_broken_buffers_are_refused_with_their_place(text: str, kind: str, problem: str) -> None:
    data = bytes.fromhex(text)
    inspection = inspect(V9, data)
    assert inspection.findings[-1].kind == kind
    assert str(inspection.broken).startswith(problem)
    assert_tiled(inspection)
    with pytest.raises(UNREADABLE):
        reader(V9)(data, 0)
    with pytest.raises(WireError):
        V9.parse(data)


def test_a_zero_of_two_bytes_ends_them_and_is_noted() -> None:
    data = bytes.fromhex("8000 00000000")
    inspection = inspect(V9, data)
    assert (inspection.value, kinds(inspection)) == ({"foos": []}, ["non-minimal-varint"])
    with pytest.raises(UNREADABLE):
        reader(V9)(data, 0)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({TAGGED: {0x10000: b"x"}}, "tagged_fields.65536: the tag of an optional field must be 0 to 65535"),
        (
            {TAGGED: {7: b""}},
            "tagged_fields.7: an optional field has at least 1 byte: length 0 ends the optional fields",
        ),
        ({TAGGED: {"-1": b"x"}}, "tagged_fields: '-1' is not a tag"),
        ({"foos": [{"bar": None}]}, "foos[0].bar: null, but STRING must not be null"),
        ({"useragent": "x"}, "useragent: this version has no such field"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(value: Any, problem: str) -> None:
    with pytest.raises(BuildError) as caught:
        build(V9, value)
    assert str(caught.value) == problem


def test_every_byte_has_its_field() -> None:
    data = bytes.fromhex("04 0001 0000 02 0002 ff 00 00000001 00 0007")
    assert [
        (span.path, data[span.start : span.end].hex(), span.type, span.role) for span in inspect(V9, data).spans
    ] == [
        ("tagged_fields", "040001", "TAG", "tag"),
        ("user_agent", "0000", "NULLABLE_STRING", "value"),
        ("tagged_fields", "020002", "TAG", "tag"),
        ("tagged_fields.2", "ff", "BYTES", "raw"),
        ("tagged_fields", "00", "OPTIONAL_FIELDS", "size"),
        ("foos", "00000001", "ARRAY", "size"),
        ("foos[0].tagged_fields", "00", "OPTIONAL_FIELDS", "size"),
        ("foos[0].baz", "0007", "INT16", "value"),
    ]


def test_the_grammar_shows_them_in_front() -> None:
    assert bnf("Foo Response (Version: 9)", V9).splitlines() == [
        "Foo Response (Version: 9) => _optional_fields [foos]",
        "  user_agent<tag: 1> => NULLABLE_STRING",
        "  foos => _optional_fields baz",
        "    bar<tag: 1> => STRING",
        "    baz => INT16",
    ]
    assert [(row.path, row.type) for row in layout(V9)] == [
        ("^", "optional_fields"),
        ("^1:user_agent", "nullable_string"),
        ("foos", "array"),
        ("foos[].^", "optional_fields"),
        ("foos[].^1:bar", "string"),
        ("foos[].baz", "int16"),
    ]
    signs = [change.sign for change in compare(API.at("response", 8), V9)]
    assert signs == ["+"] * 4


def test_secret_ones_are_hidden_wherever_their_sign_stands() -> None:
    """`when` names a plain field, which is read after the optional one."""
    declared = Struct("password" / Optional(1, Secret(String, "is_sensitive")), "is_sensitive" / Boolean)
    node = declared.structure(WITH)
    for sensitive in (True, False):
        value = {"password": "p", "is_sensitive": sensitive, TAGGED: {2: b"x"}}
        shown = hide(node, value)
        assert isinstance(shown["password"], Hidden) == sensitive
        assert isinstance(shown[TAGGED][2], Hidden), "nobody knows what stands in there"
        spans = {span.path: span.secret for span in inspect(node, build(node, value)).spans}
        assert spans["password"] == sensitive


# Random grammars of everything that may stand in one, and random values of them.

PRIMITIVES = [Boolean, Int8, Int16, Int32, Int64, UInt16, UInt32, Float64, Uuid, String, Bytes]
NULLABLES = [String, Bytes, Array(Int32)]


def structs(depth: int) -> st.SearchStrategy[Struct]:
    """Structures of up to four plain and four optional fields, others inside them."""
    leaves = st.sampled_from(PRIMITIVES) | st.sampled_from(NULLABLES).map(Nullable)
    single: Any = leaves | st.sampled_from(PRIMITIVES).map(Array)
    if depth:
        single = single | structs(depth - 1) | structs(depth - 1).map(Nullable)
    plain = single | structs(depth - 1).map(Array) if depth else single
    tags = st.dictionaries(st.integers(0, 0xFFFF), single, max_size=4)
    return st.builds(
        lambda fields, optional: Struct(
            *(f"plain{i}" / field for i, field in enumerate(fields)),
            *(f"optional{tag}" / Optional(tag, field) for tag, field in optional.items()),
        ),
        st.lists(plain, max_size=4),
        tags,
    )


def values(draw: st.DrawFn, node: Node) -> Any:
    """A value of a node; optional fields are left out or set."""
    if isinstance(node, WireStruct):
        optional = {field.name: field for field in (node.tags or {}).values() if draw(st.booleans())}
        members = {field.name: field for field in node.fields} | optional
        return {field.name: values(draw, field.node) for field in node.members if field.name in members}
    if isinstance(node, NullableStruct):
        return values(draw, node.struct) if draw(st.booleans()) else None
    if getattr(node, "nullable", False) and draw(st.booleans()):
        return None
    if isinstance(node, WireArray):
        return [values(draw, node.item) for _ in range(draw(st.integers(0, 2)))]
    if isinstance(node, Sized):
        return draw(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=9) if node.text else st.binary(max_size=9)
        )
    if isinstance(node, UuidNode):
        return draw(st.uuids())
    assert isinstance(node, Fixed)
    if node.boolean or node.code == "d":
        return draw(st.booleans() if node.boolean else st.floats(allow_nan=False))
    least = -(1 << 8 * node.size - 1) if node.code.islower() else 0
    return draw(st.integers(least, least + (1 << 8 * node.size) - 1))


@st.composite
def messages(draw: st.DrawFn) -> tuple[WireStruct, Any]:
    node = draw(structs(2)).structure(WITH)
    return node, values(draw, node)


@given(messages())
def test_all_readings_agree_on_random_grammars(made: tuple[WireStruct, Any]) -> None:
    node, value = made
    data = build(node, value)
    inspection = inspect(node, data)
    assert (inspection.findings, inspection.end) == ([], len(data))
    assert_tiled(inspection)
    assert node.parse(data) == inspection.value == value
    assert repr(reader(node)(data, 0)) == repr((node.parse(data), len(data))), "the order of the fields too"
    assert build(node, node.parse(data)) == data


@given(messages(), st.data())
def test_damaged_bytes_are_read_alike_or_refused(made: tuple[WireStruct, Any], data: st.DataObject) -> None:
    node, value = made
    whole = bytearray(build(node, value))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    inspection = inspect(node, cut)
    assert_tiled(inspection)
    try:
        read, end = reader(node)(cut, 0)
    except UNREADABLE:
        assert inspection.findings
        return
    if end != len(cut):
        assert inspection.findings
    else:
        assert inspection.findings == []
        assert repr(read) == repr(inspection.value)


def test_nothing_is_optional_where_no_api_says_so() -> None:
    lamp = Struct("watts" / Int8, "volts" / Optional(0, Int16))
    assert lamp.parse(b"\7", version=0) == {"watts": 7}
    assert lamp.build({"watts": 7}, version=0) == b"\7"

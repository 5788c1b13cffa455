"""Strings, arrays, structures and tags by bytes written by hand: what is read, written, refused and where."""

from __future__ import annotations

import io
import uuid
from typing import Any

import pytest

from kdbg.errors import BadLength, BadValue, BuildError, Truncated
from kdbg.protocol import wire
from kdbg.protocol.wire.language import types
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import (
    INT8,
    INT32,
    TAGGED,
    UVARINT,
    Field,
    Fixed,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    UuidNode,
    WireArray,
    WireStruct,
    build,
)
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader

from ...cases import for_each
from .contracts import Contract, LengthContract, NullContract

CLASSIC, FLEXIBLE = At(0, False), At(0, True)


def string(at: At, *, nullable: bool = False) -> Node:
    return wire.String.at(at, nullable=nullable)


def octets(at: At, *, nullable: bool = False) -> Node:
    return wire.Bytes.at(at, nullable=nullable)


def array(at: At, *, nullable: bool = False) -> WireArray:
    return types.Array(wire.Int16).at(at, nullable=nullable)


def items(node: Node) -> WireArray:
    return WireArray("ARRAY", Length(INT32, 0), node, nullable=False)


class TestUuid(Contract):
    node = UuidNode()
    examples = (
        ("00112233445566778899aabbccddeeff", uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")),
        ("00" * 16, uuid.UUID(int=0)),
    )
    refused = ("no uuid", None, 5, b"\x00" * 16)

    def test_text_will_do(self) -> None:
        assert build(self.node, "00112233-4455-6677-8899-aabbccddeeff").hex() == "00112233445566778899aabbccddeeff"


NO_TEXT: tuple[Any, ...] = (5, ["a"], {"a": 1}, 1.5, True, "\ud800 is half a letter", {"base64": "?"}, {"base64": 5})


class TestString(LengthContract, NullContract):
    strict, node = string(CLASSIC), string(CLASSIC, nullable=True)
    examples = (("0000", ""), ("0001 61", "a"), ("0005 c3bc e282ac", "ü€"))
    refused = (*NO_TEXT, "x" * 32768)
    null = "ffff"
    negative = ("fffe", "8000")
    huge = "7fff"


class TestCompactString(LengthContract, NullContract):
    strict, node = string(FLEXIBLE), string(FLEXIBLE, nullable=True)
    examples = (
        ("01", ""),
        ("02 61", "a"),
        ("8001" + "61" * 127, "a" * 127),
        ("7f" + "61" * 126, "a" * 126),
    )
    refused = NO_TEXT
    null = "00"
    negative = ()
    huge = "ffffffff0f"


class TestBytes(LengthContract, NullContract):
    strict, node = octets(CLASSIC), octets(CLASSIC, nullable=True)
    examples = (("00000000", b""), ("00000002 00ff", b"\x00\xff"))
    refused = NO_TEXT
    null = "ffffffff"
    negative = ("fffffffe", "80000000")
    huge = "7fffffff"


class TestCompactBytes(LengthContract, NullContract):
    strict, node = octets(FLEXIBLE), octets(FLEXIBLE, nullable=True)
    examples = (("01", b""), ("03 00ff", b"\x00\xff"))
    refused = NO_TEXT
    null = "00"
    negative = ()
    huge = "ffffffff0f"


class TestVarintBytes(LengthContract, NullContract):
    strict, node = wire.VarintBytes.at(CLASSIC), wire.VarintBytes.at(FLEXIBLE, nullable=True)
    examples = (("00", b""), ("04 00ff", b"\x00\xff"))
    refused = NO_TEXT
    null = "01"
    negative = ("03", "ffffffff0f")
    huge = "feffffff0f"


class TestTextThatIsNotUtf8:
    """Kept to the byte (PEP 383), flagged where it is explained, left to the slow reading where it is not."""

    node = string(CLASSIC)
    data = bytes.fromhex("0003 61ff62")

    def test_it_comes_back(self) -> None:
        value = self.node.parse(self.data)
        assert value == "a\udcffb"
        assert build(self.node, value) == self.data

    def test_it_is_a_finding(self) -> None:
        inspection = inspect(self.node, self.data)
        assert [(f.kind, f.start, f.length) for f in inspection.findings] == [("invalid-utf8", 2, 3)]
        assert inspection.value == "a\udcffb"

    def test_the_compiled_reader_refuses_it(self) -> None:
        with pytest.raises(UNREADABLE):
            reader(self.node)(self.data, 0)


@for_each("given_", ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), {"base64": "YWJj"}])
@for_each("node", [string(CLASSIC), octets(CLASSIC), RemainingBytes()], ids=lambda node: node.bnf)
def test_strings_and_bytes_are_taken_in_every_form_json_has(node: Node, given_: Any) -> None:
    assert build(node, given_).endswith(b"abc")


def test_what_was_hidden_is_not_written() -> None:
    with pytest.raises(BuildError) as caught:
        build(octets(CLASSIC), {"hidden": 5}, "auth_bytes")
    assert str(caught.value) == "auth_bytes: redacted in this JSON; decode again with --show-secrets"


class TestArray(LengthContract, NullContract):
    strict, node = array(CLASSIC), array(CLASSIC, nullable=True)
    examples = (("00000000", []), ("00000002 0001 ffff", [1, -1]))
    refused = ("text", b"bytes", {"a": 1}, 5, ["x"], [1, None])
    null = "ffffffff"
    negative = ("fffffffe", "80000000")
    huge = "7fffffff"

    def test_an_item_is_named_by_its_place(self) -> None:
        with pytest.raises(BuildError) as built:
            build(self.node, [1, "x"], "topics")
        assert built.value.path == "topics[1]"
        with pytest.raises(Truncated) as read:
            self.node._parse(io.BytesIO(bytes.fromhex("00000002 0001 ff")), None, "topics")
        assert (read.value.path, read.value.start, read.value.wanted, read.value.left) == ("topics[1]", 6, 2, 1)


class TestCompactArray(LengthContract, NullContract):
    strict, node = array(FLEXIBLE), array(FLEXIBLE, nullable=True)
    examples = (("01", []), ("03 0001 ffff", [1, -1]))
    refused = ("text", {"a": 1}, 5, [2**15])
    null = "00"
    negative = ()
    huge = "ffffffff0f"


CLASSIC_STRUCT = WireStruct((Field("id", INT32), Field("name", string(CLASSIC))), None)
DEFAULTS = WireStruct((Field("id", INT32, -1), Field("names", types.Array(wire.String).at(CLASSIC))), None)


class TestStruct(Contract):
    node = CLASSIC_STRUCT
    examples = (("00000005 0001 61", {"id": 5, "name": "a"}),)
    refused = ([], "text", None, 5, {"id": "x"}, {"id": 1, "nmae": "a"}, {"id": 1, TAGGED: {}})

    def test_the_error_names_the_field(self) -> None:
        with pytest.raises(BuildError, match=r"^topics\[0\]\.nmae: this version has no such field$"):
            build(self.node, {"nmae": "a"}, "topics[0]")
        with pytest.raises(BuildError, match=r"^id: 'x' is not a valid INT32"):
            build(self.node, {"id": "x"})

    def test_missing_fields_take_their_defaults(self) -> None:
        assert build(self.node, {}) == bytes(6)
        assert build(DEFAULTS, {}).hex() == "ffffffff" + "00000000"
        assert DEFAULTS.default() == {"id": -1, "names": []}

    def test_fields_are_written_in_wire_order(self) -> None:
        assert build(self.node, {"name": "a", "id": 5}).hex() == "00000005000161"


EXTRA = {0: Field("tick", INT8, -1, 0), 5: Field("note", string(FLEXIBLE), tag=5)}
TAGGED_STRUCT = WireStruct((Field("id", INT8),), EXTRA)


class TestTaggedStruct(Contract):
    """Plain fields, then a count of tagged fields, each with its number and its size (KIP-482)."""

    node = TAGGED_STRUCT
    examples = (
        ("01 00", {"id": 1}),
        ("01 01 00 01 07", {"id": 1, "tick": 7}),
        ("01 02 00 01 07 05 02 02 61", {"id": 1, "tick": 7, "note": "a"}),
        ("01 01 05 01 01", {"id": 1, "note": ""}),
    )
    refused = (
        {"id": 1, "tick": "x"}, {TAGGED: {-1: b""}}, {TAGGED: {2**32: b""}}, {TAGGED: {"x": b""}}, {TAGGED: {9: 5}},
        {TAGGED: [b""]}, {TAGGED: "ab"}, {TAGGED: {None: b""}}, {TAGGED: {1.5: b""}},
    )  # fmt: skip

    def test_unknown_tags_are_kept_and_written_in_order(self) -> None:
        data = bytes.fromhex("01 04 00 01 07 03 02 abcd 05 01 01 8001 00")
        value = self.node.parse(data)
        assert value == {"id": 1, "tick": 7, TAGGED: {3: b"\xab\xcd", 128: b""}, "note": ""}
        assert build(self.node, value) == data

    def test_tags_may_be_given_as_json_has_them(self) -> None:
        assert build(self.node, {"id": 1, TAGGED: {"128": {"base64": "q80="}}}).hex() == "0101800102abcd"

    def test_known_tagged_fields_are_written_only_when_given(self) -> None:
        assert build(self.node, {"id": 1}).hex() == "0100"
        assert build(self.node, {"id": 1, "tick": -1}).hex() == "01010001ff", "though it is the default"

    @pytest.mark.parametrize("text", ["01 02 05 01 01 00 01 07", "01 02 00 01 07 00 01 07"], ids=["order", "twice"])
    def test_tags_out_of_order_are_bad_and_yet_explained(self, text: str) -> None:
        with pytest.raises(BadValue, match="tag 0 follows tag"):
            self.node.parse(bytes.fromhex(text))
        with pytest.raises(UNREADABLE):
            reader(self.node)(bytes.fromhex(text), 0)
        inspection = inspect(self.node, bytes.fromhex(text))
        assert [finding.kind for finding in inspection.findings] == ["tag-order"]
        assert inspection.value["tick"] == 7

    @pytest.mark.parametrize("text", ["01 01 00 02 07 07", "01 01 05 01 02 61"], ids=["longer", "shorter"])
    def test_a_size_that_its_value_does_not_fill_is_bad(self, text: str) -> None:
        data = bytes.fromhex(text)
        with pytest.raises(BadLength, match=r"tag [05] declares [12] bytes?"):
            self.node.parse(data)
        with pytest.raises(UNREADABLE):
            reader(self.node)(data, 0)
        assert isinstance(inspect(self.node, data).broken, BadLength)

    def test_classic_structures_have_no_tags(self) -> None:
        assert list(CLASSIC_STRUCT.keys) == ["id", "name"]
        assert list(TAGGED_STRUCT.keys) == ["id", "tick", "note", TAGGED]


class TestNullableStruct(Contract):
    """A marker, -1 or 1, then the structure (KIP-893)."""

    node = NullableStruct(WireStruct((Field("id", INT8),), {}))
    examples = (("ff", None), ("01 05 00", {"id": 5}))
    refused = (5, "text", [], {"ids": 5})

    @pytest.mark.parametrize("marker", ["00", "02", "fe"])
    def test_other_markers_are_bad(self, marker: str) -> None:
        data = bytes.fromhex(marker + "0500")
        with pytest.raises(BadValue, match="must start with -1 \\(null\\) or 1"):
            self.node.parse(data)
        with pytest.raises(UNREADABLE):
            reader(self.node)(data, 0)
        assert isinstance(inspect(self.node, data).broken, BadValue)

    def test_it_is_there_by_default(self) -> None:
        assert self.node.default() == {"id": 0}


class TestTaggedNullableStruct(Contract):
    """In a tagged field null is 0, as Kafka writes the members of its new groups that speak the new protocol alone."""

    past = types.Tag(0, types.Nullable(types.Struct("id" / INT8)))
    node = types.Struct("id" / INT8, "past" / past).structure(FLEXIBLE)
    examples = (
        ("05 00", {"id": 5}),
        ("05 01 00 01 00", {"id": 5, "past": None}),
        ("05 01 00 03 01 06 00", {"id": 5, "past": {"id": 6}}),
    )
    refused = ({"id": 5, "past": 6},)

    def test_the_null_of_plain_fields_is_bad(self) -> None:
        data = bytes.fromhex("05 01 00 01 ff")
        with pytest.raises(BadValue, match="must start with 0 \\(null\\) or 1"):
            self.node.parse(data)
        with pytest.raises(UNREADABLE):
            reader(self.node)(data, 0)


class TestLengthPrefixed(Contract):
    node = LengthPrefixed(INT32, CLASSIC_STRUCT)
    examples = (("00000007 00000005 0001 61", {"id": 5, "name": "a"}),)
    refused = (None, 5, {"ids": 5})

    @pytest.mark.parametrize("length", [0, 6, 8, -1, 2**31 - 1])
    def test_a_length_that_the_item_does_not_fill_is_bad(self, length: int) -> None:
        data = length.to_bytes(4, "big", signed=True) + bytes.fromhex("00000005 0001 61 00")
        with pytest.raises(BadLength):
            self.node.parse(data)
        with pytest.raises(UNREADABLE):
            reader(self.node)(data, 0)
        assert isinstance(inspect(self.node, data).broken, (BadLength, Truncated))

    def test_missing_fields_take_their_defaults(self) -> None:
        assert self.node.default() == {"id": 0, "name": ""}


class TestRest(Contract):
    node = RemainingBytes()
    endless = True
    examples = (("", b""), ("00ff", b"\x00\xff"))
    refused = (5, None, [])


@for_each(
    ("node", "value"),
    [
        (wire.Int64, 0), (wire.Boolean, False), (wire.Float64, 0.0), (UVARINT, 0),
        (UuidNode(), uuid.UUID(int=0)),
        (string(CLASSIC, nullable=True), ""), (octets(FLEXIBLE), b""), (array(CLASSIC, nullable=True), []),
        (RemainingBytes(), b""),
    ],
)  # fmt: skip
def test_a_default_is_zero_or_empty_and_can_be_written(node: Node, value: Any) -> None:
    assert node.default() == value
    assert node.parse(build(node, value)) == value


def test_a_node_of_no_kind_says_so() -> None:
    uses = (
        lambda: Node().parse(b""), lambda: reader(Node())(b"", 0), lambda: Node().build(None), lambda: Node().default(),
    )  # fmt: skip
    for use in uses:
        with pytest.raises(TypeError, match="Node"):
            use()


def test_a_meaning_changes_nothing_on_the_wire() -> None:
    error = wire.Int16.means("error", {0: "NONE"})
    assert isinstance(error, Fixed)
    assert (error.kind, error.names, error.bnf, error.size) == ("error", {0: "NONE"}, "INT16", 2)
    assert build(error, -1) == build(wire.Int16, -1)


@for_each(
    ("value", "path"),
    [
        ({"topics": [{"name": "a", "parts": [1, 2]}, {"name": "b", "parts": [1, True]}]}, "topics[1].parts[1]"),
        ({"topics": [{"name": "a", "parts": [1, 1 << 31]}]}, "topics[0].parts[1]"),
        ({"topics": [{"name": "a", "parts": [[1]]}]}, "topics[0].parts[0]"),
        ({"topics": [{"name": 7, "parts": []}]}, "topics[0].name"),
        ({"topics": [{"nom": "a"}]}, "topics[0].nom"),
        ({"topics": [7]}, "topics[0]"),
    ],
)
def test_a_value_that_cannot_be_written_is_named_by_its_whole_path(value: Any, path: str) -> None:
    """Integers of an array are packed at once; what does not fit is found one by one."""
    topic = WireStruct((Field("name", string(CLASSIC)), Field("parts", items(INT32))), None)
    with pytest.raises(BuildError) as raised:
        build(WireStruct((Field("topics", items(topic)),), None), value, "header")
    assert raised.value.path == f"header.{path}"


def test_an_array_of_arrays_has_no_dot_in_its_path() -> None:
    with pytest.raises(BuildError) as raised:
        build(items(items(INT32)), [[1], [2, "x"]])
    assert raised.value.path == "[1][1]"

"""Every node by bytes written by hand: what is read, what is written, what is refused and where."""

from __future__ import annotations

import io
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BadLength, BadValue, BuildError, Truncated
from kdbg.wire import types
from kdbg.wire.compiled import UNREADABLE, reader
from kdbg.wire.nodes import (
    INT8,
    INT32,
    TAGGED,
    UVARINT,
    VARINT,
    VARLONG,
    Field,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    Rest,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
    build,
)
from kdbg.wire.spans import inspect
from kdbg.wire.types import At

from .contracts import Contract, LengthContract, NullContract

CLASSIC, FLEXIBLE = At(0, False), At(0, True)


def string(at: At, *, nullable: bool = False) -> Node:
    return types.String.at(at, nullable=nullable)


def octets(at: At, *, nullable: bool = False) -> Node:
    return types.Bytes.at(at, nullable=nullable)


def array(at: At, *, nullable: bool = False) -> WireArray:
    return types.Array(types.Int16).at(at, nullable=nullable)


NOT_NUMBERS: tuple[Any, ...] = ("1", None, 1.5, True, [], b"\x01")


class TestInt8(Contract):
    node = types.Int8
    examples = (("00", 0), ("7f", 127), ("80", -128), ("ff", -1))
    refused = (128, -129, *NOT_NUMBERS)


class TestInt16(Contract):
    node = types.Int16
    examples = (("0000", 0), ("7fff", 32767), ("8000", -32768), ("0102", 258))
    refused = (32768, -32769, *NOT_NUMBERS)


class TestInt32(Contract):
    node = types.Int32
    examples = (("00000000", 0), ("7fffffff", 2**31 - 1), ("80000000", -(2**31)), ("01020304", 16909060))
    refused = (2**31, -(2**31) - 1, *NOT_NUMBERS)


class TestInt64(Contract):
    node = types.Int64
    examples = (("7fffffffffffffff", 2**63 - 1), ("8000000000000000", -(2**63)), ("00" * 7 + "2a", 42))
    refused = (2**63, -(2**63) - 1, *NOT_NUMBERS)


class TestUInt16(Contract):
    node = types.UInt16
    examples = (("0000", 0), ("ffff", 65535), ("2384", 9092))
    refused = (65536, -1, *NOT_NUMBERS)


class TestUInt32(Contract):
    node = types.UInt32
    examples = (("00000000", 0), ("ffffffff", 2**32 - 1))
    refused = (2**32, -1, *NOT_NUMBERS)


class TestFloat64(Contract):
    node = types.Float64
    examples = (
        ("3ff0000000000000", 1.0),
        ("c000000000000000", -2.0),
        ("7ff0000000000000", float("inf")),
    )
    refused = ("1", None, True, [], 10**400)

    def test_nan_is_kept(self) -> None:
        assert build(self.node, self.node.parse(bytes.fromhex("7ff8000000000000"))).hex() == "7ff8000000000000"

    def test_whole_numbers_will_do(self) -> None:
        assert build(self.node, 1).hex() == "3ff0000000000000"


class TestBoolean(Contract):
    node = types.Boolean
    examples = (("00", False), ("01", True))
    refused = (0, 1, "true", None)

    @pytest.mark.parametrize("number", [2, 127, 255])
    def test_other_numbers_are_no_boolean(self, number: int) -> None:
        with pytest.raises(BadValue, match=f"BOOLEAN is 0 or 1, here {number}") as caught:
            self.node._parse(io.BytesIO(bytes([number])), None, "here")
        assert (caught.value.path, caught.value.start) == ("here", 0)
        with pytest.raises(UNREADABLE):
            reader(self.node)(bytes([number]), 0)

    @pytest.mark.parametrize("number", [2, 127, 255])
    def test_other_numbers_are_a_finding_and_mean_true(self, number: int) -> None:
        inspection = inspect(self.node, bytes([number]))
        assert [(f.kind, f.start, f.length) for f in inspection.findings] == [("bad-value", 0, 1)]
        assert (inspection.value, inspection.broken) == (True, None)


class TestUnsignedVarint(Contract):
    node = UVARINT
    examples = (
        ("00", 0), ("01", 1), ("7f", 127), ("8001", 128), ("ac02", 300), ("ff7f", 16383), ("808001", 16384),
        ("ffffffff0f", 2**32 - 1),
    )  # fmt: skip
    refused = (-1, 2**32, "1", None, True, 1.0)

    def test_five_bytes_are_the_most(self) -> None:
        with pytest.raises(BadValue, match="goes on after 5 bytes"):
            self.node.parse(bytes.fromhex("808080808001"))

    def test_more_than_32_bits_are_too_many(self) -> None:
        with pytest.raises(BadValue, match="more than 32 bits"):
            self.node.parse(bytes.fromhex("ffffffff10"))


class TestVarint(Contract):
    node = VARINT
    examples = (
        ("00", 0), ("01", -1), ("02", 1), ("03", -2), ("7f", -64), ("8001", 64), ("d804", 300),
        ("feffffff0f", 2**31 - 1), ("ffffffff0f", -(2**31)),
    )  # fmt: skip
    refused = (2**31, -(2**31) - 1, "1", None, False, 1.0)


class TestVarlong(Contract):
    node = VARLONG
    examples = (
        ("00", 0), ("01", -1), ("d804", 300), ("feffffffffffffffff01", 2**63 - 1), ("ffffffffffffffffff01", -(2**63)),
    )  # fmt: skip
    refused = (2**63, -(2**63) - 1, "1", None, True)

    def test_ten_bytes_are_the_most(self) -> None:
        with pytest.raises(BadValue, match="goes on after 10 bytes"):
            self.node.parse(b"\x80" * 10 + b"\x01")

    def test_more_than_64_bits_are_too_many(self) -> None:
        with pytest.raises(BadValue, match="more than 64 bits"):
            self.node.parse(b"\xff" * 9 + b"\x02")


@pytest.mark.parametrize("node", [UVARINT, VARINT, VARLONG], ids=lambda node: node.bnf)
class TestVarintsThatAreNotMinimal:
    def test_the_number_is_read_and_told_to_be_too_long(self, node: Varint) -> None:
        assert node.measure(io.BytesIO(bytes.fromhex("8000")), "") == (0, False)
        assert node.measure(io.BytesIO(bytes.fromhex("828000")), "")[1] is False
        assert node.measure(io.BytesIO(bytes.fromhex("8001")), "")[1] is True
        assert node.measure(io.BytesIO(b"\x00"), "") == (0, True)

    def test_it_is_a_finding_for_the_slow_reading_and_too_much_for_the_fast_one(self, node: Varint) -> None:
        inspection = inspect(node, bytes.fromhex("8000"))
        assert [(f.kind, f.start, f.length) for f in inspection.findings] == [("non-minimal-varint", 0, 2)]
        assert inspection.value == 0
        with pytest.raises(UNREADABLE):
            reader(node)(bytes.fromhex("8000"), 0)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_come_back_in_as_few_bytes_as_they_need(number: int) -> None:
    for node in (UVARINT, VARINT, VARLONG):
        raw = (number << 1 ^ number >> 63) if node.signed else number
        if raw < 0 or raw >> node.bits:
            continue
        data = build(node, number)
        assert node.measure(io.BytesIO(data), "") == (number, True)
        assert len(data) == max(1, -(-raw.bit_length() // 7))
        assert reader(node)(data, 0) == (number, len(data))


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
    strict, node = types.VarintBytes.at(CLASSIC), types.VarintBytes.at(FLEXIBLE, nullable=True)
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
        assert [(f.kind, f.start, f.length) for f in inspection.findings] == [("not-utf8", 2, 3)]
        assert inspection.value == "a\udcffb"

    def test_the_compiled_reader_refuses_it(self) -> None:
        with pytest.raises(UNREADABLE):
            reader(self.node)(self.data, 0)


@pytest.mark.parametrize("given_", ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), {"base64": "YWJj"}])
@pytest.mark.parametrize("node", [string(CLASSIC), octets(CLASSIC), Rest()], ids=lambda node: node.bnf)
def test_strings_and_bytes_are_taken_in_every_form_json_has(node: Node, given_: Any) -> None:
    assert build(node, given_).endswith(b"abc")


def test_what_was_hidden_is_not_written() -> None:
    with pytest.raises(BuildError, match="--show-secrets"):
        build(octets(CLASSIC), {"hidden": 5}, "auth_bytes")


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
DEFAULTS = WireStruct((Field("id", INT32, -1), Field("names", types.Array(types.String).at(CLASSIC))), None)


class TestStruct(Contract):
    node = CLASSIC_STRUCT
    examples = (("00000005 0001 61", {"id": 5, "name": "a"}),)
    refused = ([], "text", None, 5, {"id": "x"}, {"id": 1, "nmae": "a"}, {"id": 1, TAGGED: {}})

    def test_the_error_names_the_field(self) -> None:
        with pytest.raises(BuildError, match=r"^topics\[0\]\.nmae: there is no such field in this version$"):
            build(self.node, {"nmae": "a"}, "topics[0]")
        with pytest.raises(BuildError, match=r"^id: 'x' is no INT32"):
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
        with pytest.raises(BadValue, match="tag 0 after tag"):
            self.node.parse(bytes.fromhex(text))
        with pytest.raises(UNREADABLE):
            reader(self.node)(bytes.fromhex(text), 0)
        inspection = inspect(self.node, bytes.fromhex(text))
        assert [finding.kind for finding in inspection.findings] == ["tag-order"]
        assert inspection.value["tick"] == 7

    @pytest.mark.parametrize("text", ["01 01 00 02 07 07", "01 01 05 01 02 61"], ids=["longer", "shorter"])
    def test_a_size_that_its_value_does_not_fill_is_bad(self, text: str) -> None:
        data = bytes.fromhex(text)
        with pytest.raises(BadLength, match=r"tag [05] says [12] bytes"):
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
        with pytest.raises(BadValue, match="begins with -1 or 1"):
            self.node.parse(data)
        with pytest.raises(UNREADABLE):
            reader(self.node)(data, 0)
        assert isinstance(inspect(self.node, data).broken, BadValue)

    def test_it_is_there_by_default(self) -> None:
        assert self.node.default() == {"id": 0}


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
    node = Rest()
    endless = True
    examples = (("", b""), ("00ff", b"\x00\xff"))
    refused = (5, None, [])


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (types.Int64, 0), (types.Boolean, False), (types.Float64, 0.0), (UVARINT, 0), (UuidNode(), uuid.UUID(int=0)),
        (string(CLASSIC, nullable=True), ""), (octets(FLEXIBLE), b""), (array(CLASSIC, nullable=True), []),
        (Rest(), b""),
    ],
)  # fmt: skip
def test_a_default_is_zero_or_empty_and_can_be_written(node: Node, value: Any) -> None:
    assert node.default() == value
    assert node.parse(build(node, value)) == value


def test_a_node_of_no_kind_says_so() -> None:
    for use in (lambda: Node().parse(b""), lambda: Node().build(None), lambda: Node().default()):
        with pytest.raises(TypeError, match="Node"):
            use()
    with pytest.raises(TypeError, match="no compiled form"):
        reader(Node())


def test_a_meaning_changes_nothing_on_the_wire() -> None:
    error = types.Int16.means("error", {0: "NONE"})
    assert isinstance(error, Fixed)
    assert (error.kind, error.names, error.bnf, error.size) == ("error", {0: "NONE"}, "INT16", 2)
    assert build(error, -1) == build(types.Int16, -1)

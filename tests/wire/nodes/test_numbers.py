"""Numbers by bytes written by hand, of fixed size and varints: what is read, what is written, what is refused."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BadValue
from kdbg.protocol import wire
from kdbg.protocol.wire.nodes import UVARINT, VARINT, VARLONG, Varint, build
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader

from .contracts import Contract

NOT_NUMBERS: tuple[Any, ...] = ("1", None, 1.5, True, [], b"\x01")


class TestInt8(Contract):
    node = wire.Int8
    examples = (("00", 0), ("7f", 127), ("80", -128), ("ff", -1))
    refused = (128, -129, *NOT_NUMBERS)


class TestInt16(Contract):
    node = wire.Int16
    examples = (("0000", 0), ("7fff", 32767), ("8000", -32768), ("0102", 258))
    refused = (32768, -32769, *NOT_NUMBERS)


class TestInt32(Contract):
    node = wire.Int32
    examples = (("00000000", 0), ("7fffffff", 2**31 - 1), ("80000000", -(2**31)), ("01020304", 16909060))
    refused = (2**31, -(2**31) - 1, *NOT_NUMBERS)


class TestInt64(Contract):
    node = wire.Int64
    examples = (("7fffffffffffffff", 2**63 - 1), ("8000000000000000", -(2**63)), ("00" * 7 + "2a", 42))
    refused = (2**63, -(2**63) - 1, *NOT_NUMBERS)


class TestUInt16(Contract):
    node = wire.UInt16
    examples = (("0000", 0), ("ffff", 65535), ("2384", 9092))
    refused = (65536, -1, *NOT_NUMBERS)


class TestUInt32(Contract):
    node = wire.UInt32
    examples = (("00000000", 0), ("ffffffff", 2**32 - 1))
    refused = (2**32, -1, *NOT_NUMBERS)


class TestFloat64(Contract):
    node = wire.Float64
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
    node = wire.Boolean
    examples = (("00", False), ("01", True))
    refused = (0, 1, "true", None)

    @pytest.mark.parametrize("number", [2, 127, 255])
    def test_other_numbers_are_no_boolean(self, number: int) -> None:
        with pytest.raises(BadValue, match=f"BOOLEAN must be 0 or 1, found {number}") as caught:
            self.node._parse(io.BytesIO(bytes([number])), None, "here")
        assert (caught.value.path, caught.value.start) == ("here", 0)
        with pytest.raises(UNREADABLE):
            reader(self.node)(bytes([number]), 0)

    @pytest.mark.parametrize("number", [2, 127, 255])
    def test_other_numbers_are_a_finding_and_mean_true(self, number: int) -> None:
        inspection = inspect(self.node, bytes([number]))
        assert [(f.kind, f.start, f.length) for f in inspection.findings] == [("invalid-value", 0, 1)]
        assert (inspection.value, inspection.broken) == (True, None)


class TestUnsignedVarint(Contract):
    node = UVARINT
    examples = (
        ("00", 0), ("01", 1), ("7f", 127), ("8001", 128), ("ac02", 300), ("ff7f", 16383), ("808001", 16384),
        ("ffffffff0f", 2**32 - 1),
    )  # fmt: skip
    refused = (-1, 2**32, "1", None, True, 1.0)

    def test_five_bytes_are_the_most(self) -> None:
        with pytest.raises(BadValue, match="does not end within 5 bytes"):
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
        with pytest.raises(BadValue, match="does not end within 10 bytes"):
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

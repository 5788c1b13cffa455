"""Text between marks, and the pieces of DER in front of a GSS-API token: bytes written by hand, both ways."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BadLength, BadValue, BuildError
from kdbg.protocol.wire import Struct
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import Node, WireStruct, build
from kdbg.protocol.wire.nodes.sasl_tokens import STEP, DerLength, Each, Marked, ObjectId
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import reader

from .contracts import Contract, Example


class TestTextToTheEnd(Contract):
    node: ClassVar[Node] = Marked("n=")
    examples: ClassVar[tuple[Example, ...]] = (("6e3d", ""), ("6e3d 61 2c 62", "a,b"), ("6e3d c3bc", "ü"))
    refused = (None, 1)
    endless = True


class TestTextThatMayBeMissing(Contract):
    node: ClassVar[Node] = Marked(",a=", ",", absent=",")
    examples: ClassVar[tuple[Example, ...]] = (("2c", None), ("2c 613d", ""), ("2c 613d 626f62", "bob"))
    refused = ("bob,alice", 1)
    endless = True


class TestDerLength(Contract):
    node: ClassVar[Node] = DerLength()
    examples: ClassVar[tuple[Example, ...]] = (
        ("00", 0), ("7f", 127), ("81 80", 128), ("81 ff", 255), ("82 0100", 256), ("84 ffffffff", 2**32 - 1),
    )  # fmt: skip
    refused = (-1, 2**32, "1")


class TestObjectId(Contract):
    node: ClassVar[Node] = ObjectId()
    examples: ClassVar[tuple[Example, ...]] = (
        ("06 09 2a864886f712010202", "1.2.840.113554.1.2.2"),
        ("06 06 2b0601050502", "1.3.6.1.5.5.2"),
        ("06 02 8837", "2.999"),
        ("06 01 27", "0.39"),
    )
    refused = ("", "1", "1.40", "3.1", "1.2.-3", "1.-1", "-1.39", "one.two", 12)


@pytest.mark.parametrize("text", ["81 05", "82 00ff", "80", "85 0100000000"])
def test_a_length_that_is_not_der(text: str) -> None:
    """In more bytes than it needs, of no bytes (BER's open end), of too many."""
    with pytest.raises(BadLength):
        DerLength().parse(bytes.fromhex(text))


@pytest.mark.parametrize("text", ["05 01 27", "06 00", "06 01 87", "06 02 8001"])
def test_what_is_no_object_identifier(text: str) -> None:
    with pytest.raises(BadValue):
        ObjectId().parse(bytes.fromhex(text))


def test_text_that_its_mark_does_not_precede() -> None:
    with pytest.raises(BadValue, match="expected ',n=' here") as caught:
        Marked(",n=", ",").parse(b",m=x")
    assert caught.value.type == "TEXT"


def test_text_that_would_end_early_is_not_written() -> None:
    with pytest.raises(BuildError, match="would end the text"):
        build(Marked("", "\0"), "al\0ice")


PAIRS = Struct(
    "first" / Marked("", "\1"),
    "pairs" / Each("\1", "name" / Marked("\1", "="), "value" / Marked("=", "\1")),
    "end" / Marked("\1\1"),
)
names = st.text(st.characters(codec="utf-8", exclude_characters="\1="), max_size=STEP + 2)


@given(names, st.lists(st.tuples(names, names), max_size=4))
def test_pairs_are_counted_by_looking_ahead(first: str, pairs: list[tuple[str, str]]) -> None:
    grammar: WireStruct = PAIRS.structure(At(0, False))
    value = {"first": first, "pairs": [{"name": name, "value": text} for name, text in pairs], "end": ""}
    data = "".join([first, *(f"\1{name}={text}" for name, text in pairs), "\1\1"]).encode()
    assert build(grammar, value) == data
    assert grammar.parse(data) == inspect(grammar, data).value == value
    assert reader(grammar)(data, 0) == (value, len(data))


def test_pairs_may_be_none_at_all_but_never_null() -> None:
    grammar: WireStruct = PAIRS.structure(At(0, False))
    assert build(grammar, {"first": "a", "pairs": [], "end": ""}) == b"a\1\1"
    with pytest.raises(BuildError, match="pairs"):
        build(grammar, {"first": "a", "pairs": None, "end": ""})

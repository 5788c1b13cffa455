"""What every wire type promises, as tests to inherit (kio's way): a subclass names a node and its examples."""

from __future__ import annotations

import io
from typing import Any, ClassVar, final

import pytest

from kdbg.errors import BadLength, BuildError, Truncated
from kdbg.protocol.wire.nodes import Node, build
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader

Example = tuple[str, Any]
"""Bytes in hexadecimal, written by hand, and the value they stand for."""


class Contract:
    """Every type: known bytes both ways, in all three readings; too few bytes are `Truncated` with path and place."""

    node: ClassVar[Node]
    examples: ClassVar[tuple[Example, ...]]
    refused: ClassVar[tuple[Any, ...]]
    """Values that cannot be written."""
    endless: ClassVar[bool] = False
    """Whether any number of bytes will do."""

    @final
    def test_known_bytes_are_read(self) -> None:
        for text, value in self.examples:
            data = bytes.fromhex(text)
            parsed = self.node.parse(data)
            assert parsed == value
            assert type(parsed) is type(value)

    @final
    def test_known_bytes_are_written(self) -> None:
        for text, value in self.examples:
            assert build(self.node, value) == self.node.build(value) == bytes.fromhex(text)

    @final
    def test_the_compiled_reader_and_the_spans_read_the_same(self) -> None:
        for text, value in self.examples:
            data = bytes.fromhex(text)
            assert reader(self.node)(b"\xaa" + data, 1) == (value, len(data) + 1)
            inspection = inspect(self.node, data)
            assert (inspection.value, inspection.findings, inspection.end) == (value, [], len(data))

    @final
    def test_too_few_bytes_are_truncated(self) -> None:
        if self.endless:
            return
        for text, _ in self.examples:
            data = bytes.fromhex(text)
            for end in range(len(data)):
                with pytest.raises(Truncated) as caught:
                    self.node._parse(io.BytesIO(data[:end]), None, "here")
                assert caught.value.path.startswith("here")
                assert caught.value.start + caught.value.left == end
                assert caught.value.wanted > caught.value.left
                assert inspect(self.node, data[:end]).findings[0].kind == "truncated"

    @final
    def test_values_of_other_types_are_refused_with_their_path(self) -> None:
        for value in self.refused:
            with pytest.raises(BuildError) as caught:
                build(self.node, value, "topics[0].here")
            assert caught.value.path.startswith("topics[0].here")
            assert str(caught.value).startswith("topics[0].here")


class NullContract(Contract):
    """A type with a null, beside the same type without: `null` is how a null is written."""

    strict: ClassVar[Node]
    null: ClassVar[str]

    @final
    def test_null_is_none(self) -> None:
        data = bytes.fromhex(self.null)
        assert self.node.parse(data) is None
        assert build(self.node, None) == data
        assert reader(self.node)(data, 0) == (None, len(data))

    @final
    def test_null_where_none_may_be_is_refused(self) -> None:
        data = bytes.fromhex(self.null)
        with pytest.raises(BadLength, match="must not be null"):
            self.strict._parse(io.BytesIO(data), None, "here")
        with pytest.raises(UNREADABLE):
            reader(self.strict)(data, 0)
        with pytest.raises(BuildError, match="must not be null"):
            build(self.strict, None, "here")

    @final
    def test_null_where_none_may_be_is_a_finding_and_reading_goes_on(self) -> None:
        inspection = inspect(self.strict, bytes.fromhex(self.null))
        assert [finding.kind for finding in inspection.findings] == ["unexpected-null"]
        assert (inspection.value, inspection.broken) == (None, None)


class LengthContract(Contract):
    """A type with a length: `negative` are lengths below null, `huge` one that no message can have."""

    negative: ClassVar[tuple[str, ...]]
    huge: ClassVar[str]

    @final
    def test_lengths_below_null_are_bad(self) -> None:
        for text in self.negative:
            with pytest.raises(BadLength):
                self.node._parse(io.BytesIO(bytes.fromhex(text)), None, "here")
            with pytest.raises(UNREADABLE):
                reader(self.node)(bytes.fromhex(text), 0)
            assert isinstance(inspect(self.node, bytes.fromhex(text)).broken, BadLength)

    @final
    def test_a_length_that_is_too_long_is_truncated_and_takes_no_memory(self) -> None:
        data = bytes.fromhex(self.huge) + b"few"
        with pytest.raises(Truncated) as caught:
            self.node._parse(io.BytesIO(data), None, "here")
        assert caught.value.left <= 3
        assert inspect(self.node, data).findings[0].kind == "truncated"
        try:
            _, end = reader(self.node)(data, 0)
        except UNREADABLE:
            return
        assert end > len(data), "slices never raise: the end says it"

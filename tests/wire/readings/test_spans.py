"""Every byte's place: spans that tile, findings that name field and byte, and reading that goes on as far as it can.

That all this holds for every message of every version is for tests/grammars/test_every_version.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.errors import BadLength, BadValue, Truncated
from kdbg.protocol import grammars
from kdbg.protocol.grammars import headers
from kdbg.protocol.wire import Boolean, Int8, Int16, Int32, String
from kdbg.protocol.wire.language.types import Array, At, Nullable, Prefixed, Struct, Tag
from kdbg.protocol.wire.nodes import TAGGED, Field, Sized, WireStruct, build
from kdbg.protocol.wire.readings.annotate import Inspection, inspect

METADATA = grammars.api("Metadata").at("request", 12)
DECLARED = Struct(
    "id" / Int16,
    "names" / Array(String),
    "maybe" / Nullable(Struct("a" / Int8)),
    "note" / Tag(3, String),
)
GRAMMAR = DECLARED.structure(At(0, True))
DATA = bytes.fromhex("010203 02 61 02 6201 07 0002 03 02 02 63 09 01 ff")
VALUE = {"id": 258, "names": ["a", "b"], "maybe": {"a": 7}, "note": "c", TAGGED: {9: b"\xff"}}


def kinds(inspection: Inspection) -> list[str]:
    return [finding.kind for finding in inspection.findings]


def rows(inspection: Inspection) -> list[tuple[str, str, str, str]]:
    """(path, bytes, type, role) of every span in the message itself."""
    data = inspection.buffers[0].data
    return [
        (span.path, data[span.start : span.end].hex(), span.type, span.role)
        for span in inspection.spans
        if span.buffer == 0
    ]


def assert_tiled(inspection: Inspection) -> None:
    ends = [0] * len(inspection.buffers)
    for span in inspection.spans:
        assert span.start == ends[span.buffer]
        ends[span.buffer] = span.end
    assert ends == [len(buffer.data) for buffer in inspection.buffers]


def test_every_byte_has_its_field() -> None:
    inspection = inspect(GRAMMAR, DATA)
    assert inspection.value == VALUE
    assert rows(inspection) == [
        ("id", "0102", "INT16", "value"),
        ("names", "03", "COMPACT_ARRAY", "size"),
        ("names[0]", "0261", "COMPACT_STRING", "value"),
        ("names[1]", "0262", "COMPACT_STRING", "value"),
        ("maybe", "01", "NULLABLE_STRUCT", "size"),
        ("maybe.a", "07", "INT8", "value"),
        ("maybe.tagged_fields", "00", "TAGGED_FIELDS", "size"),
        ("tagged_fields", "02", "TAGGED_FIELDS", "size"),
        ("tagged_fields", "0302", "TAG", "tag"),
        ("note", "0263", "COMPACT_STRING", "value"),
        ("tagged_fields", "0901", "TAG", "tag"),
        ("tagged_fields.9", "ff", "BYTES", "raw"),
    ]
    assert [span.value for span in inspection.spans] == [
        258, 2, "a", "b", True, 7, 0, 2, (3, 2), "c", (9, 1), b"\xff",
    ]  # fmt: skip
    assert build(GRAMMAR, inspection.value) == DATA


def test_a_span_knows_its_node() -> None:
    inspection = inspect(GRAMMAR, DATA)
    by_path = {span.path: span for span in inspection.spans if span.role == "value"}
    assert by_path["id"].node is GRAMMAR.fields[0].node
    assert by_path["note"].node is GRAMMAR.tags[3].node if GRAMMAR.tags else False


def test_a_header_is_read_in_front() -> None:
    data = bytes.fromhex("0003 000c 00000007 0002 6d65 00") + build(METADATA, {})
    inspection = inspect(METADATA, data, header=headers.REQUEST[2])
    assert inspection.header == {"api_key": 3, "api_version": 12, "correlation_id": 7, "client_id": "me"}
    assert inspection.value["topics"] == []
    assert [span.path for span in inspection.spans][:6] == [
        "api_key", "api_version", "correlation_id", "client_id", "tagged_fields", "topics",
    ]  # fmt: skip
    assert_tiled(inspection)


class TestOddButReadable:
    """A finding, and everything behind it is read as if nothing were."""

    grammar = Struct("a" / String, "b" / Boolean, "c" / Array(Int8), "d" / Int8).structure(At(0, False))
    clean = bytes.fromhex("0001 610100000001 0509")

    def check(self, data: str, kind: str, path: str, place: tuple[int, int], **changed: Any) -> None:
        inspection = inspect(self.grammar, bytes.fromhex(data))
        (finding,) = inspection.findings
        assert (finding.kind, finding.path, (finding.start, finding.length)) == (kind, path, place)
        assert inspection.value == {"a": "a", "b": True, "c": [5], "d": 9} | changed
        assert inspection.broken is None
        assert_tiled(inspection)

    def test_clean_it_has_none(self) -> None:
        assert inspect(self.grammar, self.clean).findings == []

    def test_a_null_string(self) -> None:
        self.check("ffff 01 00000001 05 09", "unexpected-null", "a", (0, 2), a=None)

    def test_a_null_array(self) -> None:
        self.check("0001 61 01 ffffffff 09", "unexpected-null", "c", (4, 4), c=None)

    def test_text_that_is_not_utf8(self) -> None:
        self.check("0001 ff 01 00000001 05 09", "invalid-utf8", "a", (2, 1), a="\udcff")

    def test_a_boolean_of_seven(self) -> None:
        self.check("0001 61 07 00000001 05 09", "invalid-value", "b", (3, 1))

    def test_text_of_another_script_is_no_finding(self) -> None:
        assert inspect(self.grammar, bytes.fromhex("0002 c3bc 01 00000000 09")).findings == []

    def test_several_findings_at_once(self) -> None:
        inspection = inspect(self.grammar, bytes.fromhex("ffff 07 ffffffff 09 ff"))
        assert kinds(inspection) == ["unexpected-null", "invalid-value", "unexpected-null", "trailing-bytes"]
        assert_tiled(inspection)


class TestNullInCompactForms:
    grammar = Struct("a" / String, "b" / Array(Int8)).structure(At(0, True))

    def test_zero_is_null(self) -> None:
        inspection = inspect(self.grammar, bytes.fromhex("00 00 00"))
        assert kinds(inspection) == ["unexpected-null", "unexpected-null"]
        assert inspection.value == {"a": None, "b": None}

    def test_a_varint_of_two_bytes_for_one(self) -> None:
        inspection = inspect(self.grammar, bytes.fromhex("8200 61 01 8000"))
        assert kinds(inspection) == ["non-minimal-varint"] * 2
        assert [finding.path for finding in inspection.findings] == ["a", TAGGED]
        assert inspection.value == {"a": "a", "b": []}


class TestBroken:
    """Where reading cannot go on, what came before stands, and the rest is claimed by nobody."""

    def test_what_came_before_is_kept(self) -> None:
        inspection = inspect(GRAMMAR, DATA[:6])
        assert inspection.value == {"id": 258, "names": ["a"]}
        assert isinstance(inspection.broken, Truncated)
        assert (inspection.broken.path, inspection.broken.start, inspection.broken.wanted) == ("names[1]", 6, 1)
        assert [str(finding) for finding in inspection.findings] == [f"truncated: {inspection.broken}"]
        assert rows(inspection)[-1] == ("names[1]", "02", "BYTES", "raw")
        assert_tiled(inspection)

    def test_a_structure_that_was_begun_is_kept_as_far_as_it_goes(self) -> None:
        grammar = grammars.api("Metadata").at("response", 0)
        data = build(grammar, {"brokers": [{"node_id": 1, "host": "h", "port": 9}, {"node_id": 2, "host": "h"}]})
        inspection = inspect(grammar, data[:21])
        assert inspection.value == {"brokers": [{"node_id": 1, "host": "h", "port": 9}, {"node_id": 2}]}
        assert_tiled(inspection)

    @pytest.mark.parametrize(
        ("data", "error", "value"),
        [
            ("0102 00", Truncated, {"id": 258, "names": None}),
            ("0102 01 05", BadValue, {"id": 258, "names": []}),
            ("0102 ffffffffff0f", BadValue, {"id": 258}),
            ("0102 01 ff 01 03 05 02 63", BadLength, {"id": 258, "names": [], "maybe": None, "note": "c"}),
        ],
    )
    def test_each_error_names_its_kind(self, data: str, error: type[Exception], value: Any) -> None:
        inspection = inspect(GRAMMAR, bytes.fromhex(data))
        assert type(inspection.broken) is error
        assert inspection.value == value
        assert_tiled(inspection)

    def test_bytes_behind_the_end_are_left_over(self) -> None:
        inspection = inspect(GRAMMAR, DATA + b"\x01\x02")
        (finding,) = [finding for finding in inspection.findings if finding.kind == "trailing-bytes"]
        assert (finding.start, finding.length) == (len(DATA), 2)
        assert finding.text == "2 trailing bytes after the last field"
        assert (inspection.value, inspection.broken, inspection.end) == (VALUE, None, len(DATA))
        assert rows(inspection)[-1] == ("", "0102", "BYTES", "raw")
        assert_tiled(inspection)

    def test_nothing_at_all_is_truncated(self) -> None:
        inspection = inspect(GRAMMAR, b"", header=headers.REQUEST[0])
        assert (kinds(inspection), inspection.value, inspection.spans) == (["truncated"], None, [])

    def test_a_message_that_ends_in_its_header_has_no_body(self) -> None:
        inspection = inspect(GRAMMAR, bytes.fromhex("0003 00"), header=headers.REQUEST[1])
        assert inspection.header == {"api_key": 3}
        assert inspection.value is None
        assert_tiled(inspection)


class TestPrefixed:
    grammar = WireStruct((Field("it", Prefixed(Int32, Struct("a" / Int8)).at(At(0, False))),), None)

    def test_its_length_has_a_span(self) -> None:
        inspection = inspect(self.grammar, bytes.fromhex("00000001 05"))
        assert rows(inspection) == [("it.length", "00000001", "INT32", "size"), ("it.a", "05", "INT8", "value")]

    def test_a_length_that_is_not_filled_is_bad(self) -> None:
        inspection = inspect(self.grammar, bytes.fromhex("00000002 05 00"))
        assert isinstance(inspection.broken, BadLength)
        assert inspection.value == {"it": {"a": 5}}
        assert_tiled(inspection)


def test_left_over_bytes_of_a_message_with_secrets_are_secret() -> None:
    """What a secret field did not claim may be a part of it."""
    for opaque in (True, False):
        inspection = inspect(GRAMMAR, DATA + b"\x01", opaque=opaque)
        assert [span.secret for span in inspection.spans if span.role == "raw"] == [opaque, opaque]
        texts = [span for span in inspection.spans if isinstance(span.node, Sized)]
        assert all(span.secret == opaque for span in texts), "a length that was wrong shifts what follows"


def test_huge_counts_are_not_believed() -> None:
    for grammar in (METADATA, grammars.api("Metadata").at("request", 0)):
        inspection = inspect(grammar, b"\xff\xff\xff\xff\x0f" if grammar is METADATA else b"\x7f\xff\xff\xff")
        assert kinds(inspection) == ["truncated"]
        assert inspection.value == {"topics": [{}]}, "the first one, of which nothing is there"

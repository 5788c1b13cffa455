"""`kdbg grammar` of what is no message: the frame, the types, the notation; and what Kafka's guides call the fields."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.nodes import Node, WireArray, WireStruct, build
from kdbg.protocol.wire.readings.layout import walk
from kdbg.protocol.wire.records import RecordsNode
from kdbg.views.render.grammar import frame_sheets, header_sheets, record_sheets
from kdbg.views.render.typetext import NOTATION, WireType, type_named, types

from ..cases import for_each
from ..facts import guide
from .calls import Outcome


@pytest.fixture
def grammar(cli: Callable[..., Outcome]) -> Callable[..., str]:

    def printed(*words: str) -> str:
        done = cli("grammar", *words)
        assert (done.status, done.err) == (0, "")
        return done.out

    return printed


FRAME = """\
RequestOrResponse => size message
  size => INT32
  message => REST

"""
VARINT = """\
VARINT
An integer of 32 bits in one to five bytes: first zigzag encoded (0, -1, 1, -2
become 0, 1, 2, 3), then seven bits per byte, the least significant first; the
highest bit is set if another byte follows.

  1    02
  -1   01
  300  d8 04
"""


class TestTheFrame:
    @pytest.mark.parametrize("name", ["RequestOrResponse", "frame"])
    def test_a_size_then_a_message(self, name: str, grammar: Callable[..., str]) -> None:
        assert grammar(name).startswith(FRAME)

    def test_what_is_in_a_message(self, grammar: Callable[..., str]) -> None:
        text = grammar("frame")
        assert "\nRequestMessage => api_key api_version correlation_id client_id body\n" in text
        assert "\nResponseMessage => correlation_id body\n" in text

    def test_one_direction(self, grammar: Callable[..., str]) -> None:
        assert "ResponseMessage" not in grammar("frame", "--request")

    def test_its_size_is_the_one_that_encode_writes(self) -> None:
        (size, message) = frame_sheets()[0].struct.fields
        data = build(size.node, 3) + build(message.node, b"abc")
        assert data == b"\x00\x00\x00\x03abc"


class TestTypes:
    @pytest.mark.parametrize("name", ["VARINT", "varint"])
    def test_one_of_them(self, name: str, grammar: Callable[..., str]) -> None:
        assert grammar(name) == VARINT

    @pytest.mark.parametrize("name", ["compact-nullable-string", "CompactNullableString"])
    def test_names_as_everywhere(self, name: str, grammar: Callable[..., str]) -> None:
        assert grammar(name).startswith("COMPACT_NULLABLE_STRING\n")
        assert grammar(name).endswith('  "orders"  07 6f 72 64 65 72 73\n  null      00\n')

    def test_all_of_them(self, grammar: Callable[..., str]) -> None:
        text = grammar("types")
        for found in types():
            assert f"{found.name}\n  " in text
        assert all(len(line) <= 80 for line in text.splitlines() if "-" not in line), "but for a UUID and its bytes"

    def test_json(self, grammar: Callable[..., str]) -> None:
        told = json.loads(grammar("boolean", "--format", "json"))
        assert told["type"] == "BOOLEAN"
        assert told["examples"] == [{"value": "true", "bytes": "01"}, {"value": "false", "bytes": "00"}]
        assert len(grammar("types", "--format", "json").splitlines()) == len(types())

    @for_each("found", types(), ids=lambda found: found.name)
    def test_an_example_is_read_back_as_it_was_written(self, found: WireType) -> None:
        assert found.values
        if isinstance(found.node, Node) and found.name != "REST":
            for value in found.values:
                assert found.node.parse(build(found.node, value)) == value

    @for_each("found", types(), ids=lambda found: found.name)
    def test_it_is_the_type_of_that_name(self, found: WireType) -> None:
        word = {"TAGGED_FIELDS": "STRUCT", "OPTIONAL_FIELDS": "STRUCT"}.get(found.name, found.name)
        assert found.node.bnf == word

    def test_every_type_of_every_grammar_is_there(self) -> None:
        used = {word for struct in structures() for _, field, _ in walk(struct) for word in words(field.node)}
        assert len(used) > 25
        assert {word for word in used if type_named(word) is None} == {"RECORD"}, "which is a length, said in the BNF"

    def test_every_primitive_type_of_the_guides_is_there(self) -> None:
        later = {line.rpartition(" => ")[2] for line in guide("0.10.1").splitlines()}
        named = {word for word in later if word.isupper()} | {"INT8", "INT16", "INT32", "INT64"}
        assert {word for word in named if type_named(word) is None} == set()
        assert {"BOOLEAN", "STRING", "BYTES", "NULLABLE_STRING"} <= named


def structures() -> Iterator[WireStruct]:
    for api in grammars.apis():
        for direction, version in product(DIRECTIONS, api.versions):
            yield api.at(direction, version)
    for payload in payloads():
        for version in payload.versions:
            yield payload.framed(version)
    for sheet in (*header_sheets(), *record_sheets(), *frame_sheets()):
        yield sheet.struct


def words(node: Node) -> Iterator[str]:
    yield node.bnf
    if isinstance(node, WireArray):
        yield from words(node.item)
    if isinstance(node, RecordsNode):
        yield "RECORDS"


class TestTheNotation:
    @pytest.mark.parametrize("name", ["notation", "optional", "BNF"])
    def test_every_sign(self, name: str, grammar: Callable[..., str]) -> None:
        text = grammar(name)
        for sign, _ in NOTATION:
            assert f"\n{sign} " in text
        assert all(len(line) <= 80 for line in text.splitlines())

    def test_the_guides_only_optional_fields_are_those_named(self) -> None:
        barred = [line for line in guide("0.8").splitlines() if line.count("|") == 2 and not line.startswith(" ")]
        assert barred == ["ConsumerMetadataResponse => ErrorCode |CoordinatorId CoordinatorHost CoordinatorPort|"]
        assert any(barred[0] in about for _, about in NOTATION)

    def test_json(self, grammar: Callable[..., str]) -> None:
        assert [row["sign"] for row in json.loads(grammar("notation", "-f", "json"))["notation"]] == [
            sign for sign, _ in NOTATION
        ]


class TestGuides:
    def test_what_they_call_a_field(self, grammar: Callable[..., str]) -> None:
        text = grammar("produce", "--version", "0", "--request").replace("\n#", "")
        assert "timeout_ms" in text
        assert "in the guides: Timeout (0.8), timeout (0.10.1)" in " ".join(text.split())
        assert "in the guides" not in grammar("produce", "--version", "3", "--request")
        assert "base_offset" in grammar("produce", "--version", "0", "--response")
        assert "Offset (0.8)" in grammar("produce", "--version", "0", "--response")

    def test_json(self, grammar: Callable[..., str]) -> None:
        (sheet,) = map(json.loads, grammar("offset-fetch", "-v", "1", "--request", "-f", "json").splitlines())
        names = {field["path"]: field.get("guide_names") for field in sheet["fields"]}
        assert names["topics[].partition_indexes"] == {"0.10.1": "partitions"}
        assert names["topics"] is None

    def test_a_form_that_only_a_guide_has_is_printed_beside_kafkas_own(self, grammar: Callable[..., str]) -> None:
        text = grammar("offset-commit", "-v", "0", "--request")
        own, theirs = text.split("\n\nOffsetCommit Request (Version: 0) of the guide")
        assert "commit_timestamp" not in own
        assert "      commit_timestamp => INT64\n" in theirs
        assert "TimeStamp (0.8)" in theirs
        assert "(0.10.1)" not in theirs
        assert "of the guide" not in grammar("offset-commit", "-v", "1")

    def test_versions_are_compared_in_kafkas_own_form(self, grammar: Callable[..., str]) -> None:
        assert grammar("offset-commit", "--diff", "0", "1").count("OffsetCommit Request (Version: 0 → 1)") == 1


def test_the_example_of_a_uuid_is_one() -> None:
    found = type_named("uuid")
    assert found is not None
    assert all(isinstance(value, uuid.UUID) for value in found.values)

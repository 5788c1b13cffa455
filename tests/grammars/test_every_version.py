"""Every version of every message, both directions: what the grammar says is what all of its readings do.

The values come from values.py, which knows nothing of an API but its nodes. `Metadata-response-v12` is one message.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import kdbg
from kdbg import grammars
from kdbg.errors import Leftover, Truncated
from kdbg.session.message import header_grammar, read
from kdbg.wire.api import DIRECTIONS, Api, Direction
from kdbg.wire.compiled import UNREADABLE, reader
from kdbg.wire.nodes import TAGGED, WireStruct, build
from kdbg.wire.spans import Inspection, inspect

from .values import UNKNOWN_TAGS, Maker, essentials, full, stretchable, variants, with_unknown_tags

PLAIN = frozenset({"dict", "list", "str", "int", "float", "bool", "bytes", "NoneType", "UUID"})
EDGES = (0, 1, 126, 127, 128, 16_383)
"""Lengths around which a compact length (N + 1, seven bits a byte) grows by a byte."""


class Subject(NamedTuple):
    """One message type in one version."""

    api: Api
    direction: Direction
    version: int

    def __str__(self) -> str:
        return f"{self.api.name}-{self.direction}-v{self.version}"

    @property
    def grammar(self) -> WireStruct:
        return self.api.at(self.direction, self.version)

    def whole(self, value: Any) -> bytes:
        """The message with its header, as it stands behind the four bytes of its size."""
        header = {"correlation_id": 7} | ({"client_id": "me"} if "client_id" in self.header_grammar.keys else {})
        return kdbg.encode(value, header=header, **self.question)

    def decode(self, data: bytes, *, header: bool = True) -> kdbg.Message:
        return kdbg.decode(data, header=header, **self.question)

    @property
    def question(self) -> dict[str, Any]:
        return {"api": self.api.key, "version": self.version, "direction": self.direction}

    @property
    def header_grammar(self) -> WireStruct:
        return header_grammar(self.api, self.version, self.direction)


SUBJECTS = [
    Subject(api, direction, version) for api in grammars.apis() for direction in DIRECTIONS for version in api.versions
]
FLEXIBLE = [subject for subject in SUBJECTS if subject.version >= subject.api.flexible]
every_version = pytest.mark.parametrize("subject", SUBJECTS, ids=str)
every_flexible_version = pytest.mark.parametrize("subject", FLEXIBLE, ids=str)


def test_there_are_as_many_as_the_registry_has() -> None:
    """722 of the layout table, and 14 that Kafka 4.4 brought."""
    assert len({str(subject) for subject in SUBJECTS}) == 722 + 14


@every_version
def test_what_is_built_is_parsed_back(subject: Subject) -> None:
    for value in variants(subject.grammar):
        data = build(subject.grammar, value)
        parsed = subject.grammar.parse(data)
        assert essentials(subject.grammar, parsed) == value
        assert build(subject.grammar, parsed) == data
        assert types(parsed) <= PLAIN


@every_version
def test_the_compiled_reader_is_constructs_equal(subject: Subject) -> None:
    for value in variants(subject.grammar):
        data = build(subject.grammar, value)
        read, end = reader(subject.grammar)(b"\xee" * 3 + data, 3)
        assert repr(read) == repr(subject.grammar.parse(data)), "order and types included"
        assert end == len(data) + 3


@every_version
def test_spans_tile_the_bytes_and_say_what_the_value_says(subject: Subject) -> None:
    for value in variants(subject.grammar):
        data = build(subject.grammar, value)
        inspection = inspect(subject.grammar, data)
        assert repr(inspection.value) == repr(subject.grammar.parse(data))
        assert (inspection.findings, inspection.broken, inspection.end) == ([], None, len(data))
        assert_tiled(inspection)
        assert_spans_are_their_bytes(inspection)


@every_version
def test_the_whole_message_is_decoded_and_encoded(subject: Subject) -> None:
    for value in variants(subject.grammar):
        data = subject.whole(value)
        message = subject.decode(data)
        assert essentials(subject.grammar, message.body) == value
        assert message.findings == ()
        assert kdbg.encode(message.body, header=message.header, **subject.question) == data


@every_version
def test_every_proper_prefix_is_truncated(subject: Subject) -> None:
    data = subject.whole(full(subject.grammar))
    body = inspect(subject.header_grammar, data).end
    for end in cuts(len(data)):
        inspection = inspect(subject.grammar, data[:end], header=subject.header_grammar)
        assert isinstance(inspection.broken, Truncated), end
        assert [finding.kind for finding in inspection.findings] == ["truncated"], end
        assert_tiled(inspection)
    for end in {0, 3, body, (body + len(data)) // 2, len(data) - 1} - {len(data)}:
        assert_refused_as_truncated(subject, data[:end])


@every_version
def test_one_byte_more_is_left_over(subject: Subject) -> None:
    for value in (full(subject.grammar), next(variants(subject.grammar))):
        data = subject.whole(value)
        for byte in (b"\x00", b"\xff"):
            with pytest.raises(Leftover) as caught:
                subject.decode(data + byte)
            assert (caught.value.start, caught.value.length) == (len(data), 1)


@every_flexible_version
def test_unknown_tagged_fields_are_kept_and_named(subject: Subject) -> None:
    value = with_unknown_tags(subject.grammar, full(subject.grammar))
    data = subject.whole(value)
    with pytest.raises(UNREADABLE):
        reader(subject.grammar)(build(subject.grammar, value), 0)
    message = read(subject.api, subject.version, subject.direction, data)
    assert essentials(subject.grammar, strip_tags(message.body)) == full(subject.grammar)
    assert {finding.kind for finding in message.findings} == {"unknown-tag"}
    assert len(message.findings) == 2 * count_structures(value)
    assert message.body[TAGGED] == UNKNOWN_TAGS
    assert kdbg.encode(message.body, header=message.header, **subject.question) == data
    assert subject.decode(data).body == message.body, "an unknown tag is no error"


REPRESENTATIVE = [
    subject
    for subject in SUBJECTS
    if str(subject)
    in {
        "Metadata-request-v0", "Metadata-request-v12", "Metadata-response-v8", "Metadata-response-v13",
        "Produce-request-v2", "Produce-request-v9", "Fetch-response-v16", "JoinGroup-request-v5",
        "JoinGroup-request-v9", "SaslAuthenticate-response-v1", "SaslAuthenticate-response-v2",
        "ApiVersions-response-v4", "StreamsGroupHeartbeat-request-v0", "OffsetCommit-request-v7",
        "OffsetFetch-response-v8", "ConsumerGroupHeartbeat-request-v1", "IncrementalAlterConfigs-request-v1",
    }
]  # fmt: skip


@pytest.mark.parametrize("length", EDGES)
@pytest.mark.parametrize("subject", REPRESENTATIVE, ids=str)
def test_arrays_strings_and_bytes_of_every_edge_length(subject: Subject, length: int) -> None:
    grammar = subject.grammar
    for node in stretchable(grammar):
        value = Maker(0, stretched=(node, length)).value(grammar)
        data = build(grammar, value)
        compiled = reader(grammar)(data, 0)
        assert essentials(grammar, compiled[0]) == value
        assert compiled == (grammar.parse(data), len(data))
        assert inspect(grammar, data).value == compiled[0]


def cuts(length: int) -> list[int]:
    """Where to cut a message: everywhere if it is short, else at its edges and sixty places between."""
    if length < 200:
        return list(range(length))
    return sorted({*range(12), *range(12, length, length // 60), *range(length - 12, length)})


def assert_refused_as_truncated(subject: Subject, data: bytes) -> None:
    """`Truncated`, unless the bytes are a whole message in another known form, which then says so."""
    forms = [grammar for _, grammar in subject.api.dialects_of(subject.direction, subject.version)]
    if any(not inspect(form, data, header=subject.header_grammar).findings for form in forms):
        assert [finding.kind for finding in subject.decode(data).findings] == ["dialect"]
        return
    with pytest.raises(Truncated) as caught:
        subject.decode(data)
    assert caught.value.start <= len(data)


def assert_tiled(inspection: Inspection) -> None:
    """Every byte of every buffer belongs to exactly one span, and the spans stand in the order of their bytes."""
    ends = [0] * len(inspection.buffers)
    for span in inspection.spans:
        assert span.start == ends[span.buffer], span
        assert span.end >= span.start, span
        ends[span.buffer] = span.end
    assert ends == [len(buffer.data) for buffer in inspection.buffers]


def assert_spans_are_their_bytes(inspection: Inspection) -> None:
    """A field's span rebuilt from its value gives the bytes under it."""
    for span in inspection.spans:
        if span.role == "value":
            assert span.node is not None
            assert build(span.node, span.value) == inspection.buffers[span.buffer].data[span.start : span.end], span


def types(value: Any) -> set[str]:
    """The names of all types in a value."""
    found = {type(value).__name__}
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            found |= types(item)
    return found


def strip_tags(value: Any) -> Any:
    """The value without its unknown tagged fields."""
    if isinstance(value, dict):
        return {name: strip_tags(item) for name, item in value.items() if name != TAGGED}
    return [strip_tags(item) for item in value] if isinstance(value, list) else value


def count_structures(value: Any) -> int:
    """How many structures were given unknown tagged fields."""
    if isinstance(value, dict):
        return (TAGGED in value) + sum(count_structures(item) for name, item in value.items() if name != TAGGED)
    return sum(count_structures(item) for item in value) if isinstance(value, list) else 0

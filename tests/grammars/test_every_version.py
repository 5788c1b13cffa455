"""Every version of every message, both directions, and of every payload: all readings of its grammar agree.

The values come from values.py, which knows nothing of an API but its nodes; `Metadata-response-v12` is one message,
`OffsetCommitValue-v4` one payload.
"""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.errors import Truncated
from kdbg.protocol import grammars
from kdbg.protocol.findings.quirks import spare
from kdbg.protocol.wire.nodes import TAGGED, build
from kdbg.protocol.wire.readings.annotate import Inspection, inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader

from ..cases import by_day, for_each
from .subjects import MESSAGES, PAYLOADS, SUBJECTS, Spoken, Subject, full, name_of, variants
from .values import UNKNOWN_TAGS, Maker, essentials, stretchable, with_unknown_tags

PLAIN = frozenset({"dict", "list", "str", "int", "float", "bool", "bytes", "NoneType", "UUID"})
EDGES = (0, 1, 126, 127, 128, 16_383)
"""Lengths around which a compact length (N + 1, seven bits a byte) grows by a byte."""

FLEXIBLE = [subject for subject in SUBJECTS if subject.grammar.tags is not None]
every_version = for_each("subject", SUBJECTS, by=name_of)
every_flexible_version = for_each("subject", FLEXIBLE, by=name_of)


def test_there_are_as_many_as_the_registry_has() -> None:
    """test_layouts.py holds the registry to Kafka's table, and payloads/test_layouts.py counts the payloads."""
    assert len({str(subject) for subject in MESSAGES}) == sum(2 * len(api.versions) for api in grammars.apis())
    assert len({str(subject) for subject in SUBJECTS}) == len(MESSAGES) + len(PAYLOADS)


@every_version
def test_what_is_built_is_parsed_back(subject: Subject) -> None:
    for value in variants(subject):
        data = build(subject.grammar, value)
        parsed = subject.grammar.parse(data)
        assert essentials(subject.grammar, parsed) == value
        assert build(subject.grammar, parsed) == data
        assert types(parsed) <= PLAIN


@every_version
def test_the_compiled_reader_is_constructs_equal(subject: Subject) -> None:
    for value in variants(subject):
        data = build(subject.grammar, value)
        read, end = reader(subject.grammar)(b"\xee" * 3 + data, 3)
        assert repr(read) == repr(subject.grammar.parse(data)), "order and types included"
        assert end == len(data) + 3


@every_version
def test_spans_tile_the_bytes_and_say_what_the_value_says(subject: Subject) -> None:
    for value in variants(subject):
        data = build(subject.grammar, value)
        inspection = inspect(subject.grammar, data)
        assert repr(inspection.value) == repr(subject.grammar.parse(data))
        assert (inspection.findings, inspection.broken, inspection.end) == ([], None, len(data))
        assert_tiled(inspection)
        assert_spans_are_their_bytes(inspection)


@every_version
def test_the_whole_is_decoded_and_encoded(subject: Subject) -> None:
    for value in variants(subject):
        data = subject.whole(value)
        decoded = subject.decode(data)
        assert essentials(subject.grammar, decoded.body) == value
        assert not decoded.findings
        assert decoded.encoded == data


@every_version
def test_every_proper_prefix_is_truncated(subject: Subject) -> None:
    data = subject.whole(full(subject))
    body = inspect(subject.header, data).end if subject.header else 0
    for end in cuts(len(data)):
        inspection = inspect(subject.grammar, data[:end], header=subject.header)
        assert isinstance(inspection.broken, Truncated), end
        assert [finding.kind for finding in inspection.findings] == ["truncated"], end
        assert_tiled(inspection)
    for end in {0, 3, body, (body + len(data)) // 2, len(data) - 1} - {len(data)}:
        assert_refused_as_truncated(subject, data[:end])


@every_version
def test_one_byte_more_is_left_over(subject: Subject) -> None:
    for value in (full(subject), next(variants(subject))):
        data = subject.whole(value)
        for byte in (b"\x00", b"\xff"):
            told = (subject.direction, subject.api.key, subject.version) if isinstance(subject, Spoken) else ("", -1, 0)
            quirk = spare(*told, value, byte)
            assert subject.problem(data + byte) == ("known-quirk" if quirk else "trailing-bytes", len(data))


@every_flexible_version
def test_unknown_tagged_fields_are_kept_and_named(subject: Subject) -> None:
    value = with_unknown_tags(subject.grammar, full(subject))
    data = subject.whole(value)
    with pytest.raises(UNREADABLE):
        reader(subject.grammar)(build(subject.grammar, value), 0)
    decoded = subject.decode(data)
    assert essentials(subject.grammar, strip_tags(decoded.body)) == full(subject)
    assert {finding.kind for finding in decoded.findings} == {"unknown-tag"}
    assert len(decoded.findings) == 2 * count_structures(value)
    assert decoded.body[TAGGED] == UNKNOWN_TAGS
    assert decoded.encoded == data


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
        "ConsumerProtocolSubscription-v3", "GroupMetadataValue-v3", "GroupMetadataValue-v4", "PartitionChangeRecord-v2",
    }
]  # fmt: skip


@for_each("length", by_day(EDGES, 2))
@for_each("subject", REPRESENTATIVE, by=name_of)
def test_arrays_strings_and_bytes_of_every_edge_length(subject: Subject, length: int) -> None:
    grammar = subject.grammar
    for node in by_day([*stretchable(grammar)], 3):
        value = subject.value(Maker(0, stretched=(node, length)))
        data = build(grammar, value)
        compiled = reader(grammar)(data, 0)
        assert essentials(grammar, compiled[0]) == value
        assert compiled == (grammar.parse(data), len(data))
        assert inspect(grammar, data).value == compiled[0]


def cuts(length: int) -> list[int]:
    """Where to cut a message: everywhere if it is short, else at its edges and sixty places between.

    By day at each third of these places: where they are differs from version to version.
    """
    if length < 200:
        return [*by_day(range(length), 3)]
    return [*by_day(sorted({*range(12), *range(12, length, length // 60), *range(length - 12, length)}), 3)]


def assert_refused_as_truncated(subject: Subject, data: bytes) -> None:
    """As such, unless the bytes are a whole message in another known form, which then says so."""
    kind, start = subject.problem(data) or ("", None)
    if isinstance(subject, Spoken) and kind == "known-variant":
        forms = [form for _, form in subject.api.dialects_of(subject.direction, subject.version)]
        assert any(not inspect(form, data, header=subject.header).findings for form in forms)
        return
    assert kind == "truncated"
    assert start is not None
    assert start <= len(data)


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

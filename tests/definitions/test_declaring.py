"""A definition becomes a declaration: what each of its keys does to the bytes, and what its fields mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdbg.errors import UnknownVersion
from kdbg.protocol.definitions import Declared, declare, declared, read
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.compiled import reader
from kdbg.protocol.wire.readings.layout import bnf, layout

from ..cases import for_each

MADE = Path(__file__).parent / "made"


def made(name: str) -> Declared:
    return declared((MADE / name).read_text(), name)


def foo(*fields: dict[str, Any], **top: Any) -> Declared:
    """A definition with these fields; of version 0+ where they do not say."""
    head = {"type": "data", "name": "Foo", "validVersions": "0-3", "flexibleVersions": "2+"} | top
    return declared(json.dumps(head | {"fields": [{"versions": "0+"} | field for field in fields]}), "Foo.json")


def test_the_text_of_a_message_is_its_declaration_with_its_versions() -> None:
    value = made("LampValue.json")
    assert (value.name, value.versions, value.flexible, value.optional) == ("LampValue", range(2), 1, range(0))
    assert bnf("LampValue", value.at(1)) == "\n".join([
        "LampValue => name _tagged_fields",
        "  name => COMPACT_STRING",
        "  watts<tag: 0> => INT32",
    ])  # fmt: skip
    with pytest.raises(UnknownVersion, match="LampValue has no version 2; supported: 0 to 1"):
        value.at(2)


class TestBytes:
    """What stands on the wire, by hand."""

    LAMP = bytes(15) + b"\x07"

    def test_the_first_version(self) -> None:
        body = {"topic_name": "t", "lamps": [{"lamp_id": "00000000-0000-0000-0000-000000000007", "flags": 3}]}
        data = build(made("LampRequest.json").at(0), body)
        half = bytes.fromhex("3fe0000000000000")  # the default brightness, 0.5
        assert data == b"\x00\x01t" + b"\x00\x00\x00\x01" + self.LAMP + half + b"\x03" + b"\x00\x00\x75\x30"

    def test_a_flexible_version(self) -> None:
        body = {"group_id": None, "lamps": [], "rooms": [{"doors": [1]}], "port": 80, "label": "l", "wiring": None}
        data = build(made("LampRequest.json").at(3), body)
        assert data == b"".join([
            b"\x01",  # topic_name, compact and empty
            b"\x00",  # group_id, null since version 2
            b"\x01",  # no lamps
            b"\x02\xff\xff" + b"\x02" + (1).to_bytes(8, "big") + b"\x01" + b"\x00",  # one room: floor -1, dark, no tags
            b"\xff",  # spare: null
            b"\x00\x00\x75\x30",
            b"\x00\x01l",  # label, never compact
            b"\x01",  # switch_password
            b"\x00",  # wiring: null
            b"\x00",  # records: null
            b"\x01" + b"\x00\x02\x00\x50",  # one tagged field: tag 0, two bytes, port 80
        ])  # fmt: skip

    @pytest.mark.parametrize("version", range(4))
    def test_what_is_built_is_read_again(self, version: int) -> None:
        grammar = made("LampRequest.json").at(version)
        data = build(grammar, {})
        assert build(grammar, grammar.parse(data)) == data
        assert reader(grammar)(data, 0) == (grammar.parse(data), len(data))


def rows(declared: Declared, version: int) -> list[tuple[str, str]]:
    return [(row.path, row.type) for row in layout(declared.at(version)) if row.path != "~"]


def test_a_field_stands_in_its_versions_alone() -> None:
    found = foo({"name": "Bar", "type": "int8", "versions": "1-2"})
    assert [len(rows(found, version)) for version in range(4)] == [0, 1, 1, 0]


def test_a_field_may_be_plain_first_and_tagged_later() -> None:
    found = foo({"name": "Bar", "type": "int8", "versions": "1+", "taggedVersions": "2+", "tag": 0})
    assert [rows(found, version) for version in range(4)] == [
        [], [("bar", "int8")], [("~0:bar", "int8")], [("~0:bar", "int8")],
    ]  # fmt: skip


def test_null_is_allowed_in_its_versions_alone() -> None:
    found = foo({"name": "Bar", "type": "string", "nullableVersions": "1-2"})
    types = [rows(found, version)[0][1] for version in range(4)]
    assert types == ["string", "nullable_string", "compact_nullable_string", "compact_string"]


def test_flexible_versions_of_its_own_keep_a_field_classic() -> None:
    found = foo({"name": "Bar", "type": "bytes", "flexibleVersions": "3+"})
    assert [rows(found, version)[0][1] for version in range(4)] == ["bytes", "bytes", "bytes", "compact_bytes"]


@for_each(
    ("type", "classic", "compact"),
    [
        ("bool", "boolean", "boolean"), ("boolean", "boolean", "boolean"), ("int8", "int8", "int8"),
        ("int16", "int16", "int16"), ("uint16", "uint16", "uint16"), ("int32", "int32", "int32"),
        ("uint32", "uint32", "uint32"), ("int64", "int64", "int64"), ("float64", "float64", "float64"),
        ("uuid", "uuid", "uuid"), ("string", "string", "compact_string"), ("bytes", "bytes", "compact_bytes"),
        ("records", "records", "compact_records"), ("[]int8", "array", "compact_array"),
    ],
)  # fmt: skip
def test_every_type_has_its_form(type: str, classic: str, compact: str) -> None:
    found = foo({"name": "Bar", "type": type})
    assert [rows(found, version)[0][1] for version in (1, 2)] == [classic, compact]


def test_optional_fields_stand_in_front_as_the_draft_has_them() -> None:
    found = declared("""{ "type": "data", "name": "Foo", "validVersions": "0-1", "versionsWithOptional": "1+",
        "optionalFields": [ { "name": "Bar", "type": "int8", "tag": "0x0102" } ],
        "fields": [ { "name": "Baz", "type": "int8", "versions": "0+" } ] }""", "Foo.json")  # fmt: skip
    assert build(found.at(0), {"baz": 5}) == b"\x05"
    assert build(found.at(1), {"baz": 5}) == b"\x00\x05"
    with_bar = build(found.at(1), {"bar": 7, "baz": 5})
    assert with_bar[1:] == b"\x01\x02\x07\x00\x05"  # behind the length: the tag, the value, the end, then baz
    assert found.at(1).parse(with_bar) == {"bar": 7, "baz": 5}


@for_each(
    ("name", "type", "more", "kind"),
    [
        ("ErrorCode", "int16", {}, "error"), ("PreferredErrorCode", "int16", {}, "error"), ("Code", "int16", {}, ""),
        ("ThrottleTimeMs", "int32", {}, "duration"), ("LifetimeMs", "int64", {}, "duration"),
        ("IssueTimestampMs", "int64", {}, "timestamp"), ("MaxTimestamp", "int64", {}, "timestamp"),
        ("LogAppendTimeMs", "int64", {}, "timestamp"), ("Offset", "int64", {}, ""),
        ("PartitionIndex", "int32", {}, "partition"), ("TopicId", "uuid", {}, "topic_id"), ("Id", "uuid", {}, ""),
        ("Name", "string", {"entityType": "topicName"}, "topic"), ("Name", "string", {}, ""),
        ("Group", "string", {"entityType": "groupId"}, "group"), ("ApiKey", "int16", {}, "api"),
        ("Password", "string", {}, "secret"), ("SaltedPassword", "bytes", {}, "secret"),
        ("Hmac", "bytes", {}, "secret"),
        ("AuthBytes", "bytes", {}, "secret"), ("DelegationToken", "string", {}, "secret"),
        ("TokenId", "string", {}, ""),
    ],
)  # fmt: skip
def test_names_and_entities_tell_what_a_value_means(name: str, type: str, more: dict[str, str], kind: str) -> None:
    assert foo({"name": name, "type": type} | more).at(0).fields[0].node.kind == kind


def test_about_is_told_of_the_field() -> None:
    found = foo({"name": "Bar", "type": "int8", "about": "Some \n  words."})
    assert found.at(0).fields[0].about == "Some words."


def test_declaring_twice_gives_the_same() -> None:
    definition = read((MADE / "LampRequest.json").read_text(), "LampRequest.json")
    one, other = declare(definition), declare(definition)
    assert all(list(layout(one.at(version))) == list(layout(other.at(version))) for version in one.versions)

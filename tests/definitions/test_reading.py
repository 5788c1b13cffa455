"""A definition's text becomes the model, or an error with file, line and field: every rule, one by one."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from kdbg.errors import DefinitionError
from kdbg.protocol.definitions.model import ALL_VERSIONS, NO_VERSIONS, MessageDefinition, Versions
from kdbg.protocol.definitions.parse import DEEPEST, MOST_FIELDS, read
from kdbg.protocol.wire.nodes import NO_DEFAULT

from .. import facts
from ..cases import for_each

MADE = Path(__file__).parent / "made"


def message(fields: str = "", top: str = "", valid: str = "0-4") -> str:
    """The text of a definition; the fields stand from line 4 on."""
    return f"""{{ "apiKey": 901, "type": "request", "name": "FooRequest", "validVersions": "{valid}",
  "flexibleVersions": "2+",
  {top} "fields": [
{fields}
  ]
}}"""


def field(**keys: Any) -> str:
    """One field; `type` and `versions` are int32 and 0+ if not said, and left out where they are None."""
    given = {"name": "Bar", "type": "int32", "versions": "0+"} | keys
    return json.dumps({key: value for key, value in given.items() if value is not None})


def default_of(type: str, default: Any, **keys: Any) -> Any:
    return read(message(field(type=type, default=default, **keys)), "Foo.json").body.fields[0].default


class TestModel:
    """What a definition says, key by key."""

    definition: MessageDefinition

    @pytest.fixture(autouse=True)
    def made(self) -> None:
        self.definition = read((MADE / "LampRequest.json").read_text(), "LampRequest.json")

    def test_the_message(self) -> None:
        lamp = self.definition
        assert (lamp.file, lamp.name, lamp.api_name, lamp.kind) == (
            "LampRequest.json",
            "LampRequest",
            "Lamp",
            "request",
        )
        assert (lamp.api_key, lamp.valid, lamp.flexible) == (901, Versions(0, 3), Versions(2, 32767))
        assert (lamp.deprecated, lamp.latest_unstable) == (Versions(0, 0), False)
        assert lamp.listeners == ("broker", "controller")
        assert lamp.with_optional == NO_VERSIONS

    def test_the_fields_in_their_order(self) -> None:
        assert [f"{field.name} {field.type} {field.versions}" for field in self.definition.body.fields] == [
            "TopicName string 0+", "GroupId string 1+", "Lamps []Lamp 0+", "Rooms []Room 1+", "Spare Lamp 2+",
            "TimeoutMs int32 0+", "Port uint16 1+", "Label string 1+", "SwitchPassword string 1+", "Wiring bytes 1+",
            "Records records 3+",
        ]  # fmt: skip

    def test_what_is_said_of_a_field(self) -> None:
        fields = {field.name: field for field in self.definition.body.fields}
        assert fields["TopicName"].entity == "topicName"
        assert fields["TopicName"].about == "The topic that hears of it."
        assert fields["GroupId"].nullable == Versions(2, 32767)
        assert (fields["Port"].tag, fields["Port"].tagged) == (0, Versions(2, 32767))
        assert fields["Label"].flexible == NO_VERSIONS
        assert fields["Wiring"].zero_copy
        assert fields["Rooms"].default is None
        assert fields["TopicName"].line == 24

    def test_a_common_structure_is_read_once(self) -> None:
        fields = {field.name: field for field in self.definition.body.fields}
        lamp = fields["Lamps"].struct
        assert lamp is fields["Spare"].struct
        assert lamp is not None
        assert [field.name for field in lamp.fields] == ["LampId", "Brightness", "Colour", "Flags"]
        assert lamp.fields[0].map_key
        assert lamp.fields[2].ignorable
        assert lamp.fields[0].about == 'Which lamp: "//" is no comment.'

    def test_the_drafts_optional_fields(self) -> None:
        ((name, text),) = facts.definitions("kip-482-draft")
        foo = read(text, name)
        agent, foos = foo.body.optional_fields[0], foo.body.fields[0]
        assert foo.with_optional == Versions(9, 32767)
        assert (agent.name, agent.tag, agent.optional) == ("UserAgent", 1, True)
        assert agent.nullable == Versions(9, 9)
        assert foos.struct is not None
        bar = foos.struct.optional_fields[0]
        assert (bar.name, bar.default, bar.nullable) == ("Bar", "hello world", NO_VERSIONS)


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", (3, 3)), ("3+", (3, 32767)), ("0-5", (0, 5)), ("none", (0, -1)), ("0-32767", (0, 32767))],
)
def test_ranges_of_versions(text: str, versions: tuple[int, int]) -> None:
    found = Versions.parse(text)
    assert found == versions
    assert str(found) == text.replace("0-32767", "0+")


@for_each("text", ["", "+", "-1", "5-3", "3-", "a", "3 +", "1,2", "99999", "0-40000", "١", 3, None])
def test_what_is_no_range(text: object) -> None:
    assert Versions.parse(text) is None


def test_ranges_are_cut_and_joined() -> None:
    assert Versions(0, 5) & Versions(3, 9) == Versions(3, 5)
    assert not Versions(0, 2) & Versions(3, 9)
    assert list(Versions(0, 9).without(Versions(3, 5))) == [Versions(0, 2), Versions(6, 9)]
    assert list(Versions(0, 9).without(NO_VERSIONS)) == [Versions(0, 9)]
    assert list(Versions(3, 5).without(ALL_VERSIONS)) == []
    assert Versions(3, 5).within(Versions(0, 5))
    assert not Versions(3, 6).within(Versions(0, 5))


@for_each(
    ("type", "default", "value"),
    [
        ("int32", "-1", -1), ("int32", -1, -1), ("int32", "0x7fffffff", 2**31 - 1), ("int8", "-128", -128),
        ("int64", "9223372036854775807", 2**63 - 1), ("uint16", 65535, 65535), ("uint32", "0xFFFFFFFF", 2**32 - 1),
        ("bool", "true", True), ("bool", True, True), ("float64", "1.5", 1.5), ("float64", 2, 2.0),
        ("string", "hello", "hello"), ("string", "nil", "nil"),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", uuid.UUID(int=1)),
        ("uuid", "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
    ],
)  # fmt: skip
def test_a_default_is_a_value_of_the_type(type: str, default: Any, value: Any) -> None:
    found = default_of(type, default)
    assert found == value
    assert isinstance(found, value.__class__)


@pytest.mark.parametrize(("type", "default"), [("int32", "0"), ("bool", "false"), ("string", ""), ("int16", 0)])
def test_the_types_own_default_is_none(type: str, default: Any) -> None:
    assert default_of(type, default) is NO_DEFAULT


@pytest.mark.parametrize("type", ["string", "bytes", "records", "[]int32", "[]string"])
def test_null_in_quotes_is_null(type: str) -> None:
    assert default_of(type, "null", nullableVersions="0+") is None


@pytest.mark.parametrize("type", ["string", "[]int32", "int32"])
def test_null_of_json_says_nothing(type: str) -> None:
    """So Kafka's generator takes it: ConsumerGroupMemberMetadataValue's classic metadata is no null by default."""
    assert default_of(type, None) is NO_DEFAULT


def test_flags_may_stand_in_quotes_and_tags_may_be_hex() -> None:
    text = message(field(ignorable="true", tag="0x0", taggedVersions="2+"))
    found = read(text, "Foo.json").body.fields[0]
    assert (found.ignorable, found.tag) == (True, 0)


def test_versions_are_those_of_the_tag_where_nothing_else_says() -> None:
    found = read(message(field(versions=None, tag=0, taggedVersions="3+")), "Foo.json").body.fields[0]
    assert found.versions == Versions(3, 32767)


def test_a_field_may_be_of_versions_that_were_dropped() -> None:
    """One of Kafka's own is: ShareFetchRequest's PartitionMaxBytes."""
    assert read(message(field(versions="0"), valid="1-2"), "Foo.json").body.fields[0].versions == Versions(0, 0)


def test_a_message_that_was_removed_has_no_fields() -> None:
    text = '{ "apiKey": 4, "type": "request", "name": "LeaderAndIsrRequest", "validVersions": "none" }'
    assert not read(text, "LeaderAndIsr.json").valid


INNER = field(name="Baz", type="int8")
WRONG_FIELDS: list[tuple[str, str, str]] = [
    # (the field on line 4, path, problem)
    (field(name=None), "fields[0]", '"name" is missing'),
    (field(name=7), "fields[0]", '"name" is a string, not 7'),
    (field(name="b-r"), "fields[0]", 'invalid name "b-r"; use letters and digits'),
    (field(name="TaggedFields"), "TaggedFields",
     '"TaggedFields" is reserved: kdbg stores unknown tagged fields under this name'),
    (field(type=None), "Bar", '"type" is missing'),
    (field(type="int31"), "Bar", 'unknown type "int31"; did you mean "int32"?'),
    (field(type="[]int31"), "Bar", 'unknown type "int31"; did you mean "int32"?'),
    (field(type="[][]int32"), "Bar", "an array of arrays is not supported; put the inner array into a structure"),
    (field(type="money"), "Bar", 'unknown type "money"'),
    (field(type="Foo"), "Bar", 'no structure "Foo": neither "fields" here nor in commonStructs'),
    (field(fields=[]), "Bar", '"fields" requires a structure; the type is "int32"'),
    (field(versions=None), "Bar", '"versions" is missing'),
    (field(versions="3-1"), "Bar",
     '"versions" is a range of versions from 0 to 32767: "3", "3+", "0-5" or "none", not "3-1"'),
    (field(versions=3), "Bar", '"versions" is a range of versions from 0 to 32767: "3", "3+", "0-5" or "none", not 3'),
    (field(versions="5+"), "Bar", "versions 5+ are outside versions 0-4 of the structure"),
    (field(versions="none"), "Bar", "versions none are outside versions 0-4 of the structure"),
    (field(version="0+"), "Bar", 'unknown key "version"; did you mean "versions"?'),
    (field(colour=1), "Bar", 'unknown key "colour"'),
    (field(nullable=True), "Bar", 'unknown key "nullable"; did you mean "nullableVersions"?'),
    (field(nullableVersions="0+"), "Bar", '"int32" can never be null'),
    (field(type="bool", nullableVersions="1"), "Bar", '"bool" can never be null'),
    (field(type="uuid", nullableVersions="1"), "Bar", '"uuid" can never be null'),
    (field(ignorable="maybe"), "Bar", '"ignorable" is true or false, not "maybe"'),
    (field(ignorable=1), "Bar", '"ignorable" is true or false, not 1'),
    (field(about=[]), "Bar", '"about" is a string, not a list'),
    (field(mapKey=True), "Bar", "mapKey is only allowed in a structure in an array"),
    (field(zeroCopy=True), "Bar", 'only "bytes" can be zeroCopy'),
    (field(type="[]bytes", zeroCopy=True), "Bar", 'only "bytes" can be zeroCopy'),
    (field(entityType="topic"), "Bar", 'unknown entityType "topic"; did you mean "topicName"?'),
    (field(entityType="topicName"), "Bar", 'a topicName is of type "string", not "int32"'),
    (field(tag=0), "Bar", '"tag" requires "taggedVersions"'),
    (field(taggedVersions="2+"), "Bar", '"taggedVersions" requires "tag"'),
    (field(tag=-1, taggedVersions="2+"), "Bar", '"tag" is a number from 0 to 32767, not -1'),
    (field(tag="one", taggedVersions="2+"), "Bar", '"tag" is a number from 0 to 32767, not "one"'),
    (field(tag=True, taggedVersions="2+"), "Bar", '"tag" is a number from 0 to 32767, not true'),
    (field(tag=0, taggedVersions="2-3"), "Bar", 'taggedVersions must not end, as in "2+": tags are never reused'),
    (field(tag=0, taggedVersions="2+", versions="3+"), "Bar", "taggedVersions 2+ are outside versions 3+"),
    (field(tag=0, taggedVersions="1+"), "Bar", "taggedVersions 1+ are not all flexible: flexibleVersions are 2+"),
    (field(type="string", tag=0, taggedVersions="2+", nullableVersions="3+"), "Bar",
     "a tagged field may be null in all taggedVersions or in none"),
    (field(flexibleVersions="none"), "Bar", 'only "string" and "bytes" have flexibleVersions of their own'),
    (field(type="string", flexibleVersions="1+"), "Bar", "flexibleVersions 1+ exceed those of the message, 2+"),
    (field(default="1.5"), "Bar",
     '"1.5" cannot be the default of "int32": expected an integer from -2147483648 to 2147483647'),
    (field(type="int8", default="128"), "Bar",
     '"128" cannot be the default of "int8": expected an integer from -128 to 127'),
    (field(type="uint16", default=-1), "Bar",
     '-1 cannot be the default of "uint16": expected an integer from 0 to 65535'),
    (field(default=True), "Bar",
     'true cannot be the default of "int32": expected an integer from -2147483648 to 2147483647'),
    (field(default="null"), "Bar",
     '"null" cannot be the default of "int32": expected an integer from -2147483648 to 2147483647'),
    (field(type="bool", default="yes"), "Bar", '"yes" cannot be the default of "bool": expected true or false'),
    (field(type="float64", default="much"), "Bar", '"much" cannot be the default of "float64": expected a number'),
    (field(type="string", default=7), "Bar", '7 cannot be the default of "string": expected a string'),
    (field(type="uuid", default="x"), "Bar",
     '"x" cannot be the default of "uuid": expected a UUID, as Kafka writes them (22 letters) or in hex'),
    (field(type="bytes", default="abc"), "Bar",
     '"abc" cannot be the default of "bytes": the only default of this type is "null"'),
    (field(type="[]int32", default="1"), "Bar",
     '"1" cannot be the default of "[]int32": the only default of "[]int32" is "null"'),
    (field(type="string", default="null"), "Bar",
     "null cannot be the default: the field is not nullable in all its versions"),
    (field(type="string", default="null", nullableVersions="1+"), "Bar",
     "null cannot be the default: the field is not nullable in all its versions"),
    (field(optionalFields=[]), "Bar", '"optionalFields" requires a structure; the type is "int32"'),
    (field(type="Foo", optionalFields=[]), "Bar", 'optionalFields need "versionsWithOptional" at the top'),
    (field() + ",\n" + field(name="bar"), "bar", "line 4 already has a field of this name"),
    (field(tag=0, taggedVersions="2+") + ",\n" + field(name="Baz", tag=0, taggedVersions="2+"), "Baz",
     "tag 0 is already used by Bar on line 4"),
    (field(tag=1, taggedVersions="2+"), "Bar", "tag 1 without a tag 0: tags must be consecutive from 0"),
]  # fmt: skip


@for_each(("fields", "path", "problem"), WRONG_FIELDS)
def test_a_wrong_field_is_named_with_its_line(fields: str, path: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(message(fields), "Foo.json")
    line = 4 + fields.count("\n")
    assert str(refused.value) == f"Foo.json:{line}: {path}: {problem}"


def test_a_field_inside_is_named_with_its_path() -> None:
    inner = '{ "name": "Inner", "type": "Inner", "versions": "1+", "fields": [\n{ "name": "Deep", "type": "int32" } ] }'
    outer = f'{{ "name": "Outer", "type": "[]Outer", "versions": "0+", "fields": [\n{inner}\n] }}'
    with pytest.raises(DefinitionError, match=r'^Foo.json:6: Outer.Inner.Deep: "versions" is missing$'):
        read(message(outer), "Foo.json")


def test_a_field_inside_belongs_to_the_versions_around_it() -> None:
    inner = '"fields": [ { "name": "Baz", "type": "int8", "versions": "3+" } ]'
    outer = f'{{ "name": "Bar", "type": "Bar", "versions": "0-2", {inner} }}'
    with pytest.raises(DefinitionError, match=r"Bar.Baz: versions 3\+ are outside versions 0-2 of the structure"):
        read(message(outer), "Foo.json")


def common(*structs: str) -> str:
    return f'"commonStructs": [{", ".join(structs)}],'


def struct(name: str, *fields: str) -> str:
    return f'{{ "name": "{name}", "versions": "0+", "fields": [{", ".join(fields)}] }}'


TOP = '{ "apiKey": 901, "type": "request", "name": "FooRequest", "validVersions": "0-4", "fields": [] }'
WRONG_MESSAGES: list[tuple[str, str]] = [
    (TOP.replace('"apiKey": 901,', ""), ':1: "apiKey" is missing: a request has one'),
    (TOP.replace("901", "40000"), ':1: "apiKey" is a number from 0 to 32767, not 40000'),
    (TOP.replace('"type": "request",', ""), ':1: "type" is missing'),
    (TOP.replace('"request"', '"reqest"'), ':1: unknown message type "reqest"; did you mean "request"?'),
    (TOP.replace('"name": "FooRequest",', ""), ':1: "name" is missing'),
    (TOP.replace('"validVersions": "0-4",', ""), ':1: "validVersions" is missing'),
    (TOP.replace("0-4", "0+"), ":1: validVersions must have a highest version"),
    (TOP.replace(', "fields": []', ""), ':1: "fields" is missing'),
    (TOP.replace("[]", "{}"), ':1: "fields" is a list [ … ], not an object'),
    (TOP.replace('"fields"', '"field"'), ':1: unknown key "field"; did you mean "fields"?'),
    (message(fields="7"), ":3: fields[0]: expected an object { … } here"),
    (message(top='"listeners": [1],'), ":3: listeners are strings"),
    (message(top='"optionalFields": [],'), ':3: optionalFields need "versionsWithOptional" at the top'),
    (message(top='"versionsWithOptional": "2+",'),
     ":3: a version has tagged fields (flexibleVersions) or the optional fields of their draft, not both"),
    (message().replace("2+", "2-3"), ':2: flexibleVersions must not end, as in "2+", or be "none"'),
    (message(top='"latestVersionUnstable": 7,'), ':3: "latestVersionUnstable" is true or false, not 7'),
    (message(top=common("7")), ":3: commonStructs[0]: expected an object { … } here"),
    (message(top=common(struct("Bar"), struct("Bar"))), ':3: Bar: there is another structure "Bar" on line 3'),
    (message(top=common(struct("Bar")), fields=field(type="Baz")),
     ':4: Bar: no structure "Baz": neither "fields" here nor in commonStructs; did you mean "Bar"?'),
    (message(top=common(struct("Bar")), fields=field(type="Bar", fields=[])),
     ':4: Bar: "Bar" has its fields in commonStructs already'),
    (message(top=common(struct("Bar", field(name="Again", type="[]Bar")))),
     ":3: Bar: a structure cannot contain itself: Bar → Bar"),
    (message(top=common(struct("One", field(type="Two")), struct("Two", field(type="One")))),
     ":3: One: a structure cannot contain itself: One → Two → One"),
]  # fmt: skip


@for_each(("text", "problem"), WRONG_MESSAGES)
def test_a_wrong_message_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(text, "Foo.json")
    assert str(refused.value) == f"Foo.json{problem}"


DRAFT = '{ "name": "Bar", "type": "string", "tag": "0xffff" }'
WRONG_OPTIONAL: list[tuple[str, str]] = [
    (DRAFT.replace(', "tag": "0xffff"', ""), '"tag" is missing'),
    (DRAFT.replace("ffff", "10000"), '"tag" is a number from 0 to 65535, not "0x10000"'),
    (DRAFT.replace('"tag"', '"versions": "0+", "tag"'), 'unknown key "versions"'),
    (DRAFT.replace("string", "[]Foo"), 'no structure "Foo": neither "fields" here nor in commonStructs'),
    (DRAFT.replace('"string"', '"[]Foo", "fields": []'),
     "an optional field can be of any type but an array of structures"),
    (DRAFT.replace('"string"', '"int32", "nullable": true'), '"int32" can never be null'),
    (DRAFT.replace('"tag"', '"default": "null", "tag"'),
     "null cannot be the default: the field is not nullable in all its versions"),
    (f'{DRAFT}, {DRAFT.replace("Bar", "Baz")}', "tag 65535 is already used by Bar on line 2"),
    (f'{DRAFT}, {DRAFT.replace("0xffff", "1")}', "line 2 already has a field of this name"),
]  # fmt: skip


def drafted(optional: str) -> str:
    return f"""{{ "apiKey": 901, "type": "request", "name": "FooRequest", "validVersions": "0-4", "fields": [],
  "versionsWithOptional": "3+", "optionalFields": [ {optional} ] }}"""


@for_each(("optional", "problem"), WRONG_OPTIONAL)
def test_a_wrong_optional_field_is_named_with_its_line(optional: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(drafted(optional), "Foo.json")
    assert re.fullmatch(rf"Foo.json:2: Ba[rz]: {re.escape(problem)}", str(refused.value))


def test_optional_tags_are_any_that_16_bits_hold_and_leave_some_out() -> None:
    found = read(drafted(f'{DRAFT}, {{ "name": "Baz", "type": "int8", "tag": 0 }}'), "Foo.json").body.optional_fields
    assert [field.tag for field in found] == [0xFFFF, 0]


def test_structures_inside_each_other_are_counted_before_they_are_made() -> None:
    """Thirty lines that would stand for a thousand million fields."""
    doubled = [struct(f"S{i}", field(name="A", type=f"S{i + 1}"), field(name="B", type=f"S{i + 1}")) for i in range(20)]
    with pytest.raises(
        DefinitionError, match=f"too many fields, with those of nested structures: at most {MOST_FIELDS:,}$"
    ):
        read(message(top=common(*doubled, struct("S20", field())), fields=field(type="S0")), "Foo.json")


def test_versions_are_not_too_many_for_so_many_fields() -> None:
    fields = ",".join(field(name=f"F{i}") for i in range(100))
    assert len(read(message(fields, valid="0-999"), "Foo.json").valid.closed()) == 1000
    with pytest.raises(DefinitionError, match=r"^Foo\.json:1: too many fields in all versions: at most 250,000$"):
        read(message(fields, valid="0-30000"), "Foo.json")


@pytest.mark.parametrize("turned", [False, True])
def test_structures_are_not_too_deep(turned: bool) -> None:
    chain = [struct(f"S{i}", field(type=f"S{i + 1}")) for i in range(2000)] + [struct("S2000", field())]
    with pytest.raises(DefinitionError, match=f"structures nested more than {DEEPEST} deep"):
        read(message(top=common(*(chain[::-1] if turned else chain))), "Foo.json")

"""One message for every version: what is left out, what is refused, what is default, byte by byte."""

from __future__ import annotations

import copy
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import BuildError, GrammarError, Leftover, UnknownVersion, WireError
from kdbg.protocol import grammars
from kdbg.protocol.definitions.declaration import apis, declare
from kdbg.protocol.definitions.message_data import MessageData, MessageType
from kdbg.protocol.definitions.parse import read
from kdbg.protocol.wire.nodes import TAGGED

RULES = MessageType.defined(read("""{
  "apiKey": 9001, "type": "request", "name": "RulesRequest", "validVersions": "0-3", "flexibleVersions": "3+",
  "fields": [
    { "name": "Count", "type": "int32", "versions": "0+" },
    { "name": "Old", "type": "int8", "versions": "0-1", "default": "7" },
    { "name": "Limit", "type": "int32", "versions": "1+", "default": "-1" },
    { "name": "Reason", "type": "string", "versions": "1+", "nullableVersions": "2+", "ignorable": true },
    { "name": "Items", "type": "[]Item", "versions": "0+", "nullableVersions": "1+", "fields": [
      { "name": "Name", "type": "string", "versions": "0+", "nullableVersions": "2+" },
      { "name": "Weight", "type": "int16", "versions": "2+" },
      { "name": "Hint", "type": "int8", "versions": "2+", "ignorable": true }
    ]},
    { "name": "Place", "type": "Place", "versions": "2+", "fields": [
      { "name": "Row", "type": "int8", "versions": "2+", "default": "5" }
    ]},
    { "name": "Label", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 0,
      "nullableVersions": "3+", "default": "null" }
  ]
}""", "RulesRequest.json"))  # fmt: skip
FOO_TEXT = """{
  "apiKey": 9000, "type": "response", "name": "FooResponse", "validVersions": "0-9", "versionsWithOptional": "9+",
  "optionalFields": [{ "name": "UserAgent", "type": "string", "nullable": true, "tag": "0x0001" }],
  "fields": [
    { "name": "Foos", "type": "[]Foo", "versions": "0+",
      "optionalFields": [
        { "name": "Bar", "type": "string", "nullable": false, "tag": "0x0001", "default": "hello world" }
      ],
      "fields": [{ "name": "Baz", "type": "int16", "versions": "0+" }] }
  ]
}"""
FOO = MessageType.defined(read(FOO_TEXT, "FooResponse.json"))


def problem(message: MessageData, version: int) -> str:
    with pytest.raises(BuildError) as caught:
        message.write(version)
    assert str(caught.value).startswith(caught.value.path)
    return str(caught.value)


class TestWriting:
    def test_every_version_has_its_own_fields(self) -> None:
        message = RULES(count=1, items=[{"name": "a"}])
        written = [
            "00000001 07 00000001 0001 61",  # count, old, one item: "a"
            "00000001 07 ffffffff 0000 00000001 0001 61",  # limit -1 and reason "" stand in front of the items
            "00000001 ffffffff 0000 00000001 0001 61 0000 00 05",  # no old; weight, hint; place, of one byte
            # compact: lengths and counts plus one, and no tagged fields behind the item, the place and the message
            "00000001 ffffffff 01 02 02 61 0000 00 00 05 00 00",
        ]
        for version, text in enumerate(written):
            assert message.write(version) == bytes.fromhex(text), version
            assert message.size(version) == len(bytes.fromhex(text))

    def test_a_field_that_is_set_is_not_lost(self) -> None:
        wrong = "{}: set, but version {} lacks it: a field of versions {}, and not ignorable"
        assert problem(RULES(limit=3), 0) == wrong.format("limit", 0, "1+")
        assert problem(RULES(old=8), 2) == wrong.format("old", 2, "0-1")
        assert problem(RULES(place={"row": 6}), 1).startswith("place: set, but version 1 lacks it")
        assert problem(RULES(label="x"), 2).startswith("label: set, but version 2 lacks it: a field of versions 3+")

    def test_a_field_set_to_its_default_is_not_set(self) -> None:
        message = RULES(limit=-1, old=7, place={"row": 5}, label=None, items=[{"name": "", "weight": 0}])
        assert [message.size(version) for version in RULES.versions]

    def test_an_ignorable_field_is_left_out_without_a_word(self) -> None:
        message = RULES(reason="because", items=[{"hint": 9}])
        assert message.write(0) == bytes.fromhex("00000000 07 00000001 0000")
        assert message.write(2) == bytes.fromhex("00000000 ffffffff 0007 62656361757365 00000001 0000 0000 09 05")

    def test_fields_of_structures_in_arrays_are_not_lost_either(self) -> None:
        message = RULES(items=[{}, {"name": "b", "weight": 4}])
        assert problem(message, 1).startswith("items[1].weight: set, but version 1 lacks it: a field of versions 2+")

    def test_null_is_refused_where_the_version_allows_none(self) -> None:
        assert problem(RULES(items=None), 0) == "items: null, which version 0 does not allow, only versions 1+"
        assert RULES(items=None).write(1) == bytes.fromhex("00000000 07 ffffffff 0000 ffffffff")
        assert problem(RULES(reason=None), 1) == "reason: null, which version 1 does not allow, only versions 2+"
        assert problem(RULES(items=[{"name": None}]), 1).startswith("items[0].name: null, which version 1")
        assert problem(RULES(count=None), 3) == "count: null, which version 3 does not allow"
        assert problem(RULES(place=None), 3) == "place: null, which version 3 does not allow"

    def test_an_ignorable_null_is_left_out_of_versions_that_lack_the_field(self) -> None:
        assert RULES(reason=None).write(0) == bytes.fromhex("00000000 07 00000000")

    def test_a_tagged_field_is_written_only_if_it_is_set(self) -> None:
        front = "00000000 ffffffff 01 01 05 00"
        assert RULES().write(3) == bytes.fromhex(f"{front} 00")
        assert RULES(label=None).write(3) == RULES().write(3)
        assert RULES(label="").write(3) == bytes.fromhex(f"{front} 01 00 01 01")  # one: tag 0, one byte: a length of 0

    def test_an_optional_field_is_written_only_if_it_is_set(self) -> None:
        message = FOO(foos=[{"baz": 7}, {"bar": "hello world", "baz": 8}])
        assert message.write(9) == bytes.fromhex("00 00000002 00 0007 00 0008")
        message.foos[0]["bar"] = "x"
        message.user_agent = None
        # two bytes (4, zigzag), tag 1, null; then three bytes, tag 1, a string of 1
        assert message.write(9) == bytes.fromhex("04 0001 ffff 00 00000002 06 0001 0001 78 00 0007 00 0008")

    def test_optional_fields_are_not_lost_in_versions_without(self) -> None:
        assert FOO(foos=[{"baz": 7}]).write(8) == bytes.fromhex("00000001 0007")
        assert problem(FOO(user_agent="kdbg"), 8).startswith("user_agent: set, but version 8 lacks it")
        assert problem(FOO(foos=[{"bar": ""}]), 8).startswith("foos[0].bar: set, but version 8 lacks it")

    def test_an_optional_field_may_be_null_only_if_it_says_so(self) -> None:
        assert problem(FOO(foos=[{"bar": None}]), 9) == "foos[0].bar: null, which version 9 does not allow"

    def test_what_does_not_fit_its_type_is_refused(self) -> None:
        assert problem(RULES(count="many"), 0).startswith("count: 'many' is not a valid INT32")

    def test_there_is_no_other_version(self) -> None:
        with pytest.raises(UnknownVersion, match="RulesRequest has no version 4; supported: 0 to 3"):
            RULES().write(4)


class TestReading:
    def test_everything_is_overwritten_and_what_the_version_lacks_is_default(self) -> None:
        message = RULES(count=9, limit=3, reason="x", items=None, place={"row": 1}, label="x")
        message.read(0, bytes.fromhex("00000001 08 00000001 0001 61"))
        assert message == RULES(count=1, old=8, items=[{"name": "a"}])
        assert (message.limit, message.reason, message.place, message.label) == (-1, "", {"row": 5}, None)
        assert message.items == [{"name": "a", "weight": 0, "hint": 0}]

    def test_null_is_refused_where_the_version_allows_none(self) -> None:
        for version, text, path in [(0, "00000000 07 ffffffff", "items"), (1, "00000000 07 ffffffff ffff", "reason"),
                                    (1, "00000000 07 ffffffff 0000 00000001 ffff", "items[0].name")]:  # fmt: skip
            with pytest.raises(WireError, match="must not be null") as caught:
                RULES().read(version, bytes.fromhex(text))
            assert caught.value.path == path

    def test_all_bytes_are_the_messages_and_none_are_missing(self) -> None:
        message = RULES(count=9)
        with pytest.raises(Leftover) as caught:
            message.read(0, bytes.fromhex("00000001 07 00000000 ff"))
        assert (caught.value.start, caught.value.length) == (9, 1)
        with pytest.raises(WireError, match="items: INT32 needs 4 bytes, only 3 left"):
            message.read(0, bytes.fromhex("00000001 07 000000"))
        assert message == RULES(count=9), "and it stays as it was"

    def test_unknown_tags_are_kept_and_not_lost(self) -> None:
        data = bytes.fromhex("00000000 ffffffff 01 01 05 00 01 09 02 abcd")
        message = RULES()
        message.read(3, data)
        assert message[TAGGED] == {9: b"\xab\xcd"}
        assert message.write(3) == data
        assert problem(message, 2) == "tagged_fields: set, but version 2 has no tagged fields"
        message[TAGGED] = {}
        assert message == RULES()
        assert message.write(2)

    def test_unknown_optional_fields_are_kept_too(self) -> None:
        data = bytes.fromhex("02 8000 01 00 00000001 02 0002 ff 00 0007")
        message = FOO()
        message.read(9, data)
        assert (message[TAGGED], message.foos[0][TAGGED]) == ({0x8000: b"\1"}, {2: b"\xff"})
        assert (message.user_agent, message.foos[0]["bar"]) == ("", "hello world")
        assert message.write(9) == data


class TestStructs:
    def test_a_struct_is_what_one_version_carries(self) -> None:
        message = RULES(count=1, items=[{"name": "a", "hint": 3}])
        struct = message.to_struct(1)
        assert struct.values == {"count": 1, "old": 7, "limit": -1, "reason": "", "items": [{"name": "a"}]}
        assert struct["count"] == 1
        assert (struct.version, struct.write()) == (1, message.write(1))
        assert [field.name for field in struct.schema.fields] == list(struct.values)

    def test_neither_reaches_the_other_later(self) -> None:
        message = RULES(items=[{"name": "a"}])
        struct = message.to_struct(1)
        message.items[0]["name"] = "b"
        assert struct["items"] == [{"name": "a"}]
        other = RULES(limit=4)
        other.from_struct(struct)
        assert other == RULES(items=[{"name": "a"}])
        other.items.append({"name": "c"})
        assert struct["items"] == [{"name": "a"}]
        with pytest.raises(TypeError):
            struct.values["items"] = []  # type: ignore[index]

    def test_a_struct_loses_no_more_than_bytes_do(self) -> None:
        with pytest.raises(BuildError, match="limit: set, but version 0 lacks it"):
            RULES(limit=3).to_struct(0)

    def test_a_struct_of_another_message_is_refused(self) -> None:
        with pytest.raises(BuildError, match="a structure of FooResponse is not one of RulesRequest"):
            RULES().from_struct(FOO().to_struct(9))


class TestFields:
    def test_defaults_are_zero_empty_or_what_the_definition_says(self) -> None:
        every = MessageType.defined(read("""{ "apiKey": 9002, "type": "request", "name": "TypesRequest",
          "validVersions": "0", "flexibleVersions": "none", "fields": [
            { "name": "Boolean", "type": "bool", "versions": "0" },
            { "name": "Float", "type": "float64", "versions": "0" },
            { "name": "Long", "type": "int64", "versions": "0", "default": "0x7fffffffffffffff" },
            { "name": "Text", "type": "string", "versions": "0" },
            { "name": "Null", "type": "string", "versions": "0", "nullableVersions": "0", "default": "null" },
            { "name": "Words", "type": "string", "versions": "0", "default": "hello" },
            { "name": "Raw", "type": "bytes", "versions": "0" },
            { "name": "Id", "type": "uuid", "versions": "0" },
            { "name": "Many", "type": "[]int32", "versions": "0" }
        ]}""", "TypesRequest.json"))()  # fmt: skip
        assert (every.boolean, every.float, every.long) == (False, 0.0, 2**63 - 1)
        assert (every.text, every.null, every.words) == ("", None, "hello")
        assert (every.raw, every.id, every.many) == (b"", UUID(int=0), [])

    def test_defaults_are_not_shared(self) -> None:
        RULES().items.append({"name": "a"})
        RULES().place["row"] = 9
        assert RULES() == RULES(items=[], place={"row": 5})

    def test_what_was_given_stays_the_givers(self) -> None:
        items = [{"name": "a"}]
        message = RULES(items=items)
        message.items[0]["weight"] = 1
        assert items == [{"name": "a"}]

    def test_unknown_fields_are_refused_by_path(self) -> None:
        for fields, path in [({"cuont": 1}, "cuont"), ({"items": [{}, {"nam": ""}]}, "items[1].nam"),
                            ({"place": {"seat": 1}}, "place.seat")]:  # fmt: skip
            with pytest.raises(BuildError, match="no version has this field") as caught:
                RULES(**fields)
            assert caught.value.path == path
        message = RULES()
        with pytest.raises(BuildError, match="cuont: no version has this field"):
            message.cuont = 1
        with pytest.raises(AttributeError, match="'cuont'"):
            _ = message.cuont
        message.items.append({"nam": ""})
        assert problem(message, 0) == "items[0].nam: no version has this field"

    @pytest.mark.parametrize("given", [{"items": 3}, {"items": {"name": ""}}, {"items": ["a"]}, {"place": []}])
    def test_structures_and_lists_must_be_such(self, given: dict[str, Any]) -> None:
        with pytest.raises(BuildError, match=r"is not a (list|structure)"):
            RULES(**given)

    def test_a_field_with_the_name_of_a_method_is_an_item(self) -> None:
        sized = MessageType.defined(read("""{ "apiKey": 9003, "type": "request", "name": "SizeRequest",
          "validVersions": "0", "flexibleVersions": "none", "fields": [
            { "name": "Size", "type": "int8", "versions": "0" }, { "name": "Type", "type": "int8", "versions": "0" }
        ]}""", "SizeRequest.json"))(size=1, type=2)  # fmt: skip
        sized["size"] = 3
        assert (sized["size"], sized["type"], sized.size(0), sized.write(0)) == (3, 2, 2, b"\3\2")

    def test_messages_are_equal_by_their_fields(self) -> None:
        assert RULES(count=1) == RULES(count=1)
        assert RULES(count=1) != RULES(count=2)
        assert RULES() != FOO()
        assert MessageType.of("Metadata", "request")() == MessageType.of("topic-metadata", "request")()
        assert copy.deepcopy(RULES(label="x")) == RULES(label="x")

    def test_repr_shows_what_is_set_but_no_secret(self) -> None:
        assert repr(RULES(count=1, label="x")) == "RulesRequest(count=1, label='x')"
        message = MessageType.of("SaslAuthenticate", "request")(auth_bytes=b"\0me\0pencil")
        assert "pencil" not in repr(message) + repr(message.to_struct(0))
        assert repr(message) == "SaslAuthenticateRequest(auth_bytes=<10 bytes redacted>)"
        alter = MessageType.of("AlterConfigs", "request")(
            resources=[{"configs": [{"name": "ssl.keystore.password", "value": "pencil"}]}]
        )
        assert "pencil" not in repr(alter)

    def test_a_side_that_was_not_given_has_no_grammar(self) -> None:
        served = apis([read(FOO_TEXT, "FooResponse.json")]).apis
        with grammars.serving(served):
            assert MessageType.of("Foo", "response")(foos=[{"baz": 7}]).write(8) == bytes.fromhex("00000001 0007")
            with pytest.raises(GrammarError, match="FooRequest has no definition of version 8"):
                MessageType.of("Foo", "request")().write(8)

    def test_a_bad_api_name_is_an_error_of_the_family(self) -> None:
        with pytest.raises(LookupError, match="unknown API 'metadatas'"):
            MessageType.of("metadatas", "request")


# Random messages.

ITEMS = st.fixed_dictionaries({}, optional={
    "name": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "weight": st.integers(-(2**15), 2**15 - 1),
    "hint": st.integers(-128, 127),
})  # fmt: skip
FIELDS = st.fixed_dictionaries({}, optional={
    "count": st.integers(-(2**31), 2**31 - 1),
    "old": st.integers(-128, 127),
    "limit": st.integers(-(2**31), 2**31 - 1),
    "reason": st.none() | st.sampled_from(["", "x"]),
    "items": st.none() | st.lists(ITEMS, max_size=3),
    "place": st.fixed_dictionaries({}, optional={"row": st.integers(-128, 127)}),
    "label": st.none() | st.sampled_from(["", "x"]),
})  # fmt: skip


@given(FIELDS, st.integers(0, 3))
def test_what_a_version_can_carry_comes_back_and_nothing_else_is_written(fields: dict[str, Any], version: int) -> None:
    message, other = RULES(**fields), RULES()
    try:
        data = message.write(version)
    except BuildError:
        return
    other.read(version, data)
    assert other.write(version) == data
    kept = other.complete()
    lost = {name for name, value in message.complete().items() if kept[name] != value}
    assert lost <= {"reason", "items"}, "only what is ignorable: the reason, and the hints in the items"


@given(FIELDS)
def test_the_newest_version_carries_all_but_what_was_dropped(fields: dict[str, Any]) -> None:
    fields.pop("old", None)
    message, other = RULES(**fields), RULES()
    other.read(3, message.write(3))
    assert other == message


def test_the_declaration_says_what_the_definition_says() -> None:
    definition = read("""{ "apiKey": 9004, "type": "request", "name": "TwoRequest", "validVersions": "0-2",
      "flexibleVersions": "1+", "fields": [
        { "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "2+", "tag": 0, "ignorable": true }
    ]}""", "TwoRequest.json")  # fmt: skip
    two = MessageType.defined(definition)
    assert two.struct.declared[0].name == declare(definition).struct.declared[0].name == "a"
    message = two(a=1)
    assert [message.write(version).hex() for version in two.versions] == ["01", "0100", "01000101"]

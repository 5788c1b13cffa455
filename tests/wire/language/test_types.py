"""The words in front of a type: which version has the field, and in which form; at both edges of every word."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.protocol import wire
from kdbg.protocol.wire import Boolean, Bytes, Int8, Int16, Int32, String, VarintBytes, language
from kdbg.protocol.wire.language import types
from kdbg.protocol.wire.language.types import (
    FOREVER,
    Array,
    At,
    Between,
    Bits,
    Classic,
    Default,
    Enum,
    Nullable,
    NullableSince,
    NullableUntil,
    Only,
    Prefixed,
    Secret,
    Since,
    Struct,
    Tag,
    Until,
)
from kdbg.protocol.wire.nodes import Node, NullableStruct, RemainingBytes, Sized, WireArray, WireStruct, build

from ...cases import for_each


def names(declared: Struct, version: int, *, flexible: bool = False) -> list[str]:
    return [field.name for field in declared.structure(At(version, flexible)).fields]


def node(declared: Any, version: int = 0, *, flexible: bool = False) -> Node:
    """The node of a lone field."""
    (field,) = Struct("it" / declared).structure(At(version, flexible)).fields
    return field.node


class TestWhichVersionsHaveAField:
    @for_each(
        ("word", "versions"),
        [
            (Int8, range(6)),
            (Since(0, Int8), range(6)),
            (Since(3, Int8), range(3, 6)),
            (Until(3, Int8), range(4)),
            (Until(0, Int8), range(1)),
            (Between(2, 4, Int8), range(2, 5)),
            (Between(3, 3, Int8), range(3, 4)),
            (Only(3, Int8), range(3, 4)),
            (Since(2, Until(4, Int8)), range(2, 5)),
            (Since(FOREVER - 1, Int8), range(0)),
        ],
    )
    def test_a_word_says_it_to_the_version(self, word: Any, versions: range) -> None:
        declared = Struct("it" / word)
        assert [version for version in range(6) if names(declared, version)] == list(versions)

    def test_the_highest_version_there_can_be_has_all_that_stayed(self) -> None:
        assert names(Struct("a" / Int8, "b" / Since(1, Int8), "c" / Until(9, Int8)), FOREVER - 1) == ["a", "b"]

    def test_two_fields_may_share_a_name_where_their_versions_do_not_meet(self) -> None:
        declared = Struct("it" / Until(1, Int8), "other" / Int8, "it" / Since(2, Int16))
        assert [field.node.bnf for field in declared.structure(At(1, False)).fields] == ["INT8", "INT8"]
        assert names(declared, 2) == ["other", "it"]

    def test_fields_keep_the_order_they_are_declared_in(self) -> None:
        declared = Struct("b" / Since(1, Int8), "a" / Int8, "c" / Int8)
        assert names(declared, 0) == ["a", "c"]
        assert names(declared, 1) == ["b", "a", "c"]


class TestWhichVersionsMayBeNull:
    @for_each(
        ("word", "versions"),
        [
            (String, range(0)),
            (Nullable(String), range(6)),
            (NullableSince(3, String), range(3, 6)),
            (NullableUntil(3, String), range(4)),
            (Since(1, NullableSince(3, String)), range(3, 6)),
            (Default(Nullable(String), None), range(6)),
        ],
    )
    def test_a_word_says_it_to_the_version(self, word: Any, versions: range) -> None:
        declared = Struct("it" / word)
        found = []
        for version in range(6):
            for field in declared.structure(At(version, False)).fields:
                assert isinstance(field.node, Sized)
                if field.node.nullable:
                    found.append(version)
        assert found == list(versions)

    def test_strings_bytes_arrays_and_structures_can_be_null(self) -> None:
        assert node(Nullable(String)).bnf == "NULLABLE_STRING"
        assert node(Nullable(Bytes)).bnf == "NULLABLE_BYTES"
        assert node(Nullable(Array(Int8))).bnf == "NULLABLE_ARRAY"
        assert isinstance(node(Nullable(Struct("a" / Int8))), NullableStruct)
        assert isinstance(node(NullableSince(1, Struct("a" / Int8)), 0), WireStruct)

    @pytest.mark.parametrize("of", [Int32, Boolean, wire.Uuid, wire.Varint32])
    def test_numbers_cannot(self, of: Any) -> None:
        with pytest.raises(TypeError, match="cannot be null"):
            node(Nullable(of))

    def test_the_items_of_a_null_array_are_not_null(self) -> None:
        array = node(Nullable(Array(String)))
        assert isinstance(array, WireArray)
        assert array.item.bnf == "STRING"


class TestFlexibleVersions:
    def test_strings_bytes_and_arrays_become_compact(self) -> None:
        assert node(String, flexible=True).bnf == "COMPACT_STRING"
        assert node(Bytes, flexible=True).bnf == "COMPACT_BYTES"
        assert node(Nullable(Array(Int8)), flexible=True).bnf == "COMPACT_NULLABLE_ARRAY"
        assert build(node(String, flexible=True), "ab").hex() == "036162"

    def test_numbers_and_varint_lengths_stay_as_they_are(self) -> None:
        assert node(Int32, flexible=True) is Int32
        assert node(VarintBytes, flexible=True).bnf == "VARINT_BYTES"
        assert build(node(Array(Int8, number=wire.Varint32), flexible=True), [5]).hex() == "0205"

    def test_every_structure_ends_with_tagged_fields(self) -> None:
        declared = Struct("rows" / Array("inner" / Struct("a" / Int8)), "empty" / Struct())
        value: dict[str, Any] = {"rows": [{"inner": {"a": 5}}], "empty": {}}
        assert build(declared.structure(At(0, True)), value).hex() == "02" + "05" + "00" + "00" + "00" + "00"
        assert build(declared.structure(At(0, False)), value).hex() == "00000001" + "05"

    def test_what_is_classic_stays_so(self) -> None:
        """The client id of request header v2 (KIP-511)."""
        assert node(Classic(String), flexible=True).bnf == "STRING"
        assert node(Nullable(Classic(String)), flexible=True).bnf == "NULLABLE_STRING"

    def test_prefixed_structures_hold_the_version_they_stand_in(self) -> None:
        declared = Struct("it" / Prefixed(Int32, Struct("a" / Since(1, Int8))))
        assert build(declared.structure(At(0, False)), {"it": {}}).hex() == "00000000"
        assert build(declared.structure(At(1, False)), {"it": {"a": 5}}).hex() == "0000000105"


class TestDefaults:
    def test_a_field_that_is_left_out_has_the_one_declared(self) -> None:
        struct = Struct("it" / Default(Int8, -1), "other" / Int8).structure(At(0, False))
        assert build(struct, {}).hex() == "ff00"
        assert struct.default() == {"it": -1, "other": 0}

    def test_null_is_one_where_it_is_declared(self) -> None:
        struct = Struct("it" / Default(Nullable(String), None), "other" / Nullable(String)).structure(At(0, False))
        assert build(struct, {}).hex() == "ffff" + "0000"

    def test_it_changes_nothing_of_what_is_read(self) -> None:
        assert Struct("it" / Default(Int8, -1)).structure(At(0, False)).parse(b"\x05") == {"it": 5}


class TestTags:
    declared = Struct("plain" / Int8, "b" / Since(2, Tag(1, Int8)), "a" / Tag(0, Default(String, "x")))

    def test_a_tagged_field_is_none_of_the_plain_ones(self) -> None:
        assert names(self.declared, 2, flexible=True) == ["plain"]

    def test_tags_have_versions_too(self) -> None:
        assert sorted(self.declared.structure(At(1, True)).tags or {}) == [0]
        assert sorted(self.declared.structure(At(2, True)).tags or {}) == [0, 1]

    def test_classic_versions_have_none(self) -> None:
        assert self.declared.structure(At(2, False)).tags is None
        assert names(self.declared, 2) == ["plain"]

    def test_words_may_stand_in_any_order(self) -> None:
        one = Struct("it" / Since(1, Tag(0, Default(Nullable(String), None)))).structure(At(1, True))
        other = Struct("it" / Default(Nullable(Tag(0, Since(1, String))), None)).structure(At(1, True))
        assert one.tags is not None
        assert other.tags is not None
        assert one.tags[0].node.bnf == other.tags[0].node.bnf == "COMPACT_NULLABLE_STRING"
        assert (one.tags[0].tag, one.tags[0].default) == (other.tags[0].tag, other.tags[0].default) == (0, None)


class TestMeanings:
    def test_a_secret_says_so_and_whom_it_depends_on(self) -> None:
        always, sometimes = node(Secret(Bytes)), node(Nullable(Secret(String, when="is_sensitive")), flexible=True)
        assert isinstance(always, Sized)
        assert isinstance(sometimes, Sized)
        assert (always.kind, always.when) == ("secret", "")
        assert (sometimes.kind, sometimes.when, sometimes.nullable) == ("secret", "is_sensitive", True)

    def test_plain_text_is_no_secret(self) -> None:
        assert node(String).kind == node(Bytes).kind == ""
        assert wire.Remainder.kind == ""
        assert isinstance(wire.SecretRemainder, RemainingBytes)
        assert wire.SecretRemainder.kind == "secret"

    def test_enumerations_and_bit_sets_name_their_numbers(self) -> None:
        enum, bits = Enum(Int8, {0: "NONE"}), Bits(Int32, {3: "READ"})
        assert (enum.kind, enum.names, enum.bnf) == ("enum", {0: "NONE"}, "INT8")
        assert (bits.kind, bits.names, bits.bnf) == ("bits", {3: "READ"}, "INT32")

    @for_each(
        ("declared", "kind", "bnf"),
        [
            (wire.ErrorCode, "error", "INT16"), (wire.ApiKey, "api", "INT16"),
            (wire.Partition, "partition", "INT32"),
            (wire.Duration, "duration", "INT32"), (wire.Duration64, "duration", "INT64"),
            (wire.Timestamp, "timestamp", "INT64"), (wire.TopicName, "topic", "STRING"),
            (wire.TopicId, "topic_id", "UUID"), (wire.GroupId, "group", "STRING"),
        ],
    )  # fmt: skip
    def test_the_protocols_own_types_mean_something(self, declared: Any, kind: str, bnf: str) -> None:
        assert (node(declared).kind, node(declared).bnf) == (kind, bnf)


class TestTexts:
    """What a field means stands behind it, as construct has it: `"min_bytes" / Int32 * "…"`; or behind its type."""

    epoch = Int32 * "epoch of the leader"

    def about(self, declared: Any, version: int = 0) -> str:
        (field,) = Struct(declared).structure(At(version, True)).members
        return field.about

    def test_a_fields_own_text(self) -> None:
        assert self.about("a" / Int32 * "so many bytes") == "so many bytes"
        assert self.about("a" / Since(1, Nullable(String)) * "a name", 1) == "a name"
        assert self.about("a" / Array("b" / Int8 * "inner") * "outer") == "outer"
        assert self.about("a" / Tag(0, Array(Int8)) * "a tagged one") == "a tagged one"

    def test_none(self) -> None:
        assert self.about("a" / Int32) == ""

    def test_that_of_its_type_behind_any_words(self) -> None:
        assert self.about("a" / self.epoch) == "epoch of the leader"
        assert self.about("a" / Since(1, Default(self.epoch, -1)), 1) == "epoch of the leader"
        assert self.about("a" / Tag(3, self.epoch)) == "epoch of the leader"

    def test_its_own_wins_over_that_of_its_type(self) -> None:
        assert self.about("a" / self.epoch * "epoch that the client knows") == "epoch that the client knows"
        assert self.about("a" / Since(0, self.epoch) * "epoch that the client knows") == "epoch that the client knows"

    def test_a_type_with_a_text_is_the_type_it_was(self) -> None:
        for of in (Int32, String, Bytes, Array(Int8), wire.Uuid, wire.UVarint):
            told = of * "what it is"
            assert type(told) is type(of)
            assert told.docs == "what it is"
            assert of.docs == "", "the type itself says nothing"
            assert told.name is None, "an array of it is not a structure of one field"
        assert build(node(Array(self.epoch)), [1]) == build(node(Array(Int32)), [1])

    @pytest.mark.parametrize(
        "of",
        [Secret(String * "a word"), Enum(Int8 * "a word", {1: "ONE"}), Bits(Int32 * "a word", {1: "ONE"}),
         types.Holds(Bytes * "a word", lambda data, around: [])],
    )  # fmt: skip
    def test_a_type_that_means_more_keeps_its_text(self, of: Any) -> None:
        assert self.about("a" / of) == "a word"


class TestApi:
    api = language.Api(
        7, "Some", Struct("a" / Int8), Struct("b" / Since(1, String)), versions=range(4), flexible=2,
        headerless_until=0,
        dialects=(language.Dialect("response", range(1, 3), "another form", Struct("c" / String), at=2),),
    )  # fmt: skip

    def test_a_layout_is_made_once(self) -> None:
        assert self.api.at("request", 1) is self.api.at("request", 1)
        assert self.api.at("request", 1) is not self.api.at("request", 2)

    @pytest.mark.parametrize("version", [-1, 4, 32767])
    def test_versions_outside_are_unknown(self, version: int) -> None:
        with pytest.raises(LookupError, match="supported: 0 to 3"):
            self.api.at("request", version)

    def test_header_versions_follow_from_the_versions(self) -> None:
        assert [self.api.header_version("request", version) for version in range(4)] == [0, 1, 2, 2]
        assert [self.api.header_version("response", version) for version in range(4)] == [0, 0, 1, 1]

    def test_a_dialect_is_read_at_a_version_of_its_own(self) -> None:
        assert [bool(self.api.dialects_of("response", version)) for version in range(4)] == [False, True, True, False]
        assert self.api.dialects_of("request", 1) == []
        ((form, layout),) = self.api.dialects_of("response", 1)
        assert (form.name, layout.fields[0].node.bnf) == ("another form", "COMPACT_STRING")


@for_each(
    ("camel", "snake"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"), ("Name", "name"), ("isKRaftController", "is_kraft_controller"),
        ("GroupInstanceId", "group_instance_id"), ("V3AndBelowTopics", "v3_and_below_topics"), ("", ""),
    ],
)  # fmt: skip
def test_names_are_snake_cased_as_kafkas_generator_does(camel: str, snake: str) -> None:
    assert language.snake_case(camel) == snake

"""What is printed of a grammar, whole: the guides' own form."""

from __future__ import annotations

from textwrap import dedent

from kdbg.protocol import grammars
from kdbg.protocol.grammars import records
from kdbg.protocol.wire import Int8, Int16, Int32, String
from kdbg.protocol.wire.language.types import Array, At, Nullable, Prefixed, Struct, Tag
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.protocol.wire.readings.layout import bnf, head, productions, structure, word


def printed(text: str) -> str:
    return dedent(text).strip("\n")


def test_arrays_stand_in_brackets_and_are_named_by_their_items() -> None:
    """Metadata v1 as in the guide of 0.10.1, but for names that have changed since."""
    assert bnf("Metadata Response (Version: 1)", grammars.api("Metadata").at("response", 1)) == printed("""
        Metadata Response (Version: 1) => [brokers] controller_id [topics]
          brokers => node_id host port rack
            node_id => INT32
            host => STRING
            port => INT32
            rack => NULLABLE_STRING
          controller_id => INT32
          topics => error_code name is_internal [partitions]
            error_code => INT16
            name => STRING
            is_internal => BOOLEAN
            partitions => error_code partition_index leader_id [replica_nodes] [isr_nodes]
              error_code => INT16
              partition_index => INT32
              leader_id => INT32
              replica_nodes => INT32
              isr_nodes => INT32
    """)


def test_tagged_fields_are_named_last_with_their_tags() -> None:
    assert bnf("ApiVersions Response (Version: 3)", grammars.api("ApiVersions").at("response", 3)) == printed("""
        ApiVersions Response (Version: 3) => error_code [api_keys] throttle_time_ms _tagged_fields
          error_code => INT16
          api_keys => api_key min_version max_version _tagged_fields
            api_key => INT16
            min_version => INT16
            max_version => INT16
          throttle_time_ms => INT32
          supported_features<tag: 0> => name min_version max_version _tagged_fields
            name => COMPACT_STRING
            min_version => INT16
            max_version => INT16
          finalized_features_epoch<tag: 1> => INT64
          finalized_features<tag: 2> => name max_version_level min_version_level _tagged_fields
            name => COMPACT_STRING
            max_version_level => INT16
            min_version_level => INT16
          zk_migration_ready<tag: 3> => BOOLEAN
    """)


def test_a_message_without_fields_is_printed_without_a_trailing_space() -> None:
    assert bnf("ListGroups Request (Version: 0)", grammars.api("ListGroups").at("request", 0)) == (
        "ListGroups Request (Version: 0) =>"
    )


def test_record_sets_are_one_word() -> None:
    text = bnf("Fetch Response (Version: 12)", grammars.api("Fetch").at("response", 12))
    assert "      records => COMPACT_NULLABLE_RECORDS\n" in text


def test_structures_that_may_be_null_are_printed_like_others() -> None:
    struct = Struct("it" / Nullable(Struct("a" / Int8))).structure(At(0, True))
    assert bnf("T", struct).splitlines() == ["T => it _tagged_fields", "  it => a _tagged_fields", "    a => INT8"]


def test_a_length_in_bytes_is_printed_before_what_it_measures() -> None:
    entry = records.message_set.at(At(0, False)).item
    assert isinstance(entry, WireStruct)
    assert bnf("MessageSet", entry).splitlines()[:4] == [
        "MessageSet => offset message_size message",
        "  offset => INT64",
        "  message_size => INT32",
        "  message => crc magic attributes key value",
    ]


def test_every_record_of_a_batch_is_printed_with_its_length() -> None:
    struct = Struct("records" / Array(Prefixed(Int32, Struct("a" / Int16)))).structure(At(2, False))
    assert bnf("Batch", struct).splitlines() == [
        "Batch => [records]", "  records => length a", "    length => INT32", "    a => INT16",
    ]  # fmt: skip


def test_arrays_of_arrays_are_named_by_the_innermost_items() -> None:
    struct = Struct("rows" / Array(Array(Int8))).structure(At(0, False))
    assert word(struct.fields[0].node) == "INT8"


def test_the_parts_can_be_had_alone() -> None:
    struct = Struct("a" / Array(String), "b" / Tag(3, Int8), "c" / Struct("d" / Int8)).structure(At(0, True))
    assert head(struct) == "[a] c _tagged_fields"
    assert list(productions(struct, "")) == [
        "a => COMPACT_STRING", "c => d _tagged_fields", "  d => INT8", "b<tag: 3> => INT8",
    ]  # fmt: skip
    assert structure(struct.fields[0].node) is None
    assert structure(struct.fields[1].node) is struct.fields[1].node

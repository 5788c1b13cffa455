"""What messages are about: their topics, partitions, groups and errors, whole and broken off."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.outline import Outline, PartitionContext, count_records, outline, parts, relevant

from ...cases import for_each

ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def outlined(api: str, direction: Direction, version: int, value: dict[str, Any]) -> Outline:
    """The outline of a value that was built and read, so that nothing is missing from it."""
    grammar = grammars.api(api).at(direction, version)
    return outline(grammar)(grammar.parse(build(grammar, value)))


def rows(api: str, direction: Direction, version: int, value: dict[str, Any]) -> list[tuple[Any, ...]]:
    return list(outlined(api, direction, version, value)[0])


def test_a_row_for_every_partition() -> None:
    topics = [{"name": "a", "partitions": [{"partition_index": 0}, {"partition_index": 1}]}]
    assert rows("ListOffsets", "request", 1, {"topics": topics}) == [("a", 0, 0, None), ("a", 1, 0, None)]


def test_errors_stand_in_their_partitions_row_and_are_collected() -> None:
    partitions = [{"partition_index": 0, "error_code": 0}, {"partition_index": 1, "error_code": 6}]
    found = outlined("Metadata", "response", 1, {"topics": [{"name": "a", "partitions": partitions}]})
    assert found[0] == [("a", 0, 0, None), ("a", 1, 6, None)]
    assert found[2] == [6]


def test_a_topic_with_partitions_has_no_row_of_its_own_unless_it_failed() -> None:
    topics = [{"name": "a", "partitions": []}, {"name": "b", "error_code": 3}]
    assert rows("Metadata", "response", 1, {"topics": topics}) == [("a", None, 0, None), ("b", None, 3, None)]
    topics = [{"name": "c", "error_code": 5, "partitions": [{"partition_index": 2}]}]
    assert rows("Metadata", "response", 1, {"topics": topics}) == [("c", None, 5, None), ("c", 2, 0, None)]


def test_a_topic_without_partitions_has_a_row() -> None:
    assert rows("Metadata", "request", 1, {"topics": [{"name": "a"}, {"name": "b"}]}) == [
        ("a", None, 0, None), ("b", None, 0, None),
    ]  # fmt: skip
    assert rows("Metadata", "request", 1, {"topics": None}) == []


def test_a_name_goes_before_an_id_and_an_id_before_nothing() -> None:
    assert rows("Metadata", "request", 12, {"topics": [
        {"name": "a", "topic_id": ID}, {"name": None, "topic_id": ID}, {"name": "a"},
    ]}) == [("a", None, 0, None), (ID, None, 0, None), ("a", None, 0, None)]  # fmt: skip


def test_topic_ids_alone_name_their_topics() -> None:
    responses = [{"topic_id": ID, "partitions": [{"partition_index": 4, "error_code": 100}]}]
    assert rows("Fetch", "response", 13, {"responses": responses}) == [(ID, 4, 100, 0)]


def test_lists_of_partition_numbers_have_a_row_each() -> None:
    topics = [{"topic": "a", "partitions": [3, 4]}]
    assert rows("Fetch", "request", 11, {"forgotten_topics_data": topics}) == [("a", 3, 0, None), ("a", 4, 0, None)]


def test_records_are_counted() -> None:
    record = {"value": b"v"}
    entries: list[Any] = [{"records": [record, record]}, {"records": [record]}, {"magic": 1, "value": b"v"}]
    data = [{"name": "t", "partition_data": [{"index": 1, "records": entries}, {"index": 2, "records": None}]}]
    assert rows("Produce", "request", 3, {"topic_data": data}) == [("t", 1, 0, 4), ("t", 2, 0, 0)]


@for_each(
    ("entries", "count"),
    [
        (None, 0),
        ([], 0),
        ([{"magic": 2, "records_count": 7}], 7),
        ([{"magic": 1, "attributes": 1, "records": [{}, {}, {}]}], 3),
        ([{"magic": 0}, {"magic": 1}], 2),
        ([{"partial": b"abc"}, {"raw": b"abc"}], 0),
    ],
)
def test_what_counts_as_a_record(entries: Any, count: int) -> None:
    assert count_records(entries) == count


def test_groups_are_named() -> None:
    assert outlined("Heartbeat", "request", 3, {"group_id": "g"})[1] == ["g"]
    assert outlined("DescribeGroups", "request", 0, {"groups": ["g", "h"]})[1] == ["g", "h"]
    assert outlined("OffsetFetch", "request", 8, {"groups": [{"group_id": "g"}, {"group_id": "h"}]})[1] == [
        "g",
        "h",
    ]


def test_a_group_with_topics_has_both() -> None:
    groups = [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [1]}]}]
    found = outlined("OffsetFetch", "request", 8, {"groups": groups})
    assert (found[1], found[0]) == (["g"], [("t", 1, 0, None)])


def test_partitions_are_found_with_what_stands_around_them() -> None:
    partitions = [{"partition_index": 1, "committed_offset": 5}, {"partition_index": 2}]
    groups = [{"group_id": "g", "topics": [{"name": "t", "partitions": partitions}]}, {"group_id": "h"}]
    grammar = grammars.api("OffsetFetch").at("response", 8)
    value = grammar.parse(build(grammar, {"groups": groups}))
    [first, second] = parts(grammar)(value)
    assert (first[:3], second[:3]) == (("g", "t", 1), ("g", "t", 2))
    assert first.value is value["groups"][0]["topics"][0]["partitions"][0]


def test_numbers_of_partitions_alone_are_no_parts() -> None:
    grammar = grammars.api("Fetch").at("request", 11)
    asked = [{"topic": "a", "partitions": [{"partition": 7}]}]
    value = {"topics": asked, "forgotten_topics_data": [{"topic": "b", "partitions": [3, 4]}]}
    assert parts(grammar)(value) == [PartitionContext(None, "a", 7, {"partition": 7})]


def test_a_partition_that_broke_off_behind_its_number_is_found() -> None:
    grammar = grammars.api("OffsetCommit").at("response", 3)
    topics = [{"name": "a", "partitions": [{"partition_index": 0, "error_code": 0}, {"partition_index": 1}]}, {}]
    assert [part.partition for part in parts(grammar)({"topics": topics})] == [0, 1]


def test_an_error_of_the_whole_message_belongs_to_no_row() -> None:
    found = outlined("Heartbeat", "response", 1, {"error_code": 27})
    assert (found[0], found[2]) == ([], [27])


def test_messages_about_nothing_are_outlined_as_nothing() -> None:
    grammar = grammars.api("ApiVersions").at("request", 0)
    assert outline(grammar)({}) == ([], [], [])
    assert not relevant(grammar)


def test_a_message_that_broke_off_is_outlined_as_far_as_it_goes() -> None:
    grammar = grammars.api("Metadata").at("response", 1)
    topics = [{"name": name, "partitions": [{"error_code": 9, "partition_index": 7}]} for name in ("first", "second")]
    data = build(grammar, {"topics": topics})
    found = [outline(grammar)(inspect(grammar, data[:end]).value or {}) for end in range(len(data) + 1)]
    counts = [len(one[0]) for one in found]
    assert counts == sorted(counts), "never fewer rows for more bytes"
    assert [topic for topic, *_ in found[-1][0]] == ["first", "second"]
    assert any([topic for topic, *_ in one[0]] == ["first"] for one in found)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_grammar_can_be_outlined(direction: Direction) -> None:
    for api in grammars.apis():
        for version in api.versions:
            grammar = api.at(direction, version)
            whole = outline(grammar)(grammar.default())
            assert outline(grammar)({}) == outline(grammar)(None) == ([], [], [])
            assert whole[2] == []


def test_every_topic_partition_and_group_of_a_grammar_is_found() -> None:
    """Fields that mean something are declared in types that say so; here are the APIs where they are found."""
    about = {
        api.name
        for api in grammars.apis()
        if any(relevant(api.at(direction, version)) for direction in DIRECTIONS for version in api.versions)
    }
    assert {"Produce", "Fetch", "Metadata", "JoinGroup", "OffsetCommit", "AddPartitionsToTxn", "CreateTopics"} <= about

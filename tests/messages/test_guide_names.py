"""Bodies in the words of Kafka's guides: every name of the guide of 0.10.1, those of 0.8, and what cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest

import kdbg
from kdbg.errors import BuildError
from kdbg.exchanges.messages.guide_names import guide_names, understood
from kdbg.protocol import grammars
from kdbg.protocol.grammars.guides import GUIDES, LATER
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.readings.layout import walk

from ..cases import for_each
from ..facts import guide
from ..grammars.guide import Production, blocks
from ..grammars.values import variants

TITLE = re.compile(r"(\w+) (Request|Response) \(Version: (\d+)\)")
MESSAGES = {block.name: block for block in blocks(guide("0.10.1")) if TITLE.fullmatch(block.name)}
Scope = Mapping[str, Production]


class Writer:
    """Writes a body as a guide's BNF has it: two items in every array, another value in every place."""

    def __init__(self) -> None:
        self.numbers, self.names = count(1), 0

    def body(self, words: list[str], scope: Scope) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for bracket, name in re.findall(r"(\[?) ?(\w+)", " ".join(words)):
            inner = {other: production for other, production in scope.items() if other != name}
            production = scope[name]
            items = [self.value(production, inner | production.inner) for _ in range(2 if bracket else 1)]
            made[name] = items if bracket else items[0]
        return made

    def value(self, production: Production, scope: Scope) -> Any:
        self.names += 1
        if not production.words or any(word in scope for word in production.words):
            return self.body(production.words, scope)
        (word,), number = production.words, next(self.numbers)
        if word == "BYTES":
            return None if production.name == "record_set" else b"bytes %d" % number
        return {"BOOLEAN": number % 2 == 1, "INT8": number % 128}.get(word, number) if word[0] in "BI" else f"s{number}"


def leaves(value: Any) -> Iterator[Any]:
    """The plain values inside a value, in order."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from leaves(item)
        else:
            yield item


def which(name: str) -> tuple[str, Direction, int]:
    found = TITLE.fullmatch(name)
    assert found is not None
    return found[1], "request" if found[2] == "Request" else "response", int(found[3])


class TestGuideOf0_10_1:
    @for_each("name", MESSAGES)
    def test_a_body_in_its_words_is_encoded(self, name: str) -> None:
        api, direction, version = which(name)
        body = Writer().body(MESSAGES[name].words, MESSAGES[name].inner)
        data = kdbg.encode(body, api=api, version=version, direction=direction)
        message = kdbg.decode(data, api=api, version=version, direction=direction, header=False)
        assert list(leaves(message.body)) == list(leaves(body))

    def test_every_name_of_every_version_was_written(self) -> None:
        written = 0
        for block in MESSAGES.values():
            writer = Writer()
            writer.body(block.words, block.inner)
            written += writer.names
        assert len(MESSAGES) == 70
        assert written >= 436, "productions below those of messages, each in every version; arrays hold two"

    @for_each("name", MESSAGES)
    def test_no_name_has_two_meanings(self, name: str) -> None:
        """A guide's name for one field is no other field's name of today in the same structure."""
        api, direction, version = which(name)
        found = grammars.api(api)
        around: dict[str, set[str]] = {}
        for path, field, _ in walk(found.at(direction, version)):
            around.setdefault(path.rpartition(".")[0], set()).add(field.name)
        for (struct, alias), today in guide_names(found, direction, version).aliases.items():
            assert alias == today or alias not in around[struct]

    def test_every_entry_of_the_table_is_needed(self) -> None:
        for document in GUIDES:
            for (name, direction), (last, names) in document.messages.items():
                api = grammars.api(name)
                used = {
                    alias
                    for version in range(last + 1)
                    for path, aliases in guide_names(api, direction, version).of_fields.items()
                    for title, alias in aliases
                    if title == document.title
                }
                items = {"partition"} if (name, direction) == ("OffsetFetch", "request") else set()
                missing = set(names.values()) - used - items
                assert missing <= {"TimeStamp"}, "which only the guide's own form of OffsetCommit has"

    def test_only_in_the_versions_that_it_describes(self) -> None:
        assert kdbg.encode({"timeout": 5}, api=0, version=2, direction="request")
        with pytest.raises(BuildError, match="timeout: this version has no such field"):
            kdbg.encode({"timeout": 5}, api=0, version=3, direction="request")
        with pytest.raises(BuildError):
            kdbg.encode({"topics": ["orders"]}, api=3, version=3, direction="request")


def message(value: str) -> list[dict[str, Any]]:
    return [{"Offset": 7, "MessageSize": 99, "Message": {"MagicByte": 0, "Attributes": 0, "Key": "k", "Value": value}}]


EARLY: dict[tuple[str, Direction], tuple[dict[str, Any], dict[str, Any]]] = {
    ("Metadata", "request"): ({"TopicName": ["a", "b"]}, {"topics": [{"name": "a"}, {"name": "b"}]}),
    ("Metadata", "response"): (
        {
            "Broker": [{"NodeId": 1, "Host": "h", "Port": 9}],
            "TopicMetadata": [{"TopicErrorCode": 3, "TopicName": "a", "PartitionMetadata": [
                {"PartitionErrorCode": 5, "PartitionId": 2, "Leader": 1, "Replicas": [1, 2], "Isr": [1]},
            ]}],
        },
        {
            "brokers": [{"node_id": 1, "host": "h", "port": 9}],
            "topics": [{"error_code": 3, "name": "a", "partitions": [
                {"error_code": 5, "partition_index": 2, "leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": [1]},
            ]}],
        },
    ),
    ("Produce", "request"): (
        {"RequiredAcks": 1, "Timeout": 5, "topic_data": [{"TopicName": "a", "data": [
            {"Partition": 2, "MessageSetSize": 30, "MessageSet": message("x")},
        ]}]},
        {"acks": 1, "timeout_ms": 5, "topic_data": [{"name": "a", "partition_data": [
            {"index": 2, "records": [{"magic": 0, "offset": 7, "key": "k", "value": "x"}]},
        ]}]},
    ),
    ("Produce", "response"): (
        {"responses": [{"TopicName": "a", "partition_responses": [{"Partition": 2, "ErrorCode": 1, "Offset": 3}]}]},
        {"responses": [{"name": "a", "partition_responses": [{"index": 2, "error_code": 1, "base_offset": 3}]}]},
    ),
    ("Fetch", "request"): (
        {"ReplicaId": -1, "MaxWaitTime": 5, "MinBytes": 6, "topics": [{"TopicName": "a", "partitions": [
            {"Partition": 2, "FetchOffset": 3, "MaxBytes": 4},
        ]}]},
        {"replica_id": -1, "max_wait_ms": 5, "min_bytes": 6, "topics": [{"topic": "a", "partitions": [
            {"partition": 2, "fetch_offset": 3, "partition_max_bytes": 4},
        ]}]},
    ),
    ("Fetch", "response"): (
        {"responses": [{"TopicName": "a", "partitions": [
            {"Partition": 2, "ErrorCode": 0, "HighwaterMarkOffset": 9, "MessageSet": message("x")},
        ]}]},
        {"responses": [{"topic": "a", "partitions": [
            {"partition_index": 2, "high_watermark": 9, "records": [
                {"magic": 0, "offset": 7, "key": "k", "value": "x"},
            ]},
        ]}]},
    ),
    ("Offsets", "request"): (
        {"ReplicaId": -1, "topics": [{"TopicName": "a", "partitions": [
            {"Partition": 2, "Time": -2, "MaxNumberOfOffsets": 8},
        ]}]},
        {"replica_id": -1, "topics": [{"name": "a", "partitions": [
            {"partition_index": 2, "timestamp": -2, "max_num_offsets": 8},
        ]}]},
    ),
    ("Offsets", "response"): (
        {"responses": [{"TopicName": "a", "PartitionOffsets": [{"Partition": 2, "ErrorCode": 1, "Offset": [5, 0]}]}]},
        {"topics": [{"name": "a", "partitions": [
            {"partition_index": 2, "error_code": 1, "old_style_offsets": [5, 0]},
        ]}]},
    ),
    ("ConsumerMetadata", "request"): ({"ConsumerGroup": "g"}, {"key": "g"}),
    ("ConsumerMetadata", "response"): (
        {"ErrorCode": 0, "CoordinatorId": 1, "CoordinatorHost": "h", "CoordinatorPort": 9},
        {"error_code": 0, "node_id": 1, "host": "h", "port": 9},
    ),
    ("OffsetCommit", "response"): (
        {"topics": [{"TopicName": "a", "partitions": [{"Partition": 2, "ErrorCode": 1}]}]},
        {"topics": [{"name": "a", "partitions": [{"partition_index": 2, "error_code": 1}]}]},
    ),
    ("OffsetFetch", "request"): (
        {"ConsumerGroup": "g", "topics": [{"TopicName": "a", "Partition": [1, 2]}]},
        {"group_id": "g", "topics": [{"name": "a", "partition_indexes": [1, 2]}]},
    ),
    ("OffsetFetch", "response"): (
        {"topics": [{"TopicName": "a", "partitions": [{"Partition": 2, "Offset": 5, "Metadata": "", "ErrorCode": 0}]}]},
        {"topics": [{"name": "a", "partitions": [{"partition_index": 2, "committed_offset": 5, "metadata": ""}]}]},
    ),
}  # fmt: skip
"""Bodies in the words of the guide of 0.8, which names no arrays of anonymous structures, and in today's."""


class TestGuideOf0_8:
    @for_each(("api", "direction"), EARLY)
    def test_a_body_in_its_words_is_encoded(self, api: str, direction: Direction) -> None:
        theirs, ours = EARLY[api, direction]
        wanted = kdbg.encode(ours, api=api, version=0, direction=direction)
        assert kdbg.encode(theirs, api=api, version=0, direction=direction) == wanted

    def test_its_offset_commit_is_the_form_with_a_time_stamp(self) -> None:
        """Kafka's own version 0 has none: what has one is written as the guide has it, and read as that."""
        partition = {"Partition": 2, "Offset": 5, "Metadata": "m"}
        body = {"ConsumerGroup": "g", "topics": [{"TopicName": "a", "partitions": [partition]}]}
        plain = kdbg.encode(body, api=8, version=0, direction="request")
        partition["TimeStamp"] = 77
        data = kdbg.encode(body, api=8, version=0, direction="request")
        assert len(data) == len(plain) + 8
        message = kdbg.decode(data, api=8, version=0, direction="request", header=False)
        assert message.body["topics"][0]["partitions"][0]["commit_timestamp"] == 77
        assert [str(finding.kind) for finding in message.findings] == ["known-variant"]

    def test_names_in_snake_case_are_taken_too(self) -> None:
        body = {"required_acks": 1, "timeout": 5}
        assert kdbg.encode(body, api=0, version=0, direction="request") == bytes.fromhex("0001 00000005 00000000")

    def test_every_name_that_it_gives_a_field_is_taken(self) -> None:
        """But for `MessageSetSize` and `MessageSize`, which follow from the rest and are left out."""
        given = {key for theirs, _ in EARLY.values() for key in keys(theirs)} | {"TimeStamp", "Crc"}
        headers = ("RequestOrResponse", "RequestMessage", "Response")
        messages = [block for block in blocks(guide("0.8")) if block.name not in headers]
        productions = [production for block in messages for production in (block, *block.inner.values())]
        names = {word for production in productions for word in production.words if word[0].isupper()}
        assert names - given <= {"Message", "MessageSet"}


def keys(value: Any) -> Iterator[str]:
    """Every key inside a value."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(item)


class TestMistakes:
    def refused(self, body: dict[str, Any], version: int = 0) -> str:
        with pytest.raises(BuildError) as error:
            kdbg.encode(body, api="Produce", version=version, direction="request")
        return str(error.value)

    def test_a_field_under_two_names(self) -> None:
        assert self.refused({"timeout": 1, "timeout_ms": 1}) == "timeout_ms: given twice: 'timeout' is the same field"
        topics = {"topic_data": [{"name": "a"}, {"name": "a", "topic": "a"}]}
        assert self.refused(topics, 2) == "topic_data[1].topic: given twice: 'name' is the same field"

    def test_a_message_under_two_names(self) -> None:
        entry = {"magic": 0, "Message": {"MagicByte": 0}}
        body = {"topic_data": [{"topic": "a", "data": [{"record_set": [entry]}]}]}
        assert "topic_data[0].data[0].record_set[0].MagicByte: given twice" in self.refused(body)

    def test_a_name_that_nobody_knows(self) -> None:
        assert self.refused({"time_out": 1}) == "time_out: this version has no such field"

    def test_a_structure_of_the_guide_that_has_another_field(self) -> None:
        with pytest.raises(BuildError, match=r"coordinator\.rack: this version has no such field"):
            kdbg.encode({"coordinator": {"rack": 1}}, api="GroupCoordinator", version=0, direction="response")

    def test_a_null_and_other_plain_values_stay_what_they_are(self) -> None:
        with pytest.raises(BuildError, match=r"topics\[0\]\.name: 5 is not a valid STRING"):
            kdbg.encode({"topics": [5]}, api="Metadata", version=1, direction="request")
        assert kdbg.encode({"topics": None}, api="Metadata", version=1, direction="request") == b"\xff" * 4

    def test_a_name_that_nobody_knows_is_told_as_it_was_given(self) -> None:
        assert self.refused({"Bogus": [1]}) == "Bogus: this version has no such field"

    @pytest.mark.parametrize("item", [5, None, "orders"])
    def test_a_plain_value_is_no_structure_of_several_fields(self, item: Any) -> None:
        with pytest.raises(BuildError, match=r"^topics\[0\]: .* is not a structure"):
            kdbg.encode({"topics": [item]}, api="ListOffsets", version=0, direction="request")

    @pytest.mark.parametrize(
        ("body", "path"),
        [({"group_id": [1]}, "group_id"), ({"topics": 5}, "topics"), ({"topics": [5]}, "topics[0]"),
         ({"topics": [{"TimeStamp": 1}]}, "topics[0].TimeStamp"), ({"TopicName": []}, "TopicName")],
    )  # fmt: skip
    def test_where_a_guide_has_a_form_of_its_own(self, body: dict[str, Any], path: str) -> None:
        with pytest.raises(BuildError) as error:
            kdbg.encode(body, api="OffsetCommit", version=0, direction="request")
        assert error.value.path == path

    def test_messages_have_other_names_in_version_0_alone(self) -> None:
        entry = {"Offset": 0, "Message": {"MagicByte": 0, "Key": {"base64": "aw=="}, "Value": {"base64": "dg=="}}}
        body = {"topic_data": [{"name": "t", "partition_data": [{"records": [entry]}]}]}
        data = kdbg.encode(body, api="Produce", version=0, direction="request")
        assert data.endswith(b"\0\0\0\1k\0\0\0\1v")
        assert "this version has no such field" in self.refused(body, 1)

    def test_what_was_given_is_not_changed(self) -> None:
        body = {"topics": ["a"]}
        kdbg.encode(body, api="Metadata", version=0, direction="request")
        assert body == {"topics": ["a"]}


@for_each(
    ("api", "version", "given", "today"),
    [
        ("Produce", 0, ("timeout",), ["timeout_ms"]),
        ("Produce", 2, ("topic_data", 0, "data", 1, "partition"), ["topic_data", 0, "partition_data", 1, "index"]),
        ("Produce", 3, ("timeout",), ["timeout"]),
        ("Metadata", 0, ("topics", 0), ["topics", 0]),
        ("Metadata", 0, ("TopicName", 0), ["topics", 0]),
        ("OffsetFetch", 1, ("topics", 0, "partitions", 2), ["topics", 0, "partition_indexes", 2]),
        ("OffsetFetch", 1, ("topics", 0, "partitions", 2, "partition"), ["topics", 0, "partition_indexes", 2]),
        ("Fetch", 0, ("nobody", "knows", 1), ["nobody", "knows", 1]),
    ],
)
def test_paths_are_brought_to_todays_names(
    api: str, version: int, given: tuple[str | int, ...], today: list[str | int]
) -> None:
    assert guide_names(grammars.api(api), "request", version).steps(given) == today


DESCRIBED = [
    (grammars.api(name), direction, version)
    for document in GUIDES
    for (name, direction), (last, _) in document.messages.items()
    for version in range(last + 1)
]


@for_each(("api", "direction", "version"), DESCRIBED, ids=lambda it: getattr(it, "name", str(it)))
def test_a_body_in_todays_names_is_left_as_it_is(api: Api, direction: Direction, version: int) -> None:
    grammar = api.at(direction, version)
    for value in variants(grammar):
        layout, same = understood(api, direction, version, value)
        assert layout is grammar
        assert same == value


def test_the_tables_name_apis_and_directions_that_there_are() -> None:
    assert {(name, direction) for name, direction in LATER.messages} <= {
        (api.name, direction) for api in grammars.apis() for direction in ("request", "response")
    }

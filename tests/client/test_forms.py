"""Forms: what the options of an API come to, at every version, built and read back."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.live.client.forms import FORMS, assignment, subscription
from kdbg.protocol import grammars

from ..cases import for_each

GIVEN: dict[str, list[dict[str, Any]]] = {
    "Produce": [
        {"topic": "t", "value": (b"v",)},
        {"topic": "t", "value": (b"v", None), "key": b"k", "partition": 3, "timestamp": 5, "acks": 1, "timeout_ms": 7},
    ],
    "Fetch": [
        {"topic": "t"},
        {"topic": "t", "partition": 2, "offset": 9, "max_bytes": 10, "min_bytes": 2, "max_wait": 3},
        {"topic": "t", "read_committed": True},
    ],
    "ListOffsets": [{"topic": "t"}, {"topic": "t", "partition": (1, 2), "time": -2, "max_offsets": 4}],
    "Metadata": [{}, {"topic": ("a", "b"), "create": False}],
    "OffsetCommit": [
        {"group": "g", "topic": "t", "offset": 3},
        {"group": "g", "topic": "t", "offset": 3, "metadata": "m", "generation": 2, "member_id": "x", "partition": 1},
    ],
    "OffsetFetch": [{"group": "g"}, {"group": "g", "topic": ("t", "u"), "partition": (0, 1)}],
    "FindCoordinator": [{"group": "g"}, {"transactional_id": "x"}],
    "JoinGroup": [{"group": "g"}, {"group": "g", "topic": ("t",), "member_id": "m", "instance_id": "i"}],
    "Heartbeat": [{"group": "g", "generation": 1, "member_id": "m", "instance_id": "i"}],
    "LeaveGroup": [{"group": "g", "member_id": "m"}, {"group": "g", "member_id": "m", "instance_id": "i"}],
    "SyncGroup": [
        {"group": "g", "generation": 1, "member_id": "m"},
        {"group": "g", "generation": 1, "member_id": "m", "topic": ("t",), "partition": (0, 2), "instance_id": "i"},
    ],
    "DescribeGroups": [{"group": ("g", "h")}],
    "ListGroups": [{}, {"state": ("Stable",), "type": ("classic",)}],
    "SaslHandshake": [{}, {"mechanism": "SCRAM-SHA-256"}],
    "ApiVersions": [{}, {"software_name": "x", "software_version": "1"}],
    "CreateTopics": [
        {"topic": ("t",)},
        {"topic": ("t", "u"), "partitions": 3, "replication_factor": 2, "topic_config": (("a", "b"), ("c", None))},
        {"topic": ("t",), "validate_only": True, "timeout_ms": 5},
    ],
    "DeleteTopics": [{"topic": ("t", "u"), "timeout_ms": 5}],
    "DescribeAcls": [
        {"pattern_type": "prefixed"},
        {
            "resource_type": "topic",
            "resource_name": "t",
            "principal": "User:u",
            "host": "h",
            "operation": "read",
            "permission": "allow",
        },
    ],
    "CreatePartitions": [
        {"topic": ("t", "u"), "count": 3},
        {"topic": ("t",), "count": 2, "timeout_ms": 5, "validate_only": True},
    ],
    "ElectLeaders": [{}, {"topic": ("t", "u"), "partition": (0, 1), "election_type": "unclean", "timeout_ms": 5}],
}
CASES = [
    pytest.param(name, version, options, id=f"{name}-v{version}-{number}")
    for name in FORMS
    for number, options in enumerate(GIVEN[name])
    for version in grammars.api(name).versions
]
TOPICS_BY_ID = {("Produce", 13), ("Fetch", 13), ("OffsetCommit", 10), ("OffsetFetch", 10)}
"""From these versions on the client exchanges names for ids before it builds (kdbg/live/client/bodies.py)."""


def test_every_form_is_tried() -> None:
    assert FORMS.keys() == GIVEN.keys()


@for_each(("name", "version", "options"), CASES)
def test_a_form_holds_exactly_what_its_version_has(name: str, version: int, options: dict[str, Any]) -> None:
    body = FORMS[name](version, **options)
    if any(name == api and version >= first for api, first in TOPICS_BY_ID):
        body = with_ids(body)
    data = kdbg.encode(body, api=name, version=version, direction="request")
    found = kdbg.decode(data, api=name, version=version, direction="request", header=False).body
    assert holds(found, body)


@for_each("name", FORMS)
def test_every_option_says_something(name: str) -> None:
    """An option that no version's body shows would be silently lost."""
    for options in GIVEN[name]:
        for option in options:
            less = {key: value for key, value in options.items() if key != option}
            if inspect.signature(FORMS[name]).parameters[option].default is inspect.Parameter.empty:
                continue
            try:
                differs = any(
                    FORMS[name](version, **less) != FORMS[name](version, **options)
                    for version in grammars.api(name).versions
                )
            except InputError:
                continue
            assert differs, option


def with_ids(value: Any) -> Any:
    """The body with an id in the place of each topic's name."""
    if isinstance(value, list):
        return [with_ids(item) for item in value]
    if not isinstance(value, dict) or "headers" in value:
        return value
    found = {key: with_ids(item) for key, item in value.items()}
    for name in ("name", "topic"):
        if name in found and isinstance(found[name], str):
            del found[name]
            found["topic_id"] = "00000000-0000-0000-0000-000000000001"
    return found


def holds(found: Any, wanted: Any) -> bool:
    """Whether what was read says at least what was built."""
    if isinstance(wanted, dict):
        return all(key in found and holds(found[key], item) for key, item in wanted.items())
    if isinstance(found, int) and isinstance(wanted, str):
        return True  # a value by its name: tests/wire/nodes/test_named.py
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(holds, found, wanted))
    return str(found) == str(wanted)


class TestWhatBodiesSay:
    """Where versions differ in more than fields."""

    def test_all_topics_are_empty_in_v0_and_null_since(self) -> None:
        metadata = FORMS["Metadata"]
        assert metadata(0) == {"topics": []}
        assert metadata(1) == {"topics": None}
        assert metadata(4, create=False) == {"topics": None, "allow_auto_topic_creation": False}

    def test_all_offsets_of_a_group_are_null_since_v2(self) -> None:
        fetch = FORMS["OffsetFetch"]
        assert fetch(1, group="g")["topics"] == []
        assert fetch(2, group="g")["topics"] is None
        assert fetch(8, group="g") == {"groups": [{"group_id": "g", "topics": None}]}

    def test_a_coordinator_is_of_a_group_or_of_a_transaction(self) -> None:
        find = FORMS["FindCoordinator"]
        assert find(0, group="g") == {"key": "g"}
        assert find(3, transactional_id="x") == {"key": "x", "key_type": 1}
        assert find(4, group="g") == {"coordinator_keys": ["g"], "key_type": 0}
        for wrong in ({}, {"group": "g", "transactional_id": "x"}):
            with pytest.raises(InputError, match="a group or transactional id is missing"):
                find(0, **wrong)

    def test_members_leave_in_a_list_since_v3(self) -> None:
        leave = FORMS["LeaveGroup"]
        assert leave(2, group="g", member_id="m") == {"group_id": "g", "member_id": "m"}
        assert leave(3, group="g", member_id="m")["members"] == [{"member_id": "m", "group_instance_id": None}]

    def test_topics_are_deleted_by_name_and_since_v6_by_name_or_id(self) -> None:
        delete = FORMS["DeleteTopics"]
        assert delete(5, topic=("t",))["topic_names"] == ["t"]
        assert delete(6, topic=("t",))["topics"] == [{"name": "t"}]


class TestConsumerProtocol:
    """The bytes inside JoinGroup and SyncGroup, against another implementation."""

    def test_a_subscription_is_what_kafka_python_reads(self) -> None:
        protocol = pytest.importorskip("kafka.protocol.consumer.metadata")
        read = protocol.ConsumerProtocolSubscription.decode(subscription(("orders", "größe")))
        assert read.topics == ["orders", "größe"]

    def test_an_assignment_is_what_kafka_python_reads(self) -> None:
        protocol = pytest.importorskip("kafka.protocol.consumer.metadata")
        read = protocol.ConsumerProtocolAssignment.decode(assignment(("orders",), (0, 2)))
        assert [(part.topic, list(part.partitions)) for part in read.assigned_partitions] == [("orders", [0, 2])]

    def test_the_bytes_by_hand(self) -> None:
        assert subscription(("ab",)).hex() == "00000000000100026162ffffffff"
        assert assignment(("ab",), (1,)).hex() == "000000000001000261620000000100000001ffffffff"

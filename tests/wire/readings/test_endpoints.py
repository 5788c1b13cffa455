"""Addresses in messages: found in every response that has any, and changed with nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from kdbg.protocol.grammars import apis
from kdbg.protocol.wire.nodes import Node, WireStruct, children, contains
from kdbg.protocol.wire.readings.endpoints import endpoints_reader, is_host, with_endpoints
from tests.grammars.subjects import MESSAGES, Spoken, full

from ...cases import for_each

NOT_OF_NODES = {
    "client_host": "where a member of a group connects from",
    "user_endpoint": "where an application of Kafka Streams serves queries",
    "acls": "a rule for addresses",
    "matching_acls": "a rule for addresses",
    "endpoint_type": "which nodes are described",
    "member_endpoints": "which nodes are described",
}
"""What is named a host or an endpoint, and is no address of a node."""
WITH_ENDPOINTS = [one for one in MESSAGES if contains(one.grammar, is_host)]


def structures(node: Node, path: str = "") -> Iterator[tuple[str, WireStruct]]:
    if isinstance(node, WireStruct):
        yield path, node
    for child in children(node):
        yield from structures(child.node, f"{path}.{getattr(child, 'key', '')}".strip("."))


@for_each("api", list(apis()), ids=lambda api: api.name)
def test_every_host_beside_a_port_in_a_response_is_known_as_an_endpoint(api: object) -> None:
    for version in api.versions:  # type: ignore[attr-defined]
        for path, struct in structures(api.at("response", version)):  # type: ignore[attr-defined]
            names = {field.name: field.node.kind for field in struct.members}
            if any("host" in name for name in names) and any("port" in name.split("_") for name in names):
                of_nodes = not any(word in path for word in NOT_OF_NODES)
                assert ("host" in names.values()) == of_nodes, path
                assert ("port" in names.values()) == of_nodes, path


def test_there_are_as_many_apis_with_endpoints_as_kafka_has() -> None:
    found = {one.api.name for one in WITH_ENDPOINTS if one.direction == "response"}
    assert found == {
        "Metadata", "FindCoordinator", "DescribeCluster", "Produce", "Fetch", "ShareFetch", "ShareAcknowledge",
        "DescribeQuorum", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "UpdateRaftVoter",
    }  # fmt: skip


@for_each("subject", WITH_ENDPOINTS, ids=str)
def test_each_is_found_and_changed_and_nothing_else(subject: Spoken) -> None:
    value = full(subject)
    data = subject.whole(value)
    read = endpoints_reader(subject.header, subject.grammar)
    assert read is not None
    seen: list[tuple[str, int]] = []

    def change(host: str, port: int) -> tuple[str, int]:
        seen.append((host, port))
        return "a-longer-name.example" * 9, 19092

    def back(host: str, port: int) -> tuple[str, int]:
        assert (host, port) == ("a-longer-name.example" * 9, 19092)
        return seen[len(again) - 1] if again.append(None) is None else ("", 0)

    again: list[None] = []
    changed = with_endpoints(subject.header, subject.grammar, data, change)
    assert seen
    assert read(data) == [host for host, _ in seen]
    assert read(changed) == ["a-longer-name.example" * 9] * len(seen)
    assert changed != data
    assert with_endpoints(subject.header, subject.grammar, changed, back) == data


@for_each("subject", WITH_ENDPOINTS, ids=str)
def test_bytes_behind_a_message_stay(subject: Spoken) -> None:
    data = subject.whole(full(subject)) + b"spare"
    assert with_endpoints(subject.header, subject.grammar, data, lambda host, port: (host, port)) == data


@for_each("subject", [one for one in MESSAGES if one not in WITH_ENDPOINTS][::7], ids=str)
def test_a_layout_without_endpoints_has_no_reader(subject: Spoken) -> None:
    assert endpoints_reader(subject.header, subject.grammar) is None

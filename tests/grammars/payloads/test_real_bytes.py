"""Payloads as real clients and brokers wrote them, each read and written again.

Java's bytes were made by Kafka's own classes, as the comments name them, of 3.9.2 (Connect), 4.3.1 (Streams) and 4.4.0;
the other clients' were taken from traffic with librdkafka's mock cluster, or from their assignors.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kdbg.exchanges.messages.message import Context
from kdbg.exchanges.messages.payloads import Opener
from kdbg.protocol.findings.facts import KnownQuirk
from kdbg.protocol.grammars.payloads import TOPICS, payload
from kdbg.protocol.wire.language.payload import OpenedPayload
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.compiled import reader

from ...cases import for_each

OWNED = [{"topic": "orders", "partitions": [0, 2]}, {"topic": "billing", "partitions": [1]}]
OWNED_BYTES = "00000002 0006 6f7264657273 00000002 00000000 00000002 0007 62696c6c696e67 00000001 00000001"
CLIENTS: list[tuple[str, str, dict[str, Any]]] = [
    # StickyAssignor.subscriptionUserData after an assignment; aiokafka 0.14 writes the same
    ("StickyAssignorUserDataV1", f"{OWNED_BYTES} 00000007", {"previous_assignment": OWNED, "generation": 7}),
    # the same without its last field, as Java's before KIP-341
    ("StickyAssignorUserDataV0", OWNED_BYTES, {"previous_assignment": OWNED}),
    # kafka-python 3.0.12's StickyPartitionAssignor
    ("StickyAssignorUserData", f"0001 {OWNED_BYTES} 00000007",
     {"version": 1, "previous_assignment": OWNED, "generation": 7}),
    # CooperativeStickyAssignor.subscriptionUserData
    ("CooperativeStickyAssignorUserDataV0", "00000007", {"generation": 7}),
    # librdkafka 2.16, cooperative-sticky, in a JoinGroup of its second generation
    ("ConsumerProtocolSubscription",
     "0003 00000001 0006 6f7264657273"
     "00000024 00000001 0006 6f7264657273 00000004 00000000 00000001 00000002 00000003 00000002"
     "00000001 0006 6f7264657273 00000004 00000000 00000001 00000002 00000003 00000002 0000",
     {"version": 3, "topics": ["orders"],
      "user_data": bytes.fromhex("0000000100066f7264657273000000040000000000000001000000020000000300000002"),
      "owned_partitions": [{"topic": "orders", "partitions": [0, 1, 2, 3]}], "generation_id": 2, "rack_id": ""}),
    # kafka-python 3.0.12, cooperative-sticky
    ("ConsumerProtocolSubscription", "0001 00000001 0006 6f7264657273 00000000 00000000",
     {"version": 1, "topics": ["orders"], "user_data": b"", "owned_partitions": []}),
]  # fmt: skip

WORKER_URL = "000e 687474703a2f2f773a383038332f"
SINK = {"connector": "sink", "tasks": [-1, 0]}
GIVEN = {"error": 0, "leader": "m", "leader_url": "http://w:8083/", "config_offset": 5, "assignment": [SINK],
         "revoked": [{"connector": "old", "tasks": [-1]}], "delay": 60000}  # fmt: skip
GIVEN_BYTES = (
    f"0000 0001 6d {WORKER_URL} 0000000000000005 00000001 0004 73696e6b 00000002 ffffffff 00000000"
    "00000001 0003 6f6c64 00000001 ffffffff 0000ea60"
)
STATE = {"url": "http://w:8083/", "config_offset": 5}
CONNECT: list[tuple[str, str, dict[str, Any]]] = [
    # ConnectProtocol.serializeMetadata and serializeAssignment
    ("ConnectWorkerState", f"0000 {WORKER_URL} 0000000000000005", {"version": 0} | STATE),
    ("ConnectAssignment",
     f"0000 0001 0001 6d {WORKER_URL} 0000000000000005 00000001 0004 73696e6b 00000003 ffffffff 00000000 00000001",
     {"version": 0, "error": 1, "leader": "m", "leader_url": "http://w:8083/", "config_offset": 5,
      "assignment": [{"connector": "sink", "tasks": [-1, 0, 1]}]}),
    # IncrementalCooperativeConnectProtocol, compatible and sessioned; a worker that has nothing yet, one that has
    ("ConnectWorkerState", f"0001 {WORKER_URL} 0000000000000005 ffffffff", {"version": 1, "allocation": None} | STATE),
    ("ConnectWorkerState", f"0002 {WORKER_URL} 0000000000000005 0000004a 0002 {GIVEN_BYTES}",
     {"version": 2, "allocation": bytes.fromhex(f"0002 {GIVEN_BYTES}")} | STATE),
    ("ConnectAssignment", f"0001 {GIVEN_BYTES}", {"version": 1} | GIVEN),
    ("ConnectAssignment", f"0002 {GIVEN_BYTES}", {"version": 2} | GIVEN),
]  # fmt: skip

PROCESS, PROCESS_BYTES = UUID("00112233-4455-6677-8899-aabbccddeeff"), "00112233445566778899aabbccddeeff"
TASKS = {
    "prev_tasks": [{"topic_group_id": 0, "partition": 1}],
    "standby_tasks": [{"topic_group_id": 1, "partition": 0}],
}
TASKS_BYTES = "00000001 00000000 00000001 00000001 00000001 00000000"
HERE: dict[str, Any] = {"process_id": PROCESS, "user_end_point": b"a:80"}
SUMS_BYTES = "00000002 00000000 00000001 00000001 fffffffffffffffe 00000001 00000001 00000000 000000000000002a"
SUMS = [
    {"topic_group_id": 0, "partition_to_offset_sum": [{"partition": 1, "offset_sum": -2}]},
    {"topic_group_id": 1, "partition_to_offset_sum": [{"partition": 0, "offset_sum": 42}]},
]
NAMED_SUMS_BYTES = "00000002 00000000 00000001 fffffffffffffffe ffff 00000001 00000000 000000000000002a ffff"
NAMED_SUMS = [
    {"topic_group_id": 0, "partition": 1, "offset_sum": -2, "named_topology": None},
    {"topic_group_id": 1, "partition": 0, "offset_sum": 42, "named_topology": None},
]
LATEST = {"latest_supported_version": 11}
SUBSCRIPTIONS: list[tuple[str, dict[str, Any]]] = [  # SubscriptionInfo.encode, from version 1 on
    (f"{PROCESS_BYTES} {TASKS_BYTES}", {"process_id": PROCESS} | TASKS),
    (f"{PROCESS_BYTES} {TASKS_BYTES} 00000004 613a3830", HERE | TASKS),
    *[(f"0000000b {PROCESS_BYTES} {TASKS_BYTES} 00000004 613a3830", LATEST | HERE | TASKS)] * 4,
    (f"0000000b {PROCESS_BYTES} 00000004 613a3830 {SUMS_BYTES}", LATEST | HERE | {"task_offset_sums": SUMS}),
    (f"0000000b {PROCESS_BYTES} 00000004 613a3830 {SUMS_BYTES} 05",
     LATEST | HERE | {"task_offset_sums": SUMS, "unique_field": 5}),
    (f"0000000b {PROCESS_BYTES} 00000004 613a3830 {SUMS_BYTES} 05 00000004",
     LATEST | HERE | {"task_offset_sums": SUMS, "unique_field": 5, "error_code": 4}),
    (f"0000000b {PROCESS_BYTES} 00000004 613a3830 {NAMED_SUMS_BYTES} 05 00000004",
     LATEST | HERE | {"task_offset_sums": NAMED_SUMS, "unique_field": 5, "error_code": 4}),
    (f"0000000b {PROCESS_BYTES} 00000004 613a3830 {NAMED_SUMS_BYTES} 05 00000004"
     "00000001 00000004 7a6f6e65 00000002 6575",
     LATEST | HERE | {"task_offset_sums": NAMED_SUMS, "unique_field": 5, "error_code": 4,
                      "client_tags": [{"key": b"zone", "value": b"eu"}]}),
]  # fmt: skip

STORE = [{"topic": "st", "partition": 0}]
GIVEN_TASKS = {"active_tasks": [{"topic_group_id": 0, "partition": 1}],
               "standby_tasks": [{"topic_group_id": 1, "partition": 0, "partitions": STORE}]}  # fmt: skip
GIVEN_TASKS_BYTES = "00000001 00000000 00000001 00000001 00000001 00000000 00000001 0002 7374 00000000"
NAMED_TASKS = {kind: [task | {"named_topology": []} for task in tasks] for kind, tasks in GIVEN_TASKS.items()}
NAMED_TASKS_BYTES = (
    "00000001 00000000 00000001 00000000 00000001 00000001 00000000 00000000 00000001 0002 7374 00000000"
)
BY_NAME = {"partitions_by_host": [{"host": "a", "port": 80, "partitions": [{"topic": "in", "partition": 1}]}]}
BY_NAME_BYTES = "00000001 0001 61 00000050 00000001 0002 696e 00000001"
BY_NUMBER = {"topics": [{"topic_index": 0, "topic": "in"}], "partitions_by_host": [
    {"host": "a", "port": 80, "partitions": [{"topic_index": 0, "partition": 1}]},
]}  # fmt: skip
BY_NUMBER_BYTES = "00000001 00000000 0002 696e 00000001 0001 61 00000050 00000001 00000000 00000001"
STANDBY = {"standby_partitions_by_host": [
    {"host": "b", "port": 81, "partitions": [{"topic_index": 0, "partition": 0}]},
]}  # fmt: skip
STANDBY_BYTES = "00000001 0001 62 00000051 00000001 00000000 00000000"
COMMON, FAILED = {"commonly_supported_version": 11}, {"error_code": 3}
LATER = {"next_rebalance_ms": 1_700_000_000_000}
LATER_BYTES = "0000018bcfe56800"
ASSIGNMENTS: list[tuple[str, dict[str, Any]]] = [  # AssignmentInfo.encode, from version 1 on
    (GIVEN_TASKS_BYTES, GIVEN_TASKS),
    (f"{GIVEN_TASKS_BYTES} {BY_NAME_BYTES}", GIVEN_TASKS | BY_NAME),
    (f"0000000b {GIVEN_TASKS_BYTES} {BY_NAME_BYTES}", COMMON | GIVEN_TASKS | BY_NAME),
    (f"0000000b {GIVEN_TASKS_BYTES} {BY_NAME_BYTES} 00000003", COMMON | GIVEN_TASKS | BY_NAME | FAILED),
    (f"0000000b {GIVEN_TASKS_BYTES} {BY_NUMBER_BYTES} 00000003", COMMON | GIVEN_TASKS | BY_NUMBER | FAILED),
    (f"0000000b {GIVEN_TASKS_BYTES} {BY_NUMBER_BYTES} {STANDBY_BYTES} 00000003",
     COMMON | GIVEN_TASKS | BY_NUMBER | STANDBY | FAILED),
    *[(f"0000000b {GIVEN_TASKS_BYTES} {BY_NUMBER_BYTES} {STANDBY_BYTES} 00000003 {LATER_BYTES}",
       COMMON | GIVEN_TASKS | BY_NUMBER | STANDBY | FAILED | LATER)] * 3,
    *[(f"0000000b {NAMED_TASKS_BYTES} {BY_NUMBER_BYTES} {STANDBY_BYTES} 00000003 {LATER_BYTES}",
       COMMON | NAMED_TASKS | BY_NUMBER | STANDBY | FAILED | LATER)] * 2,
]  # fmt: skip
STREAMS = [
    (name, f"{version:08x} {text}", {"version": version} | value)
    for name, forms in (("SubscriptionInfoData", SUBSCRIPTIONS), ("AssignmentInfo", ASSIGNMENTS))
    for version, (text, value) in enumerate(forms, 1)
]

TOPIC_ID, TOPIC_ID_BYTES = UUID(int=(1 << 64) + 2), "0000000000000001 0000000000000002"
BROKERS: list[tuple[str, str, dict[str, Any]]] = [
    # DefaultKafkaPrincipalBuilder.serialize
    ("DefaultPrincipalData", "0000 05 55736572 06 616c696365 01 00",
     {"version": 0, "type": "User", "name": "alice", "token_authenticated": True}),
    # MetadataRecordSerde.write
    ("TopicRecord", f"01 02 00 07 6f7264657273 {TOPIC_ID_BYTES} 00",
     {"frame_version": 1, "api_key": 2, "version": 0, "name": "orders", "topic_id": TOPIC_ID}),
    ("PartitionChangeRecord", f"01 05 02 00000001 {TOPIC_ID_BYTES} 02 00 09 03 00000003 00000004 01 04 00000003",
     {"frame_version": 1, "api_key": 5, "version": 2, "partition_id": 1, "topic_id": TOPIC_ID, "isr": [3, 4],
      "leader": 3}),
    ("ConfigRecord", "01 04 00 04 02 31 16 73736c2e6b657973746f72652e70617373776f7264 08 68756e74657232 00",
     {"frame_version": 1, "api_key": 4, "version": 0, "resource_type": 4, "resource_name": "1",
      "name": "ssl.keystore.password", "value": "hunter2"}),
    ("NoOpRecord", "01 14 00 00", {"frame_version": 1, "api_key": 20, "version": 0}),
    # RemoteLogMetadataSerde.serialize
    ("RemotePartitionDeleteMetadataRecord",
     f"01 02 00 07 6f7264657273 {TOPIC_ID_BYTES} 00000001 00 00000003 {LATER_BYTES} 01 00",
     {"frame_version": 1, "api_key": 2, "version": 0,
      "topic_id_partition": {"name": "orders", "id": TOPIC_ID, "partition": 1}, "broker_id": 3,
      "event_timestamp_ms": 1_700_000_000_000, "remote_partition_delete_state": 1}),
]  # fmt: skip


PREVIEW: list[tuple[str, str, dict[str, Any]]] = [  # MetadataRecordSerde.write of 2.8.2: not flexible, frame version 0
    ("TopicRecord", f"00 02 00 0006 6f7264657273 {TOPIC_ID_BYTES}",
     {"frame_version": 0, "api_key": 2, "version": 0, "name": "orders", "topic_id": TOPIC_ID}),
    ("PartitionRecord",
     f"00 03 00 00000001 {TOPIC_ID_BYTES} 00000001 00000003 00000001 00000003 ffffffff ffffffff 00000003"
     "00000000 00000000",
     {"frame_version": 0, "api_key": 3, "version": 0, "partition_id": 1, "topic_id": TOPIC_ID, "replicas": [3],
      "isr": [3], "removing_replicas": None, "adding_replicas": None, "leader": 3, "leader_epoch": 0,
      "partition_epoch": 0}),
    ("QuotaRecord", "00 0e 00 00000001 0004 75736572 ffff 0001 6b 3ff8000000000000 00",
     {"frame_version": 0, "api_key": 14, "version": 0, "entity": [{"entity_type": "user", "entity_name": None}],
      "key": "k", "value": 1.5, "remove": False}),
    ("RegisterBrokerRecord", f"00 00 00 00000001 {TOPIC_ID_BYTES} 0000000000000005 00000000 00000000 ffff",
     {"frame_version": 0, "api_key": 0, "version": 0, "broker_id": 1, "incarnation_id": TOPIC_ID, "broker_epoch": 5,
      "end_points": [], "features": [], "rack": None}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), PREVIEW)
def test_records_of_the_kraft_preview_are_read_as_such(name: str, text: str, value: dict[str, Any]) -> None:
    data, opener = bytes.fromhex(text), Opener(Context())
    opened = opener.open(TOPICS["__cluster_metadata"].value, data, "value")
    assert isinstance(opened, OpenedPayload)
    assert (opened.name, opened.value) == (payload(name).name, value)
    assert build(opened.grammar, value) == data
    assert [odd.finding.text for odd in opener.odd] == ["decoded as version 0 as written by Kafka 2.8"]


def test_a_subscription_of_version_1_that_is_laid_out_as_version_0_is_read_as_such() -> None:
    """As KafkaJS 1 and kafka-go write them."""
    data, opener = bytes.fromhex("0001 00000001 0001 74 00000000"), Opener(Context())
    opened = opener.open(lambda data, around: [payload("ConsumerProtocolSubscription")], data, "metadata")
    assert isinstance(opened, OpenedPayload)
    assert opened.value == {"version": 1, "topics": ["t"], "user_data": b""}
    assert build(opened.grammar, opened.value) == data
    assert [odd.finding.facts for odd in opener.odd] == [
        KnownQuirk("subscription-v1-as-v0", ("kafka-go", "KafkaJS 1", "Kayrock", "sarama-cluster"), "guess")
    ]


@for_each(("name", "text", "value"), [*CLIENTS, *CONNECT, *STREAMS, *BROKERS])
def test_it_is_read_and_written_again(name: str, text: str, value: dict[str, Any]) -> None:
    data = bytes.fromhex(text)
    chosen = payload(name).choose(data)
    assert chosen.name == name
    assert reader(chosen.grammar)(data, 0) == (value, len(data))
    assert build(chosen.grammar, value) == data


def test_every_version_of_streams_has_its_bytes() -> None:
    for name in ("SubscriptionInfoData", "AssignmentInfo"):
        assert [value["version"] for known, _, value in STREAMS if known == name] == list(payload(name).versions)


def test_the_name_of_a_topology_is_utf_16() -> None:
    """AssignmentInfo v11 with task 2_3 of the topology "né"."""
    data = bytes.fromhex(
        "0000000b 0000000b 00000001 00000002 00000003 00000002 006e 00e9 00000000 00000000 00000000 00000000"
        "00000000 7fffffffffffffff"
    )
    value = payload("AssignmentInfo").choose(data).grammar.parse(data)
    (task,) = value["active_tasks"]
    assert "".join(map(chr, task["named_topology"])) == "né"

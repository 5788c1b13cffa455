"""Which release of Kafka brought each version of each API, and which was the last to have it.

The next release is one line in NEW. Versions that a release has, but does not call stable yet, count: a broker that is
told so serves them (`unstable.api.versions.enable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from ..wire.language.api import DIRECTIONS, Direction

Versions = Mapping[Direction, frozenset[int]]

NEW: Mapping[str, str] = {
    "0.8.0": (
        "Produce 0, Fetch 0, ListOffsets 0, Metadata 0, LeaderAndIsr 0, StopReplica 0, UpdateMetadata 0, "
        "ControlledShutdown 0"
    ),
    "0.8.1": "OffsetCommit 0, OffsetFetch 0",
    "0.8.2": "OffsetCommit 1, OffsetFetch 1, FindCoordinator 0, JoinGroup 0, Heartbeat 0",
    "0.9.0": (
        "Produce 1, Fetch 1, UpdateMetadata 1, ControlledShutdown 1, OffsetCommit 2, LeaveGroup 0, SyncGroup 0, "
        "DescribeGroups 0, ListGroups 0"
    ),
    "0.10.0": "Produce 2, Fetch 2, Metadata 1, UpdateMetadata 2, SaslHandshake 0, ApiVersions 0",
    "0.10.1": "Fetch 3, ListOffsets 1, Metadata 2, JoinGroup 1, CreateTopics 0, DeleteTopics 0",
    "0.10.2": "UpdateMetadata 3, OffsetFetch 2, CreateTopics 1",
    "0.11.0": (
        "Produce 3, Fetch 4-5, ListOffsets 2, Metadata 3-4, OffsetCommit 3, OffsetFetch 3, FindCoordinator 1, "
        "JoinGroup 2, Heartbeat 1, LeaveGroup 1, SyncGroup 1, DescribeGroups 1, ListGroups 1, ApiVersions 1, "
        "CreateTopics 2, DeleteTopics 1, DeleteRecords 0, InitProducerId 0, OffsetForLeaderEpoch 0, "
        "AddPartitionsToTxn 0, AddOffsetsToTxn 0, EndTxn 0, WriteTxnMarkers 0, TxnOffsetCommit 0, DescribeAcls 0, "
        "CreateAcls 0, DeleteAcls 0, DescribeConfigs 0, AlterConfigs 0"
    ),
    "1.0": (
        "Produce 4-5, Fetch 6, Metadata 5, LeaderAndIsr 1, UpdateMetadata 4, SaslHandshake 1, "
        "AlterReplicaLogDirs 0, DescribeLogDirs 0, SaslAuthenticate 0, CreatePartitions 0"
    ),
    "1.1": (
        "Fetch 7, DescribeConfigs 1, CreateDelegationToken 0, RenewDelegationToken 0, ExpireDelegationToken 0, "
        "DescribeDelegationToken 0, DeleteGroups 0"
    ),
    "2.0": (
        "Produce 6, Fetch 8, ListOffsets 3, Metadata 6, OffsetCommit 4, OffsetFetch 4, FindCoordinator 2, "
        "JoinGroup 3, Heartbeat 2, LeaveGroup 2, SyncGroup 2, DescribeGroups 2, ListGroups 2, ApiVersions 2, "
        "CreateTopics 3, DeleteTopics 2, DeleteRecords 1, InitProducerId 1, OffsetForLeaderEpoch 1, "
        "AddPartitionsToTxn 1, AddOffsetsToTxn 1, EndTxn 1, TxnOffsetCommit 1, DescribeAcls 1, CreateAcls 1, "
        "DeleteAcls 1, DescribeConfigs 2, AlterConfigs 1, AlterReplicaLogDirs 1, DescribeLogDirs 1, "
        "CreatePartitions 1, CreateDelegationToken 1, RenewDelegationToken 1, ExpireDelegationToken 1, "
        "DescribeDelegationToken 1, DeleteGroups 1"
    ),
    "2.1": (
        "Produce 7, Fetch 9-10, ListOffsets 4, Metadata 7, OffsetCommit 5-6, OffsetFetch 5, DeleteTopics 3, "
        "OffsetForLeaderEpoch 2, TxnOffsetCommit 2"
    ),
    "2.2": (
        "ListOffsets 5, LeaderAndIsr 2, StopReplica 1, UpdateMetadata 5, ControlledShutdown 2, JoinGroup 4, "
        "SaslAuthenticate 1, ElectLeaders 0"
    ),
    "2.3": (
        "Fetch 11, Metadata 8, OffsetCommit 7, JoinGroup 5, Heartbeat 3, SyncGroup 3, DescribeGroups 3, "
        "OffsetForLeaderEpoch 3, IncrementalAlterConfigs 0"
    ),
    "2.4": (
        "Produce 8, Metadata 9, LeaderAndIsr 3-4, StopReplica 2, UpdateMetadata 6, ControlledShutdown 3, "
        "OffsetCommit 8, OffsetFetch 6, FindCoordinator 3, JoinGroup 6, Heartbeat 4, LeaveGroup 3-4, SyncGroup 4, "
        "DescribeGroups 4-5, ListGroups 3, ApiVersions 3, CreateTopics 4-5, DeleteTopics 4, InitProducerId 2, "
        "CreateDelegationToken 2, DeleteGroups 2, ElectLeaders 1-2, IncrementalAlterConfigs 1, "
        "AlterPartitionReassignments 0, ListPartitionReassignments 0, OffsetDelete 0"
    ),
    "2.5": (
        "OffsetFetch 7, JoinGroup 7, SyncGroup 5, InitProducerId 3, TxnOffsetCommit 3, DescribeAcls 2, "
        "CreateAcls 2, DeleteAcls 2, SaslAuthenticate 2, CreatePartitions 2, RenewDelegationToken 2, "
        "ExpireDelegationToken 2, DescribeDelegationToken 2"
    ),
    "2.6": (
        "StopReplica 3, ListGroups 4, DeleteRecords 2, DescribeConfigs 3, DescribeLogDirs 2, "
        "DescribeClientQuotas 0, AlterClientQuotas 0"
    ),
    "2.7": (
        "Fetch 12, CreateTopics 6, DeleteTopics 5, InitProducerId 4, AddPartitionsToTxn 2, AddOffsetsToTxn 2, "
        "EndTxn 2, CreatePartitions 3, DescribeUserScramCredentials 0, AlterUserScramCredentials 0, Vote 0, "
        "BeginQuorumEpoch 0, EndQuorumEpoch 0, DescribeQuorum 0, AlterPartition 0, UpdateFeatures 0"
    ),
    "2.8": (
        "Produce 9, ListOffsets 6, Metadata 10-11, LeaderAndIsr 5, UpdateMetadata 7, CreateTopics 7, "
        "DeleteTopics 6, OffsetForLeaderEpoch 4, AddPartitionsToTxn 3, AddOffsetsToTxn 3, EndTxn 3, "
        "WriteTxnMarkers 1, DescribeConfigs 4, AlterConfigs 2, AlterReplicaLogDirs 2, DescribeClientQuotas 1, "
        "AlterClientQuotas 1, Envelope 0, FetchSnapshot 0, DescribeCluster 0, DescribeProducers 0, "
        "BrokerRegistration 0, BrokerHeartbeat 0, UnregisterBroker 0"
    ),
    "3.0": (
        "ListOffsets 7, OffsetFetch 8, FindCoordinator 4, DescribeTransactions 0, ListTransactions 0, "
        "AllocateProducerIds 0"
    ),
    "3.1": "Fetch 13, Metadata 12",
    "3.2": "LeaderAndIsr 6, JoinGroup 8-9, LeaveGroup 5, DescribeLogDirs 3, AlterPartition 1",
    "3.3": (
        "DescribeAcls 3, CreateAcls 3, DeleteAcls 3, DescribeLogDirs 4, CreateDelegationToken 3, "
        "DescribeDelegationToken 3, DescribeQuorum 1, AlterPartition 2, UpdateFeatures 1"
    ),
    "3.4": "LeaderAndIsr 7, StopReplica 4, UpdateMetadata 8, BrokerRegistration 1",
    "3.5": "Fetch 14-15, ListOffsets 8, AddPartitionsToTxn 4, AlterPartition 3, ConsumerGroupHeartbeat 0",
    "3.6": "OffsetCommit 9",
    "3.7": (
        "Produce 10, Fetch 16, OffsetFetch 9, DescribeCluster 1, BrokerRegistration 2-3, BrokerHeartbeat 1, "
        "ConsumerGroupDescribe 0, ControllerRegistration 0, GetTelemetrySubscriptions 0, PushTelemetry 0, "
        "AssignReplicasToDirs 0, ListConfigResources 0"
    ),
    "3.8": (
        "Produce 11, FindCoordinator 5, ListGroups 5, InitProducerId 5, AddPartitionsToTxn 5, AddOffsetsToTxn 4, "
        "EndTxn 4, TxnOffsetCommit 4, ListTransactions 1, DescribeTopicPartitions 0"
    ),
    "3.9": (
        "Fetch 17, ListOffsets 9, FindCoordinator 6, ApiVersions 4, Vote 1, BeginQuorumEpoch 1, EndQuorumEpoch 1, "
        "DescribeQuorum 2, FetchSnapshot 1, BrokerRegistration 4, ShareGroupHeartbeat 0, ShareGroupDescribe 0, "
        "ShareFetch 0, ShareAcknowledge 0, AddRaftVoter 0, RemoveRaftVoter 0, UpdateRaftVoter 0, "
        "InitializeShareGroupState 0, ReadShareGroupState 0, WriteShareGroupState 0, DeleteShareGroupState 0, "
        "ReadShareGroupStateSummary 0"
    ),
    "4.0": (
        "Produce 12, ListOffsets 10, Metadata 13, DescribeGroups 6, EndTxn 5, TxnOffsetCommit 5, Vote 2, "
        "UpdateFeatures 2, DescribeCluster 2, ConsumerGroupHeartbeat 1, ConsumerGroupDescribe 1"
    ),
    "4.1": (
        "Produce 13, Fetch 18, OffsetCommit 10, OffsetFetch 10, InitProducerId 6, AlterPartitionReassignments 1, "
        "ListTransactions 2, ListConfigResources 1, ShareGroupHeartbeat 1, ShareGroupDescribe 1, ShareFetch 1, "
        "ShareAcknowledge 1, StreamsGroupHeartbeat 0, StreamsGroupDescribe 0, DescribeShareGroupOffsets 0, "
        "AlterShareGroupOffsets 0, DeleteShareGroupOffsets 0"
    ),
    "4.2": (
        "ListOffsets 11, WriteTxnMarkers 2, ShareFetch 2, ShareAcknowledge 2, AddRaftVoter 1, "
        "WriteShareGroupState 1, ReadShareGroupStateSummary 1, DescribeShareGroupOffsets 1"
    ),
    "4.3": "DescribeLogDirs 5, BrokerHeartbeat 2",
    "4.4": (
        "ApiVersions 5, TxnOffsetCommit 6, DeleteGroups 3, StreamsGroupHeartbeat 1, StreamsGroupDescribe 1, "
        "StreamsGroupTopologyDescriptionUpdate 0, UnregisterController 0"
    ),
}
"""Release -> the versions that no release before it had, oldest first; from 1.0 on by its first two numbers."""

OLD: Mapping[str, str] = {
    "3.9": (
        "Produce 0-2, Fetch 0-3, ListOffsets 0, LeaderAndIsr 0-7, StopReplica 0-4, UpdateMetadata 0-8, "
        "ControlledShutdown 0-3, OffsetCommit 0-1, OffsetFetch 0, CreateTopics 0-1, DeleteTopics 0, "
        "OffsetForLeaderEpoch 0-1, WriteTxnMarkers 0, DescribeAcls 0, CreateAcls 0, DeleteAcls 0, "
        "DescribeConfigs 0, AlterReplicaLogDirs 0, DescribeLogDirs 0, CreateDelegationToken 0, "
        "RenewDelegationToken 0, ExpireDelegationToken 0, DescribeDelegationToken 0, AlterPartition 0-1"
    ),
    "4.0": "ShareGroupHeartbeat 0, ShareGroupDescribe 0, ShareFetch 0, ShareAcknowledge 0",
}
"""Release -> the versions that it was the last to have: Kafka 4 dropped what clients before 2.1 need (KIP-896), and the
APIs of ZooKeeper's times (KIP-500)."""


def parse(text: str) -> dict[str, Versions]:
    """What such texts say: `Fetch 0-3+5, Vote 0-2/1-2` are versions of Fetch, and of Vote's requests / responses."""
    entries = [entry.split(" ") for entry in text.split(", ") if entry]
    return {name: dict(zip(DIRECTIONS, _sides(spans), strict=True)) for name, spans in entries}


def _sides(spans: str) -> list[frozenset[int]]:
    request, slash, response = spans.partition("/")
    return [_numbers(request), _numbers(response if slash else request)]


def _numbers(spans: str) -> frozenset[int]:
    ends = [span.split("-") for span in spans.split("+") if span]
    return frozenset(number for end in ends for number in range(int(end[0]), int(end[-1]) + 1))


def spans(numbers: Iterable[int]) -> str:
    """Numbers as `parse` reads them: `0-3+5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return "+".join("-".join(map(str, run)) for run in runs)


@cache
def _releases(brought: bool) -> Mapping[tuple[str, int], str]:
    """(API, version) -> the release that brought it, or the last that had it."""
    return {
        (name, version): release
        for release, text in (NEW if brought else OLD).items()
        for name, versions in parse(text).items()
        for version in versions["request"]
    }


def since(name: str, version: int) -> str | None:
    """The first release that had a version of the API `name`; None for one that no release has."""
    return _releases(True).get((name, version))


def until(name: str, version: int) -> str | None:
    """The last release that had it; None where the newest still has."""
    return _releases(False).get((name, version))

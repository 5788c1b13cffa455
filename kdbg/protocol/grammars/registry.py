"""The registry of kdbg's own APIs: one line each, with its key, its name and the other names it goes by.

The grammar of an API stands in the module of its name: ApiVersions in api_versions.py. To add an API, write its file
and add a line here; keys need not follow each other. The lines are checked against each other on import, and against
the grammar files when those are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from ..wire.language.api import Api, snake_case

HIGHEST_KEY = (1 << 15) - 1
"""API keys are INT16."""


class Entry(NamedTuple):
    """An API in the registry.

    `aliases` are those of the 0.8 guide and the 0.10.1 protocol, of older releases of Kafka, and a few short ones.
    """

    key: int
    name: str
    aliases: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Return the name of the module in this package that declares the API."""
        return snake_case(self.name)

    def load(self) -> ModuleType:
        """Import the module that declares the API and return it."""
        return import_module(f".{self.module}", __package__)

    def api(self) -> Api:
        """Return the API that the grammar file declares; raise `ValueError` if the registry has another key or name."""
        found: Api = self.load().api
        if (found.key, found.name) != (self.key, self.name):
            raise ValueError(
                f"{self.module}.py declares {found.name} with API key {found.key}, the registry has {self.name} with "
                f"API key {self.key}"
            )
        return found


def plain(name: str) -> str:
    """Return a name as names are compared: lower-case letters and digits, without a final "request" or "response"."""
    word = "".join(letter for letter in name.lower() if letter.isalnum())
    return word.removesuffix("request").removesuffix("response") or word


def by_key(entries: Iterable[Entry]) -> dict[int, Entry]:
    """Return key -> entry, in the order of the keys.

    Raise `ValueError` for a key outside 0 to 32767, and for one that two entries claim.
    """
    found: dict[int, Entry] = {}
    for entry in entries:
        if not 0 <= entry.key <= HIGHEST_KEY:
            raise ValueError(f"{entry.name} cannot have API key {entry.key}: keys are 0 to {HIGHEST_KEY}")
        other = found.setdefault(entry.key, entry)
        if other is not entry:
            raise ValueError(f"{other.name} and {entry.name} both have API key {entry.key}")
    return dict(sorted(found.items()))


def by_name(entries: Iterable[Entry]) -> dict[str, int]:
    """Return plain name -> key for every name and alias; raise `ValueError` naming two APIs that share one."""
    found: dict[str, Entry] = {}
    for word, entry in _names(entries):
        other = found.setdefault(word, entry)
        if other is not entry:
            raise ValueError(f"{other.name} and {entry.name} both go by the name {word!r}")
    return {word: entry.key for word, entry in found.items()}


def _names(entries: Iterable[Entry]) -> Iterator[tuple[str, Entry]]:
    return ((plain(name), entry) for entry in entries for name in (entry.name, *entry.aliases))


ENTRIES: Mapping[int, Entry] = by_key((
    Entry(0, "Produce", ("Send",)),
    Entry(1, "Fetch"),
    Entry(2, "ListOffsets", ("Offsets", "Offset", "ListOffset")),
    Entry(3, "Metadata", ("TopicMetadata",)),
    Entry(4, "LeaderAndIsr"),
    Entry(5, "StopReplica"),
    Entry(6, "UpdateMetadata"),
    Entry(7, "ControlledShutdown"),
    Entry(8, "OffsetCommit"),
    Entry(9, "OffsetFetch"),
    Entry(10, "FindCoordinator", ("ConsumerMetadata", "GroupCoordinator", "Coordinator")),
    Entry(11, "JoinGroup", ("Join",)),
    Entry(12, "Heartbeat"),
    Entry(13, "LeaveGroup", ("Leave",)),
    Entry(14, "SyncGroup", ("Sync",)),
    Entry(15, "DescribeGroups"),
    Entry(16, "ListGroups"),
    Entry(17, "SaslHandshake"),
    Entry(18, "ApiVersions", ("Versions",)),
    Entry(19, "CreateTopics"),
    Entry(20, "DeleteTopics"),
    Entry(21, "DeleteRecords"),
    Entry(22, "InitProducerId"),
    Entry(23, "OffsetForLeaderEpoch", ("OffsetsForLeaderEpoch",)),
    Entry(24, "AddPartitionsToTxn"),
    Entry(25, "AddOffsetsToTxn"),
    Entry(26, "EndTxn"),
    Entry(27, "WriteTxnMarkers"),
    Entry(28, "TxnOffsetCommit"),
    Entry(29, "DescribeAcls"),
    Entry(30, "CreateAcls"),
    Entry(31, "DeleteAcls"),
    Entry(32, "DescribeConfigs"),
    Entry(33, "AlterConfigs"),
    Entry(34, "AlterReplicaLogDirs"),
    Entry(35, "DescribeLogDirs"),
    Entry(36, "SaslAuthenticate"),
    Entry(37, "CreatePartitions"),
    Entry(38, "CreateDelegationToken"),
    Entry(39, "RenewDelegationToken"),
    Entry(40, "ExpireDelegationToken"),
    Entry(41, "DescribeDelegationToken"),
    Entry(42, "DeleteGroups"),
    Entry(43, "ElectLeaders"),
    Entry(44, "IncrementalAlterConfigs"),
    Entry(45, "AlterPartitionReassignments"),
    Entry(46, "ListPartitionReassignments"),
    Entry(47, "OffsetDelete"),
    Entry(48, "DescribeClientQuotas"),
    Entry(49, "AlterClientQuotas"),
    Entry(50, "DescribeUserScramCredentials"),
    Entry(51, "AlterUserScramCredentials"),
    Entry(52, "Vote"),
    Entry(53, "BeginQuorumEpoch"),
    Entry(54, "EndQuorumEpoch"),
    Entry(55, "DescribeQuorum"),
    Entry(56, "AlterPartition", ("AlterIsr",)),
    Entry(57, "UpdateFeatures"),
    Entry(58, "Envelope"),
    Entry(59, "FetchSnapshot"),
    Entry(60, "DescribeCluster"),
    Entry(61, "DescribeProducers"),
    Entry(62, "BrokerRegistration"),
    Entry(63, "BrokerHeartbeat"),
    Entry(64, "UnregisterBroker", ("DecommissionBroker",)),
    Entry(65, "DescribeTransactions"),
    Entry(66, "ListTransactions"),
    Entry(67, "AllocateProducerIds"),
    Entry(68, "ConsumerGroupHeartbeat"),
    Entry(69, "ConsumerGroupDescribe"),
    Entry(70, "ControllerRegistration"),
    Entry(71, "GetTelemetrySubscriptions"),
    Entry(72, "PushTelemetry"),
    Entry(73, "AssignReplicasToDirs"),
    Entry(74, "ListConfigResources", ("ListClientMetricsResources",)),
    Entry(75, "DescribeTopicPartitions"),
    Entry(76, "ShareGroupHeartbeat"),
    Entry(77, "ShareGroupDescribe"),
    Entry(78, "ShareFetch"),
    Entry(79, "ShareAcknowledge"),
    Entry(80, "AddRaftVoter"),
    Entry(81, "RemoveRaftVoter"),
    Entry(82, "UpdateRaftVoter"),
    Entry(83, "InitializeShareGroupState"),
    Entry(84, "ReadShareGroupState"),
    Entry(85, "WriteShareGroupState"),
    Entry(86, "DeleteShareGroupState"),
    Entry(87, "ReadShareGroupStateSummary"),
    Entry(88, "StreamsGroupHeartbeat"),
    Entry(89, "StreamsGroupDescribe"),
    Entry(90, "DescribeShareGroupOffsets"),
    Entry(91, "AlterShareGroupOffsets"),
    Entry(92, "DeleteShareGroupOffsets"),
    Entry(93, "StreamsGroupTopologyDescriptionUpdate"),
    Entry(94, "UnregisterController"),
))
KEYS: Mapping[str, int] = by_name(ENTRIES.values())

"""The registry: API keys and names to grammars, one file per API, read when first asked for.

`api("Metadata")`, `api(3)`, `api("topic-metadata")` are the same; case, dashes and underscores do not count.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ..errors import UnknownApi
from ..wire.api import Api, snake_case

NAMES = (
    "Produce", "Fetch", "ListOffsets", "Metadata", "LeaderAndIsr", "StopReplica", "UpdateMetadata",
    "ControlledShutdown", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat", "LeaveGroup",
    "SyncGroup", "DescribeGroups", "ListGroups", "SaslHandshake", "ApiVersions", "CreateTopics", "DeleteTopics",
    "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
    "WriteTxnMarkers", "TxnOffsetCommit", "DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeConfigs",
    "AlterConfigs", "AlterReplicaLogDirs", "DescribeLogDirs", "SaslAuthenticate", "CreatePartitions",
    "CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken",
    "DeleteGroups", "ElectLeaders", "IncrementalAlterConfigs", "AlterPartitionReassignments",
    "ListPartitionReassignments", "OffsetDelete", "DescribeClientQuotas", "AlterClientQuotas",
    "DescribeUserScramCredentials", "AlterUserScramCredentials", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch",
    "DescribeQuorum", "AlterPartition", "UpdateFeatures", "Envelope", "FetchSnapshot", "DescribeCluster",
    "DescribeProducers", "BrokerRegistration", "BrokerHeartbeat", "UnregisterBroker", "DescribeTransactions",
    "ListTransactions", "AllocateProducerIds", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe",
    "ControllerRegistration", "GetTelemetrySubscriptions", "PushTelemetry", "AssignReplicasToDirs",
    "ListConfigResources", "DescribeTopicPartitions", "ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch",
    "ShareAcknowledge", "AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "InitializeShareGroupState",
    "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary",
    "StreamsGroupHeartbeat", "StreamsGroupDescribe", "DescribeShareGroupOffsets", "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    "StreamsGroupTopologyDescriptionUpdate", "UnregisterController",
)  # fmt: skip
"""Every API by its key: the position is the key."""

ALIASES = {
    "Produce": ("Send",),
    "ListOffsets": ("Offsets", "Offset", "ListOffset"),
    "Metadata": ("TopicMetadata",),
    "FindCoordinator": ("ConsumerMetadata", "GroupCoordinator", "Coordinator"),
    "JoinGroup": ("Join",),
    "SyncGroup": ("Sync",),
    "LeaveGroup": ("Leave",),
    "ApiVersions": ("Versions",),
    "AlterPartition": ("AlterIsr",),
    "UnregisterBroker": ("DecommissionBroker",),
    "OffsetForLeaderEpoch": ("OffsetsForLeaderEpoch",),
    "ListConfigResources": ("ListClientMetricsResources",),
}
"""Other names: those of the 0.8 guide and the 0.10.1 protocol, of older releases, and a few short ones."""


def plain(name: str) -> str:
    """A name as it is compared: letters and digits, without "request" or "response" behind it."""
    word = "".join(letter for letter in name.lower() if letter.isalnum())
    return word.removesuffix("request").removesuffix("response") or word


_KEYS = {plain(name): key for key, name in enumerate(NAMES)} | {
    plain(alias): NAMES.index(name) for name, aliases in ALIASES.items() for alias in aliases
}


def api(name: str | int) -> Api:
    """The API of a key or a name; `UnknownApi` names the nearest ones."""
    if isinstance(name, str):
        number = name.strip()
        key = int(number) if number.removeprefix("-").isdecimal() else _KEYS.get(plain(name), -1)
    else:
        key = name
    if not 0 <= key < len(NAMES):
        raise UnknownApi(name, near(name) if isinstance(name, str) else ())
    return by_key(key)


@cache
def by_key(key: int) -> Api:
    """The API of a key that is known to be one."""
    found: Api = import_module(f".{snake_case(NAMES[key])}", __name__).api
    return found


def near(name: str) -> tuple[str, ...]:
    """Names that look like `name`."""
    found = difflib.get_close_matches(plain(name), _KEYS, n=3, cutoff=0.6)
    return tuple(dict.fromkeys(NAMES[_KEYS[word]] for word in found))


def apis() -> Iterator[Api]:
    """Every API, in the order of the keys."""
    return map(by_key, range(len(NAMES)))


def about(found: Api) -> str:
    """What an API is for and which KIPs shaped it: the text that its grammar file begins with."""
    return (import_module(f".{snake_case(found.name)}", __name__).__doc__ or "").strip()

"""API keys and names to grammars: the registry of kdbg's own APIs, and one file per API, read when first asked for.

`api("Metadata")`, `api(3)`, `api("topic-metadata")` are the same; case, dashes and underscores do not count. Inside of
`serving(apis)` it serves those as well, instead of its own of the same key: APIs that were defined elsewhere.

The grammar of an API stands in the module of its name: ApiVersions in api_versions.py. To add an API, write its file
and add a line to `ENTRIES`; keys need not follow each other. The lines are checked against each other on import, and
against the grammar files when those are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, ParamSpec, TypeVar, cast

from ...errors import UnknownApi
from ..wire.language import Api, snake_case
from ..wire.nodes import leaves

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


def entries_by_key(entries: Iterable[Entry]) -> dict[int, Entry]:
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


ENTRIES: Mapping[int, Entry] = entries_by_key((
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


Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
__all__ = [
    "ENTRIES", "about", "aliases", "api", "apis", "by_key", "find", "kept", "name_of", "near", "own", "plain",
    "serving",
]  # fmt: skip

_served: dict[int, Api] = {}
"""By their keys, the APIs of the contexts that `serving` has open; the one place that changes in this room."""
_answers: list[Callable[[], None]] = []
"""What forgets the answers that hang on which APIs there are."""


@contextmanager
def serving(given: Iterable[Api]) -> Iterator[None]:
    """Serve these APIs in the whole process until the context ends; one with a key of kdbg's own replaces it."""
    before = dict(_served)
    _serve(before | {api.key: api for api in given})
    try:
        yield
    finally:
        _serve(before)


def _serve(served: dict[int, Api]) -> None:
    _served.clear()
    _served.update(served)
    for forget in _answers:
        forget()


def kept(function: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Cache a function's results (4096 of them) until the APIs that are served change."""
    keeping = lru_cache(maxsize=4096)(function)
    _answers.append(keeping.cache_clear)
    return cast(Callable[Asked, Answer], keeping)


def api(name: str | int) -> Api:
    """Return the API of a key or a name; raise `UnknownApi`, with the nearest names, where there is none."""
    if isinstance(name, str):
        number = name.strip()
        key = int(number) if number.removeprefix("-").isdecimal() else _keys().get(plain(name), -1)
    else:
        key = name
    found = find(key)
    if found is None:
        raise UnknownApi(name, near(name) if isinstance(name, str) else ())
    return found


def find(key: int) -> Api | None:
    """Return the API of a key, None where neither kdbg nor a served API has it."""
    return by_key(key) if key in _served or key in ENTRIES else None


def by_key(key: int) -> Api:
    """Return the API of a key that must be known, a served one before kdbg's own; raise `KeyError` for any other."""
    return _served.get(key) or own(key)


def name_of(key: int) -> str | None:
    """Return the name of the API of a key without reading its grammar; None for an unknown key."""
    known = _served.get(key) or ENTRIES.get(key)
    return known.name if known else None


@cache
def own(key: int) -> Api:
    """Return kdbg's own API of a key, whatever is served; raise `KeyError` where kdbg has none."""
    return ENTRIES[key].api()


@kept
def _keys() -> dict[str, int]:
    """Return plain name -> API key for every name that an API goes by; a served API takes no name of kdbg's own."""
    return {plain(found.name): key for key, found in _served.items()} | dict(KEYS)


def aliases(found: Api) -> tuple[str, ...]:
    """Return the other names that an API goes by; none for an API that is not in the registry."""
    return ENTRIES[found.key].aliases if found.key in ENTRIES else ()


def near(name: str) -> tuple[str, ...]:
    """Return the names of at most three APIs that look like `name`, the most alike first."""
    import difflib

    keys = _keys()
    found = difflib.get_close_matches(plain(name), keys, n=3, cutoff=0.6)
    return tuple(dict.fromkeys(by_key(keys[word]).name for word in found))


def apis() -> Iterator[Api]:
    """Return every API, kdbg's own and those served, in the order of their keys."""
    return map(by_key, sorted({*ENTRIES, *_served}))


def about(found: Api) -> str:
    """Return the text that an API's grammar file begins with: what it is for and which KIPs shaped it.

    For an API that is not kdbg's own, return its name, its key and the files that define it.
    """
    given = ", ".join(found.given)
    if found.key not in ENTRIES:
        return f"{found.name} (key {found.key}): defined by {given}."
    text = (ENTRIES[found.key].load().__doc__ or "").strip()
    return f"{text}\n\nPartly defined by {given}." if given else text


def _error_names() -> dict[int, str]:
    """Return error code -> name."""
    from .errors import ERRORS

    return {code: error.name for code, error in ERRORS.items()}


@kept
def api_names() -> dict[int, str]:
    """Return API key -> name, of kdbg's own APIs and those served."""
    own = {key: entry.name for key, entry in ENTRIES.items()}
    return own | {key: found.name for key, found in _served.items()}


leaves.KINDS["error"] = _error_names
leaves.KINDS["api"] = api_names

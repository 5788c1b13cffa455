"""API keys and names to grammars: the registry of kdbg's own APIs, and one file per API, read when first asked for.

`api("Metadata")`, `api(3)`, `api("topic-metadata")` are the same; case, dashes and underscores do not count. Inside of
`serving(apis)` it serves those as well, instead of its own of the same key: APIs that were defined elsewhere.

The grammar of an API stands in the module of its name: ApiVersions in api_versions.py. To add an API, write its file
and add it to `NAMES`. The names are checked against each other on import, and against the grammar files when those are
read.
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


class Entry(NamedTuple):
    """An API in the registry."""

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


def by_name(entries: Iterable[Entry]) -> dict[str, int]:
    """Return plain name -> key for every name and alias; raise `ValueError` naming two APIs that share one."""
    found: dict[str, Entry] = {}
    for entry in entries:
        for word in map(plain, (entry.name, *entry.aliases)):
            other = found.setdefault(word, entry)
            if other is not entry:
                raise ValueError(f"{other.name} and {entry.name} both go by the name {word!r}")
    return {word: entry.key for word, entry in found.items()}


NAMES: Mapping[int, str] = {
    0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 4: "LeaderAndIsr", 5: "StopReplica",
    6: "UpdateMetadata", 7: "ControlledShutdown", 8: "OffsetCommit", 9: "OffsetFetch", 10: "FindCoordinator",
    11: "JoinGroup", 12: "Heartbeat", 13: "LeaveGroup", 14: "SyncGroup", 15: "DescribeGroups", 16: "ListGroups",
    17: "SaslHandshake", 18: "ApiVersions", 19: "CreateTopics", 20: "DeleteTopics", 21: "DeleteRecords",
    22: "InitProducerId", 23: "OffsetForLeaderEpoch", 24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn",
    27: "WriteTxnMarkers", 28: "TxnOffsetCommit", 29: "DescribeAcls", 30: "CreateAcls", 31: "DeleteAcls",
    32: "DescribeConfigs", 33: "AlterConfigs", 34: "AlterReplicaLogDirs", 35: "DescribeLogDirs",
    36: "SaslAuthenticate", 37: "CreatePartitions", 38: "CreateDelegationToken", 39: "RenewDelegationToken",
    40: "ExpireDelegationToken", 41: "DescribeDelegationToken", 42: "DeleteGroups", 43: "ElectLeaders",
    44: "IncrementalAlterConfigs", 45: "AlterPartitionReassignments", 46: "ListPartitionReassignments",
    47: "OffsetDelete", 48: "DescribeClientQuotas", 49: "AlterClientQuotas", 50: "DescribeUserScramCredentials",
    51: "AlterUserScramCredentials", 52: "Vote", 53: "BeginQuorumEpoch", 54: "EndQuorumEpoch", 55: "DescribeQuorum",
    56: "AlterPartition", 57: "UpdateFeatures", 58: "Envelope", 59: "FetchSnapshot", 60: "DescribeCluster",
    61: "DescribeProducers", 62: "BrokerRegistration", 63: "BrokerHeartbeat", 64: "UnregisterBroker",
    65: "DescribeTransactions", 66: "ListTransactions", 67: "AllocateProducerIds", 68: "ConsumerGroupHeartbeat",
    69: "ConsumerGroupDescribe", 70: "ControllerRegistration", 71: "GetTelemetrySubscriptions", 72: "PushTelemetry",
    73: "AssignReplicasToDirs", 74: "ListConfigResources", 75: "DescribeTopicPartitions", 76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe", 78: "ShareFetch", 79: "ShareAcknowledge", 80: "AddRaftVoter", 81: "RemoveRaftVoter",
    82: "UpdateRaftVoter", 83: "InitializeShareGroupState", 84: "ReadShareGroupState", 85: "WriteShareGroupState",
    86: "DeleteShareGroupState", 87: "ReadShareGroupStateSummary", 88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe", 90: "DescribeShareGroupOffsets", 91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets", 93: "StreamsGroupTopologyDescriptionUpdate", 94: "UnregisterController",
}
"""API key -> name; the keys need not follow each other."""
ALIASES: Mapping[int, tuple[str, ...]] = {
    0: ("Send",), 2: ("Offsets", "Offset", "ListOffset"), 3: ("TopicMetadata",),
    10: ("ConsumerMetadata", "GroupCoordinator", "Coordinator"), 11: ("Join",), 13: ("Leave",), 14: ("Sync",),
    18: ("Versions",), 23: ("OffsetsForLeaderEpoch",), 56: ("AlterIsr",), 64: ("DecommissionBroker",),
    74: ("ListClientMetricsResources",),
}
"""API key -> other names: those of the 0.8 guide, the 0.10.1 protocol and older releases, and a few short ones."""
ENTRIES: Mapping[int, Entry] = {key: Entry(key, NAMES[key], ALIASES.get(key, ())) for key in sorted(NAMES)}
KEYS: Mapping[str, int] = by_name(ENTRIES.values())


Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
__all__ = [
    "ENTRIES", "about", "aliases", "api", "apis", "by_key", "find", "kept", "name_of", "named", "near", "own", "plain",
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


def named(name: str) -> Api | None:
    """Return the API that a program calls so, `ApiVersion` or `fetch_response`, or by its key; None for no API."""
    try:
        return api("ApiVersions" if plain(name) == "apiversion" else name)
    except UnknownApi:
        return None


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

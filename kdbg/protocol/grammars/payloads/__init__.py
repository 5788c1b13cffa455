"""Payloads: what stands inside the bytes of messages and of the records of internal topics, one file a family.

`payload("OffsetCommitValue")` and `payload("offset-commit-value")` are the same; case, dashes and underscores do not
count. Beside the names, it is defined here which payload a field of bytes may be (`Holds(Bytes, ...)` in declarations),
and which ones the records of a topic are; forwarded.py and telemetry.py read what is no layout of its own.

Classic groups (KIP-62's JoinGroup and its relatives) carry what the members of a group say to each other, which the
broker does not read: the protocol type says whose words they are, and inside a consumer's, the assignor's name.

The key of a coordinator's record begins with a number that says what key and value are: once called the key's
version, now the record's type. Records of the KRaft log and of tiered storage have no key that says it: a frame in
front of the value does.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from operator import eq
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....errors import BadValue, UnknownPayload, WireError
from ...findings.faults import FaultKind, NothingNear
from ...wire.language.payload import Around, Holding, Payload, PayloadRefused, Readable, RecordPayloads
from ...wire.nodes import INT16, UVARINT
from .. import plain

if TYPE_CHECKING:
    from .sasl_tokens import MechanismMessages


FAMILIES = (
    "consumer_protocol", "assignor_data", "streams", "connect_protocol", "kafka_principal", "group_records",
    "consumer_group_records", "share_group_records", "streams_group_records", "transaction_log", "share_state",
    "cluster_metadata", "remote_log", "control_records", "quorum_state", "producer_snapshot",
)  # fmt: skip
"""The files of declarations beside this one. Every `Payload` in them, or in their `RECORDS`, is in the registry."""

ALIASES = {
    "ControlRecordTypeSchema": "ControlRecordKey",
    "LegacyOffsetCommitKey": "OffsetCommitKey",
    "LegacyOffsetCommitValue": "OffsetCommitValue",
    "QuotaRecord": "ClientQuotaRecord",
    "SubscriptionInfo": "SubscriptionInfoData",
}
"""Other names that Kafka's releases had or have for the same layouts."""
_ALIASES = {plain(alias): plain(name) for alias, name in ALIASES.items()}


@cache
def _family(module: str) -> tuple[Payload, ...]:
    names = vars(import_module(f".{module}", __package__))
    found = (*names.values(), *names.get("RECORDS", {}).values())
    return tuple(declared for declared in found if isinstance(declared, Payload))


def payloads() -> Iterator[Payload]:
    """Yield every payload, family by family; a family's file is read when its turn comes."""
    for module in FAMILIES:
        yield from _family(module)


@lru_cache(maxsize=1024)
def known(name: str) -> Payload | None:
    """Return the payload of a name or alias, None where there is none; later families than its own stay unread."""
    word = plain(name)
    word = _ALIASES.get(word, word)
    return next((found for found in payloads() if plain(found.name) == word), None)


def payload(name: str) -> Payload:
    """Return the payload of a name or alias; raise `UnknownPayload`, with the nearest names, where there is none."""
    found = known(name)
    if found is None:
        names = {plain(found.name): found.name for found in payloads()}
        names |= {plain(alias): true for alias, true in ALIASES.items()}
        import difflib

        near = difflib.get_close_matches(plain(name), names, n=3, cutoff=0.6)
        raise UnknownPayload(name, tuple(dict.fromkeys(names[word] for word in near)))
    return found


def aliases(found: Payload) -> list[str]:
    """Return the other names that releases of Kafka have for a payload."""
    return [alias for alias, name in ALIASES.items() if name == found.name]


def about(found: Payload) -> str:
    """Return the text that the file of a payload's family begins with: what it is for and which KIPs shaped it."""
    module = next(module for module in FAMILIES if found in _family(module))
    return (import_module(f".{module}", __package__).__doc__ or "").strip()


@dataclass(frozen=True)
class HintedHolding:
    """A holding that a field near the bytes tells.

    `by` are the names that field goes by, `readings` its values and the payloads that each stands for, likeliest
    first. Where no such field is near, the bytes may be any of them, or something else; where it says anything else,
    nothing is known.
    """

    by: tuple[str, ...]
    readings: Mapping[str, tuple[str, ...]]

    def __call__(self, data: bytes, around: Around) -> list[Readable]:
        said = next(filter(None, map(around.get, self.by)), None)
        if said is not None:
            return [payload(name) for name in self.readings.get(said, ())]
        names = dict.fromkeys(name for names in self.readings.values() for name in names)
        return [*map(payload, names), PayloadRefused(BadValue("", 0, NothingNear(self.by)))]


PROTOCOL_TYPE = ("protocol_type",)
ASSIGNOR = ("name", "protocol_name", "protocol_data", "protocol")
"""A protocol of JoinGroup has a name, its answer a protocol name; DescribeGroups and stored groups say it otherwise."""

subscription: Final = HintedHolding(PROTOCOL_TYPE, {
    "consumer": ("ConsumerProtocolSubscription",),
    "connect": ("ConnectWorkerState",),
})  # fmt: skip
assignment: Final = HintedHolding(PROTOCOL_TYPE, {
    "consumer": ("ConsumerProtocolAssignment",),
    "connect": ("ConnectAssignment",),
})  # fmt: skip
subscription_data: Final = HintedHolding(ASSIGNOR, {
    "sticky": ("StickyAssignorUserDataV1", "StickyAssignorUserDataV0", "StickyAssignorUserData"),
    "cooperative-sticky": ("CooperativeStickyAssignorUserDataV0", "StickyAssignorUserDataV1"),
    "stream": ("SubscriptionInfoData",),
})  # fmt: skip
assignment_data: Final = HintedHolding(ASSIGNOR, {"stream": ("AssignmentInfo",)})


@dataclass(frozen=True)
class SoleHolding:
    """The holding of bytes that are always the payload of this name."""

    name: str

    def __call__(self, data: bytes, around: Around) -> list[Readable]:
        return [payload(self.name)]


connect_allocation: Final = SoleHolding("ConnectAssignment")
"""What a Connect worker reports that it runs: that of the assignment it was given."""
classic_subscription: Final = SoleHolding("ConsumerProtocolSubscription")
"""What a classic member joined a group of the new protocol with."""
principal: Final = SoleHolding("DefaultPrincipalData")
"""Who sent a forwarded request, as Kafka's own principal builder writes it; others may write anything."""


def _tokens(side: str) -> Holding:
    """Return the holding of a side's tokens: by the mechanism around one, or of any where that was not seen."""

    def holding(data: bytes, around: Around) -> Iterable[Readable]:
        from . import sasl_tokens  # which connections without SASL never need

        messages: tuple[MechanismMessages, ...] = getattr(sasl_tokens, side)
        mechanism = around.get("mechanism")
        family = str(mechanism).partition("-SHA-")[0]
        return messages if mechanism is None else [known for known in messages if known.mechanism == family]

    return holding


client_token, server_token = _tokens("CLIENT"), _tokens("SERVER")


@dataclass(frozen=True)
class Keyed:
    """Records of a coordinator's topic. `kinds` are the names of keys and values, but for "Key" and "Value"."""

    topic: str
    kinds: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[int, str]:
        return {number: kind for kind in self.kinds for number in payload(f"{kind}Key").versions}

    def key(self, data: bytes, around: Around) -> list[Readable]:
        return self._named(data, "Key")

    def value(self, data: bytes, around: Around) -> list[Readable]:
        return self._named(around.get("key") or b"", "Value")

    def _named(self, key: bytes, part: str) -> list[Readable]:
        try:
            number = INT16._parse(io.BytesIO(key), None, "version")
            if number not in self.numbers:
                fault = FaultKind.UNKNOWN_RECORD.of(what="key type", number=number, topic=self.topic)
                raise BadValue("version", 0, fault)
        except WireError as error:
            return [PayloadRefused(error)]
        return [payload(f"{self.numbers[number]}{part}")]


@dataclass(frozen=True)
class Framed:
    """Records whose value begins with a frame: its version, the kind of record, the version of that (all varints).

    `family` is the file of declarations; its `RECORDS` names the kinds by their number.
    """

    topic: str
    family: str

    @cached_property
    def records(self) -> Mapping[int, Payload]:
        found: Mapping[int, Payload] = import_module(f".{self.family}", __package__).RECORDS
        return found

    def key(self, data: bytes, around: Around) -> list[Readable]:
        return []

    def value(self, data: bytes, around: Around) -> list[Readable]:
        frame = io.BytesIO(data)
        try:
            UVARINT._parse(frame, None, "frame_version")
            start, number = frame.tell(), UVARINT._parse(frame, None, "api_key")
            if number not in self.records:
                fault = FaultKind.UNKNOWN_RECORD.of(what="record", number=number, topic=self.topic)
                raise BadValue("api_key", start, fault)
        except WireError as error:
            return [PayloadRefused(error)]
        return [self.records[number]]


CONTROL_VALUES = {
    0: "EndTxnMarker", 1: "EndTxnMarker", 2: "LeaderChangeMessage", 3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord", 5: "KRaftVersionRecord", 6: "VotersRecord",
}  # fmt: skip
"""What stands in the value of a control record, by the type in its key (KIP-98, KIP-595, KIP-630, KIP-853)."""


def control_value(data: bytes, around: Around) -> list[Readable]:
    key = io.BytesIO(around.get("key") or b"")
    try:
        INT16._parse(key, None, "version")
        number = INT16._parse(key, None, "type")
        if number not in CONTROL_VALUES:
            raise BadValue("type", 2, FaultKind.UNKNOWN_CONTROL.of(number))
    except WireError as error:
        return [PayloadRefused(error)]
    return [payload(CONTROL_VALUES[number])]


_GROUPS = Keyed("__consumer_offsets", (
    "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata", "ConsumerGroupPartitionMetadata",
    "ConsumerGroupMemberMetadata", "ConsumerGroupTargetAssignmentMetadata", "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment", "ShareGroupPartitionMetadata", "ShareGroupMemberMetadata",
    "ShareGroupMetadata", "ShareGroupTargetAssignmentMetadata", "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment", "ShareGroupStatePartitionMetadata", "ConsumerGroupRegularExpression",
    "StreamsGroupMetadata", "StreamsGroupMemberMetadata", "StreamsGroupTargetAssignmentMetadata",
    "StreamsGroupTargetAssignmentMember", "StreamsGroupCurrentMemberAssignment", "StreamsGroupTopology",
))  # fmt: skip
_TRANSACTIONS = Keyed("__transaction_state", ("TransactionLog",))
_SHARES = Keyed("__share_group_state", ("ShareSnapshot", "ShareUpdate"))

SECRETIVE = "__cluster_metadata"
"""The topic that holds secrets: users' SCRAM keys, delegation tokens, configurations."""

TOPICS: Mapping[str, RecordPayloads] = {
    kind.topic: RecordPayloads(kind.key, kind.value, secret=kind.topic == SECRETIVE)
    for kind in (
        _GROUPS,
        _TRANSACTIONS,
        _SHARES,
        Framed(SECRETIVE, "cluster_metadata"),
        Framed("__remote_log_metadata", "remote_log"),
    )
}
"""Kafka's internal topics by name. Those of Connect and of Streams hold what their users chose, JSON as a rule."""
CONTROL = RecordPayloads(SoleHolding("ControlRecordKey"), control_value)
"""The records of control batches, in any topic."""
SECRETIVE_ID = UUID(int=1)
"""The id of that topic, which is the same everywhere (KIP-595)."""
ALIKE = 12
"""Bytes of its name, or of its id, that are as they should be where damage has made it another."""


class _Special:
    """The topics whose records may be opened, by name or id."""

    def __contains__(self, topic: object) -> bool:
        return topic in TOPICS or may_be_secretive(topic)


SPECIAL: Final = _Special()
"""Kafka's own topics, and those whose name or id may be what damage has left of the one that holds secrets."""


@lru_cache(maxsize=1 << 14)
def may_be_secretive(topic: object) -> bool:
    """Return whether a name, or an id that has no name, is that of the topic with secrets, or nearly."""
    if isinstance(topic, str):
        return len(topic) == len(SECRETIVE) and sum(map(eq, topic, SECRETIVE)) >= ALIKE
    return isinstance(topic, UUID) and sum(map(eq, topic.bytes, SECRETIVE_ID.bytes)) >= ALIKE


__all__ = [
    "CONTROL", "SPECIAL", "TOPICS", "about", "aliases", "assignment", "known", "payload", "payloads", "subscription",
]  # fmt: skip

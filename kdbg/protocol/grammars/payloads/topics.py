"""What the records of Kafka's internal topics hold, and the control records of any topic.

The key of a coordinator's record begins with a number that says what key and value are: once called the key's
version, now the record's type. Records of the KRaft log and of tiered storage have no key that says it: a frame in
front of the value does.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from operator import eq
from typing import Final
from uuid import UUID

from ....errors import BadValue, WireError
from ...findings.faults import UnknownControl, UnknownRecord
from ...wire.language.payload import Around, Payload, PayloadRefused, Readable, RecordPayloads
from ...wire.nodes import INT16, UVARINT
from .registry import payload


@dataclass(frozen=True)
class Keyed:
    """Records of a coordinator's topic. `kinds` are the names of keys and values, but for "Key" and "Value"."""

    topic: str
    kinds: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[int, str]:
        return {number: kind for kind in self.kinds for number in payload(f"{kind}Key").versions}

    def kind(self, key: bytes) -> str:
        """Return the kind of record that a key names by its first number; raise `BadValue` for an unknown one."""
        number = INT16._parse(io.BytesIO(key), None, "version")
        if number not in self.numbers:
            raise BadValue("version", 0, UnknownRecord("key type", number, self.topic))
        return self.numbers[number]

    def key(self, data: bytes, around: Around) -> list[Readable]:
        return self._named(data, "Key")

    def value(self, data: bytes, around: Around) -> list[Readable]:
        return self._named(around.get("key") or b"", "Value")

    def _named(self, key: bytes, part: str) -> list[Readable]:
        try:
            return [payload(f"{self.kind(key)}{part}")]
        except WireError as error:
            return [PayloadRefused(error)]


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
                raise BadValue("api_key", start, UnknownRecord("record", number, self.topic))
        except WireError as error:
            return [PayloadRefused(error)]
        return [self.records[number]]


CONTROL_VALUES = {
    0: "EndTxnMarker", 1: "EndTxnMarker", 2: "LeaderChangeMessage", 3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord", 5: "KRaftVersionRecord", 6: "VotersRecord",
}  # fmt: skip
"""What stands in the value of a control record, by the type in its key (KIP-98, KIP-595, KIP-630, KIP-853)."""


def control_key(data: bytes, around: Around) -> list[Readable]:
    return [payload("ControlRecordKey")]


def control_value(data: bytes, around: Around) -> list[Readable]:
    key = io.BytesIO(around.get("key") or b"")
    try:
        INT16._parse(key, None, "version")
        number = INT16._parse(key, None, "type")
        if number not in CONTROL_VALUES:
            raise BadValue("type", 2, UnknownControl(number))
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
CONTROL = RecordPayloads(control_key, control_value)
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

"""The same request answered in two runs: what the answers differ in by meaning, and whether to ask once more.

What is compared, and what is not, is what the tables of broker_assigned.py say: ids are compared by their counterparts,
offsets by their distance, records one by one, times and addresses not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.secrets import without_values
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireStruct, join
from ...protocol.wire.records import RecordsNode
from .broker_assigned import (  # fmt: skip
    ABSENT,
    CHOSEN,
    EVENTUAL,
    KEPT,
    MEMBER_ID_REQUIRED,
    OFFSET,
    PATIENT,
    TRANSIENT,
    UNCHANGED,
    assigned_kind,
    is_volatile,
)
from .messages import Difference, inside, nodes
from .value_mapping import Around, Counterparts

EARLIEST, LATEST = -2, -1
ENDS: Final = frozenset({EARLIEST, LATEST, -4, -5, -6})
"""Timestamps of ListOffsets requests that stand for an end of a log, or of a part of it (KIP-405, KIP-1005)."""
MOVING: Final = frozenset({"Assigning", "Reconciling", "Stable", "PreparingRebalance", "CompletingRebalance"})
"""States of a group with members: which of them it is in is a matter of moments."""
ASSIGNING: Final = frozenset({"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"})
"""APIs that show what brokers assign to members (KIP-848)."""
ASSIGNED: Final = frozenset({"assignment", "target_assignment"})


class Verdict(StrEnum):
    """What came of a request that was sent again."""

    SAME = "same"
    DIFFERS = "differs"
    FAILED = "failed"
    UNCOMPARED = "not compared"


@dataclass(slots=True)
class ReplayedRequest:
    """A request that was sent again: `exchange` is the captured one, `version` the version that it was sent in.

    `answer` is the new exchange, None where there is none. `lost` are the fields that had no place in that version,
    `why` says in words why it failed or was not compared. `tries` counts how often it was sent, `sooner` the parts
    that the captured run had to wait for and this one had not.
    """

    exchange: Exchange
    verdict: Verdict
    version: int
    differences: list[Difference] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    why: str = ""
    answer: Exchange | None = None
    tries: int = 1
    sooner: int = 0


@dataclass(slots=True)
class Judge:
    """Compares answers; `secrets` and `values` as `compare.messages.compare` has them.

    `sooner` counts the parts of the latest answer that the first run had to wait for, and the second had not.
    """

    known: Counterparts
    secrets: bool = False
    values: bool = True
    found: list[Difference] = field(default_factory=list)
    sooner: int = 0
    same_version: bool = True
    ends: Mapping[tuple[Any, Any], int] = field(default_factory=dict)
    """The partitions of whose logs the request at hand asks for an end, each with `EARLIEST` or `LATEST`."""
    shared: frozenset[Any] = frozenset()
    """Groups of several members whose partitions the broker assigns."""
    assigns: bool = False
    last_sent: dict[tuple[Any, str], Any] = field(default_factory=dict)
    """What a member was told last, of what null says that it has not changed."""

    def compare(self, old: Exchange, new: Exchange) -> list[Difference]:
        """Return what the answer of the second run differs in from that of the first."""
        self.found, self.sooner = [], 0
        self.same_version = old.version == new.version
        self.ends = _ends(old)
        self.assigns = old.api is not None and old.api.name in ASSIGNING
        (one, of_one), (other, of_other) = self._body(old), self._body(new)
        self._structures(one, of_one, other, of_other, asked_around(self.known, old), "")
        return self.found

    def learn(self, old: Exchange, new: Exchange) -> None:
        """Note what the answers handed out."""
        one = old.response.message() if old.response is not None else None
        other = new.response.message() if new.response is not None else None
        if one is None or other is None:
            return
        ends, body = _ends(old), one.body
        if ends:  # where logs end is not learnt as an offset, only how far they went
            theirs = {
                (topic["name"], part["partition_index"]): part.get("offset", -1)
                for topic in other.body["topics"]
                for part in topic["partitions"]
            }
            topics = []
            for topic in body["topics"]:
                parts = []
                for part in topic["partitions"]:
                    place = topic["name"], part["partition_index"]
                    if ends.get(place) == LATEST and "offset" in part:
                        self.known.note_end(*place, part["offset"], theirs.get(place, -1))
                    parts.append({k: v for k, v in part.items() if place not in ends or k != "offset"})
                topics.append({**topic, "partitions": parts})
            body = {**body, "topics": topics}
        self.known.learn(body, other.body, one.grammar, asked_around(self.known, old))

    def _body(self, exchange: Exchange) -> tuple[Mapping[str, Any], WireStruct | None]:
        message = exchange.response.message() if exchange.response is not None else None
        if message is None:
            return {}, None
        body = message.body if self.secrets else message.open_body
        return (body if self.values else without_values(message.grammar, body)), message.grammar

    def _structures(
        self, old: Mapping[str, Any], of_old: WireStruct | None, new: Mapping[str, Any], of_new: WireStruct | None,
        around: Around, path: str,
    ) -> None:  # fmt: skip
        around = self.known.around(old, of_old, around)
        ours, theirs = nodes(of_old), nodes(of_new)
        if any(
            node.kind == "error" and old.get(name) in TRANSIENT and new.get(name) in (0, MEMBER_ID_REQUIRED)
            for name, node in ours.items()
        ):
            self.sooner += 1
            return
        for name in dict.fromkeys((*old, *new)):
            node, there = ours.get(name), theirs.get(name)
            one, other = old.get(name, ABSENT), new.get(name, ABSENT)
            if name == "members" and _leads(old) != _leads(new):
                continue  # another member leads the group: it alone is told of all
            if name == "group_state" and {one, other} <= MOVING:
                continue
            if name in ASSIGNED and self.assigns and around.get("group") in self.shared:
                continue  # the broker chooses which member gets what
            if is_volatile(name, node or there) or (ABSENT in (one, other) and not self.same_version):
                continue
            self._values(one, node, other, there, around, name, join(path, name))

    def _values(
        self, old: Any, node: Node | None, new: Any, there: Node | None, around: Around, name: str, path: str
    ) -> None:
        kind = assigned_kind(name, node or there, old)
        if name in UNCHANGED:
            place = around.get("member"), path
            if _says_nothing(old):
                self.sooner += not _says_nothing(new)
                self.last_sent[place] = self.last_sent.get(place) if new is None else new
                return
            new = self.last_sent[place] = self.last_sent.get(place) if new is None else new
        if isinstance(old, OpenedPayload) and isinstance(new, OpenedPayload):
            self._structures(old.value, old.grammar, new.value, new.grammar, around, path)
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            self._structures(old, inside(node), new, inside(there), around, path)
        elif isinstance(node, RecordsNode) and isinstance(old, list) and isinstance(new, list | None):
            self._records(old, new or [], node, around, path)
        elif kind is not None:
            if (
                kind is OFFSET
                and name not in CHOSEN
                and (around.get("topic"), around.get("partition")) not in self.ends
            ):
                wanted = self.known.of(OFFSET, around, old)
                if isinstance(old, list):
                    wanted = KEPT if isinstance(new, list) else old
                if wanted is not KEPT and wanted != new:
                    self._differ(path, node, wanted, new)
        elif (
            isinstance(old, list) and isinstance(new, list) and any(isinstance(item, Mapping) for item in (*old, *new))
        ):
            for index, one, other in self.known.paired(old, new):
                if isinstance(one, Mapping) and isinstance(other, Mapping):
                    self._structures(one, inside(node), other, inside(there), around, f"{path}[{index}]")
                else:
                    self._differ(f"{path}[{index}]", node, one, other)
        elif isinstance(old, list) and isinstance(new, list):
            if sorted(old, key=repr) != sorted(new, key=repr):
                self._differ(path, node, old, new)
        elif old != new or type(old) is not type(new):
            self._differ(path, node, old, new)

    def _records(self, old: list[Any], new: list[Any], node: RecordsNode, around: Around, path: str) -> None:
        """Compare records by their offsets; those that came in addition are none that the first run lacks."""
        theirs = {record.get("offset"): record for record in records_in(new)}
        for record in records_in(old):
            offset = record.get("offset")
            place = self.known.of(OFFSET, around, offset)
            other: Any = theirs.get(offset if place is KEPT else place, ABSENT)
            if other is ABSENT:
                self._differ(f"{path}[{offset}]", node, record, ABSENT)
                continue
            for name in ("key", "value", "headers"):
                if (record.get(name) or None) != (other.get(name) or None):
                    self._differ(f"{path}[{offset}].{name}", None, record.get(name), other.get(name))

    def _differ(self, path: str, node: Node | None, old: Any, new: Any) -> None:
        self.found.append(Difference("response", path, node, old, new))


def asked_around(known: Counterparts, exchange: Exchange) -> Around:
    """Return what a request says of all that its answer speaks of: the group, the member, the producer."""
    message = exchange.request.message() if exchange.request is not None else None
    return known.around(message.body, message.grammar, {}) if message is not None else {}


def records_in(entries: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a record set, those in compressed messages too; not those that mark a transaction's end."""
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        if isinstance(entry.get("records"), list):
            yield from records_in(entry["records"])
        elif "partial" not in entry and "raw" not in entry and not entry.get("control") and "key" in entry:
            yield entry


def worth_asking_again(old: Exchange, new: Exchange, differences: list[Difference]) -> frozenset[Any]:
    """Return why the same request may have another answer soon: error codes that pass, or what is still to come."""
    before, codes = _codes(old), _codes(new)
    if codes - before - PATIENT:
        return frozenset()
    missing = {one.path for one in differences if one.b is ABSENT and isinstance(one.node, RecordsNode)}
    if old.api is not None and old.api.name in EVENTUAL:
        missing |= {one.path for one in differences if ABSENT in (one.a, one.b)}
    late = {one.path for one in differences if one.b is None and one.path.rpartition(".")[2] in UNCHANGED}
    return frozenset((codes & PATIENT) - before) | frozenset(missing) | frozenset(late)


def _ends(asked: Exchange) -> dict[tuple[Any, Any], int]:
    """Return the partitions whose first or last offset a ListOffsets request asks for, by topic and partition.

    Where a log begins and ends when asked is a matter of its topic's retention, and of moments.
    """
    if asked.api is None or asked.api.name != "ListOffsets" or asked.request is None:
        return {}
    message = asked.request.message()
    return {
        (topic["name"], part["partition_index"]): part["timestamp"]
        for topic in (message.body["topics"] if message is not None else ())
        for part in topic["partitions"]
        if part.get("timestamp") in ENDS
    }


def shared_groups(exchanges: Iterable[Exchange]) -> frozenset[Any]:
    """Return the groups in which several members send ConsumerGroupHeartbeat requests."""
    members: dict[Any, set[Any]] = {}
    for exchange in exchanges:
        if exchange.api is None or exchange.api.name != "ConsumerGroupHeartbeat" or exchange.response is None:
            continue
        asked, told = exchange.request and exchange.request.message(), exchange.response.message()
        if asked and told and (member := told.body.get("member_id") or asked.body.get("member_id")):
            members.setdefault(asked.body["group_id"], set()).add(member)
    return frozenset(group for group, ids in members.items() if len(ids) > 1)


def _leads(joined: Mapping[str, Any]) -> bool:
    """Return whether a JoinGroup response is that of its group's leader; False for any other structure."""
    return bool(joined.get("member_id")) and joined.get("leader") == joined.get("member_id")


def _says_nothing(value: Any) -> bool:
    """Return whether a value is null, or a structure of nothing but empty lists."""
    return value is None or (isinstance(value, Mapping) and all(not inner for inner in value.values()))


def _codes(exchange: Exchange) -> set[int]:
    """Return the error codes of an answer that are not 0."""
    found = exchange.response.outline() if exchange.response is not None else None
    return set(found[2]) if found is not None else set()

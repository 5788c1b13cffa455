"""Two runs of one conversation side by side: which value of the one stands for which of the other.

`learn` takes the same answer of both runs and notes what the broker handed out in each; `changed` says a message of
the first run in the words of the second. Nothing here knows an API: `assigned_kind` says which fields hold such values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireStruct, build
from .broker_assigned import ABSENT, KEPT, MEMBER, OFFSET, PRODUCER, SESSION, TOPIC_ID, AssignedKind, assigned_kind
from .messages import common_key, inside, nodes, paired

Around = Mapping[str, Any]
"""What stands around a value: group, topic, partition, producer, member, session, as far as something says so."""
Key = tuple[str, tuple[Any, ...], Any]
IN_BATCH = "batch"
"""What stands around the fields of a batch of records."""
OF_KINDS = {"group": "group", "topic": "topic", "topic_id": "topic", "partition": "partition"}
"""Meanings that a grammar gives to fields, and what they say of all that stands beside and below."""
OF_FIELDS = {PRODUCER: "producer", MEMBER: "member", SESSION: "session"}
"""The same, by what a field holds."""


RENAMED = {"topic_id": TOPIC_ID, "member_id": MEMBER}
"""Fields that identify an item of an array, and hold what brokers hand out."""


class Counterparts:
    """What is known so far. `names` are those of topic ids in the first run; times and order do not matter.

    `anchored` offsets of a partition give the place of all others.
    """

    def __init__(self, names: Mapping[UUID, str] | None = None) -> None:
        self.names: Mapping[UUID, str] = names if names is not None else {}
        self._found: dict[Key, Any] = {}
        self._offsets: dict[tuple[Any, ...], dict[int, int]] = {}
        self._ends: dict[tuple[Any, ...], dict[int, int]] = {}

    # One value

    def note(self, kind: AssignedKind, around: Around, old: Any, new: Any) -> None:
        """Note that a value of the first run stands for one of the second; the first that is noted counts."""
        if _is_fixed(kind, old) or _is_fixed(kind, new):
            return
        if kind.counts:
            self._offsets.setdefault(self._place(kind, around), {}).setdefault(old, new)
        else:
            self._found.setdefault((kind.what, self._place(kind, around), old), new)

    def note_end(self, topic: Any, partition: Any, old: int, new: int) -> None:
        """Note how far a log went in both runs, which tells where its offsets lie until one of a record does."""
        if not (_is_fixed(OFFSET, old) or _is_fixed(OFFSET, new)):
            self._ends.setdefault((topic, partition), {}).setdefault(old, new)

    def of(self, kind: AssignedKind, around: Around, old: Any) -> Any:
        """Return the value of the second run that stands for one of the first, `KEPT` where none is known."""
        if _is_fixed(kind, old):
            return old
        if kind.counts:
            place = self._place(kind, around)
            anchors = self._offsets.get(place) or self._ends.get(place)
            if not anchors or not isinstance(old, int):
                return KEPT
            before = [one for one in anchors if one <= old]
            near = max(before) if before else min(anchors)  # it lies as far from that as in the first run
            return max(anchors[near] + old - near, 0)
        return self._found.get((kind.what, self._place(kind, around), old), KEPT)

    @staticmethod
    def _place(kind: AssignedKind, around: Around) -> tuple[Any, ...]:
        return tuple(around.get(one) for one in kind.within)

    # Whole messages

    def changed(self, value: Any, node: Node | None, around: Around | None = None, name: str = "") -> Any:
        """Return a value of the first run as the second would say it; what stays as it is, is shared."""
        if isinstance(value, OpenedPayload):
            inner = self.changed(value.value, value.grammar, around)
            return value if inner is value.value else build(value.grammar, inner)
        if isinstance(value, Mapping):
            struct = inside(node)
            around, known = self.around(value, struct, around or {}), nodes(struct)
            made = {name: self.changed(inner, known.get(name), around, name) for name, inner in value.items()}
            differing = {name for name in made if made[name] is not value[name]}
            if "magic" in made and differing & {"producer_id", "producer_epoch", "base_sequence"}:
                made.pop("crc", None)  # it covers these
            return made if differing else value
        if isinstance(value, list):
            items = [self.changed(item, _item(node), around, name) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        kind = assigned_kind(name, node, value) if name else None
        if kind is None:
            return value
        if kind.counts and (around or {}).get(IN_BATCH):
            return value  # where a producer's batch begins is up to the broker
        new = self.of(kind, around or {}, value)
        if new is KEPT:
            new = kind.unknown if kind.unknown is not KEPT else value
        return value if new == value else new

    def around(self, value: Mapping[str, Any], struct: WireStruct | None, around: Around) -> Around:
        """Return what stands around the fields of a structure, of what it says itself and what stood around it."""
        own: dict[str, Any] = {}
        known = nodes(struct)
        for name, inner in value.items():
            if isinstance(inner, (Mapping, list)):
                continue
            node = known.get(name)
            kind = assigned_kind(name, node, inner)
            of = OF_KINDS.get(node.kind) if node is not None else None
            if of == "topic":
                topic = self.names.get(inner, inner) if isinstance(inner, UUID) else inner
                if topic and (of not in own or isinstance(own[of], UUID)):
                    own[of] = topic
            elif of is not None:
                own[of] = inner
            elif kind in OF_FIELDS and kind is not None:
                own[OF_FIELDS[kind]] = inner
        if "magic" in value:
            own[IN_BATCH] = True
        return {**around, **own} if own else around

    def learn(self, old: Any, new: Any, node: Node | None, around: Around | None = None, name: str = "") -> None:
        """Note what a broker handed out in an answer of the first run, and in the same one of the second.

        Where items cannot be distinguished, nothing is learnt of them but offsets.
        """
        around = around or {}
        if isinstance(old, OpenedPayload) and isinstance(new, OpenedPayload):
            self.learn(old.value, new.value, old.grammar, around)
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            struct = inside(node)
            around, known = self.around(old, struct, around), nodes(struct)
            if IN_BATCH in around:
                return  # which records a batch has differs from run to run
            for each in old:
                if each in new:
                    self.learn(old[each], new[each], known.get(each), around, each)
        elif isinstance(old, list) and isinstance(new, list):
            if max(len(old), len(new)) == 1 or common_key([self._renamed(item) for item in old], new):
                for _, one, other in self.paired(old, new):
                    self.learn(one, other, _item(node), around, name)
        elif old is not ABSENT and new is not ABSENT and name and (kind := assigned_kind(name, node, old)) is not None:
            self.note(kind, around, old, new)

    def paired(self, old: list[Any], new: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
        """Yield (index or key, item, item) of two arrays: topics by what their ids are in the second run."""
        if not any(isinstance(item, Mapping) and item.keys() & RENAMED.keys() for item in old):
            yield from paired(old, new)
            return
        ours = [self._renamed(item) for item in old]
        originals = {id(made): item for made, item in zip(ours, old, strict=True)}
        for index, one, other in paired(ours, new):
            item = originals.get(id(one), one)
            known = self.names.get(item["topic_id"]) if isinstance(item, Mapping) and "topic_id" in item else None
            yield known or index, item, other

    def _renamed(self, item: Any) -> Any:
        """Return a topic with the id, or a member with the member id, that it has in the second run."""
        if not isinstance(item, Mapping):
            return item
        found = {name: self.of(kind, {}, item[name]) for name, kind in RENAMED.items() if name in item}
        return {**item, **{name: value for name, value in found.items() if value is not KEPT}}


def _is_fixed(kind: AssignedKind, value: Any) -> bool:
    """Return whether a value means the same in all runs; of what counts, those below zero do."""
    if kind.counts:
        return not isinstance(value, int) or not 0 <= value < 1 << 62
    return value in kind.fixed


def _item(node: Node | None) -> Node | None:
    """Return the node of an array's items; for a record set, that itself, whose `inside` are its batches."""
    return getattr(node, "item", node)

"""What is known of one record that was produced, fetched or stored, and the records of a record set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from ...protocol.wire.nodes import Node, children
from ...protocol.wire.readings.outline import Topics
from ...protocol.wire.readings.secrets import veil
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CONTROL, TRANSACTIONAL, codec_of

Way: TypeAlias = Literal["produced", "fetched", "stored"]
Outcome: TypeAlias = Literal["committed", "aborted"]
Header: TypeAlias = tuple[str | None, bytes | None]


class Origin(NamedTuple):
    """Where a record was seen: in the exchange `number` of the connection `connection`, or in a file.

    `time` is when the message that carried it began, in nanoseconds since the epoch; None in a file.
    """

    way: Way
    client_id: str | None = None
    number: int | None = None
    connection: int | None = None
    time: int | None = None


class Producer(NamedTuple):
    """The producer of a batch, where the batch tells it: an idempotent or a transactional one."""

    id: int
    epoch: int
    transactional: bool


class CapturedRecord(NamedTuple):
    """A record, and what was seen to become of it.

    `topic` is None where only the id is known, and the id is None where only the name is. `offset` is None for a
    produced record whose offset no response told. `timestamp` is in milliseconds since the epoch, None where there is
    none. `key` and `value` are bytes, `OpenedPayload` for records of Kafka's own topics, `Hidden` for secrets; null
    is None. `control` names the type of a control record. `outcome` is that of the record's transaction, where it
    was seen by then. `error` is the broker's answer to a produced record. `sound` is false where the checksum does
    not match.
    """

    origin: Origin
    topic: str | None
    topic_id: UUID | None
    partition: int | None
    offset: int | None
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    codec: str
    producer: Producer | None = None
    sequence: int | None = None
    control: str | None = None
    outcome: Outcome | None = None
    error: int | None = None
    sound: bool = True

    @property
    def topic_text(self) -> str | None:
        """The topic's name, or its id where no name is known."""
        return self.topic if self.topic is not None or self.topic_id is None else str(self.topic_id)


class TransactionEnd(NamedTuple):
    """A producer's wish to end its transaction, as the broker accepted it."""

    origin: Origin
    transactional_id: str
    producer_id: int
    producer_epoch: int
    outcome: Outcome


Event: TypeAlias = CapturedRecord | TransactionEnd
"""What comes out, in the order in which it was seen."""


def as_id(topic: Any) -> UUID | None:
    """Return the topic's id if it is named by one that says something."""
    return topic if isinstance(topic, UUID) and topic.int else None


def topic_of(topic: Any, topics: Topics) -> tuple[UUID | None, str | None]:
    """Return the id and the name of a topic, which is named by one of them."""
    topic_id = as_id(topic)
    said = topic if isinstance(topic, str) else ""
    return topic_id, topics.get(topic_id) if topic_id is not None else said or None


SEQUENCES = 0x7FFFFFFF
"""Sequence numbers wrap to 0 after it (KIP-98)."""


@cache
def record_sets(grammar: Node) -> frozenset[str]:
    """Return the names of the fields that are record sets, wherever in a grammar; empty for most."""
    below = [record_sets(child.node) for child in children(grammar) if not isinstance(child.node, RecordsNode)]
    own = {child.key for child in children(grammar) if isinstance(child.node, RecordsNode)}
    return frozenset(own.union(*below))


class Shown(NamedTuple):
    """How records leave: the names of topic ids, and whether secrets are shown."""

    topics: Topics
    secrets: bool = False


def records_in(
    entries: Sequence[dict[str, Any]], topic: Any, partition: int | None, origin: Origin, shown: Shown,
    wrong: frozenset[str] = frozenset(), path: str = "",
) -> Iterator[CapturedRecord]:  # fmt: skip
    """Yield the records of a record set, with the offsets that stand in it.

    The topic is a name or an id. `wrong` are the paths of entries whose checksum does not match, `path` is that of the
    set.
    """
    topic_id, name = topic_of(topic, shown.topics)
    for i, entry in enumerate(entries):
        if "magic" not in entry:
            continue
        here = f"{path}[{i}]"
        sound = not any(each == here or each.startswith((f"{here}.", f"{here}[")) for each in wrong)
        first, start, control, producer = -1, 0, 0, None
        is_batch = entry["magic"] == 2
        if is_batch:
            first, start, attributes = entry["base_sequence"], entry["base_offset"], entry["attributes"]
            control = attributes & CONTROL
            if entry["producer_id"] >= 0:
                producer = Producer(entry["producer_id"], entry["producer_epoch"], bool(attributes & TRANSACTIONAL))
        base = CapturedRecord(
            origin, name, topic_id, partition, None, None, None, None, (), codec_of(entry), sound=sound,
            producer=producer,
        )  # fmt: skip
        for record in entry.get("records") or () if is_batch else _leaves(entry):
            if "offset" not in record:  # the last may have broken off
                continue
            offset = record["offset"]
            yield base._replace(
                offset=offset, timestamp=_time(record.get("timestamp")), key=_shown(record.get("key"), shown),
                value=_shown(record.get("value"), shown),
                headers=tuple((each.get("key"), each.get("value")) for each in record.get("headers") or ()),
                sequence=first + offset - start & SEQUENCES if first >= 0 else None,
                control=record.get("control") if control else None,
            )  # fmt: skip


def _leaves(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message of magic 0 or 1, or those that it wraps."""
    if "records" not in entry:
        yield entry
    else:
        for inner in entry["records"]:
            if "magic" in inner:
                yield from _leaves(inner)


def _shown(data: bytes | None, shown: Shown) -> bytes | None:
    return data if data is None or shown.secrets else veil(data)


def _time(milliseconds: Any) -> int | None:
    return milliseconds if isinstance(milliseconds, int) and milliseconds >= 0 else None

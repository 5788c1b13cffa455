"""A record set's value -> its records, in their order: those of batches, and messages with what they wrap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from ...protocol.wire.nodes import Node
from ...protocol.wire.nodes.children import children
from ...protocol.wire.readings.secrets import veil
from ...protocol.wire.readings.topic_names import Topics
from ...protocol.wire.records.node import RecordsNode
from ...protocol.wire.records.sets import CONTROL, TRANSACTIONAL, codec_of
from .record import CapturedRecord, Origin, Producer, as_id

SEQUENCES = 0x7FFFFFFF
"""Sequence numbers wrap to 0 behind it (KIP-98)."""


class RecordSetSource(NamedTuple):
    """Where a record set stands: its topic by name or id, and its partition."""

    topic: Any
    partition: int | None


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
    entries: Sequence[dict[str, Any]], place: RecordSetSource, origin: Origin, shown: Shown,
    wrong: frozenset[str] = frozenset(),
    path: str = "",
) -> Iterator[CapturedRecord]:  # fmt: skip
    """Yield the records of a record set, with the offsets that stand in it.

    `wrong` are the paths of entries whose checksum does not match, `path` is that of the set.
    """
    topic_id = as_id(place.topic)
    said = place.topic if isinstance(place.topic, str) else ""
    name = shown.topics.get(topic_id) if topic_id is not None else said or None
    for i, entry in enumerate(entries):
        if "magic" not in entry:
            continue
        here = f"{path}[{i}]"
        sound = not any(each == here or each.startswith((f"{here}.", f"{here}[")) for each in wrong)
        base = CapturedRecord(origin, name, topic_id, place.partition, None, None, None, None, (), "", sound=sound)
        if entry["magic"] == 2:
            yield from _of_batch(entry, base, shown)
        else:
            yield from _of_message(entry, base._replace(codec=codec_of(entry)), shown)


def _of_batch(batch: dict[str, Any], base: CapturedRecord, shown: Shown) -> Iterator[CapturedRecord]:
    first, start, control = batch["base_sequence"], batch["base_offset"], batch["attributes"] & CONTROL
    transactional = bool(batch["attributes"] & TRANSACTIONAL)
    producer = Producer(batch["producer_id"], batch["producer_epoch"], transactional)
    base = base._replace(codec=codec_of(batch), producer=producer if producer.id >= 0 else None)
    for record in batch.get("records") or ():
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


def _of_message(message: dict[str, Any], base: CapturedRecord, shown: Shown) -> Iterator[CapturedRecord]:
    """Yield a message of magic 0 or 1, or those that it wraps."""
    if "records" in message:
        for inner in message["records"]:
            if "magic" in inner:
                yield from _of_message(inner, base, shown)
        return
    yield base._replace(
        offset=message["offset"], timestamp=_time(message.get("timestamp")), key=_shown(message.get("key"), shown),
        value=_shown(message.get("value"), shown),
    )  # fmt: skip


def _shown(data: bytes | None, shown: Shown) -> bytes | None:
    return data if data is None or shown.secrets else veil(data)


def _time(milliseconds: Any) -> int | None:
    return milliseconds if isinstance(milliseconds, int) and milliseconds >= 0 else None

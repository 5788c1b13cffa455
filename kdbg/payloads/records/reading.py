"""Keys and values in a message's value, read where they stand: for views that show whole messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.wire.nodes import WireStruct, join
from ...protocol.wire.readings.layout import path_to
from ...protocol.wire.readings.outline import Topics, parts
from ..values.chosen import unasked
from ..values.value import Part, ReadValue, ValueContext
from .record import as_id, record_sets

if TYPE_CHECKING:
    from ..values.chosen import ReadBytes

PARTS: tuple[Part, Part] = ("key", "value")


class Placed(NamedTuple):
    """A record in a message: its value, the path of that in the message, and the topic it is of."""

    record: dict[str, Any]
    path: str
    topic: str | None


def read_in_place(grammar: WireStruct, body: Any, topics: Topics, read: ReadBytes) -> None:
    """Put what keys and values say in the place of their bytes; what was opened, or is hidden, stays."""
    for placed in placed_records(grammar, body, topics, paths=False):
        for part in PARTS:
            placed.record[part] = read_value(placed, part, read)


def read_values(grammar: WireStruct, body: Any, topics: Topics, read: ReadBytes) -> dict[str, ReadValue]:
    """Return what keys and values say, by their paths; nothing is changed."""
    return {
        join(placed.path, part): data
        for placed in placed_records(grammar, body, topics)
        for part in PARTS
        if isinstance(data := read_value(placed, part, read), ReadValue)
    }


def read_value(placed: Placed, part: Part, read: ReadBytes) -> bytes | None:
    """Return a key or value with what it says beside; as it is where that is no more than the bytes say themselves."""
    data = placed.record.get(part)
    if type(data) is not bytes:
        return data
    headers = placed.record.get("headers") or ()
    asked = ValueContext(part, placed.topic, [(each.get("key"), each.get("value")) for each in headers])
    found = read(data, asked)
    return data if found == unasked(data, asked) else ReadValue.of(data, found)


def placed_records(grammar: WireStruct, body: Any, topics: Topics, *, paths: bool = True) -> Iterator[Placed]:
    """Yield the records in a message's value, or in that of a piece of a log segment; without paths they are ""."""
    names = record_sets(grammar)
    if not names or not isinstance(body, dict):
        return
    found = [(part.topic, part.value) for part in parts(grammar)(body)] or [(body.get("topic"), body)]
    for topic, value in found:
        topic_id = as_id(topic)
        said = topic if isinstance(topic, str) else None
        named = said if topic_id is None else topics.get(topic_id) or str(topic_id)
        for name in names & value.keys():
            path = join(path_to(value, body) or "", name) if paths else ""
            yield from _of(value[name] or (), path, named or None)


def _of(entries: Any, path: str, topic: str | None) -> Iterator[Placed]:
    for i, entry in enumerate(entries):
        here = f"{path}[{i}]"
        if "magic" not in entry:
            continue
        if entry["magic"] == 2:
            for j, record in enumerate(entry.get("records") or ()):
                yield Placed(record, f"{here}.records[{j}]", topic)
        elif "records" in entry:
            yield from _of(entry["records"], f"{here}.records", topic)
        else:
            yield Placed(entry, here, topic)

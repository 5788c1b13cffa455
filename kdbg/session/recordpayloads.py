"""The records of a record set as payloads: those of Kafka's own topics, and the control records of any topic.

In a topic whose records may hold secrets, what cannot be read is sealed, and so are compressed bytes with secrets in
them: what is hidden in a record must not be seen beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..grammars.payloads import CONTROL as CONTROL_RECORDS
from ..grammars.payloads import TOPICS
from ..wire.nodes import join
from ..wire.payload import RecordPayloads
from ..wire.recordset import CONTROL

if TYPE_CHECKING:
    from .payloads import Opener


def open_records(opener: Opener, entries: Any, path: str) -> Any:
    """Go through a record set, which is changed in place."""
    topic = opener.context.topics.get(opener.topic) if isinstance(opener.topic, UUID) else opener.topic
    kinds = TOPICS.get(topic) if topic is not None else None
    for i, entry in enumerate(entries or ()):
        _open_entry(opener, kinds, entry, f"{path}[{i}]")
    return entries


def _open_entry(opener: Opener, kinds: RecordPayloads | None, entry: dict[str, Any], path: str) -> None:
    """One batch, or one message with those inside it."""
    batch = entry.get("magic") == 2
    chosen = CONTROL_RECORDS if batch and entry["attributes"] & CONTROL else kinds
    if chosen is None:
        return
    outside, opener.secret = opener.secret, False
    for j, record in enumerate(entry.get("records") or ()):
        inside = f"{path}.records[{j}]"
        if batch:
            _open_record(opener, chosen, record, inside)
        else:
            _open_entry(opener, chosen, record, inside)
    if "key" in entry and "records" not in entry:
        _open_record(opener, chosen, entry, path)
    if chosen.secret:
        _seal(opener, entry, path)
    opener.secret = outside or opener.secret


def _open_record(opener: Opener, kinds: RecordPayloads, record: dict[str, Any], path: str) -> None:
    """Key and value of one record; what the value is, the key says."""
    opener.around.append(record)
    for name, holding in (("key", kinds.key), ("value", kinds.value)):
        if record.get(name):
            record[name] = opener.open(holding, record[name], join(path, name), secret=kinds.secret)
    opener.around.pop()


def _seal(opener: Opener, entry: dict[str, Any], path: str) -> None:
    """Seal what was left unread, and the compressed form of what has secrets or was left unread itself."""
    compressed = "compressed_records" if entry.get("magic") == 2 else "value"
    if opener.secret or "records" not in entry:
        _seal_one(opener, entry, compressed, f"{path}.{compressed}")
    for name, place in (("partial", path), ("raw", path), ("raw_records", f"{path}.records")):
        _seal_one(opener, entry, name, place)


def _seal_one(opener: Opener, entry: dict[str, Any], name: str, place: str) -> None:
    if type(entry.get(name)) is bytes:
        entry[name] = opener.seal(entry[name], place)

"""The records of a record set as payloads: those of Kafka's own topics, and the control records of any topic.

In a topic whose records may hold secrets, what cannot be read is sealed, and so are compressed bytes with secrets in
them: what is hidden in a record must not be seen beside it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ...protocol.grammars.payloads import CONTROL as CONTROL_RECORDS
from ...protocol.grammars.payloads import TOPICS
from ...protocol.grammars.payloads.topics import SECRETIVE, may_be_secretive
from ...protocol.wire.language.payload import RecordPayloads
from ...protocol.wire.nodes import join
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL
from .payloads import Opener, ValuePath, path_of
from .suspicion import FRAME, is_metadata

METADATA = TOPICS[SECRETIVE]


def open_records(opener: Opener, entries: Any, place: ValuePath) -> Any:
    """Go through a record set, which is changed in place."""
    topic = opener.topic
    if isinstance(topic, UUID):
        topic = opener.context.topics.get(topic, topic)
    kinds = TOPICS.get(topic)
    unsure = topic is None or (kinds is None and may_be_secretive(topic))
    for i, entry in enumerate(entries or ()):
        chosen = recognised(entry) if unsure else kinds
        if entry.get("magic") == 2 and entry["attributes"] & CONTROL:  # one bit of it may be wrong
            chosen = CONTROL_RECORDS._replace(secret=chosen is not None and chosen.secret)
        if chosen is not None:
            _open_entry(opener, chosen, entry, f"{path_of(place)}[{i}]")
    return entries


def recognised(entry: dict[str, Any]) -> RecordPayloads | None:
    """Return what the records of an entry are that no topic tells: those of the KRaft log, if any looks so.

    Of compressed ones that nobody can read they may be.
    """
    unread = entry.get("raw_records") or entry.get("raw") or entry.get("partial") or b""
    lost = "compressed_records" in entry and "records" not in entry
    return METADATA if lost or is_metadata(unread) or tells_metadata(entry) else None


def tells_metadata(entry: dict[str, Any]) -> bool:
    """Return whether a record of a batch, or of a message, looks like one of the KRaft log."""
    return any(looks_like_metadata(record) for record in entry.get("records") or ())


def looks_like_metadata(record: dict[str, Any]) -> bool:
    """Return whether a record has no key, and a value that begins as those of the KRaft log do."""
    value = record.get("value")
    return not record.get("key") and isinstance(value, bytes) and FRAME.match(value) is not None


def _open_entry(opener: Opener, kinds: RecordPayloads, entry: dict[str, Any], path: str) -> None:
    """Open the payloads of one batch, or of one message and those inside it; change `entry` in place."""
    outside, opener.secret = opener.secret, False
    for i, record in enumerate(entry.get("records") or ()):
        opened = _open_record if entry.get("magic") == 2 else _open_entry
        opened(opener, kinds, record, f"{path}.records[{i}]")
    if "key" in entry and "records" not in entry:
        _open_record(opener, kinds, entry, path)
    if kinds.secret:
        _seal(opener, entry, path)
    opener.secret = outside or opener.secret


def _open_record(opener: Opener, kinds: RecordPayloads, record: dict[str, Any], path: str) -> None:
    """Open key and value of one record, in place; the key says what the value is."""
    opener.around.append(record)
    for name, holding in (("key", kinds.key), ("value", kinds.value)):
        if record.get(name):
            record[name] = opener.open(holding, record[name], join(path, name), secret=kinds.secret)
    for i, header in enumerate((kinds.secret and record.get("headers")) or ()):  # which none of Kafka's own has
        _seal_one(opener, header, "value", f"{path}.headers[{i}]")
    opener.around.pop()


def _seal(opener: Opener, entry: dict[str, Any], path: str) -> None:
    """Seal what was left unread, and the compressed form of what has secrets or was left unread itself."""
    compressed = "compressed_records" if entry.get("magic") == 2 else "value"
    if opener.secret or "records" not in entry:
        _seal_one(opener, entry, compressed, f"{path}.{compressed}")
    if "records" not in entry and (entry.get("magic") == 2 or entry.get("attributes", 0) & CODEC_MASK):
        opener.seal(b"", f"{path}.records")  # of what is inside a hexdump would tell
    for name, place in (("partial", path), ("raw", path), ("raw_records", f"{path}.records")):
        _seal_one(opener, entry, name, place)


def _seal_one(opener: Opener, entry: dict[str, Any], name: str, place: str) -> None:
    if type(entry.get(name)) is bytes:
        entry[name] = opener.seal(entry[name], place)

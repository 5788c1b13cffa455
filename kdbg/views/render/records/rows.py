"""Records for other programs: JSON Lines and CSV with the same names."""

from __future__ import annotations

from typing import Any

from ....payloads.records.record import CapturedRecord
from ....payloads.values.chosen import ReadBytes
from ....payloads.values.value import Part, Value, ValueContext
from ....protocol.grammars.errors import error_name
from ..answers import csv_line
from ..exchange_header import has_date, moment
from ..jsonlines import dump
from .contents import header_objects, json_form, text
from .marks import is_open

COLUMNS = (
    "time", "timestamp", "topic", "partition", "offset", "way", "client_id", "exchange", "connection", "key", "value",
    "headers", "codec", "producer_id", "producer_epoch", "sequence", "control", "transaction", "error",
)  # fmt: skip
OPEN = "open"
"""The state of a transaction whose outcome was not seen by then."""


class JsonRecords:
    """Renders records as JSON Lines; keys and values as `kdbg decode --format json` has them, or as they were read."""

    def __init__(self, read: ReadBytes, *, secrets: bool = False) -> None:
        self.read, self.secrets = read, secrets

    def __call__(self, record: CapturedRecord) -> bytes:
        """Return the line of a record, newline included."""
        key, value = value_column(record, "key", self.read), value_column(record, "value", self.read)
        found = columns(record) | {
            "key": json_form(key), "value": json_form(value), "headers": header_objects(record.headers),
        }  # fmt: skip
        if record.topic_id is not None:
            found["topic_id"] = str(record.topic_id)
        for part, read in (("key", key), ("value", value)):
            told = {"about": read.about, "schema_id": read.schema_id, "problem": read.problem}
            found |= {f"{part}_{name}": item for name, item in told.items() if item}
        if not record.sound:
            found["checksum"] = "wrong"
        return dump(found, show_secrets=self.secrets)


class CsvRecords:
    """Renders records as CSV; what is no text in a key or value is hex, or JSON where a reader read it."""

    def __init__(self, read: ReadBytes, *, raw: bool = False) -> None:
        self.read, self.raw = read, raw

    def __call__(self, record: CapturedRecord) -> str:
        """Return the line of a record, newline included."""
        key, value = (value_column(record, part, self.read) for part in ("key", "value"))
        found = columns(record) | {
            "key": _cell(key), "value": _cell(value),
            "headers": header_objects(record.headers) if record.headers else None,
        }  # fmt: skip
        return csv_line([found[name] for name in COLUMNS], raw=self.raw)


def csv_header() -> str:
    """Return the line of the columns' names."""
    return csv_line(COLUMNS)


def value_column(record: CapturedRecord, part: Part, read: ReadBytes) -> Value:
    """Return what the key or value of a record says."""
    return read(getattr(record, part), ValueContext(part, record.topic_text, record.headers))


def columns(record: CapturedRecord) -> dict[str, Any]:
    """Return all columns, those of keys, values and headers still to be filled."""
    origin, producer = record.origin, record.producer
    time = None if record.timestamp is None else record.timestamp * 1_000_000
    when = moment(time)[:23].replace(" ", "T") + "Z" if time is not None and has_date(time) else None
    return {
        "time": when, "timestamp": record.timestamp, "topic": record.topic_text, "partition": record.partition,
        "offset": record.offset, "way": origin.way, "client_id": origin.client_id, "exchange": origin.number,
        "connection": origin.connection, "key": None, "value": None, "headers": None, "codec": record.codec,
        "producer_id": producer.id if producer else None, "producer_epoch": producer.epoch if producer else None,
        "sequence": record.sequence, "control": record.control,
        "transaction": record.outcome or (OPEN if is_open(record) else None),
        "error": error_name(record.error) if record.error else None,
    }  # fmt: skip


def _cell(value: Value) -> str | None:
    return None if value.kind == "null" else text(value)

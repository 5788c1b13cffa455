"""Keys, values and headers of records as views show them, and what is special about a record, in words."""

from __future__ import annotations

from typing import Any

import orjson

from ...payloads.records.record import CapturedRecord
from ...payloads.values.value import Value
from ...protocol.findings import amounts
from ...protocol.grammars.errors import error_name
from ...protocol.wire.readings.secrets import Hidden
from .jsonlines import dump, printable, text
from .values import cells, cut, escape, octets, quote


def json_text(value: Value) -> str:
    """Return data as JSON on one line."""
    return value.json or dump(value.data).decode().rstrip("\n")


def quoted(value: Value, most: int) -> str:
    """Return a value for a line: text in quotes, escaped; beyond `most` columns it is cut, and its length told."""
    if value.kind == "null":
        return "null"
    if value.kind == "bytes":
        whole = octets(value.data)
        if len(whole) <= most or isinstance(value.data, Hidden):
            return whole
        head = f"{amounts.count(len(value.data), 'byte')}  "
        return f"{head}{value.data[: max((most - len(head)) // 3, 1)].hex(' ')}…"
    shown = quote(value.data) if value.kind == "text" else printable(json_text(value).encode()).decode()
    if 2 * len(shown) <= most or cells(shown) <= most:  # no letter is wider than two columns
        return shown
    whole = value.data if value.kind == "text" else json_text(value)
    mark = '"' * (value.kind == "text")
    length = f"{mark}… {len(whole):,} chars"
    if cells(shown) <= len(length) + 1:
        return shown
    return f"{cut(shown, max(most - len(length) + 1, 2)).removesuffix('…')}{length}"


def plain_text(value: Value) -> str:
    """Return what a value says, as it stands there: text as it is, data as JSON, bytes in hex, "" for null."""
    if value.kind == "null":
        return ""
    if value.kind == "text":
        return str(value.data)
    if value.kind == "bytes":
        return octets(value.data) if isinstance(value.data, Hidden) else value.data.hex()
    return json_text(value)


def json_form(value: Value) -> Any:
    """Return a key or value for JSON Lines: what a reader made of it, else text, or its bytes in base64."""
    if value.kind == "null":
        return None
    return orjson.Fragment(value.json) if value.json else value.data


def header_texts(headers: Any, null: str = "null") -> list[tuple[str, str]]:
    """Return keys and values of headers as text: values in hex where they are no UTF-8."""
    found = []
    for key, value in headers:
        try:
            shown = null if value is None else octets(value) if isinstance(value, Hidden) else value.decode()
        except UnicodeDecodeError:
            shown = value.hex()
        found.append((key or "", shown))
    return found


def header_objects(headers: Any) -> list[dict[str, Any]]:
    """Return headers for JSON Lines."""
    return [{"key": key, "value": text(value)} for key, value in headers]


def escaped(data: str) -> str:
    """Return text that is safe on a terminal."""
    return data if data.isprintable() else escape(data)


OPEN = "in transaction"


def marks(record: CapturedRecord) -> list[str]:
    """Return the marks of a record; what is wrong first; none for most."""
    found = [f"✗ {error_name(record.error)}"] if record.error else []
    found += [] if record.sound else ["✗ checksum wrong"]
    found += [f"control {record.control}"] if record.control else []
    if record.outcome:
        found.append(record.outcome)
    elif is_open(record):
        found.append(OPEN)
    return found


def is_open(record: CapturedRecord) -> bool:
    """Return whether a record is part of a transaction whose outcome was not seen by then."""
    transactional = record.producer is not None and record.producer.transactional
    return transactional and record.outcome is None and record.control is None

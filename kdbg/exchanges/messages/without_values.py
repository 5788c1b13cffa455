"""Values of messages without what users put into their records: of keys, values and headers the lengths alone.

Those of Kafka's own topics are left out too, and bytes of record sets in which they may stand: compressed ones, and
those that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ...protocol.findings.amounts import count
from ...protocol.wire.nodes import Node
from ...protocol.wire.nodes.children import children
from ...protocol.wire.readings.secrets import Hidden
from ...protocol.wire.records.node import RecordsNode
from .suspicion import has_records

Header: TypeAlias = tuple[str | None, bytes | None]
BYTES: Final = ("key", "value", "partial", "raw", "raw_records", "compressed_records")
"""What stands in an entry of a record set, or in a record, that users chose."""


def without_values(node: Node, value: Any) -> Any:
    """Return the value of a grammar with what its records hold replaced by `Hidden`; what has no records is shared."""
    if value is None or not has_records(node):
        return value
    if isinstance(node, RecordsNode):
        return [entry_without(entry) for entry in value]
    shown = dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, list) else value
    for child in children(node):
        if not isinstance(shown, dict) or not child.key or child.key in shown:
            shown = child.replaced(shown, partial(without_values, child.node))
    return shown


def entry_without(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of a record set, or a record, with what users chose replaced by its length."""
    found = dict(entry)
    found |= {name: Hidden(len(found[name])) for name in BYTES if isinstance(found.get(name), bytes)}
    if found.get("headers"):
        found["headers"] = [
            {"key": key, "value": value}
            for key, value in headers_without((each.get("key"), each.get("value")) for each in found["headers"])
        ]
    if "records" in found:
        found["records"] = [entry_without(record) for record in found["records"]]
    return found


def headers_without(headers: Iterable[Header]) -> list[Header]:
    """Return headers with their keys as a text that says how long they are, and their values hidden."""
    return [
        (None if key is None else _size_text(key), None if value is None else Hidden(len(value)))
        for key, value in headers
    ]


def _size_text(text: str) -> str:
    return f"<{count(len(text.encode('utf-8', 'surrogateescape')), 'byte')} redacted>"

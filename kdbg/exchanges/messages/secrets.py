"""What may be secret in messages: bytes that nothing explains, and what users put into their records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeAlias

from ...protocol.findings.amounts import count
from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire.nodes import Node, children, contains
from ...protocol.wire.readings.outline import ALWAYS
from ...protocol.wire.readings.secrets import Hidden
from ...protocol.wire.records import RecordsNode

WORDS: Final = re.compile(
    rb"passw|passp|pwd|secret|jaas|credential|token|api.?key|private|keystore|truststore|connection.string|oauth|bearer"
    rb"|c=[bey][a-z0-9+/=]*,r=|r=[^,\0]+,s=",
    re.IGNORECASE,
)
"""What stands beside secrets: in names of settings, in JAAS configurations, in tokens of SCRAM and OAUTHBEARER."""
FRAME: Final = re.compile(rb"\x01[\0-\x1d][\0-\4]", re.DOTALL)
"""How the value of a record of the KRaft log begins: the version of its frame, its kind, the version of that."""
FRAMES: Final = re.compile(rb"\x01(?:[\x02-\x7e]|[\x80-\xff][\0-\x7f])" + FRAME.pattern, re.DOTALL)
"""The same after a key that is null and the length of the value."""
SECRETIVE: Final = tuple(
    name
    for topic, kinds in TOPICS.items()
    if kinds.secret
    for name in (topic.encode(), *(known.bytes for known, at in ALWAYS.items() if at == topic))
)
"""Names and ids of topics whose records hold secrets, as they stand in messages."""


def may_hold_secrets(data: bytes, grammar: Node | None = None) -> bool:
    """Return whether bytes that could not be read may hold secrets; `grammar` is the one that failed.

    Words in records say nothing: those are shown where they can be read, too, but for the KRaft log's.
    """
    if grammar is None or not has_records(grammar):
        return WORDS.search(data) is not None
    return any(name in data for name in SECRETIVE) or FRAMES.search(data) is not None


def is_metadata(data: bytes) -> bool:
    """Return whether records of the KRaft log seem to stand in bytes that could not be read."""
    return FRAMES.search(data) is not None or WORDS.search(data) is not None


@cache
def has_records(grammar: Node) -> bool:
    return contains(grammar, lambda node: isinstance(node, RecordsNode))


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
        (
            None if key is None else f"<{count(len(key.encode('utf-8', 'surrogateescape')), 'byte')} redacted>",
            None if value is None else Hidden(len(value)),
        )
        for key, value in headers
    ]

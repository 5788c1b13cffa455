"""How surprising the values of a message are, in bits: what tells layouts apart that all read the same bytes.

Each layout that fits writes the bytes down in its own way, and the likeliest is the one under whose meanings they
take the fewest bits (minimum description length): a zero error code says little, a port of 9092 is expected, a port
of 1868983913 or a topic named with control characters is not. The numbers are rough on purpose: what counts is that
nonsense costs more than the bytes it came from, and sense much less.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ...protocol.grammars.errors import ERRORS
from ...protocol.wire import Api
from ...protocol.wire.nodes import (
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    WireArray,
    WireStruct,
)
from ...protocol.wire.records import RecordsNode

NONSENSE = 24.0
"""Bits on top of the bytes themselves for what no peer would write."""
NAME = re.compile(r"[A-Za-z0-9._-]*")
HOST = re.compile(r"[A-Za-z0-9._:%\[\]/-]*")
ANY_ID = 24.0
"""Bits of a correlation id: most count from 0, some begin anywhere."""
YEARS = range(1_000_000_000_000, 2_500_000_000_000)
"""Milliseconds from 2001 to 2049."""
EVERYDAY = frozenset({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 36})
BETWEEN_BROKERS = frozenset({4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73, *range(83, 88)})


def rarity(api: Api) -> float:
    """Return the bits for how seldom an API is met."""
    return 0.0 if api.key in EVERYDAY else 8.0 if api.key in BETWEEN_BROKERS else 4.0


def score(node: Node, value: Any, name: str = "") -> float:
    """Return how surprising the value of a node is, in bits; `name` is that of its field."""
    if isinstance(node, WireStruct):
        return _struct(node, value)
    if isinstance(node, WireArray):
        return 4.0 if not value else number(len(value)) + sum(score(node.item, item, name) for item in value)
    if isinstance(node, NullableStruct):
        return 1.0 if value is None else 1.0 + _struct(node.struct, value)
    if isinstance(node, LengthPrefixed):
        return 1.0 + score(node.item, value, name)
    if isinstance(node, RecordsNode):
        return 3.0 if value is None else 2.0 + sum(map(_entry, value))
    if isinstance(node, Sized):
        return text_bits(value, node.kind, name) if node.text else _bytes(value)
    if isinstance(node, RemainingBytes):
        return _bytes(value)
    if isinstance(node, UuidNode):
        return 3.0 if not value.int else 122.0 if value.version == 4 else 128.0 + NONSENSE
    return number_bits(node, value, name)


def _struct(node: WireStruct, value: dict[str, Any]) -> float:
    total = sum(score(field.node, value[field.name], field.name) for field in node.fields)
    for field in (node.tags or {}).values():
        if field.name in value:
            total += 8.0 + score(field.node, value[field.name], field.name)
    return total + 0.5 * (node.tags is not None)


def number(value: int) -> float:
    """Return the bits of an integer: small ones take few, negative ones but -1 many."""
    if value > 0:
        return 2.0 + 2 * math.log2(value + 1)
    return 1.0 if not value else 3.0 if value == -1 else 12.0 + 2 * math.log2(-value)


def number_bits(node: Node, value: Any, name: str) -> float:
    raw = 8.0 * getattr(node, "size", 5)
    if node.kind == "error":
        return 0.5 if not value else 8.0 if value in ERRORS else raw + NONSENSE
    if node.kind in ("enum", "api") and node.names:
        return math.log2(len(node.names) + 1) if value in node.names else raw + NONSENSE
    if node.kind == "bits":
        return 2.0 if value in (0, -(1 << 31)) else 16.0 if 0 < value < 1 << 24 else raw + NONSENSE
    if name == "correlation_id":
        return min(number(value), ANY_ID)
    if name == "throttle_time_ms" and value:
        return min(number(value) + 6.0, raw + NONSENSE)
    if node.kind == "timestamp" and value > 0:
        return 36.0 if value in YEARS else raw + NONSENSE
    if name == "port":
        return 4.0 if value in range(9090, 9100) else 14.0 if 0 < value < 65536 else raw + NONSENSE
    if isinstance(node, Fixed) and (node.boolean or node.code == "d"):
        return 1.0 if node.boolean else 24.0 if not value or 1e-9 < abs(value) < 1e15 else raw + NONSENSE
    if node.kind == "crc":
        return raw
    return min(number(value), raw + NONSENSE)


def text_bits(value: str | None, kind: str, name: str) -> float:
    """Return the bits of a string: control characters take more, and so do letters that a name or host may not have."""
    if not value:
        return 4.0
    strict = HOST if name == "host" else NAME
    odd = sum(not letter.isprintable() for letter in value)
    wrong = NONSENSE * (kind == "topic" or name == "host") * (strict.fullmatch(value) is None)
    plain = len(strict.match(value)[0])  # type: ignore[index]
    return number(len(value)) + 5.2 * plain + 6.6 * (len(value) - plain) + 12.0 * odd + wrong


def _bytes(value: bytes | None) -> float:
    return 3.0 if value is None else number(len(value)) + 8.0 * len(value)


def _entry(entry: dict[str, Any]) -> float:
    """Return the bits of an entry: few for a batch or message, whose checksum is unlikely to be right by chance."""
    for rest in ("partial", "raw"):
        if rest in entry:
            return 9.0 * len(entry[rest])
    return 2.0 * (entry.get("batch_length") or len(entry.get("value") or b"") + 20)

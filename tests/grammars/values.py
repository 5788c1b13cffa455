"""Values for any grammar, made from its nodes alone: the same ones in every run, edges first.

`variants(grammar)` gives the values to try a message with; `essentials(grammar, value)` takes what a build fills in
(lengths, counts, checksums, compressed bytes) out of a value again, so that it can be compared with what was given.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any

from kdbg.protocol.wire.nodes import (
    TAGGED,
    Fixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
)
from kdbg.protocol.wire.records import RecordsNode
from kdbg.protocol.wire.records.compression import CODECS
from kdbg.protocol.wire.records.sets import APPEND_TIME, CONTROL, TRANSACTIONAL

Value = Any

NUMBERS: dict[str, list[Any]] = {
    "b": [-1, 0, 2**7 - 1, -(2**7), 1],
    "h": [-1, 0, 2**15 - 1, -(2**15), 258],
    "i": [-1, 0, 2**31 - 1, -(2**31), 16_909_060],
    "q": [-1, 0, 2**63 - 1, -(2**63), 72_623_859_790_382_856],
    "H": [9092, 0, 2**16 - 1],
    "I": [1, 0, 2**32 - 1],
    "UNSIGNED_VARINT": [1, 0, 127, 128, 2**32 - 1],
    "d": [0.5, -0.0, float("inf"), 5e-324, -1.7976931348623157e308],
}
TEXTS = ["x", "Grüße, κόσμε, 日本 🎉", "", "t" * 127, "nul\0 and\nline"]
BLOBS = [b"\x00\xff", bytes(range(128)), b"", b"\r\n"]
UUIDS = [uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]
UNKNOWN_TAGS = {1000: b"\x00\x01\x02", 2**32 - 1: b""}


def variants(grammar: WireStruct) -> Iterator[Value]:
    """The values to try: nothing but what must be, everything there is, a mixture, and every kind of record set."""
    return (maker.value(grammar) for maker in makers(grammar))


def makers(grammar: WireStruct) -> Iterator[Maker]:
    """What makes the values to try."""
    yield Maker(0, empty=True)
    yield Maker(0)
    yield Maker(1, alternate=True)
    if holds_records(grammar):
        for i in range(len(RECORD_SETS)):
            yield Maker(0, record_set=i)


def full(grammar: WireStruct) -> Value:
    """The one with everything in it."""
    return Maker(0).value(grammar)


class Maker:
    """Makes one value, taking the edges of each type in turn from `start` on.

    `empty`: as little as the grammar allows; `alternate`: every other optional thing is left out; `record_set`: the
    one of RECORD_SETS that every record set is; `stretched`: a string, bytes or array, and the length it shall have.
    """

    def __init__(
        self,
        start: int,
        *,
        empty: bool = False,
        alternate: bool = False,
        record_set: int = 0,
        stretched: tuple[Node, int] | None = None,
    ) -> None:
        self.start, self.empty, self.alternate, self.record_set = start, empty, alternate, record_set
        self.stretched = stretched
        self.turns: dict[str, Iterator[int]] = {}

    def turn(self, kind: str) -> int:
        return next(self.turns.setdefault(kind, count(self.start)))

    def pick(self, kind: str, choices: list[Any]) -> Any:
        return choices[self.turn(kind) % len(choices)]

    def leaves_out(self, kind: str) -> bool:
        return self.empty or (self.alternate and self.turn(kind) % 2 == 0)

    def value(self, node: Node, depth: int = 0) -> Value:
        if self.stretched and node is self.stretched[0]:
            return stretch(*self.stretched)
        if isinstance(node, WireStruct):
            return self.struct(node, depth)
        if isinstance(node, NullableStruct):
            return None if self.leaves_out("null struct") else self.struct(node.struct, depth)
        if isinstance(node, WireArray):
            return self.array(node, depth)
        if isinstance(node, Fixed):
            return bool(self.turn("boolean") % 2) if node.boolean else self.pick(node.code, NUMBERS[node.code])
        if isinstance(node, Varint):
            return self.pick(node.bnf, NUMBERS[node.bnf])
        if isinstance(node, UuidNode):
            return self.pick("uuid", UUIDS)
        if isinstance(node, (Sized, RecordsNode)) and node.nullable and self.leaves_out("null"):
            return None
        if isinstance(node, RecordsNode):
            return [] if self.empty else RECORD_SETS[self.record_set](node.cut)
        if isinstance(node, Sized):
            empty: Value = "" if node.text else b""
            return empty if self.empty else self.pick(node.bnf, TEXTS if node.text else BLOBS)
        assert isinstance(node, RemainingBytes), node
        return b"" if self.empty else b"the rest"

    def struct(self, node: WireStruct, depth: int) -> Value:
        value = {field.name: self.value(field.node, depth) for field in node.fields}
        for field in (node.tags or {}).values():
            if not self.leaves_out("tag"):
                value[field.name] = self.value(field.node, depth)
        return value

    def array(self, node: WireArray, depth: int) -> Value:
        if self.leaves_out("array") and (self.empty or depth):
            return None if node.nullable else []
        return [self.value(node.item, depth + 1) for _ in range(1 if depth > 1 or self.stretched else 2)]


def stretch(node: Node, length: int) -> Value:
    """A string, bytes or an array of so many bytes or items, the items as small as can be."""
    if isinstance(node, Sized):
        return "s" * length if node.text else b"b" * length
    assert isinstance(node, WireArray)
    return [Maker(0, empty=True).value(node.item)] * length


def stretchable(node: Node) -> Iterator[Node]:
    """Every string, bytes and array in a grammar."""
    if isinstance(node, (Sized, WireArray)):
        yield node
    for child in children(node):
        yield from stretchable(child)


def holds_records(node: Node) -> bool:
    return any(isinstance(child, RecordsNode) or holds_records(child) for child in children(node))


def children(node: Node) -> list[Node]:
    """The nodes inside a node, tagged ones included."""
    if isinstance(node, WireStruct):
        return [field.node for field in (*node.fields, *(node.tags or {}).values())]
    if isinstance(node, WireArray):
        return [node.item]
    return [node.struct] if isinstance(node, NullableStruct) else []


# Record sets: each is a function of `cut`, whether a broker may have cut the set's last entry.


def record(offset: int, timestamp: int, **fields: Any) -> Value:
    said: Value = {"offset": offset, "timestamp": timestamp, "attributes": 0, "key": None, "value": None}
    return said | {"headers": []} | fields


def batch(attributes: int = 0, *, records: list[Value] | None = None, **fields: Any) -> Value:
    """A batch of magic 2, all but what a build fills in; without `records`, two that say something."""
    if records is None:
        headers = [{"key": "trace", "value": b"\x01"}, {"key": "κενό", "value": None}]
        records = [record(42, 1_700_000_000_000), record(44, 1_700_000_000_500, key=b"k", value=b"v", headers=headers)]
    return {
        "base_offset": 42, "partition_leader_epoch": 3, "magic": 2, "attributes": attributes, "last_offset_delta": 2,
        "base_timestamp": 1_700_000_000_000, "max_timestamp": 1_700_000_000_500, "producer_id": 2**62,
        "producer_epoch": -1, "base_sequence": 7, "records": records,
    } | fields  # fmt: skip


def message(magic: int, offset: int, **fields: Any) -> Value:
    """A message of magic 0 or 1, all but what a build fills in."""
    plain = {"offset": offset, "magic": magic, "attributes": 0, "key": b"key", "value": b"value"}
    return plain | ({"timestamp": 1_500_000_000_000} if magic else {}) | fields


def wrapper(magic: int, codec: int, **fields: Any) -> Value:
    """A compressed message and the three in it; their offsets are absolute, as a reader gets to see them."""
    inner = [message(magic, offset, value=b"inner %d" % offset) for offset in (7, 8, 9)]
    whole = message(magic, 9, attributes=codec, records=inner, key=None) | fields
    del whole["value"]
    return whole


def append_time() -> Value:
    """A batch whose records all have the broker's time; what the producer said of their times is kept beside it."""
    records = [record(42 + i, 1_700_000_000_500, timestamp_delta=delta) for i, delta in enumerate((0, -5, 2**62))]
    return batch(APPEND_TIME, records=records)


def control() -> Value:
    markers = [
        record(42, 1_700_000_000_000, control="ABORT", key=bytes(4), value=bytes(6)),
        record(43, 1_700_000_000_000, control="COMMIT", key=bytes.fromhex("00000001"), value=bytes(6)),
        record(44, 1_700_000_000_000, control="UNKNOWN_-1", key=None),
    ]
    return batch(CONTROL | TRANSACTIONAL, records=markers)


def extremes() -> Value:
    """The widest varints: offsets and times as far from their base as their types allow."""
    far = [record(0, -(2**62)), record(2**31 - 1, 2**62, key=b"\0"), record(-(2**31), 0, key=b"", value=b"")]
    return batch(records=far, base_offset=0, base_timestamp=0, max_timestamp=2**63 - 1, last_offset_delta=-1)


CUT_OFF = bytes.fromhex("000000000000002d 00000100 00000003 02") + bytes(44)
"""The header of a batch of 256 bytes and nothing behind it: where a broker's limit was reached."""


def mixed(cut: bool) -> Value:
    """A log that was upgraded twice."""
    entries = [message(0, 0), wrapper(0, 1), message(1, 10), wrapper(1, 2), batch(), batch(4)]
    return [*entries, {"partial": CUT_OFF}] if cut else entries


RECORD_SETS: list[Callable[[bool], Value]] = [
    mixed,
    lambda cut: [],
    lambda cut: [batch(records=[], last_offset_delta=5)],
    lambda cut: [append_time(), control(), extremes()],
    *(lambda cut, codec=codec: [batch(codec)] for codec in CODECS),
    *(lambda cut, magic=magic, codec=codec: [wrapper(magic, codec)] for magic, codec in product((0, 1), (1, 2, 3))),
    lambda cut: [message(magic, 2**63 - 1, key=None, value=None) for magic in (0, 1)],
    lambda cut: [wrapper(1, 1 | APPEND_TIME, records=[message(1, offset) for offset in (8, 9)])],
    lambda cut: [{"partial": b"\x00"}] if cut else [batch(), batch()],
]

BUILT_FOR_ALL = {"batch_length", "crc", "records_count", "compressed_records", "message_size"}


def essentials(node: Node, value: Value) -> Value:
    """The value without what a build fills in, which only record sets have."""
    if value is None or not (isinstance(node, RecordsNode) or holds_records(node)):
        return value
    if isinstance(node, RecordsNode):
        return [_essential(entry) for entry in value]
    if isinstance(node, WireArray):
        return [essentials(node.item, item) for item in value]
    if isinstance(node, NullableStruct):
        return essentials(node.struct, value)
    assert isinstance(node, WireStruct)
    nodes = {field.name: field.node for field in (*node.fields, *(node.tags or {}).values())}
    return {name: essentials(nodes[name], item) for name, item in value.items()}


def _essential(entry: Value) -> Value:
    built = BUILT_FOR_ALL | ({"value"} if "records" in entry and entry["magic"] < 2 else set())
    kept = {name: item for name, item in entry.items() if name not in built}
    if entry.get("magic") in (0, 1) and "records" in entry:
        kept["records"] = [_essential(inner) for inner in entry["records"]]
    return kept


def with_unknown_tags(node: Node, value: Value) -> Value:
    """The value with tagged fields that no grammar names in every structure that can have them."""
    if value is None:
        return None
    if isinstance(node, WireArray):
        return [with_unknown_tags(node.item, item) for item in value]
    if isinstance(node, NullableStruct):
        return with_unknown_tags(node.struct, value)
    if not isinstance(node, WireStruct):
        return value
    nodes = {field.name: field.node for field in (*node.fields, *(node.tags or {}).values())}
    tagged = {name: with_unknown_tags(nodes[name], item) for name, item in value.items()}
    return tagged if node.tags is None else tagged | {TAGGED: dict(UNKNOWN_TAGS)}

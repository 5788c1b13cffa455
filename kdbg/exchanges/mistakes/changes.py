"""The changes that undo a mistake in one field: how the field reads as it was probably meant, and its corrected bytes.

A change is tried where the field is; search.py then reads on and sees whether the message is valid.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...protocol.wire.nodes import Fixed, Length, Node, Sized, Varint, WireArray, WireStruct
from ...protocol.wire.records import RecordsNode
from ..messages.score import YEARS

LENGTHS = (Sized, WireArray, RecordsNode)
"""Nodes that begin with a length or count."""
PRINTABLE: Final = re.compile(rb"[ -~]{1,255}")
"""As far as a name may go."""
MOST_COUNT = 8
"""The largest count that is tried in place of any other."""
LARGEST: Final = {2: (1 << 15) - 1, 4: (1 << 28) - 2}
"""The largest length, by the bytes of its integer."""
INTEGERS: Final = frozenset({
    "acks", "broker_id", "controller_id", "coordinator_id", "current_leader_epoch", "error_code", "generation_id",
    "index", "leader_epoch", "leader_id", "node_id", "num_partitions", "partition", "partition_id", "partition_index",
    "port", "replica_id", "replication_factor",
})  # fmt: skip
"""Fields with small values, in which a little-endian one is recognised."""


WRONG = ("wrong-length", "wrong-count")
ANY = 18.0
"""Bits that a length costs which is far from the one that is meant: damage is as likely as a mistake."""


class Change(NamedTuple):
    """One change: the kind of the mistake, how unlikely it is in bits, and the values.

    `end` is where the field's wrong bytes end and the reading goes on; `size` the length or count that is meant, None
    where nothing is to be read with it; `data` are the corrected bytes.
    """

    kind: str
    cost: float
    actual: str
    expected: str
    end: int
    size: int | None
    data: bytes | None = None


def changes(data: bytes, at: int, node: Node, name: str) -> Iterator[Change]:
    """Yield the changes of a field that begins at `at`."""
    if isinstance(node, Fixed):
        yield from _integers(data, at, node, name)
    if not isinstance(node, LENGTHS):
        return
    number, lowest = node.length.number, -1 if node.nullable else 0  # lengths that the node may have
    written: Iterator[Change] = iter(())
    if isinstance(number, Varint) and node.length.bias:
        written = _compact(data, at, node)
    elif isinstance(number, Fixed):
        written = _plain(data, at, node, number)
    for one in written:
        assert one.size is not None
        if lowest <= one.size <= min(len(data) - one.end, LARGEST[getattr(number, "size", 4)]):
            yield one._replace(data=length_bytes(node.length, one.size))


def _integers(data: bytes, at: int, node: Fixed, name: str) -> Iterator[Change]:
    """Yield the change of a value that makes sense only with its bytes in the other order."""
    raw = data[at : at + node.size]
    if len(raw) < node.size or node.boolean or node.code not in "hiq":
        return
    value, little = int.from_bytes(raw, "big", signed=True), int.from_bytes(raw, "little", signed=True)
    is_little = False
    if node.kind == "timestamp" or name.endswith("timestamp"):
        is_little = node.size == 8 and value not in YEARS and little in YEARS
    elif node.kind == "enum" and node.names and value not in node.names and little in node.names:
        is_little = True
    elif name in INTEGERS or name.endswith("_ms"):
        small = bool(value) and not value & 0xFF and 0 < little < 128 and name != "port"
        large = not value & 0xFF and abs(value) >= 1 << 20 and 0 < little < 1 << 20
        is_little = small if node.size == 2 else node.size == 4 and large
    if is_little:
        yield Change("little-endian-integer", 5.0, str(value), str(little), at + node.size, None, raw[::-1])


def tag_changes(data: bytes, at: int, node: WireStruct) -> Iterator[Change]:
    """Yield the changes of the tagged fields that end a structure, or of a byte 00 where there are none."""
    if node.tags is not None:
        yield Change("missing-tagged-fields", 4.0, "", "00", at, None, b"\0")
    if data[at : at + 1] == b"\0" and (node.tags is None or data[at + 1 : at + 2] == b"\0"):
        empty = b"" if node.tags is None else b"\0"
        yield Change("surplus-tagged-fields", 5.0, "00", "", at + 1 + len(empty), None, empty)


def length_bytes(length: Length, size: int) -> bytes:
    """Return a length or count as it is written."""
    stream = io.BytesIO()
    length.build(size, stream, "")
    return stream.getvalue()


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned varint and where it ends; -1 where there is none."""
    value = shift = 0
    for end in range(at, min(at + 5, len(data))):
        value |= (data[end] & 0x7F) << shift
        shift += 7
        if data[end] < 0x80:
            return value, end + 1
    return -1, at


def _compact(data: bytes, at: int, node: Any) -> Iterator[Change]:
    """Yield the lengths that may be meant where a compact one is expected."""
    raw, end = uvarint(data, at)
    size, bnf = raw - 1, node.bnf
    if raw > 0:
        yield Change("compact-length-without-one", 4.0, str(raw), str(raw + 1), end, raw)
    if raw > 1:
        yield Change(WRONG[isinstance(node, WireArray)], 6.0, str(size), str(size - 1), end, size - 1)
    if raw == 0 and not node.nullable:
        yield Change("null-not-allowed", 2.0, "null", "not null", end, 0)
    for kind, width in (("int16-length", 2), ("int32-length", 4)):
        fixed = int.from_bytes(data[at : at + width], "big", signed=True)
        if len(data) >= at + width and fixed >= -1:
            yield Change(kind, 5.0 + 3.0 * (fixed <= 0), "", bnf, at + width, fixed)
    yield from _any_size(data, end, node, size)


def _plain(data: bytes, at: int, node: Any, number: Fixed) -> Iterator[Change]:
    """Yield the lengths that may be meant where one of fixed width is expected."""
    width = number.size
    raw, compact_end = uvarint(data, at)
    if raw >= 0:
        yield Change("compact-length", 5.0 + 3.0 * (raw <= 1), "", number.bnf, compact_end, raw - 1)
    if len(data) < at + width:
        return
    end, size = at + width, int.from_bytes(data[at : at + width], "big", signed=True)
    little = int.from_bytes(data[at : at + width], "little", signed=True)
    for other in (size - 1, size + 1):
        if size >= 0 and other >= 0:
            yield Change(WRONG[isinstance(node, WireArray)], 6.0, str(size), str(other), end, other)
    if size == -1 and not node.nullable:
        yield Change("null-not-allowed", 2.0, "null", "not null", end, 0)
    if little > 0 and little != size:
        yield Change("little-endian-length", 5.0, str(size), str(little), end, little)
    other_width = 6 - width
    fixed = int.from_bytes(data[at : at + other_width], "big", signed=True)
    if len(data) >= at + other_width and fixed > 0:
        yield Change(f"int{8 * other_width}-length", 5.0, "", number.bnf, at + other_width, fixed)
    yield from _any_size(data, end, node, size)


def _any_size(data: bytes, end: int, node: Any, size: int) -> Iterator[Change]:
    """Yield other sizes: where the text ends, or small counts."""
    if isinstance(node, WireArray):
        tries = set(range(MOST_COUNT + 1))
    elif isinstance(node, Sized) and node.text:
        name = PRINTABLE.match(data, end)
        run = len(name[0]) if name is not None else 0
        tries = {run, run - 1, run - 2}
    else:
        return
    for other in sorted(tries - {size - 1, size, size + 1, -1, -2}):
        yield Change(WRONG[isinstance(node, WireArray)], ANY, str(size), str(other), end, other)

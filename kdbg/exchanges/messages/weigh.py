"""A grammar weighed on bytes: how surprising it would be if they were that, in bits; read once, no values are made.

It goes as far as the bytes do, so that a message that was cut off is weighed like a whole one, and it gives up as soon
as the bytes make so little sense that another reading must be better. What the numbers mean says
messages/score.py.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...errors import WireError
from ...protocol.wire import nodes
from ...protocol.wire.records import RecordsNode
from .score import NONSENSE, number, number_bits, text_bits

BATCH = 49
"""The shortest batch, without its offset and length."""
FEW = 64
"""So many items are nothing special."""
MANY = 100_000
"""More items than that are in no message that somebody pasted."""
UNTIDY = (WireError, struct.error, IndexError, ValueError, UnicodeDecodeError, TypeError)


class Weight(NamedTuple):
    """What a reading costs: `bits`, how many values no peer would write (`faults`), where it ended.

    `cut`: the bytes ended before the message did, inside `path` if that is a field's.
    """

    bits: float
    faults: int
    end: int
    cut: bool


class _Ended(Exception):
    """The bytes end inside the message."""


class Impossible(Exception):
    """No message has these bytes in this place."""


def weigh(
    grammars: Iterable[nodes.Node], data: bytes, start: int, most: float, announced: int | None = None
) -> Weight | None:
    """Weigh grammars, one after the other, on the bytes from `start`; None where they are impossible.

    `most` is what a reading may cost before it is given up. `announced` is where the message ends by its size: what
    would go beyond that is impossible.
    """
    weigher = Weigher(data, start, most, announced)
    try:
        for node in grammars:
            weigher.todo = Todo(Weigher.read, node, ROOT, None)
            weigher.run()
    except _Ended:
        return Weight(weigher.bits, weigher.faults, len(data), True)
    except (Impossible, RecursionError):
        return None
    return Weight(weigher.bits, weigher.faults, weigher.at, False)


Path = tuple[Any, str | int, str]
"""Where a node stands: (the path around it, its key or index, the name of the nearest field)."""
ROOT: Path = (None, "", "")


def path_text(path: Path | None) -> str:
    """Return a path as it is shown: `topics[0].name`."""
    parts: list[str] = []
    while path:
        around, key, _ = path
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}" if key else "")
        path = around
    return "".join(reversed(parts)).lstrip(".")


class Todo(NamedTuple):
    """What is to be read, then `next`: immutable, so that a reading can go on from any earlier place."""

    read: Callable[[Weigher, Any, Path], None]
    node: Any
    path: Path
    next: Todo | None


class Weigher:
    """Where a reading is in the bytes, what it has cost, and what is still to be read."""

    plain_varints = False
    """Whether signed varints are read without zigzag."""

    def __init__(self, data: bytes, start: int, most: float, announced: int | None) -> None:
        self.data, self.at, self.most = data, start, most
        self.end = len(data)
        self.announced = announced
        self.bits, self.faults = 0.0, 0
        self.todo: Todo | None = None

    def run(self) -> None:
        """Read all that is to be read; raise `Impossible` where no message has these bytes."""
        while (todo := self.todo) is not None:
            self.todo = todo.next
            todo.read(self, todo.node, todo.path)
            if self.bits > self.most:
                raise Impossible

    def then(self, read: Callable[[Any, Any, Path], None], node: Any, path: Path) -> None:
        """Put something before all else that is to be read."""
        self.todo = Todo(read, node, path, self.todo)

    def read(self, node: nodes.Node, path: Path) -> None:
        """Read one node; what is inside of it is put before all else."""
        _READS[type(node)](self, node, path)

    def fault(self, bits: float = NONSENSE) -> None:
        self.bits += bits
        self.faults += 1

    def left(self, wanted: int) -> None:
        """Raise `_Ended` where fewer bytes are left, with their cost."""
        if self.at + wanted > self.end:
            if self.announced is not None and self.at + wanted > self.announced:
                raise Impossible
            self.bits += 4.0 * (self.end - self.at)
            self.at = self.end
            raise _Ended

    def fixed(self, node: nodes.Fixed, path: Path) -> None:
        self.left(node.size)
        value = node.unpack(self.data[self.at : self.at + node.size])[0]
        self.at += node.size
        if node.boolean and value > 1:
            self.fault()
        self.priced(number_bits(node, value, path[2]), 8.0 * node.size)

    def priced(self, bits: float, raw: float) -> None:
        """Add the cost of a value; more than its bytes and nonsense make it a fault."""
        self.bits += bits
        self.faults += bits >= raw + NONSENSE

    def varint(self, node: nodes.Varint, path: Path) -> None:
        self.bits += number(self.number(node))

    def number(self, node: nodes.Node) -> int:
        """Return the number that a length or a varint is."""
        if isinstance(node, nodes.Fixed):
            self.left(node.size)
            value: int = node.unpack(self.data[self.at : self.at + node.size])[0]
            self.at += node.size
            return value
        if isinstance(node, nodes.Varint):
            return self.base128(node)
        return int(self.parsed(node))

    def base128(self, node: nodes.Varint) -> int:
        raw = shift = 0
        while True:
            self.left(1)
            byte = self.data[self.at]
            self.at += 1
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= node.bits:
                raise Impossible
        if raw >> node.bits or (not byte and shift > 7):
            raise Impossible
        if not node.signed:
            return raw
        if self.plain_varints:
            return raw - (1 << node.bits) * (raw >> (node.bits - 1))
        return (raw >> 1) ^ -(raw & 1)

    def parsed(self, node: nodes.Node, path: Path = ROOT) -> Any:
        stream = io.BytesIO(self.data)
        stream.seek(self.at)
        try:
            value = node._parse(stream, None, "")
        except UNTIDY:
            raise Impossible from None
        self.bits += 8.0 * (stream.tell() - self.at)
        self.at = stream.tell()
        return value

    def length(self, length: nodes.Length, nullable: bool) -> int:
        size = self.number(length.number) - length.bias
        if size < -1:
            raise Impossible
        if size < 0 and not nullable:
            self.fault()
        return size

    def beyond(self, size: int) -> None:
        """Raise `Impossible` where so many bytes do not fit in what the size in front announces."""
        if self.announced is not None and self.at + size > self.announced:
            raise Impossible

    def sized(self, node: nodes.Sized, path: Path) -> None:
        self.contents(node, self.length(node.length, node.nullable), path)

    def contents(self, node: nodes.Sized, size: int, path: Path) -> None:
        """Read what follows a length."""
        if size <= 0:
            self.bits += 4.0 if node.text else 3.0
            return
        self.beyond(size)
        data = self.data[self.at : self.at + size]
        cut = len(data) < size
        if node.text:
            self.text(data, size, node.kind, path[2], cut)
        else:
            self.bits += number(size) + 8.0 * len(data)
        self.at += len(data)
        if cut:
            raise _Ended

    def text(self, data: bytes, size: int, kind: str, name: str, cut: bool) -> None:
        try:
            value = data.decode("utf-8", "ignore" if cut and len(data) > 4 else "strict")
        except UnicodeDecodeError:
            self.fault(NONSENSE + 9.0 * len(data))
            return
        if size > 32767:
            self.fault()
        before = self.bits
        self.bits += number(size) - number(len(value)) + text_bits(value, kind, name)
        self.faults += any(letter < " " or "\x7f" <= letter < "\xa0" for letter in value)
        if self.bits - before > 12.0 * len(data) + NONSENSE:
            self.faults += 1

    def array(self, node: nodes.WireArray, path: Path, count: int | None = None) -> None:
        """Read an array, or what follows its count."""
        count = self.length(node.length, node.nullable) if count is None else count
        if count <= 0:
            self.bits += 4.0
            return
        self.beyond(count * _least(node.item))
        self.bits += number(count) + max(2.0 * math.log2(count / FEW), 0.0)
        if count > MANY:
            self.fault()
        self.then(Weigher.items, (node.item, 0, count), path)

    def items(self, rest: tuple[nodes.Node, int, int], path: Path) -> None:
        item, at, count = rest
        if at + 1 < count:
            self.then(Weigher.items, (item, at + 1, count), path)
        self.read(item, (path, at, path[2]))

    def struct(self, node: nodes.WireStruct, path: Path) -> None:
        if node.front:
            self.parsed(node)  # as no release has them
        else:
            self.fields((node, 0), path)

    def fields(self, rest: tuple[nodes.WireStruct, int], path: Path) -> None:
        node, at = rest
        if at < len(node.fields):
            self.then(Weigher.fields, (node, at + 1), path)
            field = node.fields[at]
            self.read(field.node, (path, field.name, field.name))
        else:
            self.tags(node, path)

    def tags(self, node: nodes.WireStruct, path: Path) -> None:
        """Read the tagged fields that end a structure, if its version has them."""
        if node.tags is None:
            return
        count = self.number(nodes.UVARINT)
        self.bits += 0.5 if not count else 8.0
        if count > 32:
            raise Impossible
        if count:
            self.then(Weigher.tagged, (node, count, -1), path)

    def tagged(self, rest: tuple[nodes.WireStruct, int, int], path: Path) -> None:
        node, count, last = rest
        tag, size = self.number(nodes.UVARINT), self.number(nodes.UVARINT)
        self.beyond(size)
        if tag <= last:
            raise Impossible
        if count > 1:
            self.then(Weigher.tagged, (node, count - 1, tag), path)
        known = (node.tags or {}).get(tag)
        if known is None:
            self.bits += NONSENSE + 8.0 * min(size, self.end - self.at)
            self.left(size)
            self.at += size
            return
        self.bits += 8.0
        self.then(Weigher.ends, self.at + size, path)
        self.then(Weigher.read, known.node, (path, known.name, known.name))

    def ends(self, end: int, path: Path) -> None:
        """Make sure that what has a length ends there."""
        if self.at != end:
            raise Impossible

    def nullable_struct(self, node: nodes.NullableStruct, path: Path) -> None:
        self.left(1)
        mark = self.data[self.at]
        self.at += 1
        self.bits += 1.0
        if mark == 1:
            self.struct(node.struct, path)
        elif mark != node.null & 0xFF:
            raise Impossible

    def prefixed(self, node: nodes.LengthPrefixed, path: Path) -> None:
        size = self.length(node.length, False)
        self.beyond(size)
        self.bits += 1.0
        self.then(Weigher.ends, self.at + size, path)
        self.then(Weigher.read, node.item, path)

    def uuid(self, node: nodes.UuidNode, path: Path) -> None:
        self.left(16)
        data = self.data[self.at : self.at + 16]
        self.at += 16
        sound = data[6] >> 4 == 4 and data[8] >> 6 == 2
        known = not any(data[:15])
        self.priced(3.0 if known else 122.0 if sound else 128.0 + NONSENSE, 128.0)

    def rest(self, node: nodes.RemainingBytes, path: Path) -> None:
        self.bits += 8.0 * (self.end - self.at)
        self.at = self.end

    def records(self, node: RecordsNode, path: Path, size: int | None = None) -> None:
        """Read a record set, or what follows its length."""
        size = self.length(node.length, node.nullable) if size is None else size
        if size <= 0:
            self.bits += 3.0
            return
        self.beyond(size)
        data = self.data[self.at : self.at + size]
        if len(data) < 17:  # whether they begin as a record set of so many bytes does, as far as they go
            sound = not any(data[:4]) and len(data) < size
        else:
            length, least = int.from_bytes(data[8:12], "big", signed=True), 14 if data[16] < 2 else BATCH
            sound = data[16] <= 2 and not any(data[:2]) and least <= length <= size - 12
        self.bits += 2.0 + number(size) + (2.0 * len(data) if sound else 9.0 * len(data) + NONSENSE)
        self.faults += not sound
        self.at += len(data)
        if len(data) < size:
            raise _Ended


def _least(node: nodes.Node) -> int:
    """Return how many bytes a node takes at least."""
    if isinstance(node, (nodes.Fixed, nodes.UuidNode)):
        return getattr(node, "size", 16)
    if isinstance(node, nodes.WireStruct):
        return max(1, sum(_least(field.node) for field in node.fields[:8]))
    return 1


_READS = nodes.ByClass[Callable[[Any, Any, Path], None]]({
    nodes.Node: Weigher.parsed, nodes.Fixed: Weigher.fixed, nodes.Varint: Weigher.varint, nodes.Sized: Weigher.sized,
    nodes.WireStruct: Weigher.struct, nodes.WireArray: Weigher.array, nodes.NullableStruct: Weigher.nullable_struct,
    nodes.LengthPrefixed: Weigher.prefixed, nodes.UuidNode: Weigher.uuid, nodes.RemainingBytes: Weigher.rest,
    RecordsNode: Weigher.records,
})  # fmt: skip

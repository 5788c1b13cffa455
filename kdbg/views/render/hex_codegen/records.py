"""The function that gathers the rows of record sets: sound batches, plain or compressed.

Messages of magic 0 and 1 are left to an inspection, and control batches, whose records are payloads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ....protocol.wire.nodes import Field, LengthPrefixed
from ....protocol.wire.readings.anomalies import Odd
from ....protocol.wire.readings.batches import Batches
from ....protocol.wire.records.node import RecordsNode
from ....protocol.wire.records.sets import CODEC_MASK, CONTROL
from .blocks import Buffer
from .structures import Structures
from .texts import Texts

GatherSet: TypeAlias = Callable[[bytes, int, int, bytes, list[Buffer], int, "list[Odd] | None"], None]


def record_set(texts: Texts, node: RecordsNode) -> GatherSet:
    """Return the function that gathers the rows of record sets: `gather(data, start, end, path, buffers, shift, odd)`.

    `path` is that of the set. Decompressed bytes are added to the buffers, of which the first is the message.
    """
    return RecordRows(texts, node).record_set()


def opened(buffers: list[Buffer], path: bytes, data: bytes) -> tuple[Any, list[bytes], int]:
    """Add a buffer of decompressed bytes; return what takes its blocks, the list of its meanings, and its shift."""
    buffer = Buffer([], [], path.decode(), len(data))
    buffers.append(buffer)
    return buffer.blocks.append, buffer.meanings, 0


class RecordRows(Structures, Batches):
    """Writes a function that gathers the rows of record sets."""

    notes = True
    unusual = CONTROL

    def __init__(self, texts: Texts, node: RecordsNode) -> None:
        super().__init__(texts, records=False, format=node.format, cut=node.cut)
        self.names["opened"] = opened

    def record_set(self) -> GatherSet:
        """Return the function."""
        self.line(1, "message, number = buffers[0], 0")
        self.line(1, "outside = add, meanings, shift = message.blocks.append, message.meanings, shift")
        self.path = "set"
        self.loop_over_batches(1)
        return self.define("gather(data, pos, end, set, buffers, shift, odd)", "None")  # type: ignore[no-any-return]

    def batch_field(self, field: Field, depth: int) -> str:
        with self.at(field.name):
            return self.leaf(field.node, depth)

    def at_number(self, depth: int) -> None:
        """Write what keeps the path of the entry at hand; rows that follow stand inside it."""
        self.path = "set"
        self.path = self.keep_path(depth, "number")

    def partial(self, depth: int) -> None:
        (header, self._pending), outer = (self._pending, []), self.path
        self.at_number(depth)
        self.bytes_row("BYTES", "end", depth)
        self.emit(depth)
        self._pending, self.path = header, outer

    def head(self, depth: int) -> None:
        def packed(depth: int) -> None:
            with self.at("compressed_records"):
                self.bytes_row("COMPRESSED", "stop", depth)
            self.emit(depth)

        self.at_number(depth)
        self.either(f"{self.fields['attributes']} & {CODEC_MASK}", depth, packed)

    def each(self, count: str, depth: int) -> None:
        self.inner = ".records"
        self.line(depth, f"if {self.fields['attributes']} & {CODEC_MASK}:")
        path = self.keep_path(depth + 1)
        self.line(depth + 1, f"add, meanings, shift = opened(buffers, {path}, data)")
        self.numbered(count, depth, self.one)
        self.inner = ""

    def one(self, depth: int) -> None:
        node = self.format.records.item
        assert isinstance(node, LengthPrefixed)
        self.prefixed(node, depth)

    def foot(self, depth: int) -> None:
        self.emit(depth)
        self.line(depth, "add, meanings, shift = outside")
        self.line(depth, "number += 1")
        self.path = "set"

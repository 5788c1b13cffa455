"""Exchanges between two stages: paired, not decoded. One half of the pipeline packs them, the other unpacks them.

Many are one row: to make columns of what they are made of costs more than to make their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.serialization import Packed
from ....exchanges.messages.serialization import unpack as unpack_bytes
from ..archive.store import resolve

SCHEMA = pa.schema({"exchanges": pa.binary(), "common": pa.binary(), "data": pa.large_binary()})
"""Many exchanges in one row: what `Bytes` is made of."""


def as_row(packed: Packed) -> pa.RecordBatch:
    """Return what was packed as one row; what is packed then begins anew."""
    exchanges, common, data = packed.take()
    columns = {"exchanges": [exchanges], "common": [common], "data": [b"".join(data)]}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def unpack(rows: pa.RecordBatch, topics: dict[UUID, str]) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) of all in a batch, as they were packed; `topics` are the names of topic ids."""
    for row in rows.to_pylist():
        yield from unpack_bytes(**row, topics=topics)


AT_ONCE, BYTES = 1024, 4 << 20
"""Exchanges, and bytes of them, that are packed together."""
PIECE = 32 << 20
"""Bytes of exchanges in one file."""


class Pieces:
    """Takes exchanges and writes them into files of about `PIECE` bytes."""

    folder: str
    system: Any

    def __init__(self, folder: str) -> None:
        self.system, self.folder, _ = resolve(folder)
        self.names: list[tuple[str, int]] = []
        self._packed = Packed()
        self._held = self._written = 0
        self._name = ""
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, capture: int, exchange: Exchange, size: int) -> None:
        """Take an exchange of so many bytes."""
        self._packed.add(exchange, capture)
        self._held += size
        if len(self._packed) >= AT_ONCE or self._held > BYTES:
            self._flush()

    def close(self) -> list[tuple[str, int]]:
        """Return the files, and the bytes of exchanges in each."""
        self._flush()
        self._end()
        return self.names

    def _flush(self) -> None:
        if not len(self._packed):
            return
        if self._writer is None:
            self._name = f"{uuid4().hex}.arrow"
            self._sink = self.system.open_output_stream(f"{self.folder}/{self._name}")
            self._writer = pa.ipc.new_file(self._sink, SCHEMA)
        self._writer.write_batch(as_row(self._packed))
        self._written += self._held
        self._held = 0
        if self._written > PIECE:
            self._end()

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self.names.append((self._name, self._written))
            self._writer, self._written = None, 0


def exchanges(folder: str, name: str, topics: dict[UUID, str]) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) for all in one file."""
    system, path, _ = resolve(folder)
    with system.open_input_file(f"{path}/{name}") as file:
        reader = pa.ipc.open_file(file)
        for i in range(reader.num_record_batches):
            yield from unpack(reader.get_batch(i), topics)

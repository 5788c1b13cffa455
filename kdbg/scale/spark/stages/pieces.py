"""Exchanges on their way to the next stage: files of paired, undecoded exchanges, each small enough for one task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.serialization import Packed
from ..archive.store import resolve
from .raw import SCHEMA, as_row, unpack

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

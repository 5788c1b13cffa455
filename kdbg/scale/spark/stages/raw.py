"""Exchanges between two stages: paired, not decoded. One half of the pipeline packs them, the other unpacks them.

Many are one row: to make columns of what they are made of costs more than to make their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pyarrow as pa

from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.serialization import Packed
from ....exchanges.messages.serialization import unpack as unpack_bytes

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

"""What differs between any two runs and says nothing: ids that are handed out, times, and what follows from others."""

from __future__ import annotations

from ...protocol.wire.nodes import Node, UuidNode
from .broker_assigned import HANDED, OF_ONE_RUN

HANDED_OUT = frozenset({
    *(name for name, kind in HANDED.items() if kind in OF_ONE_RUN),
    "correlation_id", "batch_length", "compressed_records", "crc", "timestamp",
})  # fmt: skip
"""Names of fields whose values a broker hands out, or that follow from those of others."""


def is_ignored(name: str, node: Node | None) -> bool:
    """Return whether a field is left out of a comparison unless it is asked for: an id, a time, a checksum."""
    return name in HANDED_OUT or isinstance(node, UuidNode) or (node is not None and node.kind in ("timestamp", "crc"))

"""Live sessions with brokers: the only room with sockets.

    async with Cluster("localhost:9092", Settings()) as cluster:
        exchange = await cluster.send("metadata", {"topics": [{"name": "orders"}]})
        print(exchange.response.message().body)

What is said and answered are the same `Exchange` objects that `kdbg.read` finds in a capture: the pairing is the
session room's, this room only moves bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .settings import Sasl, Settings, Tls

if TYPE_CHECKING:
    from .cluster import Cluster
    from .connection import Connection

__all__ = ["Cluster", "Connection", "Sasl", "Settings", "Tls"]


def __getattr__(name: str) -> Any:
    """Import Cluster or Connection when first used, so that forms, properties and `--help` load no asyncio or ssl."""
    if name == "Cluster":
        from .cluster import Cluster

        return Cluster
    if name == "Connection":
        from .connection import Connection

        return Connection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

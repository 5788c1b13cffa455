"""Live sessions with brokers: the only room with sockets.

    async with Cluster("localhost:9092", Settings()) as cluster:
        exchange = await cluster.send("metadata", {"topics": [{"name": "orders"}]})
        print(exchange.response.message().body)

What is said and answered are the same `Exchange` objects that `kdbg.read` finds in a capture: the pairing is the
session room's, this room only moves bytes.
"""

from .cluster import Cluster
from .connection import Connection
from .settings import Sasl, Settings, Tls

__all__ = ["Cluster", "Connection", "Sasl", "Settings", "Tls"]

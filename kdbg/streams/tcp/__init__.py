"""From packets to the bytes that each side sent, with the time and packet of every piece. No I/O, no Kafka."""

from kdbg.streams.tcp.connection import Connection
from kdbg.streams.tcp.stream import Receiver, Stream
from kdbg.streams.tcp.table import ConnectionTable

__all__ = ["Connection", "ConnectionTable", "Receiver", "Stream"]

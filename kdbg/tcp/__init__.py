"""From packets to the bytes that each side sent, with the time and packet of every piece. No I/O, no Kafka."""

from kdbg.tcp.connection import Connection
from kdbg.tcp.stream import Receiver, Stream
from kdbg.tcp.table import Table

__all__ = ["Connection", "Receiver", "Stream", "Table"]

"""What a proxy or a mock relayed, as a pcap file in memory, and the exchanges in it."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..capture.packet import Endpoint
from ..capture.pcap import file_header, packet_record
from ..capture.write import RAW_IP, Buffer, Talks

if TYPE_CHECKING:
    from ..views.reading.exchange import Exchange


class Recorded:
    """What was said, as a pcap file in memory."""

    def __init__(self) -> None:
        self._talks, self._data = Talks(), bytearray(file_header(RAW_IP))
        self._lock = threading.Lock()

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take bytes that went over a connection."""
        self._add(self._talks.packets(client, broker, from_client, data, time_ns, connection), time_ns)

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""
        self._add(self._talks.ended(client, broker, connection), time_ns)

    @property
    def capture(self) -> bytes:
        """The file so far."""
        with self._lock:
            return bytes(self._data)

    def _add(self, packets: Iterator[bytes], time_ns: int) -> None:
        with self._lock:
            for packet in packets:
                self._data += packet_record(time_ns, packet)

    def exchanges(self, **filters: Any) -> list[Exchange]:
        """Return the exchanges so far, with the filters of `kdbg.read`."""
        from ..library import read_capture

        with read_capture(io.BytesIO(self.capture), **filters) as reading:
            return list(reading)

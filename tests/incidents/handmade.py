"""A client made by hand: it says what it is told to, however wrong, where no library can be brought to do so."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import kdbg

Batch = dict[str, Any]
RECEIVE_BUFFER = socket.SO_RCVBUF


class Handmade:
    """One connection; requests are given as kdbg's `encode` takes them, answers come as bodies."""

    def __init__(
        self, client_id: str, address: str, *, timeout: float = 20.0, receive_buffer: int | None = None,
        source: str = "",
    ) -> None:  # fmt: skip
        host, _, port = address.rpartition(":")
        self.client_id = client_id
        self.correlation_id = 0
        self.asked: dict[int, tuple[str, int]] = {}
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER, receive_buffer)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout)
        self.socket.connect((host, int(port)))

    def ask(self, api: str, version: int, **body: Any) -> Mapping[str, Any]:
        """Send a request and wait for its answer's body."""
        self.send(api, version, **body)
        return self.answer()

    def send(self, api: str, version: int, **body: Any) -> None:
        request = kdbg.encode(body, api=api, version=version, direction="request", header=self._next())
        self.asked[self.correlation_id] = (api, version)
        self.socket.sendall(struct.pack(">i", len(request)) + request)

    def answer(self) -> Mapping[str, Any]:
        """The next answer's body. OSError if the broker closes the connection, or is silent for too long."""
        (length,) = struct.unpack(">i", self._exactly(4))
        data = self._exactly(length)
        api, version = self.asked.pop(struct.unpack_from(">i", data)[0])
        body: Mapping[str, Any] = kdbg.decode(data, api=api, version=version, direction="response").body
        return body

    def close(self) -> None:
        self.socket.close()

    def _next(self) -> dict[str, Any]:
        self.correlation_id += 1
        return {"correlation_id": self.correlation_id, "client_id": self.client_id}

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            if not (more := self.socket.recv(length - len(data))):
                raise ConnectionError("the broker closed the connection")
            data += more
        return data


@contextmanager
def handmade(client_id: str, address: str, **options: Any) -> Iterator[Handmade]:
    client = Handmade(client_id, address, **options)
    try:
        yield client
    finally:
        client.close()


def batch(*values: str, timestamp: int = 1_795_000_000_000, **fields: Any) -> Batch:
    """A batch of records with these values; fields are the batch's own: producer_id, base_sequence, crc."""
    times = {"base_timestamp": timestamp, "max_timestamp": timestamp}
    return {"records": [{"value": value} for value in values], **times, **fields}


def produced(topic: str, records: Any, *, partition: int = 0, acks: int = -1, **fields: Any) -> dict[str, Any]:
    """The body of a Produce request with the batches (or the bytes) of one partition."""
    partitions = [{"index": partition, "records": records}]
    return {"acks": acks, "timeout_ms": 5000, "topic_data": [{"name": topic, "partition_data": partitions}], **fields}


def fetched(
    topic: str, offset: int = 0, *, partitions: Iterable[int] = (0,), wait: int = 500, least: int = 1,
    most: int = 1 << 20,
) -> dict[str, Any]:  # fmt: skip
    """The body of a Fetch request (v4) from this offset on."""
    asked = [{"partition": each, "fetch_offset": offset, "partition_max_bytes": most} for each in partitions]
    limits = {"max_wait_ms": wait, "min_bytes": least, "max_bytes": most, "isolation_level": 0}
    return {"replica_id": -1, **limits, "topics": [{"topic": topic, "partitions": asked}]}

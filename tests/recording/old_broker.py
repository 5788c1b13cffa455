"""Answers of a broker of the age of 0.8 to 0.10 for the scripted broker: Metadata, Produce, Fetch, no groups.

It keeps what is produced as it came, one set of messages a topic. A broker of that time numbered the messages, and so
does this one, as far as needed: a topic's only set starts at offset 0, as its messages already say; the wrapper around
a compressed set gets the offset of the last message in it.
"""

from __future__ import annotations

import struct
import time

from recording.api_keys import API_VERSIONS, FETCH, FIND_COORDINATOR, METADATA, PRODUCE
from recording.scripted_broker import Answers, Request, api_versions
from recording.wire_bytes import Reader, array, sized, string

CODEC_BITS = 7
ATTRIBUTES_AT = 17  # of a message with its offset and size


class OldBroker:
    """A broker with one partition a topic, all expected to get exactly one batch of `records` messages."""

    def __init__(self, port: int, topics: list[str], records: int, *, produce: int, fetch: int) -> None:
        self._port, self._topics, self._records = port, topics, records
        self._newest = {PRODUCE: produce, FETCH: fetch, METADATA: 1, FIND_COORDINATOR: 0, API_VERSIONS: 0}
        self._log: dict[str, bytes] = {}

    def answers(self) -> Answers:
        all_of_them = {
            PRODUCE: self._produce,
            FETCH: self._fetch,
            METADATA: self._metadata,
            FIND_COORDINATOR: self._find_coordinator,
        }
        table = {(key, version): all_of_them[key] for key in all_of_them for version in range(self._newest[key] + 1)}
        ranges = [(key, 0, version) for key, version in self._newest.items()]
        return {**table, (API_VERSIONS, 0): lambda request: api_versions(*ranges)}

    def _find_coordinator(self, request: Request) -> bytes:
        """Asked for by every librdkafka consumer; and without it in the list librdkafka doesn't compress with LZ4."""
        return struct.pack(">hi", 0, 1) + string("127.0.0.1") + struct.pack(">i", self._port)

    def _metadata(self, request: Request) -> bytes:
        new = request.version >= 1
        broker = struct.pack(">i", 1) + string("127.0.0.1") + struct.pack(">i", self._port) + string(None) * new
        controller = struct.pack(">i", 1) if new else b""
        partition = array([struct.pack(">hiiiiii", 0, 0, 1, 1, 1, 1, 1)])  # leader, replicas and in-sync: broker 1
        topics = array(struct.pack(">h", 0) + string(each) + b"\0" * new + partition for each in self._topics)
        return array([broker]) + controller + topics

    def _produce(self, request: Request) -> bytes:
        body = request.body
        body.raw(6)  # acks, timeout

        def topic() -> bytes:
            name = body.string() or ""
            return string(name) + array(body.array(lambda: self._append(name, request)))

        topics = array(body.array(topic))
        return topics + (struct.pack(">i", 0) if request.version >= 1 else b"")

    def _append(self, topic: str, request: Request) -> bytes:
        partition, size = request.body.number("i"), request.body.number("i")
        messages = request.body.raw(size)
        if messages[ATTRIBUTES_AT] & CODEC_BITS:
            messages = struct.pack(">q", self._records - 1) + messages[8:]
        self._log[topic] = messages
        append_time = struct.pack(">q", -1) if request.version >= 2 else b""
        return struct.pack(">ihq", partition, 0, 0) + append_time

    def _fetch(self, request: Request) -> bytes:
        body = request.body
        body.raw(16 if request.version >= 3 else 12)  # replica, wait, min bytes, max bytes
        wanted = body.array(lambda: (body.string() or "", body.array(lambda: _partition_and_offset(body))))
        answer = array(
            string(topic) + array(self._records_from(topic, *each) for each in partitions)
            for topic, partitions in wanted
        )
        if all(offset for _, partitions in wanted for _, offset in partitions):
            time.sleep(0.1)  # nothing new: let the client wait
        return (struct.pack(">i", 0) if request.version >= 1 else b"") + answer

    def _records_from(self, topic: str, partition: int, offset: int) -> bytes:
        messages = self._log.get(topic, b"")
        high_watermark = self._records if messages else 0
        return struct.pack(">ihq", partition, 0, high_watermark) + sized(messages if offset == 0 else b"")


def _partition_and_offset(body: Reader) -> tuple[int, int]:
    partition, offset, _max_bytes = body.number("i"), body.number("q"), body.number("i")
    return partition, offset

"""What a broker is asked to see whether it answers: ApiVersions v0 and Metadata v0, by hand on a plain socket.

Nothing of kdbg is used here, so that a broker can be trusted where kdbg is in doubt.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

METADATA, API_VERSIONS = 3, 18
HOST = "127.0.0.1"
CLIENT = b"probe"


@dataclass
class Topics:
    """An answer to Metadata v0: node id -> port, topic -> partition -> leader."""

    nodes: dict[int, int]
    leaders: dict[str, dict[int, int]]

    def led(self) -> set[str]:
        """The topics whose every partition has a leader."""
        return {topic for topic, leaders in self.leaders.items() if leaders and min(leaders.values()) >= 0}


def api_versions(port: int, timeout: float = 2.0, host: str = HOST) -> dict[int, tuple[int, int]]:
    """API key -> the lowest and the highest version that the broker has."""
    answer = _Reader(_ask((host, port), API_VERSIONS, b"", timeout))
    error = answer.number("h")
    if error:
        raise OSError(f"ApiVersions v0 was answered with error {error}")
    return {answer.number("h"): (answer.number("h"), answer.number("h")) for _ in range(answer.number("i"))}


def metadata(port: int, *topics: str, timeout: float = 2.0, host: str = HOST) -> Topics:
    """All topics, or these: one that isn't there is created by the asking."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    answer = _Reader(_ask((host, port), METADATA, struct.pack(">i", len(topics)) + names, timeout))
    nodes = {}
    for _ in range(answer.number("i")):
        node, _host = answer.number("i"), answer.string()
        nodes[node] = answer.number("i")
    leaders = {}
    for _ in range(answer.number("i")):
        answer.number("h")
        name = answer.string()
        leaders[name] = dict(answer.partition() for _ in range(answer.number("i")))
    return Topics(nodes, leaders)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.start = 0

    def number(self, kind: str) -> int:
        (value,) = struct.unpack_from(f">{kind}", self.data, self.start)
        self.start += struct.calcsize(kind)
        return int(value)

    def string(self) -> str:
        length = self.number("h")
        self.start += length
        return self.data[self.start - length : self.start].decode()

    def partition(self) -> tuple[int, int]:
        self.number("h")
        partition, leader = self.number("i"), self.number("i")
        for _ in ("replicas", "in sync"):
            for _ in range(self.number("i")):
                self.number("i")
        return partition, leader


def _ask(address: tuple[str, int], key: int, body: bytes, timeout: float) -> bytes:
    """One request of version 0; the body of what comes back."""
    request = struct.pack(">hhih", key, 0, 1, len(CLIENT)) + CLIENT + body
    with socket.create_connection(address, timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        return _exactly(connection, length)[4:]


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError("the broker closed the connection")
        data += more
    return data

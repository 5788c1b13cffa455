"""Connections of Python's ssl that last from 50 ms to 1.5 s, one after the other: short.py KEY=VALUE...

Keys are those of options.py, and shortest and longest (ms). Each connection: TLS, SASL/PLAIN, ApiVersions, Metadata.
"""

from __future__ import annotations

import random
import socket
import ssl
import struct
import time

from options import OPTIONS, context

METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 3, 17, 18, 36


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


class Connection:
    """A TLS connection on which one request after the other is sent and its response is awaited."""

    def __init__(self, client: ssl.SSLSocket) -> None:
        self._client = client
        self._correlation_id = 0

    def send(self, key: int, version: int, body: bytes) -> bytes:
        self._correlation_id += 1
        request = struct.pack(">hhi", key, version, self._correlation_id) + string(OPTIONS["id"]) + body
        self._client.sendall(struct.pack(">i", len(request)) + request)
        return self._received(struct.unpack(">i", self._received(4))[0])

    def _received(self, length: int) -> bytes:
        received = b""
        while len(received) < length:
            if not (more := self._client.recv(length - len(received))):
                raise ConnectionError("the broker closed the connection")
            received += more
        return received


def session(connection: Connection) -> None:
    token = f"\0{OPTIONS['user']}\0{OPTIONS['password']}".encode()
    connection.send(SASL_HANDSHAKE, 1, string("PLAIN"))
    response = connection.send(SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
    if response[4:6] != b"\0\0":
        raise ConnectionError(f"SaslAuthenticate has error {response[4:6].hex()}")
    connection.send(API_VERSIONS, 0, b"")
    connection.send(METADATA, 1, struct.pack(">i", 1) + string(OPTIONS["topic"]))


def main() -> None:
    shortest, longest = int(OPTIONS["shortest"]) / 1000, int(OPTIONS["longest"]) / 1000
    host, port = OPTIONS["bootstrap"].rsplit(":", 1)
    tls, lengths = context(), random.Random(1)
    while True:
        end = time.monotonic() + lengths.uniform(shortest, longest)
        with (
            socket.create_connection((host, int(port))) as plain,
            tls.wrap_socket(plain, server_hostname=host) as client,
        ):
            session(Connection(client))
            time.sleep(max(0.0, end - time.monotonic()))


main()

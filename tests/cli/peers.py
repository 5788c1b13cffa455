"""What tests send to: peers that do what they are told, and the request that every broker answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

API_VERSIONS = "0000000a0012000000000001ffff"
"""A whole request: ApiVersions v0, correlation id 1, no client id."""


@contextmanager
def peer(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A listener that does what it is told with each connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                behave(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()

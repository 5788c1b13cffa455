"""A TLS server in this process that responds to ApiVersions v0, for clients whose connections are short."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def short_talks(
    context: ssl.SSLContext, asked: threading.Event | None = None, host: str = "127.0.0.1"
) -> Iterator[int]:
    """Make a context with a server; give its port. `asked` is set once a client has sent a request."""
    asked = asked or threading.Event()
    with socket.create_server((host, 0)) as listener:
        over = threading.Event()
        accepting = threading.Thread(target=_accept, args=(listener, context, asked, over), daemon=True)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()  # before its descriptor is that of another server


def _accept(listener: socket.socket, context: ssl.SSLContext, asked: threading.Event, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(OSError):  # of one connection
            threading.Thread(target=_respond, args=(listener.accept()[0], context, asked), daemon=True).start()


def _respond(plain: socket.socket, context: ssl.SSLContext, asked: threading.Event) -> None:
    with suppress(OSError), context.wrap_socket(plain, server_side=True) as client:
        while (length := client.recv(4)) and (request := client.recv(struct.unpack(">i", length)[0])):
            asked.set()
            if request[2:4] != b"\0\0":  # another version, whose response has another form
                break
            response = request[4:8] + struct.pack(">hihhh", 0, 1, 18, 0, 4)
            client.sendall(struct.pack(">i", len(response)) + response)

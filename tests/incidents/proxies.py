"""Boxes that pass connections on to a broker, or fail to: each with one fault of load balancers and firewalls."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

from .middlebox import Address

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: on, zero seconds. Closing such a socket sends RST."""


class Proxy:
    """Listens until it is closed, and connects each client to the broker.

    Without a broker it closes each connection at once. `preface` is sent to the broker before what the client sends.
    A connection on which nothing comes for `idle` seconds is reset on both sides.
    """

    def __init__(
        self, here: Address, broker: Address | None, *, preface: bytes = b"", idle: float | None = None
    ) -> None:  # fmt: skip
        self.broker = broker
        self.preface = preface
        self.idle = idle
        self._listener = socket.create_server(here)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.broker is None:
                    client.close()
                    continue
                broker = socket.create_connection(self.broker)
                broker.sendall(self.preface)
                self._open += [client, broker]
                for one, other in ((client, broker), (broker, client)):
                    one.settimeout(self.idle)
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65_536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except TimeoutError:
            for each in (one, other):
                with suppress(OSError):  # the other direction may have closed both already
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                each.close()
        except OSError:
            for each in (one, other):
                each.close()

"""A box between clients and a broker, that passes requests on and mixes up the ids of the answers when told to."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

Address = tuple[str, int]


class Middlebox:
    """Listens until it is closed. From the answer `wrong_from` on, a connection's answers have the id before theirs."""

    def __init__(self, here: Address, broker: Address, *, wrong_from: int | None) -> None:
        self.broker = broker
        self.wrong_from = wrong_from
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
                broker = socket.create_connection(self.broker)
                self._open += [client, broker]
                threading.Thread(target=self._requests, args=(client, broker), daemon=True).start()
                threading.Thread(target=self._answers, args=(broker, client), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                broker.sendall(data)
            broker.shutdown(socket.SHUT_WR)

    def _answers(self, broker: socket.socket, client: socket.socket) -> None:
        answered = 0
        with suppress(OSError), broker.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                frame = stream.read(int.from_bytes(size))
                answered += 1
                if self.wrong_from is not None and answered >= self.wrong_from:
                    (correlation_id,) = struct.unpack_from(">i", frame)
                    frame = struct.pack(">i", correlation_id - 1) + frame[4:]
                client.sendall(size + frame)
            client.shutdown(socket.SHUT_WR)

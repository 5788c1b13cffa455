"""openssl's own client and server, and what went between them as the packets of a connection.

with Peers(pem, keys, server=["-tls1_3"]) as peers:
    peers.connect().ask("Metadata", 1).answer(brokers=[...])
    peers.update_key(CLIENT, asked_back=True)
path.write_bytes(pcap(*peers.talks))
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pytest

from ..traffic import Talk

CLIENT, SERVER = 0, 1
SECONDS = 20
"""Until one of them is taken to be stuck."""
FIRST_PORT = 51514


class _Heard:
    """What a program wrote on its standard output."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program, self._data = program, b""

    def wait(self, wanted: bytes) -> bytes:
        """Wait until these bytes have come, and forget what came up to them; return that."""
        assert self._program.stdout is not None
        while wanted not in self._data:
            ready, _, _ = select.select([self._program.stdout], [], [], SECONDS)
            more = os.read(self._program.stdout.fileno(), 1 << 16) if ready else b""
            assert more, f"{wanted[:40]!r} never came: {self._data[-400:]!r}"
            self._data += more
        before, _, self._data = self._data.partition(wanted)
        return before


class _Recorded(Talk):
    """A connection whose bytes are handed to programs: what comes out of them are its packets."""

    def __init__(self, peers: Peers, port: int) -> None:
        super().__init__(("10.0.0.1", port), ("10.0.0.2", 9093))
        self._peers = peers
        self.went = threading.Event(), threading.Event()
        """Set when an end has sent something."""

    def _data(self, side: int, data: bytes) -> Talk:
        self._peers.say(side, data)
        return self

    def packets(self, side: int, data: bytes) -> None:
        """Take bytes that one program sent to the other."""
        super()._data(side, data)
        self.went[side].set()


class Peers:
    """A context manager. `connect` begins a connection, which the methods of `Talk` then speak on; `talks` are all."""

    def __init__(self, pem: Path, keys: Path, *, server: Sequence[str] = ()) -> None:
        program = shutil.which("openssl")
        if program is None:
            pytest.skip("openssl is not installed")
        self.openssl, self.pem, self.keys, self.options = program, pem, keys, server
        self.talks: list[_Recorded] = []
        self.greeting = b""
        """What the client told of the handshake."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._client: subprocess.Popen[bytes] | None = None
        self._relay: threading.Thread | None = None

    def __enter__(self) -> Peers:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        where = f"127.0.0.1:{self._port}"
        self._server = self._start("s_server", "-accept", where, "-cert", str(self.pem), *self.options)
        self._of_server = _Heard(self._server)
        self._of_server.wait(b"ACCEPT\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()
        self._listener.close()
        self._stop(self._server)

    def connect(self, *options: str) -> _Recorded:
        """Begin a connection, by a client with these options; the one before it is ended."""
        self.hang_up()
        talk = _Recorded(self, FIRST_PORT + len(self.talks))
        talk.at = 1000 * len(self.talks)
        self.talks.append(talk)
        where = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._client = self._start("s_client", "-connect", where, "-keylogfile", str(self.keys), *options)
        self._of_client = _Heard(self._client)
        self._relay = threading.Thread(target=self._pass_on, args=(talk,))
        self._relay.start()
        self.greeting = self._of_client.wait(b"Verify return code")
        return talk

    def say(self, side: int, data: bytes) -> None:
        """Have one end send these bytes, and wait until the other has them."""
        self.command(side, data)
        (self._of_server if side == CLIENT else self._of_client).wait(data)

    def command(self, side: int, data: bytes) -> None:
        """Hand bytes to one end; a single letter is a command."""
        program = self._client if side == CLIENT else self._server
        assert program is not None
        assert program.stdin is not None
        program.stdin.write(data)
        program.stdin.flush()

    def update_key(self, side: int, *, asked_back: bool) -> None:
        """Have one end update its key, and ask the other to do so as well, or not."""
        talk = self.talks[-1]
        talk.went[side].clear()
        self.command(side, b"K\n" if asked_back else b"k\n")
        assert talk.went[side].wait(SECONDS)

    def hang_up(self) -> None:
        """End the connection."""
        if self._client is not None and self._relay is not None:
            self._client.communicate(timeout=SECONDS)  # its input ends: it says goodbye
            self._relay.join(SECONDS)
            self.talks[-1].end()
            self._client = None

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen([self.openssl, *words], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0)

    def _stop(self, program: subprocess.Popen[bytes]) -> None:
        program.terminate()
        program.communicate(timeout=SECONDS)

    def _pass_on(self, talk: _Recorded) -> None:
        """Pass the bytes of both ends on, and note them."""
        near, _ = self._listener.accept()
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            ends = near, far
            while True:
                ready, _, _ = select.select(ends, [], [], SECONDS)
                for side, end in enumerate(ends):
                    if end not in ready:
                        continue
                    data = b""
                    with suppress(ConnectionError):
                        data = end.recv(1 << 16)
                    if not data:
                        return
                    talk.packets(side, data)
                    ends[1 - side].sendall(data)

"""Certificates for tests, made by openssl: an authority of ours and those it vouches for."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kdbg.live.client.settings import Address

PASSWORD = "key-password"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


class Authority:
    """A folder with the authority's certificate (`ca`) and those it has issued."""

    def __init__(self, folder: Path, name: str = "kdbg test authority") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        self.folder = folder
        self.ca, self._key = folder / "ca.pem", folder / "ca.key"
        openssl("req", "-x509", *KEY, "-nodes", "-keyout", self._key, "-out", self.ca, "-subj", f"/CN={name}")

    def issue(self, name: str, *, names: str = "DNS:localhost,IP:127.0.0.1", days: int = 30) -> tuple[Path, Path]:
        """A certificate for these names, and its key."""
        path, key, request = (self.folder / f"{name}.{kind}" for kind in ("pem", "key", "csr"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        openssl("req", *KEY, "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        signed = ("-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-days", days, "-extfile", extensions)
        openssl("x509", "-req", "-in", request, *signed, "-out", path)
        return path, key

    def server(
        self, name: str = "broker", *, clients: bool = False, newest: bool = True, **issued: object
    ) -> ssl.SSLContext:
        """What a server needs; with `clients` it wants certificates of them, without `newest` it knows no TLS 1.3."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(name, **issued))  # type: ignore[arg-type]
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        if not newest:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context


def encrypted(key: Path) -> Path:
    """The key, encrypted with PASSWORD."""
    path = key.with_suffix(".encrypted")
    openssl("ec", "-in", key, "-aes256", "-passout", f"pass:{PASSWORD}", "-out", path)
    return path


def openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr


@contextmanager
def alerting_server(context: ssl.SSLContext) -> Iterator[Address]:
    """A TLS server of blocking sockets: unlike asyncio's, and like brokers, it says why it refuses a client."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)

        def serve() -> None:
            while not over.is_set():
                with suppress(OSError):
                    plain, _ = listening.accept()
                    _shake_hands(plain, context)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            over.set()
            thread.join()


def _shake_hands(plain: socket.socket, context: ssl.SSLContext) -> None:
    """Only that, and then wait for the client to hang up, so that it can read the alert."""
    plain.settimeout(5)
    with (
        plain,
        suppress(OSError),
        context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as secure,
    ):
        with suppress(ssl.SSLError):
            secure.do_handshake()
        with socket.socket(fileno=os.dup(secure.fileno())) as raw:
            raw.settimeout(5)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(1 << 16):
                pass

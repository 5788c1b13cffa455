"""Dialogues over TLS as the packets of a connection: OpenSSL speaks at both ends, in memory, and logs its keys.

talk = TlsTalk(ends, tmp_path / "keys").ask("Metadata", 1).answer(brokers=[...])
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ..traffic import Talk

NO_ENCRYPT_THEN_MAC = 0x00080000
"""An option of OpenSSL's that Python's ssl has no name for."""


class Ends(NamedTuple):
    """The contexts of a client and a server that trust one another."""

    client: ssl.SSLContext
    server: ssl.SSLContext


def certificate(folder: Path, kind: str) -> Path:
    """Make a key, `rsa` or `ec`, and its own certificate, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker-1")])
    now = datetime.now(UTC)
    found = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("kafka.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path = folder / f"{kind}.pem"
    path.write_bytes(private + found.public_bytes(serialization.Encoding.PEM))
    return path


def ends(
    pem: Path, *, ciphers: str = "", newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, encrypt_then_mac: bool = True
) -> Ends:
    """Make contexts; `newest` is the newest version that both speak."""
    client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server.load_cert_chain(pem)
    for context in (client, server):
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.maximum_version = newest
        if ciphers:
            context.set_ciphers(ciphers)
        if not encrypt_then_mac:
            context.options |= ssl.Options(NO_ENCRYPT_THEN_MAC)
    return Ends(client, server)


class TlsTalk(Talk):
    """A connection whose bytes go through TLS; `keys` is the log of its secrets."""

    def __init__(
        self, both: Ends, keys: Path, *, server_name: str | None = "kafka.example", port: int = 51514,
        broker_port: int = 9093, most: int = 1400, at: int = 0, session: ssl.SSLSession | None = None,
    ) -> None:  # fmt: skip
        super().__init__(("10.0.0.1", port), ("10.0.0.2", broker_port), most=most, at=at)
        both.client.keylog_filename = str(keys)
        self._into = [ssl.MemoryBIO(), ssl.MemoryBIO()]
        """What has come to the client, and to the server."""
        self._out = [ssl.MemoryBIO(), ssl.MemoryBIO()]
        self.tls = [
            both.client.wrap_bio(self._into[0], self._out[0], server_hostname=server_name, session=session),
            both.server.wrap_bio(self._into[1], self._out[1], server_side=True),
        ]
        self._shake_hands()

    def _shake_hands(self) -> None:
        done = [False, False]
        while not all(done):
            for side in (0, 1):
                try:
                    self.tls[side].do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
                self._pass_on(side)

    def _pass_on(self, side: int) -> None:
        """Put what OpenSSL wrote into packets, and hand it to the other end."""
        if data := self._out[side].read():
            super()._data(side, data)
            self._into[1 - side].write(data)

    def _data(self, side: int, data: bytes) -> TlsTalk:
        self.tls[side].write(data)
        self._pass_on(side)
        got = b""
        while len(got) < len(data):
            got += self.tls[1 - side].read(len(data) - len(got))
        assert got == data
        return self

    def show_certificate(self) -> None:
        """The server asks the client who it is (TLS 1.3), and the client shows its certificate."""
        self.tls[1].verify_client_post_handshake()
        for side in (1, 0, 1):
            with suppress(ssl.SSLWantReadError):
                self.tls[side].read(1)
            self._pass_on(side)

    def end(self) -> Talk:
        """Both sides say goodbye in TLS, then in TCP."""
        for side in (0, 1):
            with suppress(ssl.SSLWantReadError):
                self.tls[side].unwrap()
            self._pass_on(side)
        return super().end()

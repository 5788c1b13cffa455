"""Handshake messages: the bytes of records go in, whole messages come out; what hellos and certificates say."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS, CERTIFICATE, FINISHED, KEY_UPDATE = 1, 2, 8, 11, 20, 24
SERVER_NAME, ALPN, ENCRYPT_THEN_MAC, SUPPORTED_VERSIONS = 0, 16, 22, 43
RETRY: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a server hello that asks for another client hello (RFC 8446, 4.1.3)."""
LARGEST = 1 << 18
"""Bytes of a message that is still read: long chains of certificates have some ten thousand."""
MOST_NAMES = 8
LONGEST_NAME = 255


class Hello(NamedTuple):
    """What a client or a server says first; `session` is its id. A server's `versions` and `suites` hold its choice."""

    random: bytes
    session: bytes
    versions: tuple[int, ...]
    suites: tuple[int, ...]
    server_name: str
    protocols: tuple[str, ...]
    encrypt_then_mac: bool


class HandshakeReassembly:
    """Puts the handshake messages of one direction together. `lost` ends that until `again`: a part is missing."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._deaf = False

    def take(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield (type, body) of each message that these bytes complete."""
        if self._deaf:
            return
        self._data += data
        while len(self._data) >= 4:
            size = int.from_bytes(self._data[1:4], "big")
            if size > LARGEST:
                self.lost()
                return
            if len(self._data) < 4 + size:
                return
            kind, body = self._data[0], bytes(self._data[4 : 4 + size])
            del self._data[: 4 + size]
            yield kind, body

    def lost(self) -> None:
        """Take note that a record is missing: what follows may be the rest of a message."""
        self._data.clear()
        self._deaf = True

    def again(self) -> None:
        """Take note that a message begins with the next record."""
        self._data.clear()
        self._deaf = False


class _HelloReader:
    """Takes fields off the front; raises `struct.error` where they are not there."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise struct.error
        self._place += size
        return self._data[self._place - size : self._place]

    def vector(self, size: int) -> bytes:
        """Return the bytes after a length of `size` bytes."""
        return self.take(self.number(size))


def hello(kind: int, body: bytes) -> Hello | None:
    """Return what the body of a ClientHello or ServerHello says; None for one that is damaged, and of other kinds."""
    if kind not in (CLIENT_HELLO, SERVER_HELLO):
        return None
    try:
        reader, name = _HelloReader(body), ""
        version, random, session = reader.number(2), reader.take(32), reader.vector(1)
        versions: tuple[int, ...] = (version,)
        if kind == SERVER_HELLO:
            suites: tuple[int, ...] = (reader.number(2),)
            reader.number(1)
        else:
            suites = _numbers(reader.vector(2))
            reader.vector(1)
        found = _extensions(reader)
        said = _HelloReader(found.get(SUPPORTED_VERSIONS, b""))
        if SUPPORTED_VERSIONS in found:
            versions = (said.number(2),) if kind == SERVER_HELLO else _numbers(said.vector(1))
        if kind == CLIENT_HELLO and found.get(SERVER_NAME):
            inside = _HelloReader(_HelloReader(found[SERVER_NAME]).vector(2))
            inside.number(1)
            name = _text(inside.vector(2))
        return Hello(random, session, versions, suites, name, _protocols(found), ENCRYPT_THEN_MAC in found)
    except struct.error:
        return None


def encrypted_extensions(body: bytes) -> tuple[str, ...]:
    """Return the protocols (ALPN) that EncryptedExtensions name."""
    try:
        return _protocols(_extensions(_HelloReader(body)))
    except struct.error:
        return ()


def certificate_names(body: bytes, *, tls_1_3: bool) -> tuple[str, ...]:
    """Return the names in the first certificate of a Certificate message: those it is for, else its subject's.

    None are found in one that is damaged, or without `cryptography`.
    """
    try:
        from cryptography import x509
    except ImportError:
        return ()
    try:
        reader = _HelloReader(body)
        if tls_1_3:
            reader.vector(1)
        found = x509.load_der_x509_certificate(_HelloReader(reader.vector(3)).vector(3))
        common = [each.value for each in found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
        with suppress(x509.ExtensionNotFound):
            alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            common += alternative.get_values_for_type(x509.DNSName)
            common += map(str, alternative.get_values_for_type(x509.IPAddress))
    except Exception:  # whatever a hostile certificate makes it raise: names are no more than told
        return ()
    return tuple(dict.fromkeys(str(name)[:LONGEST_NAME] for name in common))[:MOST_NAMES]


def _extensions(reader: _HelloReader) -> dict[int, bytes]:
    """Return the extensions by their numbers; hellos before TLS 1.2 may have none."""
    found: dict[int, bytes] = {}
    if reader.left:
        inside = _HelloReader(reader.vector(2))
        while inside.left:
            number = inside.number(2)
            found[number] = inside.vector(2)
    return found


def _protocols(found: dict[int, bytes]) -> tuple[str, ...]:
    if ALPN not in found:
        return ()
    inside, names = _HelloReader(_HelloReader(found[ALPN]).vector(2)), list[str]()
    while inside.left and len(names) < MOST_NAMES:
        names.append(_text(inside.vector(1)))
    return tuple(names)


def _text(data: bytes) -> str:
    return data[:LONGEST_NAME].decode("utf-8", "backslashreplace")


def _numbers(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // 2}H", data[: len(data) // 2 * 2])

"""Handshake messages: the bytes of records go in, whole messages come out; what hellos and certificates say.

Versions and cipher suites are here, as what stands in the clear is said without `cryptography`, too.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, ENCRYPTED_EXTENSIONS = 1, 2, 4, 8
CERTIFICATE, FINISHED, KEY_UPDATE = 11, 20, 24
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


VERSIONS: Final = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}
TLS_1_2, TLS_1_3 = 0x0303, 0x0304
_OLD: Final = {
    "RSA": {
        0x2F: "AES_128_CBC_SHA", 0x35: "AES_256_CBC_SHA", 0x3C: "AES_128_CBC_SHA256", 0x3D: "AES_256_CBC_SHA256",
        0x9C: "AES_128_GCM_SHA256", 0x9D: "AES_256_GCM_SHA384", 0xC09C: "AES_128_CCM", 0xC09D: "AES_256_CCM",
        0xC0A0: "AES_128_CCM_8", 0xC0A1: "AES_256_CCM_8",
    },
    "DHE_RSA": {
        0x33: "AES_128_CBC_SHA", 0x39: "AES_256_CBC_SHA", 0x67: "AES_128_CBC_SHA256", 0x6B: "AES_256_CBC_SHA256",
        0x9E: "AES_128_GCM_SHA256", 0x9F: "AES_256_GCM_SHA384", 0xCCAA: "CHACHA20_POLY1305_SHA256",
        0xC09E: "AES_128_CCM", 0xC09F: "AES_256_CCM", 0xC0A2: "AES_128_CCM_8", 0xC0A3: "AES_256_CCM_8",
    },
    "ECDHE_ECDSA": {
        0xC009: "AES_128_CBC_SHA", 0xC00A: "AES_256_CBC_SHA", 0xC023: "AES_128_CBC_SHA256",
        0xC024: "AES_256_CBC_SHA384", 0xC02B: "AES_128_GCM_SHA256", 0xC02C: "AES_256_GCM_SHA384",
        0xCCA9: "CHACHA20_POLY1305_SHA256", 0xC0AC: "AES_128_CCM", 0xC0AD: "AES_256_CCM", 0xC0AE: "AES_128_CCM_8",
        0xC0AF: "AES_256_CCM_8",
    },
    "ECDHE_RSA": {
        0xC013: "AES_128_CBC_SHA", 0xC014: "AES_256_CBC_SHA", 0xC027: "AES_128_CBC_SHA256",
        0xC028: "AES_256_CBC_SHA384", 0xC02F: "AES_128_GCM_SHA256", 0xC030: "AES_256_GCM_SHA384",
        0xCCA8: "CHACHA20_POLY1305_SHA256",
    },
}  # fmt: skip
"""Those of TLS 1.2 by how their keys are agreed on; a name without a hash has SHA256."""
NAMES: Final = {
    0x1301: "TLS_AES_128_GCM_SHA256", 0x1302: "TLS_AES_256_GCM_SHA384", 0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0x1304: "TLS_AES_128_CCM_SHA256", 0x1305: "TLS_AES_128_CCM_8_SHA256",
    **{code: f"TLS_{agreed}_WITH_{name}" for agreed, ciphers in _OLD.items() for code, name in ciphers.items()},
}  # fmt: skip
_PARTS = re.compile(r"(?:AES_(?P<bits>\d+)_)?(?P<mode>CBC|GCM|CCM_8|CCM|CHACHA20_POLY1305)(?:_(?P<hash>SHA\d*))?$")


class Suite(NamedTuple):
    """A cipher suite: `mode` is CBC, GCM, CCM, CCM_8 or CHACHA20_POLY1305, `key` the bytes of its key.

    `prf` is the hash that keys are derived with, `mac` that of the records' checksums in CBC; names of hashlib.
    """

    name: str
    mode: str
    key: int
    prf: str
    mac: str

    @property
    def modern(self) -> bool:
        """Whether it is one of TLS 1.3."""
        return self.name.startswith("TLS_") and "_WITH_" not in self.name

    @property
    def tag(self) -> int:
        """Bytes of the checksum of a record, without CBC."""
        return 8 if self.mode == "CCM_8" else 16


@lru_cache
def suite(code: int) -> Suite | None:
    """Return the suite of a code, None for one that is not decrypted."""
    name = NAMES.get(code, "")
    found = _PARTS.search(name)
    if found is None:
        return None
    said = (found["hash"] or "SHA256").lower()
    mac = "sha1" if said == "sha" else said
    prf = "sha384" if mac == "sha384" else "sha256"
    return Suite(name, found["mode"], int(found["bits"] or 256) // 8, prf, mac)


def gcm_suite(size: int) -> Suite:
    """Return the cipher of TLS 1.2 with a key of so many bytes, where how keys were agreed on is not known."""
    return Suite(f"AES_{8 * size}_GCM", "GCM", size, "sha256", "sha256")


CHACHA20_12: Final = Suite("CHACHA20_POLY1305", "CHACHA20_POLY1305", 32, "sha256", "sha256")
"""The other cipher of TLS 1.2 that is decrypted where how keys were agreed on is not known."""


@lru_cache
def suite_named(name: str) -> Suite | None:
    """Return the suite of a name, also of one where how keys were agreed on is not known; None where there is none."""
    codes = (code for code, each in NAMES.items() if each == name)
    return suite(next(codes, 0)) or next(
        (one for one in (*map(gcm_suite, (16, 32)), CHACHA20_12) if one.name == name), None
    )


def suite_name(code: int) -> str:
    """Return a suite's name; its code in hex where it has none here."""
    return NAMES.get(code) or f"cipher suite 0x{code:04X}"


def version_name(code: int) -> str:
    """Return a version's name; its code in hex where it has none."""
    return VERSIONS.get(code) or f"TLS version 0x{code:04X}"

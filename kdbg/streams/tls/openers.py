"""What decrypts TLS records under one key: cipher suites, and keys derived from secrets (RFC 5246, RFC 8446)."""

from __future__ import annotations

import hmac
import re
from functools import lru_cache
from hashlib import new as new_hash
from typing import Final, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand


def prf(secret: bytes, label: bytes, seed: bytes, length: int, hash_name: str) -> bytes:
    """Return so many bytes of TLS 1.2's pseudorandom function."""
    seed = label + seed
    found, each = b"", seed
    while len(found) < length:
        each = hmac.digest(secret, each, hash_name)
        found += hmac.digest(secret, each + seed, hash_name)
    return found[:length]


def expand_label(secret: bytes, label: bytes, length: int, hash_name: str) -> bytes:
    """Return so many bytes of TLS 1.3's key derivation, without a context."""
    label = b"tls13 " + label
    info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
    algorithm = hashes.SHA384() if hash_name == "sha384" else hashes.SHA256()
    return HKDFExpand(algorithm, length, info).derive(secret)


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
        return "_WITH_" not in self.name

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


def suite_name(code: int) -> str:
    """Return a suite's name; its code in hex where it has none here."""
    return NAMES.get(code) or f"cipher suite 0x{code:04X}"


def version_name(code: int) -> str:
    """Return a version's name; its code in hex where it has none."""
    return VERSIONS.get(code) or f"TLS version 0x{code:04X}"


BLOCK = 16
"""Bytes of a block of AES, and of the initialisation vector in front of a record."""
NOTHING_PLAIN = 0
Plain: TypeAlias = tuple[int, bytes]
"""The kind of a record (23: application data), and its bytes."""


def _aead(suite: Suite, key: bytes) -> AESGCM | AESCCM | ChaCha20Poly1305:
    if suite.mode == "GCM":
        return AESGCM(key)
    if suite.mode == "CHACHA20_POLY1305":
        return ChaCha20Poly1305(key)
    return AESCCM(key, suite.tag)


class Sealed13:
    """Records of TLS 1.3 (RFC 8446, 5.2): the kind follows the plain bytes, and zeros may follow it."""

    skip = 0

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self._suite, self._secret = suite, secret
        self.overhead = 1 + suite.tag
        self._cipher = _aead(suite, expand_label(secret, b"key", suite.key, suite.prf))
        self._iv = int.from_bytes(expand_label(secret, b"iv", 12, suite.prf), "big")

    def open(self, number: int, kind: int, version: bytes, body: bytes) -> Plain | None:
        head = bytes((kind,)) + version + len(body).to_bytes(2, "big")
        try:
            plain = self._cipher.decrypt((self._iv ^ number).to_bytes(12, "big"), body, head)
        except (InvalidTag, ValueError):
            return None
        if plain and not plain[-1]:
            plain = plain.rstrip(b"\0")
        return (plain[-1], plain[:-1]) if plain else (NOTHING_PLAIN, b"")

    def following(self) -> Opener:
        size = len(self._secret)
        return Sealed13(self._suite, expand_label(self._secret, b"traffic upd", size, self._suite.prf))


class Sealed12:
    """Records of TLS 1.2 under AES-GCM, AES-CCM (8 bytes of the nonce stand in front) or ChaCha20-Poly1305."""

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._cipher, self._iv = _aead(suite, key), iv
        self.skip = 12 - len(iv)
        self.overhead = self.skip + suite.tag
        self._whole = int.from_bytes(iv, "big")

    def open(self, number: int, kind: int, version: bytes, body: bytes) -> Plain | None:
        size = len(body) - self.overhead
        if size < 0:
            return None
        about = number.to_bytes(8, "big") + bytes((kind,)) + version + size.to_bytes(2, "big")
        nonce = self._iv + body[: self.skip] if self.skip else (self._whole ^ number).to_bytes(12, "big")
        try:
            return kind, self._cipher.decrypt(nonce, body[self.skip :], about)
        except (InvalidTag, ValueError):
            return None

    def following(self) -> None:
        return None


class Chained12:
    """Records of TLS 1.2 under AES-CBC; the checksum is of the plain bytes, or (RFC 7366) of the encrypted ones."""

    skip = BLOCK

    def __init__(self, suite: Suite, key: bytes, mac_key: bytes, *, encrypt_then_mac: bool) -> None:
        self._key, self._mac_key, self._hash = algorithms.AES(key), mac_key, suite.mac
        self._size = new_hash(suite.mac).digest_size
        self._outside = encrypt_then_mac
        self.overhead = BLOCK + self._size + 1

    def open(self, number: int, kind: int, version: bytes, body: bytes) -> Plain | None:
        about = number.to_bytes(8, "big") + bytes((kind,)) + version
        if self._outside:
            body, mac = body[: -self._size], body[-self._size :]
            if not self._proves(mac, about, body):
                return None
            plain = self._decrypted(body)
            return None if plain is None else (kind, plain)
        plain = self._decrypted(body)
        if plain is None or len(plain) < self._size:
            return None
        plain, mac = plain[: -self._size], plain[-self._size :]
        return (kind, plain) if self._proves(mac, about, plain) else None

    def _proves(self, mac: bytes, about: bytes, data: bytes) -> bool:
        return mac == hmac.digest(self._mac_key, about + len(data).to_bytes(2, "big") + data, self._hash)

    def _decrypted(self, body: bytes) -> bytes | None:
        """Return what stands between initialisation vector and padding."""
        if len(body) < 2 * BLOCK or len(body) % BLOCK:
            return None
        decryptor = Cipher(self._key, modes.CBC(body[:BLOCK])).decryptor()
        plain = decryptor.update(body[BLOCK:]) + decryptor.finalize()
        padding = plain[-1] + 1
        return plain[:-padding] if plain[-padding:] == bytes((padding - 1,)) * padding else None

    def following(self) -> None:
        return None


Opener: TypeAlias = Sealed13 | Sealed12 | Chained12
"""What opens the records of one direction under one key; `open` returns None for bytes that are not that record.

`skip` bytes stand before the encrypted ones in a record; `overhead` are all that are not plain bytes, with CBC the
least of them. `following` returns what opens the records after an update of the key (TLS 1.3).
"""


def openers_12(
    suite: Suite, master: bytes, client_random: bytes, server_random: bytes, *, encrypt_then_mac: bool
) -> tuple[Opener, Opener]:
    """Return what opens the client's and the server's records of TLS 1.2."""
    mac = new_hash(suite.mac).digest_size if suite.mode == "CBC" else 0
    iv = 12 if suite.mode == "CHACHA20_POLY1305" else 4
    block = prf(master, b"key expansion", server_random + client_random, 2 * (mac + suite.key + iv), suite.prf)
    parts = []
    for size in (mac, mac, suite.key, suite.key, iv, iv):
        parts.append(block[:size])
        block = block[size:]

    def made(side: int) -> Opener:
        mac_key, key, vector = parts[side::2]
        if suite.mode == "CBC":
            return Chained12(suite, key, mac_key, encrypt_then_mac=encrypt_then_mac)
        return Sealed12(suite, key, vector)

    return made(0), made(1)

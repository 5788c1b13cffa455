"""What decrypts TLS records under one key, and keys derived from secrets (RFC 5246, RFC 8446)."""

from __future__ import annotations

import hmac
from hashlib import new as new_hash
from typing import TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

from .hello import Suite


def prf(secret: bytes, label: bytes, seed: bytes, length: int, hash_name: str) -> bytes:
    """Return so many bytes of TLS 1.2's pseudorandom function."""
    seed = label + seed
    found, each = b"", seed
    while len(found) < length:
        each = hmac.digest(secret, each, hash_name)
        found += hmac.digest(secret, each + seed, hash_name)
    return found[:length]


def expand_label(secret: bytes, label: bytes, length: int, hash_name: str, context: bytes = b"") -> bytes:
    """Return so many bytes of TLS 1.3's key derivation (RFC 8446, 7.1): no more than the hash has."""
    label = b"tls13 " + label
    info = length.to_bytes(2, "big") + bytes([len(label)]) + label + bytes([len(context)]) + context
    return hmac.digest(secret, info + b"\1", hash_name)[:length]


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

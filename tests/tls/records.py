"""TLS by hand: records, hellos, and what seals records of TLS 1.3 under a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kdbg.streams.tls.openers import expand_label, prf

CHANGE, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
RANDOM, OTHER = bytes(range(32)), bytes(range(100, 132))
"""The randoms of a client and of a server."""
AES_128, ECDHE_GCM, ECDHE_CBC = 0x1301, 0xC02F, 0xC013


def vector(size: int, data: bytes) -> bytes:
    """Bytes behind their length, which has so many bytes."""
    return len(data).to_bytes(size) + data


def record(kind: int, body: bytes, version: bytes = b"\3\3") -> bytes:
    return bytes([kind]) + version + vector(2, body)


def message(kind: int, body: bytes) -> bytes:
    """A handshake message."""
    return bytes([kind]) + vector(3, body)


def numbers(*found: int) -> bytes:
    return b"".join(one.to_bytes(2) for one in found)


def extensions(found: Mapping[int, bytes]) -> bytes:
    return vector(2, b"".join(kind.to_bytes(2) + vector(2, data) for kind, data in found.items())) if found else b""


def named(name: bytes) -> dict[int, bytes]:
    """The extension with the name of a server."""
    return {0: vector(2, b"\0" + vector(2, name))}


def protocols(*names: bytes) -> dict[int, bytes]:
    return {16: vector(2, b"".join(vector(1, name) for name in names))}


def client_hello(suites: Sequence[int] = (AES_128,), more: Mapping[int, bytes] = {}, version: int = 0x0303) -> bytes:
    """The body of a client's hello."""
    return numbers(version) + RANDOM + vector(1, b"session") + vector(2, numbers(*suites)) + b"\1\0" + extensions(more)


def server_hello(
    suite: int = AES_128, more: Mapping[int, bytes] = {}, version: int = 0x0303, random: bytes = OTHER
) -> bytes:
    """The body of a server's hello."""
    return numbers(version) + random + vector(1, b"session") + numbers(suite) + b"\0" + extensions(more)


def seal(secret: bytes, number: int, data: bytes, kind: int = DATA, zeros: int = 0) -> bytes:
    """A record of TLS 1.3 under TLS_AES_128_GCM_SHA256, the `number`th under its secret."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    plain = data + bytes([kind]) + bytes(zeros)
    head = b"\x17\3\3" + (len(plain) + 16).to_bytes(2)
    iv = int.from_bytes(expand_label(secret, b"iv", 12, "sha256"))
    key = expand_label(secret, b"key", 16, "sha256")
    return head + AESGCM(key).encrypt((iv ^ number).to_bytes(12), plain, head)


def seal_12(master: bytes, side: int, number: int, data: bytes, kind: int = DATA) -> bytes:
    """A record of TLS 1.2 under ECDHE-RSA-AES128-GCM-SHA256, the `number`th of the client (0) or the server (1)."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    block = prf(master, b"key expansion", OTHER + RANDOM, 40, "sha256")
    key, salt = block[16 * side : 16 * side + 16], block[32 + 4 * side : 36 + 4 * side]
    about = number.to_bytes(8) + bytes([kind]) + b"\3\3" + len(data).to_bytes(2)
    return record(kind, b"explicit" + AESGCM(key).encrypt(salt + b"explicit", data, about))

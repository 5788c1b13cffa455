"""Keys out of secrets: the pseudorandom function of TLS 1.2 (RFC 5246, 5) and HKDF-Expand-Label (RFC 8446, 7.1)."""

from __future__ import annotations

import hmac


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
    found, each, count = b"", b"", 0
    while len(found) < length:
        count += 1
        each = hmac.digest(secret, each + info + bytes([count]), hash_name)
        found += each
    return found[:length]

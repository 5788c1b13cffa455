"""Whether a secret stands in what somebody could read: in plain words, in base64, or split over the lines of a dump."""

from __future__ import annotations

import base64

PIECE = 5
"""Bytes of a secret that a line of a hexdump would hold at least."""


def leaks(text: str, *secrets: str) -> list[str]:
    """What of the secrets is found, in whatever form."""
    found = [form for secret in secrets for form in (secret, *_encoded(secret.encode())) if form in text]
    dumped = [piece for secret in secrets for piece in _pieces(secret.encode()) if piece in text]
    return found + dumped


def _encoded(secret: bytes) -> list[str]:
    """Base64 of it, wherever in a longer text it may begin; in hex without spaces."""
    forms = [secret.hex(), secret.hex().upper()]
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + secret).decode()
        forms.append(whole[(0, 2, 3)[shift] : (len(secret) + shift) // 3 * 4])
    return forms


def _pieces(secret: bytes) -> list[str]:
    return [secret[start : start + PIECE].hex(" ") for start in range(len(secret) - PIECE + 1)]

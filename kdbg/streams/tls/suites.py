"""Cipher suites: by their codes, what their names say (RFC 5246, 5288, 5289, 6655, 7251, 7905, 8446)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

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


@lru_cache
def suite(code: int) -> Suite | None:
    """Return the suite of a code, None for one that is not decrypted."""
    name = NAMES.get(code)
    found = _PARTS.search(name) if name is not None else None
    if name is None or found is None:
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

"""The cipher suites that a client or the broker can be limited to, under their IANA names and each library's."""

from __future__ import annotations

from typing import Final

SHORT: Final = {
    "1.3": {
        "aes128": "TLS_AES_128_GCM_SHA256",
        "aes256": "TLS_AES_256_GCM_SHA384",
        "chacha20": "TLS_CHACHA20_POLY1305_SHA256",
    },
    "1.2": {
        "aes128": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "aes256": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "chacha20": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "aes128-cbc": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "aes256-cbc": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384",
    },
}
"""TLS version -> short name -> IANA name, which is Java's, Go's and rustls's as well."""
OPENSSL: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384": "ECDHE-ECDSA-AES256-SHA384",
}
"""IANA name -> OpenSSL's; those of TLS 1.3 are the same."""


def iana(suite: str | None, tls: str | None) -> str | None:
    """Return the IANA name of a suite, given that or the short one: aes128, aes256, chacha20."""
    return None if suite is None else SHORT[tls or "1.3"].get(suite, suite)


def openssl(suite: str) -> str:
    return OPENSSL.get(suite, suite)

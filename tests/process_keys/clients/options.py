"""The words KEY=VALUE that a Python client is started with, and the TLS context that they ask for.

Keys: bootstrap, ca, id, topic, user, password, mechanism, pause (ms), tls (1.2 or 1.3), ciphers (OpenSSL's names).
"""

from __future__ import annotations

import ssl
import sys

OPTIONS = dict(word.split("=", 1) for word in sys.argv[1:])


def context() -> ssl.SSLContext:
    """Return a context for this authority, TLS version and suites; Python 3.11 cannot choose those of TLS 1.3."""
    made = ssl.create_default_context(cafile=OPTIONS["ca"])
    if version := OPTIONS.get("tls"):
        made.minimum_version = made.maximum_version = ssl.TLSVersion[f"TLSv{version.replace('.', '_')}"]
    if ciphers := OPTIONS.get("ciphers"):
        made.set_ciphers(ciphers)
    return made

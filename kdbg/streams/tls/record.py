"""Records of TLS: their kinds, and a record as it was captured (RFC 8446, 5.1)."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
HEAD = 5
Mark: TypeAlias = tuple[int, int, int]
"""A place, counted from a record's first byte; time and number of the packet that brought what stands from there on."""
BoundKey: TypeAlias = tuple[str, int, bytes]
"""What opens the records of one direction from its middle on: a suite's name, the number of a record, and a secret.

The secret is a traffic secret of TLS 1.3; or with TLS 1.2 the key, and the salt of AES_128_GCM or AES_256_GCM, or the
initialisation vector of CHACHA20_POLY1305.
"""


class Record(NamedTuple):
    """One record: `marks` are in order, the first of them at or before the record's first byte.

    `chained`: another record begins where it ends, or nothing is there yet.
    """

    kind: int
    version: bytes
    body: bytes
    marks: list[Mark]
    chained: bool = True


class SealedRecord(NamedTuple):
    """An encrypted record of which nothing else is known."""

    kind: int
    version: bytes
    body: bytes

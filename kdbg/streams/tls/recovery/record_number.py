"""The number of a record in the middle of a TLS connection, which its nonce or its tag depends on.

TLS 1.3: the nonce is the number XOR the initialisation vector (RFC 8446, 5.3). The last plain byte of a record is its
kind, or padding: one block of AES for each number shows that byte, and the tag proves the number.

TLS 1.2 with AES-GCM: the number is part of what the tag is of (RFC 5246, 6.2.3.3), the salt of the nonce is not known
(RFC 5288, 3). GHASH is linear: a number gives the block that was encrypted for the tag, which must contain the rest of
the nonce, and shows the salt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ..hello import CHACHA20_12, Suite, suite_named
from ..openers import BLOCK, Opener, Sealed12, Sealed13, expand_label
from ..record import DATA, BoundKey, SealedRecord
from .chacha20 import Numbers, Words, begin_message, key_stream

AT_ONCE = 1 << 16
"""Numbers that are tried at once."""
MOST = 1 << 24
"""Numbers up to which a record is looked for."""
TAG = 16
EXPLICIT = 8
"""Bytes of the nonce that stand in front of a record of TLS 1.2."""
SALT = 4
"""Bytes of the nonce that do not stand in the record."""
FIRST_BLOCK = (1).to_bytes(4, "big")
"""What follows the nonce in the block that is encrypted for the tag."""
NEARBY = 1 << 12
"""Numbers after the one that is known of a direction under ChaCha20, with TLS 1.2."""
Bytes: TypeAlias = NDArray[np.uint8]
Side = TypeVar("Side")
REDUCTION = 0xE1 << 120


def opener_at(key: BoundKey, record: SealedRecord) -> tuple[Opener, int] | None:
    """Return what opens the records of a direction from this one on, and the number of this one; None for a key that
    does not fit."""
    name, number, secret = key
    of = suite_named(name)
    if of is None:
        return None
    if of.modern:
        here = number_13(of, secret, [record], number, number + 1)
        found = here if here is not None else number_13(of, secret, [record], 0, MOST)
        return None if found is None else (Sealed13(of, secret), found)
    if of.mode == CHACHA20_12.mode:
        opener = Sealed12(of, secret[: of.key], secret[of.key :])
        near = range(number, number + NEARBY)
        return next(((opener, each) for each in near if opener.open(each, *record) is not None), None)
    nonce = nonce_12(secret[: of.key], [record], 0, MOST)
    return None if nonce is None else (Sealed12(of, secret[: of.key], nonce.salt), nonce.number)


def numbered_13(
    suite: Suite, secret: bytes, sides: Mapping[Side, Sequence[SealedRecord]], first: int, end: int
) -> tuple[Side, int] | None:
    """Return whose records of many sides a secret opens, and the number of the first of them, if it is in a range.

    The key stream is computed once for all sides, so that one record of a side must begin a message.
    """
    opener = Sealed13(suite, secret)
    key, iv = (expand_label(secret, label, size, suite.prf) for label, size in ((b"key", suite.key), (b"iv", 12)))
    for start in range(first, end, AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, end), dtype=np.uint64)
        stream = _stream(suite, key, numbers, iv, 0)
        for side, records in sides.items():
            for at, record in enumerate(records):
                for place in begin_message(stream, record).tolist():
                    if start + place >= at and opener.open(start + place, *record) is not None:
                        return side, start + place - at
    return None


def number_13(suite: Suite, secret: bytes, records: Sequence[SealedRecord], first: int, end: int) -> int | None:
    """Return the number of the first of some records that follow each other, if it is in a range; else None."""
    at = min(range(len(records)), key=lambda place: len(records[place].body))
    record, opener = records[at], Sealed13(suite, secret)
    if len(record.body) <= TAG:
        return None
    key, iv = (expand_label(secret, label, size, suite.prf) for label, size in ((b"key", suite.key), (b"iv", 12)))
    last = len(record.body) - TAG - 1
    for start in range(first + at, end + at, AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, end + at), dtype=np.uint64)
        stream = _stream(suite, key, numbers, iv, last & ~3).view(np.uint8)[last & 3 :: 4]
        plain = stream ^ np.uint8(record.body[last])
        for number in numbers[(plain == DATA) | (plain == 0)].tolist():
            if opener.open(number, *record) is not None:
                return int(number) - at
    return None


def _stream(suite: Suite, key: bytes, numbers: Numbers, iv: bytes, place: int) -> Words:
    """Return 4 bytes of the key stream from a place on, which is a multiple of 4, for the record of each number."""
    ends, front = numbers ^ np.uint64(int.from_bytes(iv[4:], "big")), iv[:4]
    if suite.mode != "GCM":
        return key_stream(key, ends, front, place)
    blocks = np.empty((len(ends), BLOCK), np.uint8)
    blocks[:, :4] = np.frombuffer(front, np.uint8)
    blocks[:, 4:12] = ends.astype(">u8").view(np.uint8).reshape(-1, 8)
    blocks[:, 12:] = np.frombuffer((2 + place // BLOCK).to_bytes(4, "big"), np.uint8)
    encrypted = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks.tobytes())
    return np.frombuffer(encrypted, "<u4")[place % BLOCK // 4 :: BLOCK // 4].copy()


class Nonce12(NamedTuple):
    """The number of a record of TLS 1.2, and the salt of its direction."""

    number: int
    salt: bytes


def nonce_12(key: bytes, records: Sequence[SealedRecord], first: int, end: int) -> Nonce12 | None:
    """Return the number of the first of some records of AES-GCM that follow each other, and the salt; None for a key
    that is not theirs, and where the number is not in a range."""
    at = min(range(len(records)), key=lambda place: len(records[place].body))
    record = records[at]
    if len(record.body) < EXPLICIT + TAG:
        return None
    search = _TagSearch(key, record)
    counted = int.from_bytes(record.body[:EXPLICIT], "big")  # as Java and Go choose it
    step = min(AT_ONCE, first or end)
    for start, count in [(counted, 1), *((each, step) for each in range(first, end, step))]:
        if (found := search.within(start, count)) is not None:
            return Nonce12(found.number - at, found.salt) if found.number >= at else None
    return None


class _TagSearch:
    """What the tag of a record says of its number."""

    def __init__(self, key: bytes, record: SealedRecord) -> None:
        cipher = Cipher(algorithms.AES(key), modes.ECB())
        self._decryptor = cipher.decryptor()
        hashed = int.from_bytes(cipher.encryptor().update(bytes(BLOCK)), "big")
        self._explicit, sealed, tag = record.body[:EXPLICIT], record.body[EXPLICIT:-TAG], record.body[-TAG:]
        about = bytes(8) + bytes((record.kind,)) + record.version + len(sealed).to_bytes(2, "big")
        lengths = (8 * len(about)).to_bytes(8, "big") + (8 * len(sealed)).to_bytes(8, "big")
        blocks = about.ljust(BLOCK, b"\0") + sealed + bytes(-len(sealed) % BLOCK) + lengths
        digest, power = 0, 1 << 127  # 1, whose bits GCM counts from the left
        for place in range(0, len(blocks), BLOCK):
            digest = _product(digest ^ int.from_bytes(blocks[place : place + BLOCK], "big"), hashed)
            power = _product(power, hashed)
        self._of_zero = digest ^ int.from_bytes(tag, "big")
        self._bits = [power]  # by bits of the number, from the left
        while len(self._bits) < 64:
            self._bits.append(_shifted(self._bits[-1]))
        self._bits.reverse()

    def within(self, first: int, count: int) -> Nonce12 | None:
        """Return the number of the record if it is one of so many, a power of 2 of which the first is a multiple."""
        start = self._of_zero
        for bit, value in enumerate(self._bits):
            start ^= value if first >> bit & 1 else 0
        encrypted = np.frombuffer(start.to_bytes(BLOCK, "big"), np.uint8).reshape(1, BLOCK)
        for value in self._bits[: (count - 1).bit_length()]:
            encrypted = np.concatenate((encrypted, encrypted ^ np.frombuffer(value.to_bytes(BLOCK, "big"), np.uint8)))
        blocks = self._decryptor.update(encrypted.tobytes())
        nonces, rest = np.frombuffer(blocks, ">u4").reshape(-1, 4), self._explicit + FIRST_BLOCK
        for at in np.flatnonzero(nonces[:, 3] == 1).tolist():
            if blocks[BLOCK * at + SALT : BLOCK * (at + 1)] == rest:
                return Nonce12(first + at, blocks[BLOCK * at : BLOCK * at + SALT])
        return None


def _product(one: int, other: int) -> int:
    """Return the product of two blocks in GCM's field (NIST SP 800-38D, 6.3)."""
    product = 0
    for bit in range(127, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = _shifted(other)
    return product


def _shifted(block: int) -> int:
    """Return the product of a block and x."""
    return block >> 1 ^ REDUCTION if block & 1 else block >> 1

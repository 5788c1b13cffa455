"""Keys of ChaCha20-Poly1305 under TLS 1.2: in memory as libraries keep them, and the numbers of records under them."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given, settings
from hypothesis import strategies as some

from kdbg.streams.tls.hello import CHACHA20_12
from kdbg.streams.tls.record import SealedRecord
from kdbg.streams.tls.recovery.chacha20 import NumberedRecord, State, number_of, numbered, states
from kdbg.streams.tls.recovery.record_number import opener_at

Kept = Callable[[bytes, bytes], tuple[bytes, bytes]]
CONSTANT = b"expand 32-byte k"
ADDRESS = 0x16FB_5BE16E40
NUMBERS = some.integers(0, 1 << 14)


def nonce_of(vector: bytes, number: int) -> bytes:
    return (int.from_bytes(vector, "big") ^ number).to_bytes(12, "big")


def sealed(key: bytes, vector: bytes, number: int, plain: bytes) -> SealedRecord:
    about = number.to_bytes(8, "big") + b"\x17\3\3" + len(plain).to_bytes(2, "big")
    return SealedRecord(23, b"\3\3", ChaCha20Poly1305(key).encrypt(nonce_of(vector, number), plain, about))


@settings(max_examples=40, deadline=None)
@given(number=NUMBERS, plain=some.binary(max_size=100))
def test_the_tag_shows_the_number(number: int, plain: bytes) -> None:
    key, vector = os.urandom(32), os.urandom(12)
    record = sealed(key, vector, number, plain)
    assert number_of(key, nonce_of(vector, number), record) == number
    assert number_of(key, nonce_of(vector, number + 1), record) is None
    assert number_of(os.urandom(32), nonce_of(vector, number), record) is None


@settings(max_examples=10, deadline=None)
@given(number=NUMBERS, last=NUMBERS, inside=some.integers(0, 3))
def test_records_are_found_from_the_nonce_of_any_other(number: int, last: int, inside: int) -> None:
    """The first records may be inside of a message, and of the sides one is under the key."""
    key, vector = os.urandom(32), os.urandom(12)
    plain = [b"\xff" + os.urandom(30)] * inside + [struct.pack(">i", 30), b"\0\3" + os.urandom(28)]
    own = [sealed(key, vector, number + at, each) for at, each in enumerate(plain)]
    other = [sealed(os.urandom(32), vector, number, plain[-1])]
    found = dict(numbered(State(key, nonce_of(vector, last)), {"own": own, "other": other}, 0, 1 << 15))
    assert found == {"own": NumberedRecord(number, vector)}
    bound = CHACHA20_12.name, number, key + vector
    for at, record in enumerate(own):
        opened = opener_at(bound, record)
        assert opened is not None
        assert opened[1] == number + at
        assert opened[0].open(opened[1], *record) == (23, plain[at])
    assert opener_at(bound, other[0]) is None


def in_java(key: bytes, vector: bytes) -> tuple[bytes, bytes]:
    return CONSTANT + key + struct.pack("<I", 7) + nonce_of(vector, 1000), nonce_of(vector, 1000)


def in_openssl(key: bytes, vector: bytes) -> tuple[bytes, bytes]:
    return key + struct.pack("<I", 3) + nonce_of(vector, 1000), nonce_of(vector, 1000)


def in_go(_: bytes, vector: bytes) -> tuple[bytes, bytes]:
    return vector + struct.pack("<IQQ", 0, 0x96E2A8, ADDRESS), vector


def in_ring(key: bytes, vector: bytes) -> tuple[bytes, bytes]:
    return key + bytes(488) + struct.pack("<QQ", 0x55DCBABB7F38, 0) + vector + bytes(4), vector


def in_aws_lc(_: bytes, vector: bytes) -> tuple[bytes, bytes]:
    return struct.pack("<QQ", ADDRESS - 8, 0x55BB0A6AE228) + vector + bytes(4), vector


KEPT = {in_java: "java", in_go: "go", in_openssl: "", in_ring: "", in_aws_lc: ""}


@pytest.mark.parametrize(("kept", "runtime"), KEPT.items())
@pytest.mark.parametrize("place", [0, 64, 4096 - 576])
def test_states_are_found_as_libraries_keep_them(kept: Kept, runtime: str, place: int) -> None:
    key, vector = bytes(range(200, 232)), os.urandom(11) + b"\x80"
    content, nonce = kept(key, vector)
    page = bytearray(4096)
    page[place : place + len(content)] = content

    def read(address: int, size: int) -> bytes:
        return key[:size] if address == ADDRESS else b""

    assert states([(0x7000_0000, bytes(page))], read, runtime) == {State(key, nonce)}
    for end in range(place, place + len(content) - 4, 4):
        assert states([(0x7000_0000, bytes(page[:end]))], lambda *_: b"", runtime) == set()

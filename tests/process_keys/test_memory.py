"""Keys and secrets in memory that is made here, as each library lays it out."""

from __future__ import annotations

import os
import random

import pytest

from kdbg.streams.tls.recovery.memory import Layout, MemorySearch, keys_in_use, present

SBOX = bytes.fromhex(
    "637c777bf26b6fc53001672bfed7ab76ca82c97dfa5947f0add4a2af9ca472c0b7fd9326363ff7cc34a5e5f171d8311504c723c31896059a"
    "071280e2eb27b27509832c1a1b6e5aa0523bd6b329e32f8453d100ed20fcb15b6acbbe394a4c58cfd0efaafb434d338545f9027f503c9fa8"
    "51a3408f929d38f5bcb6da2110fff3d2cd0c13ec5f974417c4a77e3d645d197360814fdc222a908846eeb814de5e0bdbe0323a0a4906245c"
    "c2d3ac629195e479e7c8376d8dd54ea96c56f4ea657aae08ba78252e1ca6b4c6e8dd741f4bbd8b8a703eb5664803f60e613557b986c11d9e"
    "e1f8981169d98e949b1e87e9ce5528df8ca1890dbfe6426841992d0fb054bb16"
)


def schedule(key: bytes) -> bytes:
    """The key schedule of AES (FIPS 197, 5.2)."""
    size = len(key) // 4
    words, round_constant = [key[at : at + 4] for at in range(0, len(key), 4)], 1
    while len(words) < 4 * (size + 7):
        last = words[-1]
        if len(words) % size == 0:
            turned = bytes(SBOX[byte] for byte in last[1:] + last[:1])
            last = bytes((turned[0] ^ round_constant,)) + turned[1:]
            round_constant = round_constant << 1 ^ (0x11B if round_constant & 0x80 else 0)
        elif size == 8 and len(words) % size == 4:
            last = bytes(SBOX[byte] for byte in last)
        words.append(bytes(one ^ other for one, other in zip(last, words[-size], strict=True)))
    return b"".join(words)


def swapped(data: bytes) -> bytes:
    return b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("order", [bytes, swapped], ids=["bytes", "ints"])
@pytest.mark.parametrize("start", [0, 4, 1000])
def test_a_key_schedule_shows_its_key(size: int, order: type[bytes], start: int) -> None:
    key = os.urandom(size)
    assert schedule(bytes(16))[16:20] == bytes.fromhex("62636363"), "the first words of FIPS 197's zero key"
    memory = random.Random(1).randbytes(start) + order(schedule(key)) + random.Random(2).randbytes(5000)
    assert key in keys_in_use(memory)
    assert len(keys_in_use(memory)) <= 4, "later rounds are no keys"


@pytest.mark.parametrize("memory", [bytes(1 << 16), b"\1\2\3\4" * 9000, b"words of text " * 5000])
def test_what_repeats_is_no_key_schedule(memory: bytes) -> None:
    assert not keys_in_use(memory)


LAID_OUT = {
    Layout.JAVA: lambda secret: bytes(8) + b"\x78\x56\x34\x12" + len(secret).to_bytes(4, "little") + secret,
    Layout.PADDED: lambda secret: b"\1" * 4 + secret.ljust(64, b"\0"),
    Layout.GO: lambda secret: b"\1" * len(secret) * 5 + secret + b"\1" * 96,
    Layout.ANY: lambda secret: b"\1" * 12 + secret + b"\1" * 100,
}


@pytest.mark.parametrize("size", [32, 48])
@pytest.mark.parametrize("layout", Layout)
def test_a_secret_is_found_where_a_library_keeps_it(layout: Layout, size: int) -> None:
    secret = random.Random(size).randbytes(size)
    search = MemorySearch(frozenset({layout}), 1000)
    search.take(0x7F00_0000_0000, LAID_OUT[layout](secret) + bytes(200))
    assert secret in search.windows[size]


def test_windows_are_bounded() -> None:
    search = MemorySearch(frozenset({Layout.ANY}), 10)
    search.take(0, os.urandom(1 << 16))
    assert [len(found) for found in search.windows.values()] == [10, 10]


def test_keys_are_looked_for_anywhere() -> None:
    key, other = os.urandom(32), os.urandom(32)
    chunks = [(0, os.urandom(4096)), (4096, os.urandom(400) + key + os.urandom(96))]
    assert present(chunks, {key, other}) == {key}
    assert not present(chunks, set())

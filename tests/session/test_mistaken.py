"""The first four bytes of what is often taken for Kafka, as bytes and as the size that an error log complains about."""

from __future__ import annotations

import pytest

from kdbg.session.mistaken import TLS_RECORDS, TLS_VERSIONS, WORDS, looks_like, number


@pytest.mark.parametrize("word", WORDS)
def test_words(word: bytes) -> None:
    assert looks_like(word + b"and more") == WORDS[word]
    assert number(int.from_bytes(word, "big")) == WORDS[word]


@pytest.mark.parametrize("version", TLS_VERSIONS)
@pytest.mark.parametrize("record", TLS_RECORDS)
def test_tls(record: int, version: int) -> None:
    data = bytes([record]) + version.to_bytes(2, "big") + b"\0"
    assert looks_like(data) == f"TLS ({TLS_RECORDS[record]}, {TLS_VERSIONS[version]})"


def test_the_sizes_that_brokers_complain_about() -> None:
    assert number(1213486160) == "an HTTP response"
    assert number(1195725856) == "an HTTP GET request"
    assert number(369295616) == "TLS (handshake, TLS 1.0 or later)"
    assert number(352518912) == "TLS (alert, TLS 1.0 or later)"


@pytest.mark.parametrize("data", [b"", b"HTT", b"\0\0\0\x20", b"\x16\x04\x01\0", b"\x18\x03\x01\0"])
def test_anything_else_is_not_named(data: bytes) -> None:
    assert looks_like(data) == ""


@pytest.mark.parametrize("size", [0, -1, 100, 1 << 31, -(1 << 31) - 1, 1 << 40])
def test_sizes_that_are_nothing(size: int) -> None:
    assert number(size) == ""

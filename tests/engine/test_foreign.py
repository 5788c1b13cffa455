"""The first bytes of what is often taken for Kafka, as bytes and as the size that an error log complains about."""

from __future__ import annotations

import pytest

from kdbg.engine.foreign import BEGINNINGS, TLS_RECORDS, TLS_VERSIONS, is_tls, looks_like, number, recognise
from kdbg.engine.search import MAX_FRAME


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_beginnings(beginning: bytes) -> None:
    what, advice = BEGINNINGS[beginning]
    assert recognise(beginning + b"and more") == (what, advice)
    assert looks_like(beginning + b"and more") == what
    assert what[0].islower() or what.isupper() or what.split()[0][:2].isupper()
    assert advice.endswith(".")


@pytest.mark.parametrize("beginning", [one for one in BEGINNINGS if len(one) == 4])
def test_beginnings_as_numbers(beginning: bytes) -> None:
    found = number(int.from_bytes(beginning, "big", signed=True))
    assert found is not None
    assert found.what == BEGINNINGS[beginning][0]


@pytest.mark.parametrize("version", TLS_VERSIONS)
@pytest.mark.parametrize("record", TLS_RECORDS)
def test_tls(record: int, version: int) -> None:
    data = bytes([record]) + version.to_bytes(2, "big") + b"\0"
    assert looks_like(data) == f"TLS ({TLS_RECORDS[record]}, {TLS_VERSIONS[version]})"
    assert is_tls(data)
    assert not is_tls(data[:3])


@pytest.mark.parametrize(
    ("size", "what"),
    [
        (1213486160, "an HTTP response"),
        (1195725856, "an HTTP GET request"),
        (369295616, "TLS (handshake, TLS 1.0 or later)"),
        (352518400, "TLS (alert, TLS 1.0 or later)"),
        (50331667, "a remote desktop connection (TPKT)"),
    ],
)
def test_the_sizes_that_brokers_complain_about(size: int, what: str) -> None:
    found = number(size)
    assert found is not None
    assert found.what == what


@pytest.mark.parametrize("data", [b"", b"HTT", b"\0\0\0\x20", b"\x16\x04\x01\0", b"\x18\x03\x01\0"])
def test_anything_else_is_not_named(data: bytes) -> None:
    assert looks_like(data) == ""
    assert recognise(data) is None
    assert not is_tls(data)


@pytest.mark.parametrize("size", [0, -1, 100, MAX_FRAME, 1 << 31, -(1 << 31) - 1, 1 << 40])
def test_sizes_that_are_nothing(size: int) -> None:
    assert number(size) is None

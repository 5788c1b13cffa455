"""The first bytes of what is often taken for Kafka, as bytes and as the size that an error log complains about."""

from __future__ import annotations

import gzip

import cramjam
import lz4.frame
import pytest
import zstandard

from kdbg.exchanges.engine.foreign import BEGINNINGS, TLS_RECORDS, TLS_VERSIONS, is_tls, looks_like, number, recognise
from kdbg.exchanges.engine.search import MAX_FRAME

from ..cases import for_each


@for_each("beginning", BEGINNINGS)
def test_beginnings(beginning: bytes) -> None:
    what, advice = BEGINNINGS[beginning]
    assert recognise(beginning + b"and more") == (what, advice)
    assert looks_like(beginning + b"and more") == what
    assert what[0].islower() or what.isupper() or what.split()[0][:2].isupper()
    assert advice.endswith(".")


@for_each("method", ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_every_method_of_http(method: str) -> None:
    assert looks_like(f"{method} /topics HTTP/1.1\r\nHost: a\r\n".encode()) == f"an HTTP {method} request"


@for_each(
    ("said", "what"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "an HTTP response"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP/2 connection"),
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"<html>", "an HTML page"),
        (b"<?xml version='1.0'?>", "XML"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH banner"),
        (b"220 mail.example ESMTP\r\n", "an SMTP or FTP greeting"),
        (b"220-ftp.example\r\n", "an SMTP or FTP greeting"),
        (b"EHLO client.example\r\n", "an SMTP command"),
        (b"HELO client.example\r\n", "an SMTP command"),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 51514 9092\r\n", "a PROXY protocol header"),
        (b"\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c", "a PROXY protocol v2 header"),
        (b"*1\r\n$4\r\nPING\r\n", "a Redis command"),
        (b"PING\r\n", "a Redis or NATS command"),
        (b"-ERR unknown command\r\n", "a Redis or NATS error"),
        (b'INFO {"server_id":"a"}', "a NATS greeting"),
        (b"RFB 003.008\n", "a VNC greeting"),
        (b"AMQP\0\0\x09\x01", "an AMQP connection"),
        (b"JRMI\0\x02K", "a Java RMI call"),
        *((word, "a ZooKeeper command") for word in (b"ruok", b"stat", b"mntr", b"srvr")),
        (b'{"topics":[]}', "JSON"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (gzip.compress(b"bytes", mtime=0), "gzip"),
        (zstandard.compress(b"bytes"), "zstd"),
        (lz4.frame.compress(b"bytes"), "an LZ4 frame"),
        (bytes(cramjam.snappy.compress(b"bytes")), "snappy data (standard framing)"),
        (b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", "snappy data (snappy-java framing)"),
        (b"PK\x03\x04\x14\0", "a ZIP archive"),
    ],
)
def test_what_others_say_first(said: bytes, what: str) -> None:
    assert looks_like(said) == what


@for_each("beginning", [one for one in BEGINNINGS if len(one) == 4])
def test_beginnings_as_numbers(beginning: bytes) -> None:
    found = number(int.from_bytes(beginning, "big", signed=True))
    assert found is not None
    assert found.what == BEGINNINGS[beginning][0]


@for_each("version", TLS_VERSIONS)
@for_each("record", TLS_RECORDS)
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
        (369295616, "TLS (handshake, TLS 1.0 to 1.3)"),
        (352518400, "TLS (alert, TLS 1.0 to 1.3)"),
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


@for_each("size", [0, -1, 100, MAX_FRAME, 1 << 31, -(1 << 31) - 1, 1 << 40])
def test_sizes_that_are_nothing(size: int) -> None:
    assert number(size) is None

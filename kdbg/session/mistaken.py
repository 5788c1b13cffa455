"""Bytes that are often taken for Kafka: TLS, HTTP and others, by their first four bytes, or by those as a number.

A peer that speaks something else makes a Kafka client or broker read its first four bytes as a length, and complain
about a size such as 369295616 (a TLS handshake) or 1213486160 ("HTTP").
"""

from __future__ import annotations

import struct

TLS_RECORDS = {0x14: "change cipher spec", 0x15: "alert", 0x16: "handshake", 0x17: "application data"}
TLS_VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0 or later", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2 or 1.3"}
WORDS = {
    b"HTTP": "an HTTP response",
    b"GET ": "an HTTP GET request",
    b"POST": "an HTTP POST request",
    b"PUT ": "an HTTP PUT request",
    b"HEAD": "an HTTP HEAD request",
    b"DELE": "an HTTP DELETE request",
    b"OPTI": "an HTTP OPTIONS request",
    b"CONN": "an HTTP CONNECT request",
    b"PRI ": "an HTTP/2 connection",
    b"SSH-": "an SSH banner",
    b"220 ": "an SMTP or FTP greeting",
    b"PROX": "a PROXY protocol header",
    b"\r\n\r\n": "a PROXY protocol v2 header",
    b"*1\r\n": "a Redis command",
    b"RFB ": "a VNC greeting",
    b"AMQP": "an AMQP connection",
    b"{\"js": "JSON",
}  # fmt: skip


def looks_like(data: bytes) -> str:
    """What the first bytes of a stream are, if they are something well known that is not Kafka; else ""."""
    if len(data) < 4:
        return ""
    version = int.from_bytes(data[1:3], "big")
    if data[0] in TLS_RECORDS and version in TLS_VERSIONS:
        return f"TLS ({TLS_RECORDS[data[0]]}, {TLS_VERSIONS[version]})"
    return WORDS.get(data[:4], "")


def number(value: int) -> str:
    """What a number in an error log is, if its four bytes are the beginning of something else; else ""."""
    if not -(1 << 31) <= value < 1 << 31:
        return ""
    return looks_like(struct.pack(">i", value))

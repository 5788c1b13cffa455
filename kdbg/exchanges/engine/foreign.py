"""Bytes that are often taken for Kafka: TLS, HTTP and others, by their first bytes, or by those as a number.

A peer that speaks something else makes a Kafka client or broker read its first four bytes as a length, and complain
about a size such as 369295616 (a TLS handshake) or 1213486160 ("HTTP"). What to do about it depends on who spoke: a
question (a handshake, GET) came from a client that took the port for something else, an answer (an alert, HTTP) from
a server that is no broker.
"""

from __future__ import annotations

import struct
from typing import NamedTuple


class ForeignProtocol(NamedTuple):
    """What bytes really are, and what to do where Kafka was expected."""

    what: str
    advice: str


TLS_RECORDS = {0x14: "change cipher spec", 0x15: "alert", 0x16: "handshake", 0x17: "application data"}
TLS_VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0 to 1.3", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2 or 1.3"}
TLS_ADVICE = {
    0x16: (
        "A TLS client (or broker) connects to a plaintext listener. Use the SSL listener's port, "
        "or set the client's security.protocol to PLAINTEXT (SASL_PLAINTEXT with SASL), or configure "
        "the listener for SSL."
    ),
    0x15: (
        "A TLS listener responds to a plaintext client. Set security.protocol=SSL (or SASL_SSL) "
        "on the client, or use the PLAINTEXT listener's port."
    ),
}
TLS_INSIDE = "The bytes come from the middle of a TLS connection: decrypt them first."
HTTP_SERVER = (
    "An HTTP server responds instead of a broker: a proxy, a load balancer, Kafka Connect, the Schema Registry or an "
    "exporter. Check bootstrap.servers and advertised.listeners."
)
HTTP_CLIENT = (
    "An HTTP client (a browser, a health check, a metrics scraper, a load balancer) connects to the Kafka port. "
    "Change its address, or use a plain TCP check."
)
OTHER_SERVER = "The port belongs to another service. Check bootstrap.servers and advertised.listeners."
OTHER_CLIENT = (
    "A client of another service connects to the Kafka port: a wrong address in its configuration, or a port scan."
)
BALANCER = "A load balancer sends a PROXY protocol header, which brokers do not support: disable it for the Kafka port."
ZOOKEEPER = "A ZooKeeper command was sent to the Kafka port. Use the port of ZooKeeper (default: 2181)."
TELNET = "A Telnet client sent a command, such as Ctrl-C: probably a manual test of the Kafka port, or a port scan."
COMPRESSED = "These bytes are compressed: decompress them first. Kafka compresses record batches, never whole messages."
PACKED = "kdbg decode reads compressed captures."
BEGINNINGS: dict[bytes, tuple[str, str]] = {
    b"HTTP": ("an HTTP response", HTTP_SERVER),
    b"GET ": ("an HTTP GET request", HTTP_CLIENT),
    b"POST": ("an HTTP POST request", HTTP_CLIENT),
    b"PUT ": ("an HTTP PUT request", HTTP_CLIENT),
    b"HEAD": ("an HTTP HEAD request", HTTP_CLIENT),
    b"DELE": ("an HTTP DELETE request", HTTP_CLIENT),
    b"OPTI": ("an HTTP OPTIONS request", HTTP_CLIENT),
    b"PATC": ("an HTTP PATCH request", HTTP_CLIENT),
    b"TRAC": ("an HTTP TRACE request", HTTP_CLIENT),
    b"CONN": ("an HTTP CONNECT request", HTTP_CLIENT),
    b"PRI ": ("an HTTP/2 connection", HTTP_CLIENT),
    b"<!DO": ("an HTML page", HTTP_SERVER),
    b"<htm": ("an HTML page", HTTP_SERVER),
    b"<?xm": ("XML", HTTP_SERVER),
    b"SSH-": ("an SSH banner", OTHER_SERVER),
    b"220 ": ("an SMTP or FTP greeting", OTHER_SERVER),
    b"220-": ("an SMTP or FTP greeting", OTHER_SERVER),
    b"EHLO": ("an SMTP command", OTHER_CLIENT),
    b"HELO": ("an SMTP command", OTHER_CLIENT),
    b"PROX": ("a PROXY protocol header", BALANCER),
    b"\r\n\r\n": ("a PROXY protocol v2 header", BALANCER),
    b"*1\r\n": ("a Redis command", OTHER_CLIENT),
    b"PING": ("a Redis or NATS command", OTHER_CLIENT),
    b"-ERR": ("a Redis or NATS error", OTHER_SERVER),
    b"INFO": ("a NATS greeting", OTHER_SERVER),
    b"RFB ": ("a VNC greeting", OTHER_SERVER),
    b"AMQP": ("an AMQP connection", "The peer uses AMQP (RabbitMQ, a service bus), not Kafka."),
    b"JRMI": ("a Java RMI call", "A JMX client (jconsole, an agent) connects to the Kafka port instead of JMX_PORT."),
    b"ruok": ("a ZooKeeper command", ZOOKEEPER),
    b"stat": ("a ZooKeeper command", ZOOKEEPER),
    b"mntr": ("a ZooKeeper command", ZOOKEEPER),
    b"srvr": ("a ZooKeeper command", ZOOKEEPER),
    b'{"': ("JSON", "To convert JSON into a message, use kdbg encode."),
    b"PAR1": ("a Parquet file", "Parquet files do not contain Kafka messages."),
    b"PK\x03\x04": ("a ZIP archive", COMPRESSED),
    b"\x1f\x8b": ("gzip", f"{COMPRESSED} {PACKED}"),
    b"\x28\xb5\x2f\xfd": ("zstd", f"{COMPRESSED} {PACKED}"),
    b"\x04\x22\x4d\x18": ("an LZ4 frame", COMPRESSED),
    b"\x82SNAPPY": ("snappy data (snappy-java framing)", COMPRESSED),
    b"\xff\x06\x00\x00sNaPpY": ("snappy data (standard framing)", COMPRESSED),
}

LONGEST_BEGINNING = max(map(len, BEGINNINGS))
"""Bytes of a stream that are enough to recognise what it is."""


def is_tls(data: bytes) -> bool:
    """Return whether a TLS record begins here."""
    return len(data) >= 4 and data[0] in TLS_RECORDS and int.from_bytes(data[1:3], "big") in TLS_VERSIONS


def is_telnet(data: bytes) -> bool:
    """Return whether two Telnet commands begin here, or one that names an option (RFC 854)."""
    return len(data) >= 4 and data[0] == 0xFF and 0xF0 <= data[1] < 0xFF and 0xFF in (data[2], data[3])


def recognise(data: bytes) -> ForeignProtocol | None:
    """Return what the first bytes of a stream are, if they are well known and not Kafka's; else None."""
    if is_tls(data):
        record, version = TLS_RECORDS[data[0]], TLS_VERSIONS[int.from_bytes(data[1:3], "big")]
        return ForeignProtocol(f"TLS ({record}, {version})", TLS_ADVICE.get(data[0], TLS_INSIDE))
    if is_telnet(data):
        return ForeignProtocol("a Telnet command", TELNET)
    for beginning, found in BEGINNINGS.items():
        if len(data) >= 4 and data.startswith(beginning):
            return ForeignProtocol(*found)
    return None


def looks_like(data: bytes) -> str:
    """Return in a few words what the first bytes of a stream are; "" if they are nothing well known."""
    found = recognise(data)
    return found.what if found else ""


def number(value: int) -> ForeignProtocol | None:
    """Return what a size in an error log is, if its four bytes are the beginning of another protocol; else None."""
    if not -(1 << 31) <= value < 1 << 31:
        return None
    if value >> 8 == 0x030000:  # as bytes of a stream it may well be a large frame
        return ForeignProtocol("a remote desktop connection (TPKT)", OTHER_CLIENT)
    return recognise(struct.pack(">i", value))

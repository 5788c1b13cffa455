"""What connections begin with that is not Kafka: TLS, HTTP and others, or a preamble after which Kafka follows.

A peer that speaks something else makes a Kafka client or broker read its first four bytes as a length, and complain
about a size such as 369295616 (a TLS handshake) or 1213486160 ("HTTP"). What to do about it depends on who spoke: a
question (a handshake, GET) came from a client that took the port for something else, an answer (an alert, HTTP) from
a server that is no broker.

A preamble is the words with a proxy, or a balancer's word on who the client is: SOCKS5 (RFC 1928; user and password,
RFC 1929), HTTP CONNECT (RFC 9110, 9.3.6), the PROXY protocol, versions 1 and 2
(https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt). Each function takes what both sides have said so far and
says whether that is over, refused, no such thing, or goes on. No user, password or token is kept.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final, NamedTuple, TypeAlias

from ..messages.peers import Via, endpoint


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
METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT")
BEGINNINGS: dict[bytes, tuple[str, str]] = {
    b"HTTP": ("an HTTP response", HTTP_SERVER),
    **{f"{method} "[:4].encode(): (f"an HTTP {method} request", HTTP_CLIENT) for method in METHODS},
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
    **dict.fromkeys((b"ruok", b"stat", b"mntr", b"srvr"), ("a ZooKeeper command", ZOOKEEPER)),
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


def recognise(data: bytes) -> ForeignProtocol | None:
    """Return what the first bytes of a stream are, if they are well known and not Kafka's; else None."""
    if is_tls(data):
        record, version = TLS_RECORDS[data[0]], TLS_VERSIONS[int.from_bytes(data[1:3], "big")]
        return ForeignProtocol(f"TLS ({record}, {version})", TLS_ADVICE.get(data[0], TLS_INSIDE))
    if len(data) >= 4 and data[0] == 0xFF and 0xF0 <= data[1] < 0xFF and 0xFF in (data[2], data[3]):
        return ForeignProtocol("a Telnet command", TELNET)  # two commands, or one that names an option (RFC 854)
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


class PreambleEnd(NamedTuple):
    """The preamble took so many bytes of the initiator and of the acceptor; `via` says what it told, None for none."""

    sent: int
    answered: int
    via: Via | None


class ProxyRefused(NamedTuple):
    """The proxy refused: `what` in words."""

    what: str


OTHER = PreambleEnd(0, 0, None)
"""The bytes are no such preamble after all."""
Step: TypeAlias = "PreambleEnd | ProxyRefused | None"
Read: TypeAlias = Callable[[bytes, bytes], Step]
SOCKS5, CONNECT, PROXY = b"\x05", b"CONNECT ", b"PROXY "
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
"""What version 2 of the PROXY protocol begins with."""
HTTP_END = b"\r\n\r\n"
LONGEST = 1 << 14
"""Bytes that a side may say before Kafka; more is no preamble."""
LONGEST_LINE = 107
"""Bytes of a header of the PROXY protocol, version 1, its line end included."""
SOCKS_REASONS = {
    1: "general failure", 2: "not allowed", 3: "network unreachable", 4: "host unreachable", 5: "connection refused",
    6: "TTL expired", 7: "command not supported", 8: "address type not supported",
}  # fmt: skip
NO_METHOD, PASSWORD = 0xFF, 2
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})\b")
_AUTHORITY = re.compile(rb"CONNECT ([!-~]{1,300}) HTTP/1\.[01]\r\n")
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*([0-9]{1,4})[ \t]*\r\n")
_LINE = re.compile(rb"PROXY TCP[46] ([0-9a-fA-F.:]{2,39}) ([0-9a-fA-F.:]{2,39}) ([0-9]{1,5}) ([0-9]{1,5})\r\n")


class _Short(Exception):
    """More has to come."""


class _Source:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise _Short
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]


def begins(sent: bytes, answered: bytes) -> Read | None:
    """Return what reads the preamble that seems to begin here; None where there is none."""
    if sent.startswith(SOCKS5):
        plausible = len(sent) >= 3 and 1 <= sent[1] <= 16 and answered[:1] == SOCKS5
        return socks5 if plausible else None
    if len(sent) < 4 or sent[:1] not in FIRST:
        return None
    return next((read for word, read in WORDS.items() if _may_be(sent, word)), None)


def _may_be(data: bytes, word: bytes) -> bool:
    """Return whether bytes begin with a word, or are the first of it."""
    return word.startswith(data[: len(word)])


def socks5(sent: bytes, answered: bytes) -> Step:
    """Read a client's way through a SOCKS5 proxy: its greeting, its password if it is asked for one, its target."""
    asks, answers = _Source(sent), _Source(answered)
    try:
        asks.take(1)
        offered = asks.take(asks.byte())
        version, method = answers.take(2)
        if version != 5 or method not in (*offered, NO_METHOD):
            return OTHER
        if method == NO_METHOD:
            return ProxyRefused("a SOCKS5 proxy that requires another authentication method")
        if method == PASSWORD:
            asks.take(1)
            asks.take(asks.byte())
            asks.take(asks.byte())
            if answers.take(2)[1]:
                return ProxyRefused("a SOCKS5 proxy that rejected the user name and password")
        elif method:
            return OTHER  # GSSAPI wraps all that follows
        version, command, _ = asks.take(3)
        target = _address(asks)
        if version != 5 or command != 1 or target is None:
            return OTHER
        version, reply, _ = answers.take(3)
        if reply:
            why = SOCKS_REASONS.get(reply, f"code {reply}")
            return ProxyRefused(f"a SOCKS5 proxy that failed to connect to {target}: {why}")
        if _address(answers) is None:
            return OTHER
    except _Short:
        return None
    return PreambleEnd(asks.at, answers.at, Via("SOCKS5", target=target))


def _address(source: _Source) -> str | None:
    """Take an address of SOCKS5 and a port; return them as text, None for an unknown kind of address."""
    kind = source.byte()
    if kind == 3:
        host = source.take(source.byte()).decode("utf-8", "replace")
    elif kind in (1, 4):
        host = str(ip_address(source.take(4 if kind == 1 else 16)))
    else:
        return None
    return endpoint((host, int.from_bytes(source.take(2), "big")))


def http_connect(sent: bytes, answered: bytes) -> Step:
    """Read HTTP CONNECT and its answer; one that wants a login (407) may be followed by another try."""
    asked = told = 0
    while True:
        if not _may_be(sent[asked : asked + len(CONNECT)], CONNECT):
            return OTHER
        ask, answer = sent.find(HTTP_END, asked), answered.find(HTTP_END, told)
        found = _AUTHORITY.match(sent, asked)
        if found is None:
            return OTHER if ask >= 0 or len(sent) - asked > LONGEST // 2 else None
        if ask < 0 or answer < 0:
            return None
        status = _STATUS.match(answered, told)
        if status is None:
            return OTHER
        target, code = found[1].decode("ascii"), int(status[1])
        length = _LENGTH.search(answered, told, answer + 4)
        asked, told = ask + 4, answer + 4
        if 200 <= code < 300:
            return PreambleEnd(asked, told, Via("HTTP CONNECT", target=target))
        told += int(length[1]) if length is not None else 0
        if code != 407:
            return ProxyRefused(f"an HTTP proxy that failed to connect to {target}: status {code}")
        if len(sent) <= asked:
            return None


def proxy_line(sent: bytes, answered: bytes) -> Step:
    """Read the line of version 1 of the PROXY protocol."""
    end = sent.find(b"\r\n", 0, LONGEST_LINE)
    if end < 0:
        return None if len(sent) < LONGEST_LINE and _may_be(sent, PROXY) else OTHER
    if sent.startswith(b"PROXY UNKNOWN"):
        return PreambleEnd(end + 2, 0, Via("PROXY protocol v1"))
    found = _LINE.match(sent)
    if found is None:
        return OTHER
    source, target, source_port, target_port = (part.decode("ascii") for part in found.groups())
    ends = endpoint((source, int(source_port))), endpoint((target, int(target_port)))
    return PreambleEnd(end + 2, 0, Via("PROXY protocol v1", *ends))


def proxy_header(sent: bytes, answered: bytes) -> Step:
    """Read the header of version 2 of the PROXY protocol."""
    if len(sent) < 16:
        return None if _may_be(sent, SIGNATURE) else OTHER
    kind, family, size = struct.unpack_from(">BBH", sent, 12)
    if kind >> 4 != 2 or kind & 15 > 1:
        return OTHER
    if len(sent) < 16 + size:
        return None
    ends: tuple[str, ...] = ()
    width = {1: 4, 2: 16}.get(family >> 4, 0)
    if kind & 15 == 1 and width and size >= 2 * width + 4:
        at = 16 + 2 * width
        hosts = (str(ip_address(sent[16 : 16 + width])), str(ip_address(sent[16 + width : at])))
        ends = tuple(map(endpoint, zip(hosts, struct.unpack_from(">HH", sent, at), strict=True)))
    return PreambleEnd(16 + size, 0, Via("PROXY protocol v2", *ends))


WORDS: dict[bytes, Read] = {CONNECT: http_connect, PROXY: proxy_line, SIGNATURE: proxy_header}
"""What tells a preamble apart from all else by its first bytes."""
FIRST: Final = {word[:1] for word in WORDS}
"""The first byte of each."""

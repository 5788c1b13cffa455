"""Ports at which no conversation begins: for another protocol, a certificate that is rejected, or too many clients."""

from __future__ import annotations

from collections.abc import Iterator

from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Kind
from ....protocol.findings.facts import Encrypted
from ....streams.tcp.paths import Path
from ...ledgers import Ledgers
from ..case import Case, Who, rule
from ..queries import MS, by_ends, client_on, clients_of_host, extent_of_paths
from ..text import named

CHANGE, ALERT, HANDSHAKE, DATA = 0x14, 0x15, 0x16, 0x17
"""Types of TLS records."""
METHODS: tuple[bytes, ...] = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"PRI ")
LONGER: dict[bytes, str] = {b"DELE": "DELETE", b"OPTI": "OPTIONS", b"PATC": "PATCH", b"TRAC": "TRACE"}
"""Methods of HTTP by their first four bytes, where they are longer."""
SERVICES: dict[bytes, str] = {
    b"E\0\0\0": "a PostgreSQL error", b"SSH-": "SSH", b"-ERR": "a Redis error", b"220 ": "an SMTP or FTP greeting",
    b"+OK": "a POP3 greeting", b"AMQP": "AMQP", b"RFB ": "VNC", b"* OK": "an IMAP greeting",
}  # fmt: skip
"""Services by how their first message begins."""
PROXY = (b"PROXY ", b"\r\n\r\n\0\r\nQ")
"""How the header of the PROXY protocol begins, in version 1 and 2."""
OF_CERTIFICATES = ("certificate", "unknown_ca", "unknown ca")
"""Parts of the names of alerts about certificates."""
ENCRYPTED_ALERT = 52
"""Bytes of an encrypted alert of TLS 1.3 at most, padded, after a change of the cipher; a Finished takes more."""
PLAIN_ALERT = 7
OF_HANDSHAKE = 12
"""Packets of a broker at most that does no more than a handshake, and an alert."""
AT_ONCE, FEWEST_TURNED_AWAY = 200 * MS, 3


@rule(
    "http-to-kafka-port",
    "connection",
    title="HTTP request on a Kafka port",
    sentence="a program on host {host} sends an HTTP {method} request to broker {broker}: the broker reads it as a "
    "Kafka request of {number:byte} and closes the connection",
    advice="Find out which browser, health check or metrics scraper on host {host} uses the Kafka port; a health "
    "check should only open a TCP connection.",
    document="Kafka documentation, Monitoring",
    explains={"connection-churn"},
)
def http_to_kafka_port(book: Ledgers) -> Iterator[Case]:
    """Look for requests of HTTP that are not answered in HTTP."""
    wrong = (path for path in book.paths.all() if path.ways[0].head[:4] in METHODS and path.ways[1].head[:4] != b"HTTP")
    for (host, broker), paths in by_ends(book, wrong):
        head = paths[0].ways[0].head[:4]
        yield http_to_kafka_port.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=2.0,
            facts={"number": int.from_bytes(head, "big"), "method": LONGER.get(head, head.decode("ascii").strip())},
        )  # fmt: skip


@rule(
    "kafka-client-to-http-server",
    "connection",
    title="Kafka client on an HTTP port",
    sentence="client {client_id} sends Kafka requests to address {broker}, which responds with HTTP: no Kafka broker "
    "listens there",
    advice="Check bootstrap.servers and advertised.listeners: the port belongs to a proxy, Kafka Connect or a Schema "
    "Registry.",
    document="Kafka documentation, Security: listener configuration",
)
def kafka_client_to_http_server(book: Ledgers) -> Iterator[Case]:
    """Look for answers in HTTP to requests of Kafka."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[1].head[:4] == b"HTTP" and path.ways[0].head and path.ways[0].head[:4] not in METHODS
        and book.session_on(path) is not None
    )  # fmt: skip
    for (host, broker), paths in by_ends(book, wrong):
        who = Who(client_on(book, paths), host, endpoint(broker))
        yield kafka_client_to_http_server.case(who, *extent_of_paths(paths), weight=2.0)


@rule(
    "foreign-service",
    "connection",
    title="port of another service",
    sentence="client {client_id} sends Kafka requests to address {broker}, which responds with {what}: no Kafka broker "
    "listens there",
    advice="Check bootstrap.servers and advertised.listeners: the port belongs to another service.",
    document="Kafka documentation, Security: listener configuration",
    explains={"connection-churn", "no-response", "not-kafka", "client-without-sasl"},
)
def foreign_service(book: Ledgers) -> Iterator[Case]:
    """Look for connections of Kafka clients on which what comes back is no response to any request."""
    wrong = (
        path
        for path in book.paths.all()
        if (session := book.session_on(path)) is not None
        and not session.is_served
        and path.opened
        and path.ways[1].head
        and path.ways[1].head[0] != ALERT
        and path.ways[1].head[:4] != b"HTTP"
    )
    for (host, broker), paths in by_ends(book, wrong):
        head = paths[0].ways[1].head
        what = next((name for start, name in SERVICES.items() if head.startswith(start)), f"bytes {head.hex(' ')}")
        yield foreign_service.case(
            Who(client_on(book, paths), host, endpoint(broker)), *extent_of_paths(paths), {"what": what}, weight=3.0
        )


@rule(
    "proxy-protocol-header",
    "connection",
    title="PROXY header sent to a broker",
    sentence="a load balancer on host {host} begins {count:connection} to broker {broker} with a PROXY header, which "
    "the broker reads as a Kafka request: it closes the connection",
    advice="Remove the PROXY protocol from the load balancer's backend (send-proxy, proxy_protocol): Kafka brokers do "
    "not support it.",
    document="PROXY protocol, section 2",
    explains={"no-response", "connection-churn", "not-kafka", "proxy-without-backend"},
)
def proxy_protocol_header(book: Ledgers) -> Iterator[Case]:
    """Look for connections that begin with such a header, and end without a response."""
    begun = (path for path in book.paths.all() if path.ways[0].head.startswith(PROXY) and not path.ways[1].bytes)
    for (host, broker), paths in by_ends(book, begun):
        yield proxy_protocol_header.case(Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=3.1)


@rule(
    "plaintext-client-to-tls-listener",
    "TLS",
    title="plaintext client on a TLS listener",
    sentence="client {client_id} connects without TLS to a TLS listener of broker {broker}: the broker responds with "
    "a TLS alert, which some clients read as a message of {number:byte}, and closes the connection",
    advice="Set security.protocol=SSL (or SASL_SSL) on the client, or use the port of a plaintext listener.",
    document="Kafka documentation, Security: listener configuration",
    explains={"connection-churn", "client-without-sasl", "api-version-unsupported", "connection-limit"},
)
def plaintext_client_to_tls_listener(book: Ledgers) -> Iterator[Case]:
    """Look for TLS alerts after something other than TLS."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[1].head[:2] == bytes((ALERT, 3)) and path.ways[0].head and path.ways[0].head[0] != HANDSHAKE
    )
    for (host, broker), paths in by_ends(book, wrong):
        yield plaintext_client_to_tls_listener.case(
            Who(client_on(book, paths), host, endpoint(broker)), *extent_of_paths(paths), weight=3.0,
            facts={"number": int.from_bytes(paths[0].ways[1].head[:4], "big")},
        )  # fmt: skip


@rule(
    "tls-client-to-plaintext-listener",
    "TLS",
    title="TLS client on a plaintext listener",
    sentence="a client on host {host} starts a TLS handshake with broker {broker}, whose listener is "
    "{probably}plaintext: the broker reads it as a Kafka request of {number:byte}, and the connection closes",
    advice="Set security.protocol=PLAINTEXT (or SASL_PLAINTEXT) on the client, or use the port of the TLS listener.",
    document="Kafka documentation, Security: listener configuration",
    explains={"connection-churn"},
)
def tls_client_to_plaintext_listener(book: Ledgers) -> Iterator[Case]:
    """Look for hellos without an answer, on connections that the other end closes."""
    wrong = (
        path
        for path in book.paths.all()
        if path.ways[0].head[:2] == bytes((HANDSHAKE, 3)) and not path.ways[1].bytes and path.closes
    )
    plain = {session.broker for session in book.sessions.values() if session.peers.tls is None}
    tls = {path.acceptor for path in book.paths.all() if path.ways[1].head[:2] == bytes((HANDSHAKE, 3))}
    for (host, broker), paths in by_ends(book, wrong):
        if broker in tls:
            continue
        sure = broker in plain or any(path.closes[0].side == 1 for path in paths)
        yield tls_client_to_plaintext_listener.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=3.0,
            facts={"number": int.from_bytes(paths[0].ways[0].head[:4], "big")},
            certainty="certain" if sure else "likely",
        )  # fmt: skip


def refuses(path: Path) -> bool:
    """Return whether a client ends a handshake with an alert, after the server's hello."""
    sent, answered = path.ways
    if sent.head[:1] != bytes((HANDSHAKE,)) or answered.head[:1] != bytes((HANDSHAKE,)):
        return False
    hello = int.from_bytes(sent.head[3:5], "big") + 5
    rest = sent.bytes - hello
    plain = sent.tail[:1] == bytes((ALERT,)) and sent.tail_length == PLAIN_ALERT
    return plain or (0 < rest <= ENCRYPTED_ALERT and sent.tail[:1] in (bytes((DATA,)), bytes((CHANGE,))))


def is_of_certificates(alert: str) -> bool:
    """Return whether a TLS alert is about certificates, by its name."""
    return any(one in alert.lower() for one in OF_CERTIFICATES)


@rule(
    "tls-untrusted-certificate",
    "TLS",
    title="client rejects the broker's certificate",
    sentence="a client on host {host} {probably}rejects the certificate of broker {broker} ({names}): the client "
    "aborts the TLS handshake with {alert}",
    advice="Add the CA of the broker's certificate to ssl.truststore.location (librdkafka: ssl.ca.location) on the "
    "client, or issue a certificate for the host name that the client connects to.",
    document="RFC 8446, section 6.2",
    alternatives=(
        "the certificate has expired",
        "the certificate is for another host name",
        "client and broker share no cipher suite",
    ),
    explains={"connection-churn"},
)
def tls_untrusted_certificate(book: Ledgers) -> Iterator[Case]:
    """Look for alerts about certificates, and for encrypted alerts in the middle of a handshake."""
    told: dict[int, tuple[str, Encrypted]] = {}
    for peers, finding in book.left:
        if finding.kind is Kind.NOT_DECRYPTED and isinstance(finding.facts, Encrypted):
            alerts = finding.facts.client_alerts
            about = (name for name in alerts if is_of_certificates(name))
            told[peers.first_packet] = next(about, ""), finding.facts
    wrong = [path for path in book.paths.all() if refuses(path) or told.get(path.first_packet, ("",))[0]]
    for (host, broker), paths in by_ends(book, wrong):
        seen = [told[path.first_packet] for path in paths if path.first_packet in told]
        alert = next((name for name, _ in seen if name), "")
        names = next((named("name", facts.names) for _, facts in seen if facts.names), "")
        yield tls_untrusted_certificate.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=3.0,
            facts={"alert": f"TLS alert {alert}" if alert else "an encrypted TLS alert", "names": names or "encrypted"},
            certainty="certain" if alert else "likely",
        )  # fmt: skip


def is_rejected(path: Path) -> bool:
    """Return whether a client had no response to its first data after a TLS handshake, but for an encrypted alert."""
    sent, answered = path.ways
    return bool(
        path.closes and answered.last_time <= path.closes[0].time < path.start + AT_ONCE * 10
        and answered.head[:1] == bytes((HANDSHAKE,))
        and sent.tail[:1] == answered.tail[:1] == bytes((DATA,)) and answered.tail_length <= ENCRYPTED_ALERT
        and answered.packets <= OF_HANDSHAKE
        and not refuses(path)
    )  # fmt: skip


@rule(
    "tls-client-certificate-rejected",
    "TLS",
    title="broker rejects the client's certificate",
    sentence="broker {broker} ended {count:TLS connection} from host {host} right after the handshake, with {alert}: "
    "the broker {probably}rejects the client's certificate, or requires one",
    advice="Check the client's certificate in ssl.keystore.location (librdkafka: ssl.certificate.location): whether "
    "there is one, its expiry date, and that ssl.truststore.location of the broker has its CA.",
    document="RFC 8446, section 4.4.2.4; Kafka documentation, Security: ssl.client.auth",
    alternatives=("the broker's log names another reason",),
    explains={"connection-churn", "tls-handshake-failing", "not-readable"},
)
def tls_client_certificate_rejected(book: Ledgers) -> Iterator[Case]:
    """Look for ends between which each TLS connection is ended by the broker before it carried a response."""
    tls = (path for path in book.paths.all() if path.ways[0].head[:1] == bytes((HANDSHAKE,)))
    alerts = {peers.first_packet: finding.facts.broker_alerts for peers, finding in book.left
              if isinstance(finding.facts, Encrypted)}  # fmt: skip
    for (host, broker), paths in by_ends(book, tls):
        told = {path: next((name for name in alerts.get(path.first_packet, ()) if is_of_certificates(name)), "")
                for path in paths}  # fmt: skip
        ended = [path for path in paths if told[path] or is_rejected(path)]
        alert = next(filter(None, told.values()), "")
        by_broker = all(path.closes[0].side == 1 for path in ended if path.closes)
        if 2 * len(ended) <= sum(bool(path.closes and path.ways[1].bytes) for path in paths) or (
            not alert and len(ended) < FEWEST_TURNED_AWAY and not by_broker
        ):
            continue
        yield tls_client_certificate_rejected.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(ended), weight=3.0,
            facts={"alert": f"TLS alert {alert}" if alert else "an encrypted TLS alert"},
            certainty="certain" if alert else "likely" if len(ended) >= FEWEST_TURNED_AWAY else "guess",
        )  # fmt: skip


def turned_away(path: Path) -> bool:
    """Return whether the acceptor closes a connection at once, without a word."""
    if path.answered is None or path.ways[1].bytes or not path.closes or path.ways[0].bytes > 1000:
        return False
    head = path.ways[0].head
    if head[:1] == bytes((HANDSHAKE,)) or head[:4] in METHODS:
        return False
    first = path.closes[0]
    return first.side == 1 and first.time - path.answered < AT_ONCE


def is_unread(path: Path) -> bool:
    """Return whether the acceptor closed without reading what came: its TCP resets then (RFC 1122, 4.2.2.13)."""
    return not path.ways[0].bytes or any(close.reset for close in path.closes if close.side == 1)


@rule(
    "proxy-without-backend",
    "connection",
    title="connections are accepted and closed at once",
    sentence="address {broker} closed {count:connection} from host {host} as soon as it had accepted, without a "
    "response: it {probably}belongs to a proxy or load balancer that reaches no broker",
    advice="Check that the brokers that the proxy at address {broker} forwards to are running, and pass its health "
    "check.",
    document="Kafka documentation, Broker configs: advertised.listeners",
    alternatives=("the broker is starting or stopping", "another service listens there, such as ZooKeeper"),
    explains={"connection-churn", "no-response", "client-without-sasl"},
)
def proxy_without_backend(book: Ledgers) -> Iterator[Case]:
    """Look for ends at which all connections of a host are turned away."""
    for (host, broker), paths in by_ends(book, book.paths.all()):
        if all(turned_away(path) for path in paths) and any(path.ways[0].bytes for path in paths):
            yield proxy_without_backend.case(
                Who(client_on(book, paths), host, endpoint(broker)), *extent_of_paths(paths),
                certainty="likely" if len(paths) >= FEWEST_TURNED_AWAY else "guess", weight=2.9,
            )  # fmt: skip


@rule(
    "connection-limit",
    "connection",
    title="connection limit reached",
    sentence="broker {broker} closes {count:new connection} from host {host} without a response, while it keeps "
    "{open:older connection} from that host open: the host has {probably}reached its connection limit",
    advice="Raise max.connections.per.ip or max.connections on the broker, or find out why host {host} opens so many "
    "connections: one client object per process is enough.",
    document="KIP-402, KIP-612; Broker configs: max.connections.per.ip",
    alternatives=("a load balancer or firewall closes the connections",),
    explains={"connection-churn", "client-without-sasl"},
)
def connection_limit(book: Ledgers) -> Iterator[Case]:
    """Look for connections that are turned away where others of that host are served."""
    unread = (path for path in book.paths.all() if turned_away(path) and is_unread(path))
    for (host, broker), paths in by_ends(book, unread):
        served = [
            session.path
            for session in book.sessions.values()
            if session.peers.client[0] == host and session.broker == broker and session.path is not None
            and session.path.ways[1 - session.client_side].bytes
        ]  # fmt: skip
        if len(paths) < FEWEST_TURNED_AWAY or not served:
            continue
        client = client_on(book, paths) or next(iter(clients_of_host(book, host)), None)
        yield connection_limit.case(
            Who(client, host, endpoint(broker)), *extent_of_paths(paths), certainty="likely", weight=2.5,
            facts={"open": sum(path.start <= paths[0].start for path in served)},
        )  # fmt: skip

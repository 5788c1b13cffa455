"""Ports at which no conversation begins: for another protocol, a certificate that is rejected, or too many clients."""

from __future__ import annotations

from collections.abc import Iterator

from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Kind, Severity
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
OF_CERTIFICATES = ("certificate", "unknown_ca", "unknown ca")
"""Parts of the names of alerts about certificates."""
ENCRYPTED_ALERT = 52
"""Bytes of an encrypted alert of TLS 1.3 at most, padded, after a change of the cipher; a Finished takes more."""
PLAIN_ALERT = 7
AT_ONCE, FEWEST_TURNED_AWAY = 200 * MS, 3


@rule(
    "http-to-kafka-port",
    Severity.ERROR,
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
    for (host, broker), paths in by_ends(wrong):
        head = paths[0].ways[0].head[:4]
        yield http_to_kafka_port.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=2.0,
            facts={"number": int.from_bytes(head, "big"), "method": LONGER.get(head, head.decode("ascii").strip())},
        )  # fmt: skip


@rule(
    "kafka-client-to-http-server",
    Severity.ERROR,
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
    for (host, broker), paths in by_ends(wrong):
        who = Who(client_on(book, paths), host, endpoint(broker))
        yield kafka_client_to_http_server.case(who, *extent_of_paths(paths), weight=2.0)


@rule(
    "plaintext-client-to-tls-listener",
    Severity.ERROR,
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
    for (host, broker), paths in by_ends(wrong):
        yield plaintext_client_to_tls_listener.case(
            Who(client_on(book, paths), host, endpoint(broker)), *extent_of_paths(paths), weight=3.0,
            facts={"number": int.from_bytes(paths[0].ways[1].head[:4], "big")},
        )  # fmt: skip


@rule(
    "tls-client-to-plaintext-listener",
    Severity.ERROR,
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
    for (host, broker), paths in by_ends(wrong):
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


@rule(
    "tls-untrusted-certificate",
    Severity.ERROR,
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
            about = (name for name in alerts if any(one in name.lower() for one in OF_CERTIFICATES))
            told[peers.first_packet] = next(about, ""), finding.facts
    wrong = [path for path in book.paths.all() if refuses(path) or told.get(path.first_packet, ("",))[0]]
    for (host, broker), paths in by_ends(wrong):
        seen = [told[path.first_packet] for path in paths if path.first_packet in told]
        alert = next((name for name, _ in seen if name), "")
        names = next((named("name", facts.names) for _, facts in seen if facts.names), "")
        yield tls_untrusted_certificate.case(
            Who(None, host, endpoint(broker)), *extent_of_paths(paths), weight=3.0,
            facts={"alert": f"TLS alert {alert}" if alert else "an encrypted TLS alert", "names": names or "encrypted"},
            certainty="certain" if alert else "likely",
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


@rule(
    "connection-limit",
    Severity.ERROR,
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
    for (host, broker), paths in by_ends(path for path in book.paths.all() if turned_away(path)):
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

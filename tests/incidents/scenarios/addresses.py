"""Clients that reach a port, and yet not what they want: wrong protocol, wrong advertised address, wrong version."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ..clusters import ADVERTISED, BLACK_HOLE, FAR, LINE_PORT, NEAR
from ..foreign import franz_go, java_client, kafkajs, old_tool
from ..incident import Bytes, Incident, Packets, Shown
from ..line import DEVICE
from ..stage import Stage, apart, ended

ONE = "127.0.0.11"
PLAIN, TLS = f"{ONE}:9092", f"{ONE}:9093"
TOLD = {name: f"{ONE}:{port}" for name, (port, _) in ADVERTISED.items()}
SECONDS = 4.0


def librdkafka(stage: Stage, address: str = PLAIN, protocol: str = "plaintext", client: str = "label-printer") -> None:
    """A producer of three records, that gives up after some seconds."""
    stage.topic("labels")
    assert stage.cluster.security is not None
    authority = {"ssl_ca_location": str(stage.cluster.security.authority)}
    with (
        stage.recording(),
        stage.producer(client, bootstrap_servers=address, security_protocol=protocol, **authority) as writer,
    ):
        for number in range(3):
            writer.produce("labels", f"label {number}")
        writer.flush(SECONDS)


def from_afar(stage: Stage, port: int) -> None:
    """The same at the far end of a line: what the client tries at its own localhost is not in the capture."""
    stage.topic("labels")
    line = stage.line()

    def work() -> None:
        with stage.producer("label-truck", bootstrap_servers=f"{NEAR}:{port}") as writer:
            writer.produce("labels", "label 1")
            writer.flush(SECONDS)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def java(stage: Stage, address: str = PLAIN, protocol: str = "PLAINTEXT", client: str = "billing-batch") -> None:
    stage.topic("bills")
    assert stage.cluster.security is not None
    settings = {
        "bootstrap.servers": address, "client.id": client, "security.protocol": protocol, "max.block.ms": 4000,
        "ssl.truststore.type": "PEM", "ssl.truststore.location": stage.cluster.security.authority, "do.count": 1,
        "do.pause": 0,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("produce", "bills", settings))


def go(stage: Stage, address: str = PLAIN, tls: str = "") -> None:
    stage.topic("fares")
    with stage.recording():
        ended(franz_go("produce", "fares", brokers=address, id="fare-meter", tls=tls, count=1))


def javascript(stage: Stage, address: str = PLAIN) -> None:
    stage.topic("carts")
    with stage.recording():
        ended(kafkajs("produce", "carts", kafka={"brokers": [address], "clientId": "web-shop"}, count=2))


def web(stage: Stage, address: str = PLAIN, path: str = "/metrics") -> None:
    """A scraper of metrics that was given the brokers' port."""
    with stage.recording():
        for _ in range(3):
            host, _, port = address.rpartition(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=2)
            with suppress(OSError, http.client.HTTPException):
                connection.request("GET", path, headers={"User-Agent": "metrics-scraper/1.4"})
                connection.getresponse()
            connection.close()
            time.sleep(0.5)


def web_to_a_web_server(stage: Stage) -> None:
    """The scraper at a server that speaks HTTP."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"up 1\n")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((ONE, 9090), Metrics)
    Thread(target=server.serve_forever).start()
    stage.finally_do(server.server_close)
    stage.finally_do(server.shutdown)
    web(stage, f"{ONE}:9090")


def stranger(stage: Stage, trusted: bool = False) -> None:
    """A client of Python's own TLS, which trusts another authority than the broker's certificate has."""
    security = stage.cluster.security
    assert security is not None
    context = ssl.create_default_context(cafile=str(security.authority if trusted else security.stranger))
    with stage.recording():
        for _ in range(3):
            with suppress(OSError), socket.create_connection((ONE, 9093), 3) as plain:
                context.wrap_socket(plain, server_hostname=ONE).close()
            time.sleep(0.3)


def librdkafka_stranger(stage: Stage, trusted: bool = False) -> None:
    security = stage.cluster.security
    assert security is not None
    stage.topic("labels")
    authority = str(security.authority if trusted else security.stranger)
    options = {"security_protocol": "ssl", "ssl_ca_location": authority, "reconnect_backoff_ms": 500}
    with stage.recording(), stage.producer("label-safe", bootstrap_servers=TLS, **options) as writer:
        writer.produce("labels", "label 1")
        writer.flush(SECONDS)


def java_stranger(stage: Stage, trusted: bool = False) -> None:
    security = stage.cluster.security
    assert security is not None
    stage.topic("bills")
    settings = {
        "bootstrap.servers": TLS, "client.id": "tax-export", "security.protocol": "SSL", "max.block.ms": 3000,
        "ssl.truststore.type": "PEM", "do.count": 1, "do.pause": 0,
        "ssl.truststore.location": security.authority if trusted else security.stranger,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("produce", "bills", settings))


@contextmanager
def black_hole() -> Iterator[None]:
    """An address that answers no SYN: its listener's queue is full, and nobody accepts."""
    with socket.socket() as listener, socket.socket() as filler:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(BLACK_HOLE)
        listener.listen(0)
        filler.connect(BLACK_HOLE)
        yield


def into_black_hole(stage: Stage, address: str) -> None:
    with black_hole():
        librdkafka(stage, address, client="shop-web")


def java_into_black_hole(stage: Stage, address: str) -> None:
    with black_hole():
        java(stage, address, client="stock-sync")


def reader(stage: Stage, address: str, client: str = "map-tiles") -> None:
    """A consumer by kafka-python."""
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    stage.topic("tiles")
    stage.fill("tiles", "tile 1", "tile 2")

    def read() -> None:
        options = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 3000, "group_id": None}
        with suppress(KafkaError):
            consumer = KafkaConsumer("tiles", bootstrap_servers=address, client_id=client, **options)
            list(zip(range(2), consumer, strict=False))
            consumer.close()

    with stage.recording():
        apart(read)


def old_java(stage: Stage, address: str = PLAIN) -> None:
    """The console producer of 0.10.1, that takes every broker for one of its time."""
    stage.topic("parcels")
    options = ("--broker-list", address, "--topic", "parcels", "--producer-property", "max.block.ms=3000")  # fmt: skip
    with stage.recording():
        old_tool("0.10", "ConsoleProducer", *options, stdin="parcel 1\n")


def java_of(stage: Stage, release: str) -> None:
    stage.topic("parcels")
    settings = {"bootstrap.servers": stage.bootstrap, "client.id": "parcel-desk", "max.block.ms": 3000, "do.count": 2}
    with stage.recording():
        ended(java_client("produce", "parcels", settings, kafka=release))


def old_python(stage: Stage, api_version: tuple[int, ...] | None = (0, 9)) -> None:
    """kafka-python that is told by its settings to speak as to a broker of 0.9."""
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    stage.topic("readings")

    def send() -> None:
        told = {} if api_version is None else {"api_version": api_version}
        with suppress(KafkaError):
            writer = KafkaProducer(bootstrap_servers=PLAIN, client_id="meter-7", max_block_ms=3000, **told)
            writer.send("readings", b"21.5").get(3)

    with stage.recording():
        apart(send)


LOCALHOST = 'response.brokers.exists(b, b.host == "localhost")'
NO_NAME = 'response.brokers.exists(b, b.host.endsWith(".invalid"))'
INCIDENTS = (
    Incident(
        "plaintext-librdkafka-to-tls", "plaintext-client-to-tls-listener", "one", partial(librdkafka, address=TLS),
        {"client_id": "label-printer", "broker": TLS},
        (Packets("S", port=9093), Bytes(b"label-printer")),
        "security.protocol=ssl, or the port for plaintext",
        partial(librdkafka, address=TLS, protocol="ssl"),
    ),
    Incident(
        "plaintext-java-to-tls", "plaintext-client-to-tls-listener", "one", partial(java, address=TLS),
        {"client_id": "billing-batch", "broker": TLS}, (Bytes(b"billing-batch"), Bytes(b"\x15\x03")),
        "security.protocol=SSL, or the port for plaintext", partial(java, address=TLS, protocol="SSL"),
    ),
    Incident(
        "plaintext-kafkajs-to-tls", "plaintext-client-to-tls-listener", "one", partial(javascript, address=TLS),
        {"client_id": "web-shop", "broker": TLS}, (Bytes(b"web-shop"), Bytes(b"\x15\x03")),
        "ssl: true, or the port for plaintext", javascript,
    ),
    Incident(
        "tls-librdkafka-to-plaintext", "tls-client-to-plaintext-listener", "one", partial(librdkafka, protocol="ssl"),
        {"broker": PLAIN, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"), Packets("F", port=9092)),
        "security.protocol=plaintext, or the port for TLS", librdkafka,
    ),
    Incident(
        "tls-franz-go-to-plaintext", "tls-client-to-plaintext-listener", "one", partial(go, tls="yes"),
        {"broker": PLAIN, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"),),
        "no TLS, or the port for TLS", go,
    ),
    Incident(
        "tls-java-to-plaintext", "tls-client-to-plaintext-listener", "one", partial(java, protocol="SSL"),
        {"broker": PLAIN, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"),),
        "security.protocol=PLAINTEXT, or the port for TLS", java,
    ),
    Incident(
        "http-scraper-at-kafka", "http-to-kafka-port", "one", web, {"broker": PLAIN, "host": "127.0.0.1"},
        (Bytes(b"GET /metrics HTTP/1.1"), Packets("F", port=9092)),
        "scrape the port of the metrics", web_to_a_web_server,
    ),
    Incident(
        "untrusted-certificate-python", "tls-untrusted-certificate", "one", stranger,
        {"broker": TLS, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"),),
        "give the client the authority of the broker's certificate", partial(stranger, trusted=True),
    ),
    Incident(
        "untrusted-certificate-librdkafka", "tls-untrusted-certificate", "one", librdkafka_stranger,
        {"broker": TLS, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"),),
        "give the client the authority of the broker's certificate", partial(librdkafka_stranger, trusted=True),
    ),
    Incident(
        "untrusted-certificate-java", "tls-untrusted-certificate", "one", java_stranger,
        {"broker": TLS, "host": "127.0.0.1"}, (Bytes(b"\x16\x03"),),
        "give the client the authority of the broker's certificate", partial(java_stranger, trusted=True),
    ),
    Incident(
        "advertised-localhost-librdkafka", "advertised-listener-localhost", "one",
        partial(librdkafka, address=TOLD["TOLD_LOCALHOST"]),
        {"broker": TOLD["TOLD_LOCALHOST"], "client_id": "label-printer"},
        (Shown("Metadata", client_id="label-printer"), Packets("R", port=9092, address="127.0.0.1")),
        "advertised.listeners: an address that clients can reach", librdkafka,
    ),
    Incident(
        "advertised-localhost-kafka-python", "advertised-listener-localhost", "one",
        partial(reader, address=TOLD["TOLD_LOCALHOST"]),
        {"broker": TOLD["TOLD_LOCALHOST"], "client_id": "map-tiles"},
        (Shown("Metadata", client_id="map-tiles"), Packets("R", port=9092, address="127.0.0.1")),
        "advertised.listeners: an address that clients can reach", partial(reader, address=PLAIN),
    ),
    Incident(
        "advertised-localhost-from-afar", "advertised-listener-localhost", "one",
        partial(from_afar, port=ADVERTISED["TOLD_LOCALHOST_FROM_AFAR"][0]),
        {"broker": f"{NEAR}:{ADVERTISED['TOLD_LOCALHOST_FROM_AFAR'][0]}", "client_id": "label-truck"},
        (Shown("Metadata", client_id="label-truck", where=LOCALHOST, at_least=2), Packets("S", address=FAR)),
        "advertised.listeners: an address that clients can reach", partial(from_afar, port=LINE_PORT),
    ),
    Incident(
        "advertised-black-hole-librdkafka", "advertised-listener-unreachable", "one",
        partial(into_black_hole, address=TOLD["TOLD_BLACK_HOLE"]),
        {"broker": TOLD["TOLD_BLACK_HOLE"], "client_id": "shop-web"},
        (Shown("Metadata", client_id="shop-web"), Packets("S", address=BLACK_HOLE[0], at_least=2)),
        "advertised.listeners, or the firewall", partial(into_black_hole, address=PLAIN),
    ),
    Incident(
        "advertised-black-hole-java", "advertised-listener-unreachable", "one",
        partial(java_into_black_hole, address=TOLD["TOLD_BLACK_HOLE"]),
        {"broker": TOLD["TOLD_BLACK_HOLE"], "client_id": "stock-sync"},
        (Shown("Metadata", client_id="stock-sync"), Packets("S", address=BLACK_HOLE[0], at_least=2)),
        "advertised.listeners, or the firewall", partial(java_into_black_hole, address=PLAIN),
    ),
    Incident(
        "advertised-wrong-port-librdkafka", "advertised-listener-unreachable", "one",
        partial(librdkafka, address=TOLD["TOLD_WRONG_PORT"]),
        {"broker": TOLD["TOLD_WRONG_PORT"], "client_id": "label-printer"},
        (Shown("Metadata", client_id="label-printer"), Packets("R", port=9029)),
        "advertised.listeners: the port of the listener", librdkafka,
    ),
    Incident(
        "advertised-other-network-franz-go", "advertised-listener-unreachable", "one",
        partial(go, address=TOLD["TOLD_OTHER_NETWORK"]),
        {"broker": TOLD["TOLD_OTHER_NETWORK"], "client_id": "fare-meter"},
        (Shown("Metadata", client_id="fare-meter", at_least=2),),
        "advertised.listeners: an address of the clients' network", go,
    ),
    Incident(
        "advertised-unresolvable-librdkafka", "advertised-listener-unresolvable", "one",
        partial(librdkafka, address=TOLD["TOLD_NO_NAME"]),
        {"broker": TOLD["TOLD_NO_NAME"], "client_id": "label-printer"},
        (Shown("Metadata", client_id="label-printer", where=NO_NAME),),
        "advertised.listeners: a name that clients can resolve", librdkafka,
    ),
    Incident(
        "advertised-unresolvable-java", "advertised-listener-unresolvable", "one",
        partial(java, address=TOLD["TOLD_NO_NAME"]),
        {"broker": TOLD["TOLD_NO_NAME"], "client_id": "billing-batch"},
        (Shown("Metadata", client_id="billing-batch", where=NO_NAME),),
        "advertised.listeners: a name that clients can resolve", java,
    ),
    Incident(
        "old-java-producer-at-4", "api-version-unsupported", "one", old_java,
        {"broker": PLAIN, "client_id": "console-producer"},
        (Shown("Produce", client_id="console-producer", unanswered=True),),
        "a client of 2.1 or newer", partial(java_of, release="2.8"),
    ),
    Incident(
        "kafka-python-told-0.9", "api-version-unsupported", "one", old_python,
        {"broker": PLAIN, "client_id": "meter-7"}, (Shown("Produce", client_id="meter-7", unanswered=True),),
        "leave api_version away", partial(old_python, api_version=None),
    ),
)  # fmt: skip

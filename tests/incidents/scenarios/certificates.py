"""TLS handshakes that fail: for a certificate, for a name, for want of a common version or cipher."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from functools import partial

from ..certificates import AUTHORITY, CLIENT, CLIENT_EXPIRED, CLIENT_STRANGER, FOLDER, HOST, pem
from ..clusters import MIDDLE
from ..foreign import java_client
from ..incident import Bytes, Incident, Packets
from ..stage import Stage, ended

PORTS = {"SSL": 9093, "MUTUAL": 9101, "EXPIRED": 9102, "ELSEWHERE": 9103, "NEWEST": 9104, "CIPHER": 9105,
         "TOLD_PLAINTEXT": 9107}  # fmt: skip
AT = {name: f"{HOST}:{port}" for name, port in PORTS.items()}
PLAIN, BOX = f"{HOST}:9092", f"{MIDDLE[0]}:{MIDDLE[1]}"
SECONDS = 4.0


def librdkafka(stage: Stage, listener: str, client: str, certificate: str = "", **options: object) -> None:
    """A producer of librdkafka's, with the certificate of this name if there is one."""
    stage.topic("labels")
    settings = {
        "security_protocol": "ssl", "ssl_ca_location": str(FOLDER / f"{AUTHORITY}.crt"), "reconnect_backoff_ms": 700,
        "bootstrap_servers": AT[listener], **options,
    }  # fmt: skip
    if certificate:
        settings |= {"ssl_certificate_location": str(pem(certificate)), "ssl_key_location": str(pem(certificate))}
    with stage.recording(), stage.producer(client, **settings) as writer:
        writer.produce("labels", "label 1")
        writer.flush(SECONDS)


def java(stage: Stage, listener: str, client: str, certificate: str = "", **options: str) -> None:
    stage.topic("bills")
    settings: dict[str, object] = {
        "bootstrap.servers": AT[listener], "client.id": client, "security.protocol": "SSL", "do.count": 1,
        "ssl.truststore.type": "PEM", "ssl.truststore.location": FOLDER / f"{AUTHORITY}.crt", "do.pause": 0,
        "reconnect.backoff.ms": 700, **{key.replace("_", "."): value for key, value in options.items()},
    }  # fmt: skip
    if certificate:
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": pem(certificate)}
    with stage.recording():
        ended(java_client("produce", "bills", settings))


def python(stage: Stage, listener: str, **limits: object) -> None:
    """kafka-python, whose TLS is that of Python."""
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    from ..stage import apart

    stage.topic("tags")
    context = ssl.create_default_context(cafile=str(FOLDER / f"{AUTHORITY}.crt"))
    for name, value in limits.items():
        setattr(context, name, value)

    def send() -> None:
        with suppress(KafkaError):
            options = {"security_protocol": "SSL", "ssl_context": context, "max_block_ms": 3000}
            KafkaProducer(bootstrap_servers=AT[listener], client_id="tag-printer", **options).send("tags", b"t").get(3)

    with stage.recording():
        apart(send)


def refused_name(stage: Stage, known: bool = False) -> None:
    """A proxy that ends TLS, and knows no host of the name that the client wants."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem("broker"))
    if not known:
        context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    listener = socket.create_server(MIDDLE)
    stage.finally_do(listener.close)
    stage.finally_do(lambda: listener.shutdown(socket.SHUT_RDWR))  # else the thread below keeps the port

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with suppress(OSError), context.wrap_socket(client, server_side=True) as session:
                    session.recv(100)

    threading.Thread(target=serve, daemon=True).start()
    trust = ssl.create_default_context(cafile=str(FOLDER / f"{AUTHORITY}.crt"))
    trust.check_hostname = False
    with stage.recording():
        for _ in range(4):
            with suppress(OSError), socket.create_connection(MIDDLE, 3) as plain:
                trust.wrap_socket(plain, server_hostname="kafka-9.shop.example").close()


WHO = {"host": "127.0.0.1"}
ALERT = b"\x15\x03\x03\x00\x02\x02"
"""The beginning of a fatal alert of TLS 1.2; the last byte is its description."""
INCIDENTS = (
    Incident(
        "client-certificate-missing-librdkafka", "tls-client-certificate-rejected", "guarded",
        partial(librdkafka, listener="MUTUAL", client="label-safe"), WHO | {"broker": AT["MUTUAL"]},
        (Packets("P", port=9101, at_least=3),), "ssl.keystore.location: the client's certificate",
        partial(librdkafka, listener="MUTUAL", client="label-safe", certificate=CLIENT),
    ),
    Incident(
        "client-certificate-missing-java", "tls-client-certificate-rejected", "guarded",
        partial(java, listener="MUTUAL", client="tax-export"), WHO | {"broker": AT["MUTUAL"]},
        (Packets("P", port=9101, at_least=3),), "ssl.keystore.location: the client's certificate",
        partial(java, listener="MUTUAL", client="tax-export", certificate=CLIENT),
    ),
    Incident(
        "client-certificate-expired-librdkafka", "tls-client-certificate-rejected", "guarded",
        partial(librdkafka, listener="MUTUAL", client="label-safe", certificate=CLIENT_EXPIRED),
        WHO | {"broker": AT["MUTUAL"]}, (Packets("P", port=9101, at_least=3),), "a new certificate for the client",
        partial(librdkafka, listener="MUTUAL", client="label-safe", certificate=CLIENT),
    ),
    Incident(
        "client-certificate-expired-java", "tls-client-certificate-rejected", "guarded",
        partial(java, listener="MUTUAL", client="tax-export", certificate=CLIENT_EXPIRED,
                ssl_protocol="TLSv1.2", ssl_enabled_protocols="TLSv1.2"),
        WHO | {"broker": AT["MUTUAL"]}, (Packets("P", port=9101, at_least=3),), "a new certificate for the client",
        partial(java, listener="MUTUAL", client="tax-export", certificate=CLIENT,
                ssl_protocol="TLSv1.2", ssl_enabled_protocols="TLSv1.2"),
    ),
    Incident(
        "client-certificate-of-stranger-librdkafka", "tls-client-certificate-rejected", "guarded",
        partial(librdkafka, listener="MUTUAL", client="label-safe", certificate=CLIENT_STRANGER),
        WHO | {"broker": AT["MUTUAL"]}, (Packets("P", port=9101, at_least=3),),
        "give the broker the authority of the client's certificate",
        partial(librdkafka, listener="MUTUAL", client="label-safe", certificate=CLIENT),
    ),
    Incident(
        "broker-certificate-expired-librdkafka", "tls-untrusted-certificate", "guarded",
        partial(librdkafka, listener="EXPIRED", client="label-safe"), WHO | {"broker": AT["EXPIRED"]},
        (Packets("P", port=9102, at_least=3),), "a new certificate for the broker",
        partial(librdkafka, listener="SSL", client="label-safe"),
    ),
    Incident(
        "broker-certificate-expired-java", "tls-untrusted-certificate", "guarded",
        partial(java, listener="EXPIRED", client="tax-export"), WHO | {"broker": AT["EXPIRED"]},
        (Packets("P", port=9102, at_least=2),), "a new certificate for the broker",
        partial(java, listener="SSL", client="tax-export"),
    ),
    Incident(
        "broker-certificate-for-another-host-librdkafka", "tls-untrusted-certificate", "guarded",
        partial(librdkafka, listener="ELSEWHERE", client="label-safe"), WHO | {"broker": AT["ELSEWHERE"]},
        (Packets("P", port=9103, at_least=3),), "a certificate with the name that clients use",
        partial(librdkafka, listener="SSL", client="label-safe"),
    ),
    Incident(
        "broker-certificate-for-another-host-java", "tls-untrusted-certificate", "guarded",
        partial(java, listener="ELSEWHERE", client="tax-export"), WHO | {"broker": AT["ELSEWHERE"]},
        (Packets("P", port=9103, at_least=2),), "a certificate with the name that clients use",
        partial(java, listener="SSL", client="tax-export"),
    ),
    Incident(
        "tls-1.2-client-at-tls-1.3-listener", "tls-handshake-failing", "guarded",
        partial(python, listener="NEWEST", maximum_version=ssl.TLSVersion.TLSv1_2), WHO | {"broker": AT["NEWEST"]},
        (Packets("P", port=9104, at_least=2), Bytes(b"\x02\x46")), "ssl.enabled.protocols on one of the sides",
        partial(python, listener="NEWEST"),
    ),
    Incident(
        "tls-1.2-client-at-tls-1.3-listener-java", "tls-handshake-failing", "guarded",
        partial(java, listener="NEWEST", client="tax-export", ssl_protocol="TLSv1.2", ssl_enabled_protocols="TLSv1.2"),
        WHO | {"broker": AT["NEWEST"]}, (Packets("P", port=9104, at_least=2), Bytes(b"\x02\x46")),
        "ssl.enabled.protocols on one of the sides", partial(java, listener="NEWEST", client="tax-export"),
    ),
    Incident(
        "no-cipher-in-common-librdkafka", "tls-handshake-failing", "guarded",
        partial(librdkafka, listener="CIPHER", client="label-safe", ssl_cipher_suites="ECDHE-ECDSA-AES128-GCM-SHA256"),
        WHO | {"broker": AT["CIPHER"]}, (Bytes(ALERT + b"\x28"),), "ssl.cipher.suites on one of the sides",
        partial(librdkafka, listener="CIPHER", client="label-safe"),
    ),
    Incident(
        "no-cipher-in-common-java", "tls-handshake-failing", "guarded",
        partial(java, listener="CIPHER", client="tax-export",
                ssl_cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        WHO | {"broker": AT["CIPHER"]}, (Bytes(ALERT + b"\x28"),), "ssl.cipher.suites on one of the sides",
        partial(java, listener="CIPHER", client="tax-export"),
    ),
    Incident(
        "advertised-plaintext-port-librdkafka", "advertised-listener-wrong-protocol", "guarded",
        partial(librdkafka, listener="TOLD_PLAINTEXT", client="label-safe"),
        WHO | {"broker": [AT["TOLD_PLAINTEXT"], PLAIN]},
        (Packets("P", port=9107, at_least=4), Packets("F", port=9092, at_least=2)),
        "advertised.listeners: the port of the listener", partial(librdkafka, listener="SSL", client="label-safe"),
    ),
    Incident(
        "advertised-plaintext-port-java", "advertised-listener-wrong-protocol", "guarded",
        partial(java, listener="TOLD_PLAINTEXT", client="tax-export"), WHO | {"broker": [AT["TOLD_PLAINTEXT"], PLAIN]},
        (Packets("P", port=9107, at_least=4), Packets("F", port=9092)),
        "advertised.listeners: the port of the listener", partial(java, listener="SSL", client="tax-export"),
    ),
    Incident(
        "server-name-unknown-to-proxy", "tls-handshake-failing", "guarded", refused_name, WHO | {"broker": BOX},
        (Bytes(b"\x02\x70"),), "a host name that the proxy routes", partial(refused_name, known=True),
    ),
)  # fmt: skip

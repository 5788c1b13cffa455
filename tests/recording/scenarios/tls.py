"""TLS: the same few records by Java, librdkafka, Python and Go; the keys of all of them are logged by the broker.

The agent extract-tls-secrets runs in the broker. Beside the capture stand NAME.keys, and NAME.requests.jsonl.gz: what
the broker logged of the requests that it answered.
"""

from __future__ import annotations

import gzip
import os
import re
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from brokers import settings
from brokers.classpath import classpath
from brokers.cluster import Cluster
from brokers.security import Security
from kafka import KafkaConsumer, KafkaProducer

from recording import real
from recording.librdkafka import Cluster as Address
from recording.librdkafka import consumer, create_topics, producer, read, send
from recording.tcpdump import recording

REQUEST_LOG = """\
logger.request.name = kafka.request.logger
logger.request.level = debug
"""
TOPIC = "letters"


def tls_1_3(out: Path) -> None:
    """TLS 1.3, with the cipher suites that clients choose by themselves."""
    _record(out, "TLSv1.3", {}, {}, None)


def tls_1_2(out: Path) -> None:
    """TLS 1.2: AES-CBC by Java, ChaCha20 by librdkafka, AES-CBC without encrypt-then-mac by Python, AES-GCM by Go."""
    java = {"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"}
    rdkafka = {"ssl_cipher_suites": "ECDHE-ECDSA-CHACHA20-POLY1305"}
    _record(out, "TLSv1.2", java, rdkafka, "ECDHE-ECDSA-AES128-SHA256")


def _record(out: Path, version: str, java: Mapping[str, str], rdkafka: Mapping[str, Any], ciphers: str | None) -> None:
    out.parent.mkdir(exist_ok=True)
    keys = _beside(out, "keys")
    keys.unlink(missing_ok=True)
    with _logging(keys), patch("brokers.cluster.server_properties", _speaking(version)):
        opened = real.kafka("4", secure=True)
        cluster = opened.__enter__()
    try:
        security, broker = cluster.security, cluster.brokers[0]
        assert security is not None
        address = broker.listener("SSL")
        create_topics(cluster, TOPIC)
        before = len(cluster.log_text())
        with recording(out, [int(address.rpartition(":")[2])]):
            _java(cluster, security, address, java)
            _librdkafka(security, address, rdkafka)
            _python(security, address, version, ciphers)
            subprocess.run([str(real.GO_CLIENT), address, str(security.authority)], check=True, timeout=60)
        requests = re.findall(r"Completed request:(\{.*\})", cluster.log_text()[before:])
        wanted = [line for line in requests if '"listener":"SSL"' in line]
    finally:
        opened.__exit__(None, None, None)
    keys.write_text("".join(sorted(set(keys.read_text().splitlines(keepends=True)))))
    with gzip.open(_beside(out, "requests.jsonl.gz"), "wt") as file:
        file.write("".join(f"{line}\n" for line in wanted))


def _beside(out: Path, ending: str) -> Path:
    return out.with_name(f"{out.name.removesuffix('.pcap')}.{ending}")


@contextmanager
def _logging(keys: Path) -> Iterator[None]:
    """Have brokers that start meanwhile log the keys of their sessions, and the requests that they answer."""
    agent = f"-javaagent:{classpath(real.TLS_AGENT)}={keys.resolve()}"
    with (
        patch.dict(os.environ, {"JAVA_TOOL_OPTIONS": agent}),
        patch.object(settings, "LOG4J2", settings.LOG4J2 + REQUEST_LOG),
    ):
        yield


def _speaking(version: str) -> Any:
    def properties(plan: settings.Plan, node: int) -> dict[str, str]:
        return {**settings.server_properties(plan, node), "ssl.enabled.protocols": version}

    return properties


def _java(cluster: Cluster, security: Security, address: str, more: Mapping[str, str]) -> None:
    path = security.client_properties("SSL")
    path.write_text(path.read_text() + "".join(f"{name}={value}\n" for name, value in more.items()))
    where = ["--bootstrap-server", address, "--topic", TOPIC]
    broker = cluster.brokers[0]
    broker.run("ConsoleProducer", *where, "--producer.config", str(path), stdin="java\n")
    broker.run("ConsoleConsumer", *where, "--from-beginning", "--max-messages", "1", "--consumer.config", str(path))


def _librdkafka(security: Security, address: str, more: Mapping[str, Any]) -> None:
    tls = {"security_protocol": "SSL", "ssl_ca_location": str(security.authority), **more}
    send(producer(Address(address), "rdkafka-letters", **tls), TOPIC, "rdkafka 1", "rdkafka 2", key="k")
    with consumer(Address(address), "rdkafka-reader", "readers", **tls) as reader:
        reader.subscribe([TOPIC])
        read(reader, 3)
        reader.commit(asynchronous=False)


def _python(security: Security, address: str, version: str, ciphers: str | None) -> None:
    context = ssl.create_default_context(cafile=str(security.authority))
    if ciphers is not None:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.Options(0x00080000)  # SSL_OP_NO_ENCRYPT_THEN_MAC
        context.set_ciphers(ciphers)
    options = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_context": context}
    sender = KafkaProducer(client_id="python-letters", **options)
    sender.send(TOPIC, b"python 1 " + b"of many records " * 1100).get(10)
    sender.close()
    reader = KafkaConsumer(TOPIC, client_id="python-reader", auto_offset_reset="earliest", **options)
    seen = 0
    while seen < 4:
        seen += sum(map(len, reader.poll(500).values()))
    reader.close()

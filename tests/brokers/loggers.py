"""Clients that log their protocol lines, each started on a broker, with the text that it logs.

Each produces some records and reads them as a group, which takes some ten APIs. See `CLIENTS`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from .broker import Broker
from .classpath import classpath
from .java import QUICK, java
from .settings import logging_options

TIMEOUT = 120
KAFKAJS = "kafkajs@2.2.4"
LIBRDKAFKA = """if True:
    import sys
    from confluent_kafka import Consumer, Producer
    shared = {"bootstrap.servers": sys.argv[1], "debug": "protocol"}
    producer = Producer(shared | {"client.id": "shop"})
    for number in range(20):
        producer.produce("orders", b"%d" % number)
        producer.flush(30)
    consumer = Consumer(shared | {"client.id": "till", "group.id": "librdkafka", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    for _ in range(20):
        assert consumer.poll(30) is not None
    consumer.close()
"""
KAFKA_PYTHON = """if True:
    import itertools, logging, sys
    logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    from kafka import KafkaConsumer, KafkaProducer
    producer = KafkaProducer(bootstrap_servers=sys.argv[1], client_id="py")
    for number in range(5):
        producer.send("orders", b"x").get(30)
    consumer = KafkaConsumer("orders", bootstrap_servers=sys.argv[1], client_id="reader", group_id="kafka-python",
                             auto_offset_reset="earliest")
    assert len(list(itertools.islice(consumer, 20))) == 20
    consumer.close()
    producer.close()
"""
JAVASCRIPT = """
const {Kafka, logLevel} = require('kafkajs');
(async () => {
  const kafka = new Kafka({clientId: 'js', brokers: [process.argv[1]], logLevel: logLevel.DEBUG});
  const producer = kafka.producer(), consumer = kafka.consumer({groupId: 'kafkajs'});
  await producer.connect();
  for (let number = 0; number < 5; number++) await producer.send({topic: 'orders', messages: [{value: 'a'}]});
  await consumer.connect();
  await consumer.subscribe({topic: 'orders', fromBeginning: true});
  let seen = 0;
  await new Promise(done => consumer.run({eachMessage: async () => { if (++seen == 10) done(); }}));
  await consumer.disconnect();
  await producer.disconnect();
})();
"""


def _run(*command: str, stdin: str = "", **environment: str) -> str:
    """Return all that a program prints; raise where it ends with another status than 0."""
    done = subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
        env=os.environ | environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def librdkafka(broker: Broker, folder: Path) -> str:
    pytest.importorskip("confluent_kafka")
    return _run(sys.executable, "-c", LIBRDKAFKA, broker.bootstrap)


def kafka_python(broker: Broker, folder: Path) -> str:
    pytest.importorskip("kafka")
    return _run(sys.executable, "-c", KAFKA_PYTHON, broker.bootstrap)


def kafkajs(broker: Broker, folder: Path) -> str:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js is not installed")
    installed = subprocess.run([npm, "install", "--silent", "--prefix", str(folder), KAFKAJS], check=False)
    if installed.returncode:
        pytest.skip("KafkaJS cannot be installed")
    return _run(node, "-e", JAVASCRIPT, broker.bootstrap, NODE_PATH=str(folder / "node_modules"))


def java_client(broker: Broker, folder: Path) -> str:
    """Return the log of Kafka's console producer and consumer."""
    options = [*QUICK, "-Xmx128m", *logging_options(folder, broker.release, "DEBUG")]
    options.append("-Dlog4j.shutdownHookEnabled=false")  # the producer sends while the process ends: it shall be logged
    command = [java(), *options, "-cp", classpath(broker.release.tool_artifacts)]
    where = "--bootstrap-server", broker.bootstrap, "--topic", "orders"
    reading = "--from-beginning", "--max-messages", "10", "--group", "java"
    return _run(*command, "org.apache.kafka.tools.ConsoleProducer", *where, stdin="a\nb\nc\n") + _run(
        *command, "org.apache.kafka.tools.consumer.ConsoleConsumer", *where, *reading
    )


CLIENTS: Mapping[str, Callable[[Broker, Path], str]] = {
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "kafkajs": kafkajs,
    "java": java_client,
}
"""Dialects, and what runs a client that writes them: given the broker and a folder, it returns the log."""


@contextmanager
def request_log(broker: Broker):  # type: ignore[no-untyped-def]
    """Make a context in which the broker logs its requests."""
    where = "--bootstrap-server", broker.bootstrap, "--entity-type", "broker-loggers", "--entity-name", str(broker.node)
    broker.run("ConfigCommand", *where, "--alter", "--add-config", "kafka.request.logger=DEBUG")
    try:
        yield
    finally:
        broker.run("ConfigCommand", *where, "--alter", "--add-config", "kafka.request.logger=WARN")

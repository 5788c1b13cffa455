"""`kdbg tls-keys`: how clients are made to log the secrets of their TLS sessions."""

from __future__ import annotations

import click

INTRODUCTION = """\
TLS is decrypted by secrets that one end of each connection writes into a file while it speaks; keys and certificates of
the broker do not help. Have them logged, record the traffic, and give both to kdbg:

  kdbg decode capture.pcap --tls-keys keys.log

Whoever has the file can read the traffic: treat it like a password, and stop the logging afterwards.
"""
CLIENTS = {
    "broker": """\
All clients at once, whatever they are written in: let the broker log. It is a Java program, and takes the agent
extract-tls-secrets (Maven: name.neykov:extract-tls-secrets:4.0.0) as any does.
In the environment of the broker, before it starts:

  export KAFKA_OPTS="-javaagent:/opt/extract-tls-secrets-4.0.0.jar=/tmp/keys.log"
""",
    "java": """\
Java has no option of its own. The agent extract-tls-secrets writes the file, from Java 8 on:

  java -javaagent:/opt/extract-tls-secrets-4.0.0.jar=/tmp/keys.log -jar app.jar

Kafka's own tools take it from the environment:

  export KAFKA_OPTS="-javaagent:/opt/extract-tls-secrets-4.0.0.jar=/tmp/keys.log"
  kafka-console-consumer.sh --bootstrap-server broker:9093 --consumer.config client.properties --topic orders
""",
    "librdkafka": """\
librdkafka, and with it confluent-kafka, kcat, .NET, PHP, Rust and C++, has no setting for it. What it can do is up to
its OpenSSL: from 3.5 on, if that was built with enable-sslkeylog, this is enough:

  export SSLKEYLOGFILE=/tmp/keys.log

Packages such as confluent-kafka's wheels bring an OpenSSL without it: let the broker log (kdbg tls-keys broker).
""",
    "go": """\
crypto/tls writes them to any io.Writer. Where the client's tls.Config is made:

  keys, err := os.OpenFile("/tmp/keys.log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
  config := &tls.Config{KeyLogWriter: keys}

franz-go takes it by kgo.DialTLSConfig(config), sarama as Net.TLS.Config, segmentio/kafka-go as the dialer's or the
transport's TLS, confluent-kafka-go not at all: it is librdkafka.
""",
    "python": """\
kafka-python and aiokafka speak through Python's ssl, whose contexts write them:

  context = ssl.create_default_context(cafile="ca.pem")
  context.keylog_filename = "/tmp/keys.log"
  consumer = KafkaConsumer(security_protocol="SSL", ssl_context=context, bootstrap_servers="broker:9093")

Contexts of ssl.create_default_context do so by themselves where SSLKEYLOGFILE names a file. confluent-kafka is
librdkafka.
""",
    "node": """\
KafkaJS speaks through Node's TLS, which has an option:

  node --tls-keylog=/tmp/keys.log app.js
""",
    "kdbg": """\
kdbg's own sessions:

  kdbg send metadata --broker broker:9093 --tls --tls-keys-out /tmp/keys.log
""",
}
"""What to do, by whose keys are wanted."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("client", type=click.Choice(list(CLIENTS)), required=False)
def command(client: str | None) -> None:
    """Say how to log the keys that decrypt TLS: of Java, librdkafka, Go, Python, Node, or of all on the broker.

    \b
    kdbg tls-keys
    kdbg tls-keys java
    """
    click.echo(INTRODUCTION)
    for name, text in CLIENTS.items():
        if client in (None, name):
            click.echo(f"{name}\n")
            click.echo("".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True)))

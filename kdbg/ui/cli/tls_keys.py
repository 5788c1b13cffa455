"""`kdbg tls-keys`: how clients are made to log the secrets of their TLS sessions."""

from __future__ import annotations

import click

INTRODUCTION = """\
kdbg decrypts TLS with the session secrets that a client or broker logs to a
file. Keys and certificates of the broker are of no use for this. Enable the
log, capture the traffic, and give both to kdbg:

  kdbg decode capture.pcap --tls-keys keys.log

The file decrypts the traffic: protect it like a password, and disable the log
afterwards.
"""
CLIENTS = {
    "broker": """\
Log the keys of all clients on the broker, whatever language the clients use.
The broker is a Java program: download the agent extract-tls-secrets (Maven:
name.neykov:extract-tls-secrets:4.0.0). Set this in the environment of the
broker before it starts:

  export KAFKA_OPTS="-javaagent:/opt/extract-tls-secrets.jar=/tmp/keys.log"
""",
    "java": """\
Java has no option for this. The agent extract-tls-secrets (Maven:
name.neykov:extract-tls-secrets:4.0.0) logs the keys, with Java 8 and later:

  java -javaagent:/opt/extract-tls-secrets.jar=/tmp/keys.log -jar app.jar

Kafka's own tools read the option from the environment:

  export KAFKA_OPTS="-javaagent:/opt/extract-tls-secrets.jar=/tmp/keys.log"
  kafka-console-consumer.sh --bootstrap-server broker:9093 \\
    --consumer.config client.properties --topic orders
""",
    "librdkafka": """\
librdkafka has no setting for this; nor have confluent-kafka, kcat, .NET, PHP,
Rust and C++ clients, which use librdkafka. OpenSSL 3.5 and later can log the
keys if it was built with enable-sslkeylog:

  export SSLKEYLOGFILE=/tmp/keys.log

Packages such as confluent-kafka's wheels contain an OpenSSL without it: log
the keys on the broker instead (kdbg tls-keys broker).
""",
    "go": """\
crypto/tls writes the keys to any io.Writer. Add this where the client creates
its tls.Config:

  flags := os.O_APPEND|os.O_CREATE|os.O_WRONLY
  keys, err := os.OpenFile("/tmp/keys.log", flags, 0o600)
  config := &tls.Config{KeyLogWriter: keys}

Pass the tls.Config to franz-go with kgo.DialTLSConfig(config), to sarama as
Net.TLS.Config, to segmentio/kafka-go in the dialer or transport as TLS.
confluent-kafka-go has no such option: see librdkafka.
""",
    "python": """\
kafka-python and aiokafka use Python's ssl module, whose contexts can log the
keys:

  context = ssl.create_default_context(cafile="ca.pem")
  context.keylog_filename = "/tmp/keys.log"
  consumer = KafkaConsumer(bootstrap_servers="broker:9093",
                           security_protocol="SSL", ssl_context=context)

ssl.create_default_context sets this itself if SSLKEYLOGFILE names a file.
For confluent-kafka see librdkafka.
""",
    "node": """\
KafkaJS uses Node's TLS, which has an option:

  node --tls-keylog=/tmp/keys.log app.js
""",
    "kdbg": """\
kdbg logs the keys of its own sessions:

  kdbg send metadata --broker broker:9093 --tls --tls-keys-out /tmp/keys.log
""",
}
"""The instructions, by client."""


@click.command(context_settings={"max_content_width": 100})
@click.argument("client", type=click.Choice(list(CLIENTS)), required=False)
def command(client: str | None) -> None:
    """Show how each client logs its TLS keys.

    CLIENT is java, librdkafka, go, python, node or kdbg; broker logs the keys of all clients.

    \b
    kdbg tls-keys
    kdbg tls-keys java
    """
    click.echo(INTRODUCTION)
    for name, text in CLIENTS.items():
        if client in (None, name):
            click.echo(f"{name}\n")
            click.echo("".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True)))

"""`kdbg tls-keys`: how clients are made to log the secrets of their TLS sessions, and those of running processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from . import UNDECODED
from .output import say

if TYPE_CHECKING:
    from ...live.key_sources import KeySource

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


def key_source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for TLS keys of processes that are not looked for in their memory."""
    attach = click.option(
        "--attach", type=click.Path(), metavar="AGENT.jar",
        help="Load this agent into the JVM of --pid to log its TLS keys. See kdbg guide tls.",
    )  # fmt: skip
    uprobes = click.option(
        "--uprobes", is_flag=True, help="Have the kernel report the TLS keys of OpenSSL in --pid. See kdbg guide tls."
    )
    return attach(uprobes(command))


@contextmanager
def take_key_sources(pids: Collection[int], attach: str | None, *, uprobes: bool) -> Iterator[list[KeySource]]:
    """Make a context with what logs the keys of processes' new connections; refuse it without a process.

    What it needs elsewhere is removed at its end, also by SIGTERM. Raise `InputError` where it is not possible.
    """
    with ExitStack() as undo:
        sources: list[KeySource] = []
        if attach is not None or uprobes:
            from ...atomic import terminated

            if not pids:
                raise click.UsageError("--attach and --uprobes need --pid")
            undo.enter_context(terminated())
        for pid in sorted(set(pids)):
            if attach is not None:
                from ...live.java_agent import loaded_agent

                sources.append(undo.enter_context(loaded_agent(pid, attach, say)))
            if uprobes:
                from ...live.uprobes import probed

                sources.append(undo.enter_context(probed(pid, say)))
        yield sources


@click.command(context_settings={"max_content_width": 100})
@click.argument("source", required=False, metavar="[CLIENT|CAPTURE|-]")
@click.option("--pid", type=click.IntRange(1), multiple=True, metavar="PID",
              help="Search the memory of this process for the keys of its connections. Repeatable.")  # fmt: skip
@click.option("--interface", "-i", metavar="NAME", help="Capture on this interface instead of reading CAPTURE.")
@click.option("--out", "-o", type=click.Path(), metavar="FILE", help="Append the keys that are found to this file.")
@key_source_options
def command(
    source: str | None, pid: tuple[int, ...], interface: str | None, out: str | None, attach: str | None, uprobes: bool
) -> int:
    """Show how clients log TLS keys, or find those of a process.

    CLIENT is java, librdkafka, go, python, node or kdbg; broker logs the keys of all clients.

    With --pid, kdbg reads the memory of processes of this machine, as a debugger does, and writes the keys of those
    connections that are open and in CAPTURE, on the interface (until Ctrl-C), or in the capture on standard input (-).
    kdbg and Wireshark read the file, which only its owner may read.

    \b
    kdbg tls-keys java
    sudo kdbg tls-keys --pid 4711 capture.pcap -o keys.log
    sudo kdbg tls-keys --pid 4711 -i eth0 -o keys.log
    """
    if pid:
        if out is None or (source is None) == (interface is None):
            raise click.UsageError("--pid needs -o FILE, and either a CAPTURE or -i NAME")
        if (attach is not None or uprobes) and source not in (None, "-"):
            raise click.UsageError(
                "--attach and --uprobes log the keys of new connections: use -i NAME or - instead of CAPTURE"
            )
        with take_key_sources(pid, attach, uprobes=uprobes) as sources:
            return find(sorted(set(pid)), source, interface, out, sources)
    if attach is not None or uprobes:
        raise click.UsageError("--attach and --uprobes need --pid")
    if source not in (None, *CLIENTS):
        raise click.UsageError(f"unknown client {source!r}: use {', '.join(CLIENTS)}; for a capture add --pid")
    click.echo(INTRODUCTION)
    for name, text in CLIENTS.items():
        if source in (None, name):
            click.echo(f"{name}\n")
            click.echo("".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True)))
    return 0


def find(pids: Sequence[int], source: str | None, interface: str | None, out: str, sources: Sequence[KeySource]) -> int:
    """Write the keys of processes' connections to a key log; return the exit status."""
    from ...views.reading.process_keys import check
    from ...views.render.values import escape

    which = ", ".join(f"{name} {pid}" for name, pid in zip(check(pids), pids, strict=True))
    with key_log(out) as write:
        write(f"# TLS keys out of the memory of {escape(which)}: they decrypt the traffic of its connections")
        if interface is None and source != "-":
            say(f"searching the memory of {escape(which)} for TLS keys")
            return find_in_capture(pids, str(source), out, write)
        return find_live(pids, interface, write, sources)


@contextmanager
def key_log(path: str) -> Iterator[Callable[[str], object]]:
    """Make a context with what appends lines to a key log, each at once, which only its owner may read."""
    from ...atomic import private

    try:
        descriptor = private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise InputError(f"{path}: cannot write the keys: {error.strerror}") from None
    try:
        yield lambda line: os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def find_in_capture(pids: Sequence[int], source: str, out: str, write: Callable[[str], object]) -> int:
    """Write the keys of the connections that a capture shows; return the exit status."""
    from ...protocol.findings.amounts import count
    from ...views.reading.process_keys import lines_of
    from ...views.render.values import escape

    found = lines_of(source, pids, say)
    for line in found.lines:
        write(line)
    if found.opened:
        say(f"{escape(out)}: keys of {found.opened} of {count(found.open, 'open TLS connection')}")
    else:
        say(f"{escape(source)}: {found.problem or 'no TLS connection whose keys are not known'}")
    return 0 if found.opened else UNDECODED


def find_live(
    pids: Sequence[int], interface: str | None, write: Callable[[str], object], sources: Sequence[KeySource]
) -> int:
    """Write the keys of connections as packets show them, until Ctrl-C or the end of the input."""
    from ...exchanges.filters.filter_set import Filters
    from ...live.capture_process import CaptureOptions, CaptureProcess, capture
    from ...live.socket_processes import Owners
    from ...views.render.values import escape
    from .live_stream import LiveStream, ProcessFilter
    from .output import Writer
    from .runner import OpenFile, Runner

    runner = Runner(Filters(), Writer(live=True), fails=False)
    processes = ProcessFilter(Owners(pids), runner.say, write, sources)

    def read(file: OpenFile) -> None:
        with stream.drive(file) as drive:
            for _ in drive.chunks():
                pass

    if interface is None:
        stream = LiveStream(runner, "standard input", processes=processes)
        return stream.watch(os.fdopen(os.dup(0), "rb", buffering=0), read)
    options = CaptureOptions(interface, "tcp", 1 << 18, 128 << 20)
    with CaptureProcess(interface, partial(capture, options)) as captured:
        stream = LiveStream(runner, interface, captured.stop, processes)
        runner.say(f"capturing on {escape(interface)}; press Ctrl-C to stop")
        return stream.watch(captured.stream, read, captured.finish)

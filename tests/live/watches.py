"""A `kdbg watch` that tests begin and end, and the traffic that it sees."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from typing import Any

from confluent_kafka import Producer

from ..cli.calls import COMMAND, ENVIRONMENT


class Watch:
    """A `kdbg watch` that captures by now."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=ENVIRONMENT | environment, bufsize=0,
        )  # fmt: skip
        assert self.process.stderr is not None
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self.first = self.process.stderr.readline().decode()

    def line(self) -> Any:
        """The next line, of JSON."""
        return json.loads(self.stdout.readline())

    def end(self) -> tuple[int, list[Any], str]:
        """Ctrl-C: the status, the exchanges that are left, what was said."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def port(broker: str) -> str:
    return broker.rpartition(":")[2]


def produce(broker: str, count: int) -> None:
    """Have librdkafka send a request for each record, as fast as it can."""
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 0, "batch.num.messages": 1, "client.id": "fast"})
    for number in range(count):
        producer.produce("orders", str(number).encode())
        if not number % 100:
            producer.poll(0)
    assert producer.flush(60) == 0


def names(exchanges: list[Any]) -> Counter[str]:
    return Counter(exchange["api"] for exchange in exchanges)

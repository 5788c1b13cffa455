"""Brokers that are not Apache's: kfake, in Go, as a process, and the mock cluster in librdkafka, in this one."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .foreign import CLIENTS, FRANZ_GO, GUARD, HOME, go_program
from .stage import ended, until

KFAKE = "github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c"
PROGRAM = HOME / "go-broker" / "broker"


def install() -> None:
    """Build kfake, unless it is there."""
    go_program(CLIENTS / "broker.go", PROGRAM, KFAKE, FRANZ_GO)


@contextmanager
def kfake(*addresses: str, topics: str, **told: object) -> Iterator[subprocess.Popen[bytes]]:
    """A cluster with a broker at each address and these topics (NAME:PARTITIONS,…); clients/broker.go has the rest."""
    words = [f"{name}={value}" for name, value in told.items()]
    process = subprocess.Popen([*GUARD, str(PROGRAM), ",".join(addresses), topics, *words])
    try:
        until(lambda: all(map(_listens, addresses)))
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        ended(process)


def _listens(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


def is_free(port: int) -> bool:
    """Whether a mock cluster may have this port: for a minute after a broker of its closed connections it may not."""
    with socket.socket() as one, suppress(OSError):
        one.bind(("127.0.0.1", port))
        return True
    return False

"""Brokers that are not Apache's: kfake (Go) and Tansu (Rust) as processes, librdkafka's mock cluster in this one."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from .foreign import CLIENTS, FRANZ_GO, GUARD, HOME, go_program
from .stage import ended, until

KFAKE = "github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c"
PROGRAM = HOME / "go-broker" / "broker"
TANSU, TANSU_VERSION = HOME / "tansu" / "bin" / "tansu", "0.6.0"


def install() -> None:
    """Build kfake and Tansu, unless they are there: Tansu takes half an hour."""
    go_program(CLIENTS / "broker.go", PROGRAM, KFAKE, FRANZ_GO)
    if not TANSU.exists():
        options = ("--version", TANSU_VERSION, "--debug", "--no-default-features", "--features", "dynostore")
        subprocess.run(["cargo", "install", "tansu", *options, "--root", str(TANSU.parents[1])], check=True)


@contextmanager
def kfake(*addresses: str, topics: str, **told: object) -> Iterator[subprocess.Popen[bytes]]:
    """A cluster with a broker at each address and these topics (NAME:PARTITIONS,…); clients/broker.go has the rest."""
    words = [f"{name}={value}" for name, value in told.items()]
    with _serving(subprocess.Popen([*GUARD, str(PROGRAM), ",".join(addresses), topics, *words]), addresses) as process:
        yield process


@contextmanager
def tansu(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """A broker at an address that holds what is written in memory, and no topics yet."""
    url = f"tcp://{address}"
    options = ("--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/")
    command = [*GUARD, str(TANSU), "broker", *options, "--silent"]
    with _serving(subprocess.Popen(command, stdout=subprocess.DEVNULL), (address,)) as process:
        yield process


@contextmanager
def _serving(process: subprocess.Popen[bytes], addresses: Iterable[str]) -> Iterator[subprocess.Popen[bytes]]:
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

"""What the proxy costs: librdkafka's producer, and single requests one after the other, beside a direct connection.

The broker is librdkafka's mock cluster in a process of its own, which is faster than any real one: what the proxy adds
counts for more here. `python -m tests.benchmarks.proxied client ADDRESS WHAT` is one run of a client.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .results import Column, Table

RECORDS, SIZE = 300_000, 1000
REQUESTS = 3000
WAYS: dict[str, Sequence[str] | None] = {
    "direct": None, "--no-decode": ("--no-decode",), "-f summary": ("-f", "summary"),
}  # fmt: skip
"""The ways to the broker: options of `kdbg proxy`, None for none."""


class Run(NamedTuple):
    """What one way came to: MB a second, microseconds of an answer, and the CPU
    seconds of the proxy for the records."""

    throughput: float
    latency: float
    cpu: float


def report(rounds: int) -> list[Table]:
    """The table of ways."""
    seen: dict[str, list[Run]] = {name: [] for name in WAYS}
    with broker() as address:
        for _ in range(max(rounds, 3)):
            for name, options in WAYS.items():
                seen[name].append(measured(address, options))
    table = Table("proxy", "way to the broker", (
        Column("MB a second", "count"), Column("/ direct", "×", 1), Column("proxy's CPU", "s"),
        Column("one answer", "µs"), Column("added", "µs"),
    ))  # fmt: skip
    direct = seen["direct"]
    for name, runs in seen.items():
        ratio = statistics.median(run.throughput / base.throughput for run, base in zip(runs, direct, strict=True))
        added = statistics.median(run.latency - base.latency for run, base in zip(runs, direct, strict=True))
        fast, slow, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        table.add(name, fast, *((ratio, cpu) if WAYS[name] else (None, None)), slow, added if WAYS[name] else None)
    return [table]


def measured(address: str, options: Sequence[str] | None) -> Run:
    """One run of each client over a way."""
    with way(address, options) as (there, process):
        before = cpu_of(process) if process is not None else 0.0
        rate = client(there, "produce")
        spent = cpu_of(process) - before if process is not None else 0.0
        return Run(rate, client(there, "answers"), spent)


def cpu_of(process: int) -> float:
    """The CPU seconds of a process and of its children so far."""
    found = 0.0
    for one in (process, *children(process)):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """The address of a mock cluster in a process of its own."""
    code = "from kdbg.client.mock import mock_cluster\nwith mock_cluster('mock:') as a: print(a, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@contextlib.contextmanager
def way(address: str, options: Sequence[str] | None) -> Iterator[tuple[str, int | None]]:
    """Where clients connect, and the process that stands in between."""
    if options is None:
        yield address, None
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        there = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "kdbg", "proxy", "-b", address, "-l", there, *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        yield there, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def client(address: str, what: str) -> float:
    """What a client in a process of its own measures."""
    command = [sys.executable, "-m", "tests.benchmarks.proxied", "client", address, what]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def produce(address: str) -> float:
    """MB a second of librdkafka's producer."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": address, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000,
                "queue.buffering.max.kbytes": 1 << 20}  # fmt: skip
    producer, value = Producer(settings), b"x" * SIZE
    producer.produce("bench", value)
    producer.flush()
    start = time.monotonic()
    for number in range(RECORDS):
        producer.produce("bench", value)
        if not number % 1000:
            producer.poll(0)
    if producer.flush():
        sys.exit("records were not sent")
    return RECORDS * SIZE / 1e6 / (time.monotonic() - start)


def answers(address: str) -> float:
    """Median microseconds of ApiVersions, asked for one after the other."""
    from kdbg import encode

    asked = encode({}, api="ApiVersions", version=0, direction="request",
                   header={"correlation_id": 1, "client_id": "bench"})  # fmt: skip
    host, _, port = address.rpartition(":")
    taken = []
    with socket.create_connection((host, int(port))) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(REQUESTS):
            start = time.perf_counter()
            sock.sendall(len(asked).to_bytes(4) + asked)
            left = int.from_bytes(sock.recv(4))
            while left:
                left -= len(sock.recv(left))
            taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e6


CLIENTS = {"produce": produce, "answers": answers}

if __name__ == "__main__":
    print(CLIENTS[sys.argv[3]](sys.argv[2]))

"""What the proxy costs: librdkafka's producer, and single requests one after the other, beside a direct connection.

The broker is the one that KDBG_BROKER names; without it, librdkafka's mock cluster in a process of its own, which is
faster than any real one: what the proxy adds counts for more there. The ways take turns, and each is held against the
direct run of its own round. A machine that does other work too disturbs that; CPU time for each GB is what is left to
trust then.
`python -m tests.benchmarks.proxied client ADDRESS WHAT` is one run of a client.
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .results import Column, Table

RECORDS, SIZE = 2_000_000, 1000
GIGABYTES = RECORDS * SIZE / 1e9
TICK = 0.01
"""Seconds that the producer waits for room."""
REQUESTS = 3000
WAYS: dict[str, Sequence[str] | None] = {
    "direct": None, "--no-decode": ("--no-decode",), "-f summary": ("-f", "summary"),
}  # fmt: skip
"""The ways to the broker: options of `kdbg proxy`, None for none."""


class Run(NamedTuple):
    """What one way came to: MB a second, microseconds of an answer; CPU seconds for each GB of the client and of each
    process of the proxy."""

    throughput: float
    latency: float
    client: float
    relaying: float = 0.0
    showing: float = 0.0


def report(rounds: int) -> list[Table]:
    """The table of ways."""
    seen: dict[str, list[Run]] = {name: [] for name in WAYS}
    with broker() as address:
        for _ in range(max(rounds, 3)):
            for name, options in WAYS.items():
                seen[name].append(measured(address, options))
    return [table(seen)]


def table(seen: Mapping[str, Sequence[Run]]) -> Table:
    """The table of what was measured, by way, the direct one first, as medians over its rounds."""
    made = Table("proxy", "way to the broker", (
        Column("MB a second", "count"), Column("/ direct", "×", 1), Column("client's CPU a GB", "s"),
        Column("relaying, a GB", "s"), Column("showing, a GB", "s"), Column("one response", "µs"),
        Column("added", "µs"),
    ))  # fmt: skip
    direct = next(iter(seen.values()))
    for name, runs in seen.items():
        ratio = statistics.median(run.throughput / base.throughput for run, base in zip(runs, direct, strict=True))
        added = statistics.median(run.latency - base.latency for run, base in zip(runs, direct, strict=True))
        fast, slow, *cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        spent = [seconds or None for seconds in cpu]
        made.add(name, fast, ratio if runs is not direct else None, *spent, slow, added if runs is not direct else None)
    return made


def measured(address: str, options: Sequence[str] | None) -> Run:
    """One run of each client over a way."""
    with way(address, options) as (there, process):
        parts = relaying_first(process)
        before = [cpu_of(part) for part in parts]
        rate, own = client(there, "produce")
        spent = [(cpu_of(part) - start) / GIGABYTES for part, start in zip(parts, before, strict=True)]
        return Run(rate, client(there, "answers")[0], own / GIGABYTES, *spent)


def relaying_first(process: int | None) -> list[int]:
    """The processes of the proxy: a child relays, where there is one, for its parent, which shows."""
    return [] if process is None else [*children(process), process]


def cpu_of(process: int) -> float:
    """The CPU seconds of a process so far, to the nanosecond where the system says it."""
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except OSError:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """The address of a mock cluster in a process of its own, or of the broker that KDBG_BROKER names."""
    if given := os.environ.get("KDBG_BROKER"):
        yield given
        return
    code = (
        "from kdbg.live.client.mock import mock_cluster\nwith mock_cluster('mock:') as a: print(a, flush=True); input()"
    )
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


def client(address: str, what: str) -> list[float]:
    """What a client in a process of its own measures, and the CPU seconds of that."""
    command = [sys.executable, "-m", "tests.benchmarks.proxied", "client", address, what]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(number) for number in said.split()]


def produce(address: str) -> float:
    """MB a second of librdkafka's producer, its settings left alone but for some linger."""
    from confluent_kafka import Producer

    producer, value = Producer({"bootstrap.servers": address, "linger.ms": 5}), b"x" * SIZE
    producer.produce("bench", value)
    producer.flush()
    start = time.monotonic()
    for number in range(RECORDS):
        while True:
            try:
                producer.produce("bench", value)
                break
            except BufferError:  # its queue is full
                producer.poll(TICK)
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
    begun = time.process_time()
    print(CLIENTS[sys.argv[3]](sys.argv[2]), time.process_time() - begun)

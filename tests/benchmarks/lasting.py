"""`python -m tests.benchmarks.lasting [--minutes N] [watch|proxy]`: memory, while librdkafka produces without an end.

Each half minute the memory of all processes of the command is printed, with its descriptors. `watch` needs the right to
capture on loopback.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

from .proxied import broker, children, way

EVERY = 30.0
PAUSE = 0.001


def talk(address: str, seconds: float) -> None:
    """Produce a record a request for so many seconds, some hundred requests a second."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "batch.num.messages": 1})
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        producer.produce("lasting", b"x" * 200)
        producer.poll(0)
        number += 1
        time.sleep(PAUSE)
    producer.flush()
    print(f"{number:,} requests", flush=True)


def memory(process: int) -> tuple[float, int]:
    """MB that a process and its children hold alone, and their descriptors."""
    kilobytes = files = 0
    for one in (process, *children(process)):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            files += len(list(Path(f"/proc/{one}/fd").iterdir()))
    return kilobytes / 1024, files


def follow(process: int, address: str, minutes: float) -> None:
    """Print what a process holds while somebody talks."""
    command = [sys.executable, "-m", "tests.benchmarks.lasting", "--talk", address, "--minutes", str(minutes)]
    talker, begun = subprocess.Popen(command), time.monotonic()
    while talker.poll() is None:
        held, files = memory(process)
        print(f"{(time.monotonic() - begun) / 60:5.1f} min  {held:7.1f} MB  {files} files", flush=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            talker.wait(EVERY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["watch", "proxy"], default="watch")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--talk", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.talk:
        talk(options.talk, options.minutes * 60)
        return
    with broker() as address:
        if options.what == "proxy":
            with way(address, ("-f", "summary")) as (there, process):
                assert process is not None
                follow(process, there, options.minutes)
            return
        port = address.rpartition(":")[2]
        command = [sys.executable, "-m", "kdbg", "watch", "-i", "lo", "--port", port]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as watch:
            assert watch.stderr is not None
            watch.stderr.readline()
            follow(watch.pid, address, options.minutes)
            watch.send_signal(signal.SIGINT)
            print(watch.communicate()[1], end="")


if __name__ == "__main__":
    main()

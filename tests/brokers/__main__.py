"""Brokers by hand: `python -m tests.brokers start 4`, see tests/brokers/__init__.py."""

from __future__ import annotations

import argparse
import signal
import time
from contextlib import suppress

from .classpath import classpath
from .cluster import start
from .java import java
from .registry import unpacked
from .releases import RELEASES
from .security import LISTENERS, PASSWORD, USER


def run(version: str, nodes: int, secure: bool, unstable: bool) -> None:
    """A cluster in the foreground until Ctrl-C or SIGTERM."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), start(version, nodes=nodes, secure=secure, unstable=unstable) as cluster:
        print(f"Kafka {cluster.release.version} answers after {time.monotonic() - began:.1f} s", flush=True)
        for broker in cluster.brokers:
            print(f"{broker.bootstrap}  pid {broker.pid}  data {broker.data}", flush=True)
            for name in LISTENERS if secure else ():
                print(f"  {name} {broker.listener(name)}", flush=True)
        if cluster.security is not None:
            print(f"user {USER}, password {PASSWORD}; certificates in {cluster.security.folder}", flush=True)
        signal.pause()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.brokers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("start", help="start a broker and keep it until Ctrl-C")
    starting.add_argument("version", help="a version of the table, or its beginning: 0.8, 3.9, 4")
    starting.add_argument("--nodes", type=int, default=1)
    starting.add_argument("--secure", action="store_true", help="with TLS and SASL listeners")
    starting.add_argument("--unstable", action="store_true", help="with the API versions still in the making")
    commands.add_parser("list", help="the releases of the table")
    commands.add_parser("fetch", help="bring all releases into the cache")
    options = parser.parse_args()
    if options.command == "start":
        run(options.version, options.nodes, options.secure, options.unstable)
    for release in RELEASES if options.command != "start" else ():
        if options.command == "fetch":
            classpath(release.broker_artifacts)
            classpath(release.tool_artifacts)
        print(f"{release.version}  {java()}")
    if options.command == "fetch":
        print(unpacked())


if __name__ == "__main__":
    main()

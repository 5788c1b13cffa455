"""Record the captures of captures/ anew: `python tests/recording/record.py [NAME…] [--out captures]`.

A NAME is that of a file, with or without its ending; none means all. Each scenario runs in a process of its own, in a
network of its own. Needs root, tcpdump, iproute2, ethtool, Wireshark's editcap, and the clients: confluent-kafka,
kafka-python, aiokafka; kafka-python 2.0.2, whose dialect of SASL no newer client has, is installed beside them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import old_client, real
from recording.network import enter_private_network
from recording.scenarios import MTU_1500, SCENARIOS

NEEDS = {
    "real-javascript.pcap": real.install_javascript,
    "real-go.pcap": real.install_go,
    **dict.fromkeys(("tls/real-tls-1.3.pcap", "tls/real-tls-1.2.pcap"), real.install_tls),
}
"""What has to be there before the network is left."""


def record(name: str, out: Path) -> None:
    enter_private_network(mtu=1500 if name in MTU_1500 else None)
    random.seed(name)
    SCENARIOS[name](out / name)


def record_apart(name: str, out: Path) -> bool:
    """Record one capture in a child process; false when it failed."""
    child = multiprocessing.get_context("fork").Process(target=record, args=(name, out), name=name)
    child.start()
    child.join()
    size = (out / name).stat().st_size if child.exitcode == 0 else 0
    print(f"{name}: {size:,} bytes" if size else f"{name}: failed", flush=True)
    return size > 0


def chosen(names: list[str]) -> list[str]:
    found = [full for full in SCENARIOS if not names or full in names or full.rpartition(".")[0] in names]
    if len(found) < len(names):
        raise SystemExit(f"there are {', '.join(SCENARIOS)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("captures"))
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    names = chosen(options.names)
    old_client.install()
    for name, install in NEEDS.items():
        if name in names:
            install()
    results = [record_apart(name, options.out) for name in names]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()

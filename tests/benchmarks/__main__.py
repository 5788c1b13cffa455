"""`python -m tests.benchmarks [PART…] [--captures DIR] [--rounds N] [--write]`: how fast kdbg is.

All figures are kept in result.json, and every ratio is printed with last time's; what got worse by more than a tenth is
named below. `--write` puts the figures there, and into the manual's page on speed and its picture.
Nothing here is asserted: compare the ratios. A PART is

views       each view beside tshark; pcapng beside pcap; the time to the first line
clients     what an exchange costs with each codec, in the newest versions, with many topics, of groups
robustness  what trouble costs; 100,000 connections
decoders    messages by other libraries for Python
filters     what `--where` and plain filters cost beside none
commands    what an exchange costs in each command that reads captures; what a connection costs, and a start
index       what an index of 0.8 GB costs, and questions with it
starts      commands that do next to nothing
wireshark   tshark with kdbg's dissector, beside its own
proxy       `kdbg proxy` between librdkafka's producer and a broker, beside none
jobs        `--jobs 2` of decode and report, beside one process
stages      where the time goes, for captures of up to 4 GB
pipeline    `kdbg pipeline` beside `decode`, the same captures
decode      all but the last two, which is what is measured when no PART is given: some twenty minutes; the last two
            take half an hour each, and 10 GB of disk

Captures that are missing are recorded first (needs root, tcpdump and editcap; see record.py and recordings.py).
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from .pages import KEPT, write
from .results import Results, Table, together

HERE = Path(__file__).parent
LONG = ("stages", "pipeline")


class Bench:
    """The captures, and a method for each part that measures it and returns its tables."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder, self.rounds = folder, rounds
        self.paths = captures(folder)

    def views(self) -> list[Table]:
        from .views import report

        return report(self.paths, self.rounds)

    def clients(self) -> list[Table]:
        from .clients import report

        return report(self.paths["small"], self.folder, self.rounds)

    def robustness(self) -> list[Table]:
        from .robustness import report

        return report(self.paths["small"], self.folder, self.rounds)

    def decoders(self) -> list[Table]:
        from .clients import captures
        from .decoders import report

        others = captures(self.folder)
        return report(self.paths | {name: others[name] for name in ("newest", "java", "topics") if name in others})

    def filters(self) -> list[Table]:
        from .filtered import report

        return report(self.paths["small"], self.rounds)

    def commands(self) -> list[Table]:
        from .commands import report

        return report(self.paths["small"], self.rounds)

    def index(self) -> list[Table]:
        from .indexed import report

        return report(self.paths["small"], self.rounds)

    def starts(self) -> list[Table]:
        from .starts import report

        return report(self.rounds)

    def jobs(self) -> list[Table]:
        from .jobs import report

        return report(self.paths, self.rounds)

    def wireshark(self) -> list[Table]:
        from .dissector import report

        return report(self.paths, self.rounds)

    def proxy(self) -> list[Table]:
        from .proxied import report

        return report(self.rounds)

    def stages(self) -> list[Table]:
        from .stages import report

        return report(self.paths, self.folder)

    def pipeline(self) -> list[Table]:
        from .pipeline import report

        return report(self.paths, self.folder)


PARTS: dict[str, Callable[[Bench], list[Table]]] = {
    "views": Bench.views, "clients": Bench.clients, "robustness": Bench.robustness, "decoders": Bench.decoders,
    "filters": Bench.filters, "commands": Bench.commands, "index": Bench.index, "starts": Bench.starts,
    "jobs": Bench.jobs, "wireshark": Bench.wireshark, "proxy": Bench.proxy, "stages": Bench.stages,
    "pipeline": Bench.pipeline,
}  # fmt: skip


def captures(folder: Path) -> dict[str, Path]:
    """The two benchmark captures, recorded if need be, each with a copy as pcapng beside it."""
    found = {kind: folder / f"{kind}.pcap" for kind in ("small", "big")}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in found.items():
        if not path.exists():
            subprocess.run([sys.executable, str(HERE / "record.py"), kind, str(path)], check=True)
        if not (copy := path.with_suffix(".pcapng")).exists():
            subprocess.run(["editcap", "-F", "pcapng", str(path), str(copy)], check=True)
    return found


def setting(rounds: int) -> str:
    """When, what, with what, and how often."""
    tshark = told("tshark", "--version").split()[2]
    what = (
        f"{datetime.now(UTC):%Y-%m-%d}, kdbg at {told('git', '-C', str(HERE), 'rev-parse', '--short', 'HEAD').strip()}"
    )
    where = f"Python {platform.python_version()}, {platform.machine()}, tshark {tshark}"
    return f"{what}, {where}; rounds: {rounds}"


def told(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"decode, {', '.join(PARTS)}")
    parser.add_argument("--captures", type=Path, default=Path.home() / ".cache" / "kdbg" / "benchmarks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="keep the figures, in the manual too")
    options = parser.parse_args()
    if unknown := set(options.parts) - {*PARTS, "decode"}:
        parser.error(f"no part {', '.join(sorted(unknown))}")
    if shutil.which("tshark") is None:
        sys.exit("tshark is not installed: there is nothing to compare with")
    bench, results = Bench(options.captures, options.rounds), Results(KEPT)
    for name in wanted(options.parts):
        tables = PARTS[name](bench)
        print(together(tables, results.tables), end="\n\n", flush=True)
        if options.write:
            results.put(setting(options.rounds), tables)
            results.save()
            write(results)


def wanted(parts: list[str]) -> list[str]:
    """The names of parts in the order of PARTS; "decode", or none, stands for all that are not long."""
    short = [name for name in PARTS if name not in LONG] if not parts or "decode" in parts else []
    return [name for name in PARTS if name in parts or name in short]


if __name__ == "__main__":
    main()

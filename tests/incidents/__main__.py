"""`python -m tests.incidents NAME… | --all [--out DIR]`: stage incidents and record them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import CAPTURES, certificates, foreign, other_brokers, platforms
from .making import make
from .scenarios import INCIDENTS


def main() -> int:
    """Parse the arguments; return the exit status, 1 where an incident could not be staged."""
    parser = argparse.ArgumentParser(prog="python -m tests.incidents", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--no-cures", action="store_true")
    parser.add_argument("--out", type=Path, default=CAPTURES)
    options = parser.parse_args()
    if options.list or not (options.names or options.all):
        for one in INCIDENTS.values():
            print(f"{one.name:44} {one.cause:36} {one.cluster:7} {dict(one.who) or one.looks_like}")
        return 0
    unknown = [name for name in options.names if name not in INCIDENTS]
    if unknown:
        parser.error(f"no incident {', '.join(unknown)}; --list tells which there are")
    foreign.install()
    platforms.install()
    other_brokers.install()
    certificates.install()
    chosen = [one for one in INCIDENTS.values() if options.all or one.name in options.names]
    failed = make(chosen, options.out, cured=not options.no_cures)
    print("\n".join(["failed:", *failed]) if failed else "all made", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

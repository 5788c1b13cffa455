"""Print the texts that break a rule: `python -m tests.words [PATH…]`; the exit status is 1 if there are any."""

from __future__ import annotations

import sys
from pathlib import Path

from kdbg.protocol.findings.amounts import count

from .allowed import FILE, allowed, left
from .rules import sorted_by_rule, violations


def main(paths: list[str]) -> int:
    """Print the violations of files and folders, and how many each rule has."""
    found, _ = left(violations([Path(path) for path in paths] or None), allowed(FILE.read_text()))
    for one in found:
        print(one)
    for rule, number in sorted_by_rule(found).items():
        print(f"{number:6,}  {rule}")
    print(count(len(found), "violation"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

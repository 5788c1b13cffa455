"""What was found, looked at again without tracing: `python -m tests.fuzz.settle FOLDER [SECONDS]`.

An input stays if its trouble is real; then it is made as small as it can be, and a text beside it says what is wrong.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from .minimise import minimised
from .targets import TARGETS, Target
from .watch import bounded, confirmed, watched


def main(folder: Path, seconds: float = 30) -> None:
    """Settle all that was found, and print it."""
    bounded()
    for path in sorted(folder.glob("found/*/*")):
        if path.suffix == ".txt" or path.with_suffix(".txt").exists() or path.parent.name not in TARGETS:
            continue
        target, data = TARGETS[path.parent.name], path.read_bytes()
        trouble = confirmed(target.run, data, target.seconds)
        if trouble is None:
            path.unlink()
            continue
        small = minimised(data, partial(same, target, trouble.name), seconds)
        path.write_bytes(small)
        path.with_suffix(".txt").write_text(f"{trouble.name}\n{trouble.text}\n", encoding="utf-8")
        print(f"{path.parent.name}: {trouble.name} ({len(small)} bytes): {path}", flush=True)


def same(target: Target, name: str, data: bytes) -> bool:
    """Return whether an input is in the trouble of this name."""
    found = watched(target.run, data, target.seconds)
    return found is not None and found.name == name


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:3]))

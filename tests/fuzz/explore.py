"""One target in a process of its own: `python -m tests.fuzz.explore TARGET FOLDER SECONDS SEED`.

Goes on from inputs that reach new code: by atheris, and where that is not installed by changes of our own, with the
lines that Python says were run. Troubles go to FOLDER/found/TARGET, one input for each kind; none ends the run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

try:
    import atheris
except ImportError:
    atheris = None

with nullcontext() if atheris is None else atheris.instrument_imports(include=["kdbg"], enable_loader_override=False):
    from .targets import TARGETS
    from .watch import ROOT, bounded, watched

from .mutate import mutated

if TYPE_CHECKING:
    pass

SLOWER = 4
"""How much slower a run is that is traced: `settle` looks again without."""
EACH = 3
"""Inputs that are kept of a kind of trouble."""


class Keeper:
    """Runs inputs, counts them, and keeps those that are in trouble."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.target, self.folder = name, TARGETS[name], folder / "found" / name
        self.count, self.kept = 0, dict[str, int]()
        self.tally = folder / f"{name}.json"

    def run(self, data: bytes) -> None:
        """Run an input, as atheris calls it."""
        self.count += 1
        trouble = watched(self.target.run, data[: self.target.longest], self.target.seconds * SLOWER)
        if trouble is not None and self.kept.get(trouble.name, 0) < EACH:
            self.kept[trouble.name] = self.kept.get(trouble.name, 0) + 1
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data[: self.target.longest])
        if not self.count % 100:
            self.tell()

    def tell(self) -> None:
        """Write how many inputs were run."""
        self.tally.write_text(json.dumps({"inputs": self.count}))


def main(name: str, folder: Path, seconds: int, seed: int) -> None:
    """Run one target for so many seconds."""
    keeper = Keeper(name, folder)
    corpus = folder / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for data in keeper.target.seeds():
        data = data[: keeper.target.longest]
        (corpus / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)
    bounded()
    if atheris is None:
        own(keeper, corpus, seconds, Random(seed))
    else:
        by_atheris(keeper, corpus, seconds, seed)


def by_atheris(keeper: Keeper, corpus: Path, seconds: int, seed: int) -> None:
    """Let libFuzzer make the inputs; it ends the process."""
    for path in sorted(corpus.iterdir())[:50]:  # what is imported late is traced as well
        with atheris.instrument_imports(include=["kdbg"], enable_loader_override=False):
            keeper.run(path.read_bytes())
    options = {"max_len": keeper.target.longest, "max_total_time": seconds, "seed": seed, "timeout": 3600,
               "rss_limit_mb": 0, "artifact_prefix": f"{corpus.parent}/",
               "verbosity": 0, "reload": 0, "detect_leaks": 0}  # fmt: skip
    words = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *words, str(corpus)], keeper.run)
    atheris.Fuzz()


def own(keeper: Keeper, corpus: Path, seconds: int, dice: Random) -> None:
    """Change what reached new lines, again and again."""
    inputs = [path.read_bytes() for path in sorted(corpus.iterdir())]
    until, seen = time.monotonic() + seconds, set[Any]()
    with lines_run(seen):
        for data in inputs:
            keeper.run(data)
        while time.monotonic() < until:
            data, before = mutated(dice.choice(inputs), dice, inputs, keeper.target.longest), len(seen)
            keeper.run(data)
            if len(seen) > before:
                inputs.append(data)
                (corpus / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)
    keeper.tell()


@contextmanager
def lines_run(seen: set[Any]) -> Iterator[None]:
    """Note the lines of kdbg that are run."""
    if hasattr(sys, "monitoring"):
        events: Any = sys.monitoring
        events.use_tool_id(events.COVERAGE_ID, "kdbg-fuzz")

        def note(code: CodeType, line: int) -> Any:
            if code.co_filename.startswith(str(ROOT)):
                seen.add((code.co_filename, line))
            return events.DISABLE

        events.register_callback(events.COVERAGE_ID, events.events.LINE, note)
        events.set_events(events.COVERAGE_ID, events.events.LINE)
        try:
            yield
        finally:
            events.set_events(events.COVERAGE_ID, 0)
            events.free_tool_id(events.COVERAGE_ID)
        return

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(str(ROOT)):
            return None
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

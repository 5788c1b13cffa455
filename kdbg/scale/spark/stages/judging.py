"""One capture judged as a whole: its packets through one engine into ledgers, what the rules find in these written.

A cause is seen across connections, so that a capture is one task's work, from its first packet to its last. What comes
of it is what `kdbg diagnose` says of the same packets: nothing of it depends on how the rest of the run is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any
from uuid import uuid4

import orjson

from ....analysis.diagnosis import Case, diagnose
from ....analysis.diagnosis.text import kept
from ....analysis.ledgers import Ledgers
from ....capture import Packet
from ....capture.keylog import KeyLog
from ....exchanges.engine.engine import Engine
from ....views.tables.columns import CAUSES
from ..archive.plan import Plan, Split
from ..archive.store import resolve
from ..commit import HIDDEN
from .reading import SplitReading


def causes_of(plan: Plan, capture: int, key_logs: Iterable[str] = ()) -> list[Case]:
    """Return the causes in the capture of this number, the weightiest first."""
    keys = KeyLog().use(key_logs)
    engine = Engine(keys=keys)
    ledgers = Ledgers(engine.names_then)
    for chunk in engine.chunks(_seen(_packets(plan, capture, keys), ledgers)):
        ledgers.take(chunk)
        _take_findings(engine, ledgers)
    _take_findings(engine, ledgers)
    return diagnose(ledgers)


def _take_findings(engine: Engine, ledgers: Ledgers) -> None:
    ledgers.left_over(engine.findings)
    engine.findings.clear()


def _seen(blocks: Iterable[list[Packet]], ledgers: Ledgers) -> Iterator[list[Packet]]:
    """Yield the packets, which the ledgers see before the engine does."""
    for packets in blocks:
        ledgers.packets(packets)
        yield packets


def _packets(plan: Plan, capture: int, keys: KeyLog) -> Iterator[list[Packet]]:
    """Yield the packets of all files of a capture, each read from end to end, numbered through."""
    before = 0
    for split in whole_files(plan, capture):
        reading = SplitReading(plan, split._replace(before=0, shift=before), keys=keys)
        yield from reading.blocks()
        before += reading.report["packets"]


def whole_files(plan: Plan, capture: int) -> Iterator[Split]:
    """Yield a split for each file of a capture, in order."""
    mine = (split for split in plan.splits if split.capture == capture)
    for _, splits in groupby(mine, key=lambda split: split.file):
        first, *others = splits
        yield first._replace(stop=others[-1].stop if others else first.stop)


def write(folder: str, cases: list[Case], said: dict[str, Any]) -> list[str]:
    """Write the causes of a capture into the folder of a run, an object a line; return the names of files.

    `said` stands in each line: of which capture it is.
    """
    if not cases:
        return []
    system, root, _ = resolve(folder)
    name = f"{CAUSES}/{folder.rpartition(HIDDEN)[2]}-{uuid4().hex}.jsonl"
    system.create_dir(f"{root}/{CAUSES}")
    with system.open_output_stream(f"{root}/{name}") as file:
        for case in cases:
            file.write(orjson.dumps(kept(case) | said) + b"\n")
    return [name]

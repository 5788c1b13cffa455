"""The stages, as Spark's workers run them: packets counted, read and paired, exchanges decoded, captures judged.

A cause is seen across connections, so that a capture is one task's work, from its first packet to its last. What comes
of it is what `kdbg diagnose` says of the same packets: nothing of it depends on how the rest of the run is cut.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import orjson
import pyarrow as pa

from ....analysis.diagnosis import Case, diagnose
from ....analysis.diagnosis.text import kept
from ....analysis.ledgers import Ledgers
from ....capture import Packet
from ....capture.keylog import KeyLog
from ....exchanges.engine.driver import seldom_collected
from ....exchanges.engine.engine import Engine
from ....protocol.definitions import MessageDefinition, apis
from ....protocol.grammars import serving
from ....views.tables.columns import CAUSES
from ....views.tables.rows import Rows
from ..archive.files import counted
from ..archive.plan import Plan
from ..archive.store import HIDDEN, OutputFile, resolve
from ..delta import SCHEMAS
from ..parquet import ParquetFile, Tables
from .pairing import Making, Pairer, exchanges
from .reading import LARGE, ROOM, Heard, PacketRun, SplitReading


def causes_of(plan: Plan, capture: int, key_logs: Iterable[str] = ()) -> list[Case]:
    """Return the causes in the capture of this number, the weightiest first."""
    keys = KeyLog().use(key_logs)
    engine = Engine(keys=keys)
    ledgers = Ledgers(engine.names_then)

    def blocks() -> Iterator[list[Packet]]:
        """Yield the packets of all files, numbered through, which the ledgers see before the engine does."""
        before = 0
        mine = (split for split in plan.splits if split.capture == capture)
        for _, splits in groupby(mine, key=lambda split: split.file):
            first, *others = splits
            stop = others[-1].stop if others else first.stop
            reading = SplitReading(plan, first._replace(stop=stop, shift=before - first.before), keys=keys)
            for packets in reading.blocks():
                ledgers.packets(packets)
                yield packets
            before += reading.report["packets"]

    for chunk in engine.chunks(blocks()):
        ledgers.take(chunk)
        ledgers.left_over(engine.findings)
        engine.findings.clear()
    ledgers.left_over(engine.findings)
    return diagnose(ledgers)


Batches: TypeAlias = Iterator[pa.RecordBatch]
Stage: TypeAlias = Callable[[Batches], Batches]
RUNS = pa.schema({
    "capture": pa.int32(), "key": pa.binary(), "split": pa.int32(), "order": pa.int32(), "packets": pa.binary(),
    "payload": pa.binary(), "spill": pa.string(), "place": pa.int64(), "length": pa.int64(),
})  # fmt: skip
"""A run with its place: `split` is its number in the plan. The payload of a large one is so many bytes in a file of
`spill`. A row with an empty key holds a report on its split."""
MOST_OPEN = 128
"""Files of large runs that a task holds open at once."""
IN_ROW = (None, 0, 0)
"""The place of a run whose bytes are all in its row."""
REPORT = pa.schema({"report": pa.binary()})
BATCH, BATCH_ROWS = 8 << 20, 4096
"""Bytes and rows in one batch that a task hands over."""


def report(said: Any) -> pa.RecordBatch:
    """Return a task's report as one row."""
    return pa.RecordBatch.from_arrays([pa.array([orjson.dumps(said)], pa.binary())], schema=REPORT)


def task(stage: Stage, definitions: Sequence[MessageDefinition] = ()) -> Stage:
    """Return the stage with message definitions served beside kdbg's own grammars, and little garbage collected.

    Spark's workers collect garbage after every task, and would look through all of kdbg each time. What is there when
    a task begins, which is when the garbage of the one before is gone, is here to stay.
    """

    def whole(batches: Batches) -> Batches:
        gc.freeze()
        with seldom_collected(), serving(apis(definitions).apis) if definitions else nullcontext():
            yield from stage(batches)

    return whole


def numbers(batches: Batches) -> Iterator[int]:
    """Yield the numbers from `spark.range` that a task is to work on."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def each(work: Callable[[int], Any], batches: Batches) -> Batches:
    """Report what `work` returns for each number that a task is to work on."""
    for number in numbers(batches):
        yield report(work(number))


def count(plan: Plan, places: list[int], number: int) -> list[Any]:
    """Walk through the split at one of these places of the plan; return the place, and what was found."""
    split = plan.splits[places[number]]
    return [places[number], *counted(plan.files[split.file], split)]


def read(plan: Plan, folder: str, ports: frozenset[int], batches: Batches) -> Batches:
    """Read the plan's splits; each ends with a report on itself."""
    for number in numbers(batches):
        keys = Heard(folder, plan.splits[number].capture)
        spill = OutputFile(f"{folder}/{ROOM}", f"{uuid4().hex}.runs")
        reading = SplitReading(plan, plan.splits[number], ports, keys)
        held: list[tuple[Any, ...]] = []
        size = 0
        for run in reading:
            place = reading.split.capture, run.key, number, run.order, run.packets
            if len(run.payload) < LARGE:
                held.append((*place, run.payload, *IN_ROW))
                size += len(run.payload)
            else:
                held.append((*place, b"", spill.name, spill.write(run.payload), len(run.payload)))
            size += len(run.packets)
            if size > BATCH or len(held) >= BATCH_ROWS:
                yield run_batch(held)
                held, size = [], 0
        if held:
            yield run_batch(held)
        spill.close()
        keys.file.close()
        said = orjson.dumps(reading.report | {"split": number})
        yield run_batch([(reading.split.capture, b"", number, 0, said, b"", *IN_ROW)])


def run_batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return runs as an Arrow batch of `RUNS`, to be shuffled."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUNS, strict=True)], schema=RUNS
    )


def pair(folder: str, made: Callable[[], Pairer], batches: Batches) -> Batches:
    """Give the runs of a partition to a pairer, which is made in the task; `folder` is the run's."""
    pairer, splits = made(), list[Any]()
    system, room, _ = resolve(f"{folder}/{ROOM}")
    opened = lru_cache(MOST_OPEN)(system.open_input_file)  # what it forgets is closed
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            capture, key, split, order, packets, payload, spill, place, length = row
            if not key:
                splits.append(orjson.loads(packets))
                continue
            if spill:
                payload = bytes(opened(f"{room}/{spill}").read_at(length, place))
            pairer.take(capture, split, PacketRun(key, order, packets, payload))
    opened.cache_clear()
    yield report(pairer.close() | {"splits": splits})


def decode(making: Making, shares: list[list[str]], topics: dict[UUID, str], number: int) -> dict[str, Any]:
    """Make rows of the exchanges in the files of a share; `topics` are the names of topic ids."""
    known, tables = dict(topics), Tables(making.folder)
    rows, fits = Rows(tables.add, making.wanted, known), making.filters.check(known)
    for name in shares[number]:
        for capture, exchange in exchanges(making.folder, name, known):
            if fits is None or fits(exchange):
                rows.exchange(making.captures[capture], exchange)
    return tables.close() | {"problems": rows.problems}


def judge(plan: Plan, folder: str, key_logs: Sequence[str], number: int) -> dict[str, Any]:
    """Judge a capture from its first packet to its last, and write its causes; `key_logs` are secrets of TLS."""
    cases, files = causes_of(plan, number, key_logs), list[tuple[str, int, int]]()
    if cases:
        out, _, run = folder.rpartition(f"/{HIDDEN}")
        capture = plan.captures[number]
        rows = [
            {"run": run, "capture": capture, "place": place, "severity": case.severity.value, "cause": one["cause"],
             "object": orjson.dumps(one | {"file": capture}).decode()}
            for place, (case, one) in enumerate(zip(cases, map(kept, cases), strict=True))
        ]  # fmt: skip
        file = ParquetFile(out, CAUSES, run, SCHEMAS[CAUSES])
        file.write(pa.Table.from_pylist(rows, SCHEMAS[CAUSES]))
        files = [file.close()]
    return {"files": files, "causes": Counter(case.severity.value for case in cases)}

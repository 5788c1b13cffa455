"""One capture judged as a whole: its packets through one engine into ledgers, what the rules find in these written.

A cause is seen across connections, so that a capture is one task's work, from its first packet to its last. What comes
of it is what `kdbg diagnose` says of the same packets: nothing of it depends on how the rest of the run is cut.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any
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
from ..archive.files import counted
from ..archive.plan import Plan, Split
from ..archive.store import OutputFile, resolve
from ..commit import HIDDEN
from ..parquet import Tables
from .making import Maker, Making
from .pairing import Pairer
from .pieces import exchanges
from .reading import Heard, SplitReading
from .runs import LARGE, ROOM, Claim, PacketRun


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


Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
RUNS = pa.schema({
    "capture": pa.int32(), "key": pa.binary(), "split": pa.int32(), "order": pa.int32(), "packets": pa.binary(),
    "payload": pa.binary(), "spill": pa.string(), "place": pa.int64(), "length": pa.int64(),
})  # fmt: skip
"""A run with its place: `split` is its number in the plan. The payload of a large one is so many bytes in a file of
`spill`. A row with an empty key holds a report on its split."""
IN_ROW = (None, 0, 0)
"""The place of a run whose bytes are all in its row."""
REPORT = pa.schema({"report": pa.binary()})
BATCH, BATCH_ROWS = 8 << 20, 4096
"""Bytes and rows in one batch that a task hands over."""


def report(said: Any) -> pa.RecordBatch:
    """Return a task's report as one row."""
    return pa.RecordBatch.from_arrays([pa.array([orjson.dumps(said)], pa.binary())], schema=REPORT)


def knowing(stage: Stage, definitions: Sequence[MessageDefinition]) -> Stage:
    """Return the stage wrapped so that message definitions are served beside kdbg's own grammars."""

    def with_them(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with serving(apis(definitions).apis):
            yield from stage(batches)

    return with_them if definitions else stage


def at_full_speed(stage: Stage) -> Stage:
    """Return the stage wrapped so that the garbage collector runs seldom meanwhile, and has little to do afterwards.

    Spark's workers collect garbage behind every task, and would look through all of kdbg each time. What is there when
    a task begins, which is when the garbage of the one before is gone, is here to stay.
    """

    def without_rests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.freeze()
        with seldom_collected():
            yield from stage(batches)

    return without_rests


def numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers from `spark.range` that a task is to work on."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def count(plan: Plan, places: list[int]) -> Stage:
    """Walk through the splits at these places of the plan."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(batches):
            split = plan.splits[places[number]]
            yield report([places[number], *counted(plan.files[split.file], split)])

    return at_full_speed(stage)


def read(plan: Plan, folder: str, ports: frozenset[int]) -> Stage:
    """Read the plan's splits; each ends with a report on itself."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(batches):
            keys = Heard(folder, plan.splits[number].capture)
            spill = OutputFile(f"{folder}/{ROOM}", f"{uuid4().hex}.runs")
            reading = SplitReading(plan, plan.splits[number], ports, keys)
            yield from _batched(_row(run, reading.split.capture, number, spill) for run in reading)
            spill.close()
            keys.close()
            said = orjson.dumps(reading.report | {"split": number})
            yield run_batch([(reading.split.capture, b"", number, 0, said, b"", *IN_ROW)])

    return at_full_speed(stage)


def _row(run: PacketRun, capture: int, split: int, spill: OutputFile) -> tuple[Any, ...]:
    """Return a run as a row to be shuffled."""
    place = capture, run.key, split, run.order, run.packets
    if len(run.payload) < LARGE:
        return *place, run.payload, *IN_ROW
    return *place, b"", spill.name, spill.write(run.payload), len(run.payload)


def _batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    held: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[4]) + len(row[5])
        if size > BATCH or len(held) >= BATCH_ROWS:
            yield run_batch(held)
            held, size = [], 0
    if held:
        yield run_batch(held)


def run_batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return runs as an Arrow batch of `RUNS`, to be shuffled."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUNS, strict=True)], schema=RUNS
    )


def pair(folder: str, made: Callable[[], Pairer]) -> Stage:
    """Give the runs of a partition to a pairer, which is made in the task; `folder` is the run's."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pairer, spill, splits = made(), Claim(folder), list[Any]()
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                capture, key, split, order, packets, payload, *where = row
                if key:
                    run = PacketRun(key, order, packets, spill.get(*where) if where[0] else payload)
                    pairer.take(capture, split, run)
                else:
                    splits.append(orjson.loads(packets))
        spill.close()
        yield report(pairer.close() | {"splits": splits})

    return at_full_speed(stage)


def decode(making: Making, shares: list[list[str]], topics: dict[UUID, str]) -> Stage:
    """Make rows of the exchanges in files, each task of those in its share; `topics` are the names of topic ids."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = dict(topics)
        for number in numbers(batches):
            tables = Tables(making.folder)
            maker = Maker(making, tables, known)
            for name in shares[number]:
                for capture, exchange in exchanges(making.folder, name, known):
                    maker.make(capture, exchange)
            yield report(tables.close() | {"problems": maker.problems})

    return at_full_speed(stage)


def judge(plan: Plan, folder: str, key_logs: Sequence[str]) -> Stage:
    """Judge captures, each from its first packet to its last; `key_logs` are files with secrets of TLS."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(batches):
            cases = causes_of(plan, number, key_logs)
            files = write(folder, cases, {"file": plan.captures[number]})
            yield report({"files": files, "causes": Counter(case.severity.value for case in cases)})

    return at_full_speed(stage)

"""What Spark's workers do: a function for each stage, over batches of Arrow.

    count    the splits of captures that were cut or rolled → how many packets each holds
    read     splits → the packets of each connection, packed into runs
    pair     runs, sorted by connection → the tables; and exchanges that others decode, in files of bounded size
    decode   such files → the tables
    judge    captures → the causes in each

Between `read` and `pair` stands the one shuffle. Each task of the other stages answers with one report, in JSON.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa

from ....exchanges.engine.driver import seldom_collected
from ....protocol.definitions import MessageDefinition, apis
from ....protocol.grammars import serving
from ..archive.files import counted
from ..archive.plan import Plan
from ..parquet import Tables
from .judging import causes_of, write
from .making import Maker, Making
from .pairing import Pairer
from .pieces import exchanges
from .reading import Heard, SplitReading
from .runs import LARGE, Claim, PacketRun, Spill

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
            keys, spill = Heard(folder, plan.splits[number].capture), Spill(folder)
            reading = SplitReading(plan, plan.splits[number], ports, keys)
            yield from _batched(_row(run, reading.split.capture, number, spill) for run in reading)
            spill.close()
            keys.close()
            said = orjson.dumps(reading.report | {"split": number})
            yield run_batch([(reading.split.capture, b"", number, 0, said, b"", *IN_ROW)])

    return at_full_speed(stage)


def _row(run: PacketRun, capture: int, split: int, spill: Spill) -> tuple[Any, ...]:
    """Return a run as a row to be shuffled."""
    place = capture, run.key, split, run.order, run.packets
    if len(run.payload) < LARGE:
        return *place, run.payload, *IN_ROW
    return *place, b"", spill.name, spill.put(run.payload), len(run.payload)


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


def pair(making: Making) -> Stage:
    """Make exchanges of the runs of a partition, and rows of these."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        carrier, spill, splits = Pairer(making), Claim(making.folder), list[Any]()
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                capture, key, _, order, packets, payload, *where = row
                if not key:
                    splits.append(orjson.loads(packets))
                    continue
                carrier.run(capture, PacketRun(key, order, packets, spill.get(*where) if where[0] else payload))
        spill.close()
        yield report(carrier.close() | {"splits": splits})

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

"""What Spark's workers do: a function for each stage, over batches of Arrow.

    count    the splits of captures that were cut or rolled → how many packets each holds
    read     splits → the packets of each connection, packed into runs
    carry    runs, sorted by connection → exchanges, paired and proved, in files of bounded size
    decode   such files → the tables

Between `read` and `carry` stands the one shuffle. Each task of the other stages answers with one report, in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import pyarrow as pa

from ..session.filters import Filters
from .carry import Carrier
from .counting import counted
from .pieces import exchanges
from .plan import Plan
from .reading import Reading
from .rows import Rows, Wanted
from .runs import Run
from .tables import Tables

Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
RUNS = pa.schema({
    "capture": pa.int32(), "key": pa.binary(), "split": pa.int32(), "order": pa.int32(), "packets": pa.binary(),
    "payload": pa.binary(),
})  # fmt: skip
"""A run with its place: `split` is its number in the plan. A row with an empty key holds a report on its split."""
REPORT = pa.schema({"report": pa.binary()})
BATCH, BATCH_ROWS = 8 << 20, 4096
"""Bytes and rows in one batch that a task hands over."""


def report(said: Any) -> pa.RecordBatch:
    """What a task has to say, as one row."""
    return pa.RecordBatch.from_arrays([pa.array([orjson.dumps(said)], pa.binary())], schema=REPORT)


def numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Which of the things to do a task has: those of `spark.range`."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def count(plan: Plan, places: list[int]) -> Stage:
    """Walk through the splits at these places of the plan."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(batches):
            split = plan.splits[places[number]]
            yield report([places[number], *counted(plan.files[split.file], split)])

    return stage


def read(plan: Plan, ports: frozenset[int]) -> Stage:
    """Read the plan's splits; each ends with a report on itself."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers(batches):
            reading = Reading(plan, plan.splits[number], ports)
            capture = reading.split.capture
            yield from _batched((capture, run.key, number, run.order, run.packets, run.payload) for run in reading)
            yield _runs([(capture, b"", number, 0, orjson.dumps(reading.report | {"split": number}), b"")])

    return stage


def _batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    held: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[-1]) + len(row[-2])
        if size > BATCH or len(held) >= BATCH_ROWS:
            yield _runs(held)
            held, size = [], 0
    if held:
        yield _runs(held)


def _runs(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUNS, strict=True)], schema=RUNS
    )


def carry(captures: list[str], folder: str) -> Stage:
    """Make exchanges of the runs of a partition."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        carrier, splits = Carrier(captures, folder), list[Any]()
        for batch in batches:
            for capture, key, _, order, packets, payload in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                if key:
                    carrier.run(capture, Run(key, order, packets, payload))
                else:
                    splits.append(orjson.loads(packets))
        yield report(carrier.close() | {"splits": splits})

    return stage


@dataclass(frozen=True)
class Decoding:
    """What the decoding needs to know: `tasks` are the files that each has, `topics` the names of topic ids."""

    captures: list[str]
    folder: str
    tasks: list[list[str]]
    topics: dict[UUID, str]
    filters: Filters
    wanted: Wanted


def decode(job: Decoding) -> Stage:
    """Make the rows of the tables."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        topics = dict(job.topics)
        checks = job.filters.checks(topics)
        for number in numbers(batches):
            tables = Tables(job.folder)
            rows = Rows(tables.add, job.wanted, topics)
            for name in job.tasks[number]:
                for capture, exchange in exchanges(job.folder, name, topics):
                    if all(check(exchange) for check in checks):
                        rows.exchange(job.captures[capture], exchange)
            yield report(tables.close() | {"problems": rows.problems})

    return stage

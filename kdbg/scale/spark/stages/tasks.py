"""The stages, as Spark's workers run them: packets counted, read and paired, exchanges decoded, captures judged.

A cause is seen across connections, so that a capture is one task's work, from its first packet to its last. What comes
of it is what `kdbg diagnose` says of the same packets: nothing of it depends on how the rest of the run is cut.
"""

from __future__ import annotations

import gc
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias
from uuid import UUID

import orjson
import pyarrow as pa

from ....analysis.diagnosis import Case, diagnose
from ....analysis.diagnosis.text import kept
from ....analysis.ledgers import Ledgers
from ....capture import Packet
from ....capture.keylog import KeyLog
from ....collector import seldom_collected
from ....exchanges.engine.engine import Engine
from ....protocol.definitions import MessageDefinition, apis
from ....protocol.grammars import serving
from ....views.tables.columns import CAUSES
from ....views.tables.rows import Rows
from ..archive import s3
from ..archive.files import counted, walked_cuts
from ..archive.plan import CutPoint, File, Looked, Split, look
from ..archive.store import HIDDEN, StoredFile
from ..delta import SCHEMAS
from ..parquet import ParquetFile, Tables
from .pairing import Making, Pairer, exchanges
from .reading import KeyLogs, PacketRun, Part, SplitReading, partition


def causes_of(files: Sequence[tuple[File, Split]], key_logs: Iterable[str] = ()) -> list[Case]:
    """Return the causes in the capture that consists of these files, the weightiest first."""
    keys = KeyLog().use(key_logs)
    engine = Engine(keys=keys)
    ledgers = Ledgers(engine.names_then)

    def blocks() -> Iterator[list[Packet]]:
        """Yield the packets of all files, numbered through, which the ledgers see before the engine does."""
        before = 0
        for file, split in files:
            reading = SplitReading(file, split._replace(shift=before - split.before), keys=keys)
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
    "partition": pa.int32(), "capture": pa.int32(), "name": pa.string(), "key": pa.binary(), "split": pa.int32(),
    "order": pa.int32(), "packets": pa.binary(), "payload": pa.binary(),
})  # fmt: skip
"""A run with the partition that it goes to; `capture` and `split` are numbers in the plan, `name` is the capture's. A
row with an empty key has a key log of the capture as its payload, or if there is none, a report on its split."""
WHOLE = b"*"
"""The key of a row that stands for a split of a whole capture: it holds the file and the split."""
REPORT = pa.schema({"report": pa.binary()})
BATCH, BATCH_ROWS = 8 << 20, 4096
"""Bytes and rows in one batch that a task hands over."""


def report(said: Any) -> pa.RecordBatch:
    """Return a task's report as one row."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(said)], pa.binary())], schema=REPORT)


def task(stage: Stage, definitions: Sequence[MessageDefinition] = ()) -> Stage:
    """Return the stage with message definitions served beside kdbg's own grammars, and little garbage collected.

    It reaches S3 as this process does.

    Spark's workers collect garbage after every task, and would look through all of kdbg each time. What is there when
    a task begins, which is when the garbage of the one before is gone, is here to stay.
    """

    reached = s3.shared()

    def whole(batches: Batches) -> Batches:
        gc.freeze()
        with s3.using(reached), seldom_collected(), serving(apis(definitions).apis) if definitions else nullcontext():
            yield from stage(batches)

    return whole


def parts(batches: Batches) -> Iterator[Any]:
    """Yield what a task is to work on."""
    for batch in batches:
        for row in batch.column(0).to_pylist():
            yield pickle.loads(row)


def each(work: Callable[[Any], Any], batches: Batches) -> Batches:
    """Report what `work` returns for each part that a task is to work on."""
    for part in parts(batches):
        yield report(work(part))


def look_at(size: int, files: Sequence[StoredFile]) -> list[Looked]:
    """Look at files, to cut them into splits of `size` bytes."""
    return [look(file, size) for file in files]


def count(found: Sequence[Part]) -> list[tuple[int, CutPoint]]:
    """Walk through splits; return where each walk ended, with the place of the split in the plan."""
    return [(part.number, counted(part.file, part.split)) for part in found]


def recut(size: int, files: Sequence[tuple[File, Split]]) -> list[tuple[int, dict[int, int | None]]]:
    """Walk through files, from these splits on, to cut them into splits of `size` bytes.

    Return the places with the number of each file.
    """
    return [(first.file, walked_cuts(file, first, size)) for file, first in files]


def read(partitions: int, ports: frozenset[int], batches: Batches) -> Batches:
    """Read splits, for so many partitions; each ends with the key logs in it and a report on itself.

    Whole captures are read where they are decoded.
    """
    held: list[tuple[Any, ...]] = []
    size = 0
    for number, name, file, split, spread in (part for bundle in parts(batches) for part in bundle):
        capture = split.capture
        if split.whole and not ports:
            place = partition(capture, WHOLE, 1, partitions)
            held.append((place, capture, name, WHOLE, number, 0, pickle.dumps((file, split)), b""))
            continue
        keys = KeyLogs()
        reading = SplitReading(file, split, ports, keys)
        for run in reading:
            target = partition(capture, run.key, spread, partitions)
            held.append((target, capture, name, run.key, number, run.order, run.packets, run.payload))
            size += len(run.packets) + len(run.payload)
            if size > BATCH or len(held) >= BATCH_ROWS:
                yield run_batch(held)
                held, size = [], 0
        held += [
            ((capture + each) % partitions, capture, name, b"", number, order, b"", log)
            for order, log in enumerate(keys.logs)
            for each in range(spread)
        ]
        said = orjson.dumps(reading.report | {"split": number})
        held.append((capture % partitions, capture, name, b"", number, len(keys.logs), said, b""))
    if held:
        yield run_batch(held)


def run_batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return runs as an Arrow batch of `RUNS`, to be shuffled."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, RUNS, strict=True)], schema=RUNS
    )


def pair(made: Callable[[], Pairer], batches: Batches) -> Batches:
    """Give the runs of a partition to a pairer, which is made in the task."""
    pairer, splits = made(), list[Any]()
    whole: tuple[int, list[tuple[int, File, Split]]] | None = None
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            _, capture, name, key, split, order, packets, payload = row
            if whole and (key, capture) != (WHOLE, whole[0]):
                splits += pairer.whole(*whole)
                whole = None
            pairer.captures[capture] = name
            if key == WHOLE:
                whole = whole or (capture, [])
                whole[1].append((split, *pickle.loads(packets)))  # what `read` packed
            elif key:
                pairer.take(capture, split, PacketRun(key, order, packets, payload))
            elif payload:
                pairer.hear(capture, payload)
            else:
                splits.append(orjson.loads(packets))
    if whole:
        splits += pairer.whole(*whole)
    yield report(pairer.close() | {"splits": splits})


def decode(making: Making, topics: dict[UUID, str], pieces: Sequence[tuple[str, Mapping[int, str]]]) -> dict[str, Any]:
    """Make rows of the exchanges in files, each with the names of its captures; `topics` are the names of topic ids."""
    known, tables = dict(topics), Tables(making.folder, making.run)
    rows, fits = Rows(tables.add, making.wanted, known), making.filters.check(known)
    for name, captures in pieces:
        for capture, exchange in exchanges(making.folder, name, known):
            if fits is None or fits(exchange):
                rows.exchange(captures[capture], exchange)
    return tables.close() | {"problems": rows.problems}


def judge(
    folder: str, key_logs: Sequence[str], captures: Sequence[tuple[str, Sequence[tuple[File, Split]]]]
) -> dict[str, Any]:
    """Judge captures from the first packet to the last, and write their causes; `key_logs` are secrets of TLS."""
    out, _, run = folder.rpartition(f"/{HIDDEN}")
    rows: list[dict[str, Any]] = []
    for capture, files in captures:
        cases = causes_of(files, key_logs)
        rows += [
            {"run": run, "capture": capture, "place": place, "severity": case.severity.value, "cause": one["cause"],
             "object": orjson.dumps(one | {"file": capture}).decode()}
            for place, (case, one) in enumerate(zip(cases, map(kept, cases), strict=True))
        ]  # fmt: skip
    if not rows:
        return {"files": [], "causes": {}}
    file = ParquetFile(out, CAUSES, run, SCHEMAS[CAUSES])
    file.write(pa.Table.from_pylist(rows, SCHEMAS[CAUSES]))
    return {"files": [file.close()], "causes": Counter(row["severity"] for row in rows)}

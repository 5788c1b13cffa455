"""`kdbg pipeline --append`: hour by hour, the tables get the rows that all captures at once give."""

from __future__ import annotations

import gzip
import json
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.capture.frames import Frames
from kdbg.errors import SparkError
from kdbg.scale.spark.archive.files import counted, numbered
from kdbg.scale.spark.archive.plan import SPLIT, plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.follow.progress import Batch, Progress, resume
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions, PipelineOutcome
from kdbg.scale.spark.stages.reading import SplitReading
from tests.capture.files import enhanced, interface, section

from .archives import HEAD, concatenated, records, rolled, write
from .conftest import Run
from .decoded import ask, decoded, tabled

NUMBERED = "number connection waiting_us throttle_us network_us held_us broker_us reading_us"
"""Columns that rows of whole captures have alone."""
LONG = 100 * 365 * 86_400
"""Seconds in which no connection is over."""
Append = Callable[..., PipelineOutcome]


def batch(out: Path, captures: Sequence[Path], forget: int = LONG, **how: Any) -> tuple[Output, Batch]:
    """What a run would add."""
    output, names = Output(str(out)), [*map(str, captures)]
    before = output.progress()
    known: dict[str, Any] = {"known": before.holds, "continues": before.earlier, "contents": output.contents()}
    found = plan(names, rolled=how.get("rolled", False), **known)
    return output, resume(found, before, names, patience=forget * 10**9, **how)


@pytest.fixture
def append(spark: Any, tmp_path: Path) -> Append:
    """Adds captures to the tables in `tmp_path / "tables"`."""

    def append(*captures: Path, forget: int = LONG, **how: Any) -> PipelineOutcome:
        output, new = batch(tmp_path / "tables", captures, forget, **how)
        return Pipeline(spark, output, PipelineOptions(append=True)).grow(new)

    return append


def unnumbered(table: str, *without: str) -> str:
    """The question for a table without its columns for whole captures alone, and these."""
    columns = ("run", *NUMBERED.split(), *without)
    return f"SELECT COLUMNS(lambda name: name NOT IN {columns}) FROM {{{table}}}"


def rows(out: Path) -> dict[str, list[str]]:
    """The rows of tables; those of `files` are added up over the parts in which a file was read."""
    found = {
        table: sorted(map(repr, ask(out, unnumbered(table))))
        for table in ("exchanges", "partitions", "connections", "groups", "problems")
    }
    counts = "sum(packets), sum(tcp_packets), sum(packet_bytes), min(first_packet), min(first_time), max(last_time)"
    question = f"SELECT capture, file, {counts}, string_agg(problem) FROM {{files}} GROUP BY ALL"
    return found | {"files": sorted(map(repr, ask(out, question)))}


@pytest.mark.parametrize(("pieces", "runs"), [(20, 3), pytest.param(100, 100, marks=pytest.mark.nightly)])
def test_a_ring_cut_at_many_places_gives_the_rows_of_one_run(
    run: Run, append: Append, tmp_path: Path, pieces: int, runs: int
) -> None:
    """One of its files is cut off inside a packet."""
    dice = Random(runs)
    folder, hours = rolled(tmp_path / "all", concatenated(min(runs, 20)), pieces, dice), tmp_path / "hours"
    hours.mkdir()
    files = [folder / f"roll.pcap{number or ''}" for number in range(pieces)]
    files[pieces // 2].write_bytes(files[pieces // 2].read_bytes()[:-5])
    ends = [*sorted(dice.sample(range(1, pieces), runs - 1)), pieces]
    start = 0
    for end in ends:
        for file in files[start:end]:
            (hours / file.name).write_bytes(file.read_bytes())
        append(hours)
        start = end
    assert append(hours, forget=0).waiting == 0
    once, _ = run([folder])
    whole = write(tmp_path / "whole.pcap", [packet for file in files for packet in records(file)])
    tables = tmp_path / "tables"
    assert tabled(tables) == decoded([whole], "roll.pcap")
    found = rows(tables)
    assert found == rows(once)
    assert any("the file ends inside packet" in row for row in found["problems"])
    assert len(found["connections"]) > 10


def test_one_file_is_in_the_tables_at_once(run: Run, append: Append, tmp_path: Path) -> None:
    """Whatever its connections are: no later file is expected."""
    capture = write(tmp_path / "incident.pcap", concatenated(2)[:-3])
    assert append(capture, forget=600).waiting == 0
    once, _ = run([capture])
    assert rows(tmp_path / "tables") == rows(once)


def test_rows_have_numbers_where_a_capture_begins_and_ends_in_a_run(append: Append, tmp_path: Path) -> None:
    folder, tables = rolled(tmp_path / "in", concatenated(4), 4, Random(1)), tmp_path / "tables"
    numbers = "SELECT count(*) > 50, count(number), count(connection), count(DISTINCT exchange_uid) FROM {exchanges}"
    append(folder, forget=0)
    [(is_long, number, connection, uids)] = ask(tables, numbers)
    assert is_long
    assert number == connection == uids
    (folder / "roll.pcap").rename(tmp_path / "first.pcap")
    more = rolled(tmp_path / "more", [later(packet, 86_400) for packet in concatenated(4)], 4, Random(1))
    late = (more / "roll.pcap3").rename(tmp_path / "late")
    append(more)
    late.rename(more / "roll.pcap3")
    append(more, forget=0)
    assert ask(tables, numbers) == [(True, number, number, 2 * uids)], "none where it continues in the next run"
    copy = tmp_path / "copy.pcap"
    copy.write_bytes((tmp_path / "first.pcap").read_bytes())
    assert not append(copy).counts, "the tables contain its packets"


def test_a_file_that_is_being_written_is_continued(run: Run, append: Append, tmp_path: Path) -> None:
    """It was changed just now, and its connections were busy just now; another file is not kept waiting."""
    capture, other = tmp_path / "kafka.pcap", write(tmp_path / "other.pcap", concatenated(1))
    packets = [struct.pack("<I", int(time.time())) + packet[4:] for packet in concatenated(1)]
    whole = HEAD + b"".join(packets)
    capture.write_bytes(whole[: len(whole) // 2])
    first = append(capture, other, forget=600)
    assert first.waiting > 0
    assert not first.problems, "its last packet is not complete yet"
    _, waits = batch(tmp_path / "tables", [capture, other])
    assert not waits.plan.refused, "it is no duplicate of what was read of it"
    capture.write_bytes(whole)
    append(capture, other, forget=600)
    assert append(capture, other, forget=0).waiting == 0
    once, _ = run([capture, other])
    assert rows(tmp_path / "tables") == rows(once)
    assert append(capture, other).counts == {}, "nothing is new"


def test_hours_in_dated_folders_and_compressed_files_go_on(run: Run, append: Append, tmp_path: Path) -> None:
    """kafka-%H.pcap, compressed when the next one is there, in a folder a day."""
    packets, folder = concatenated(4), tmp_path / "in"
    days = [folder / day for day in ("2026-11-21", "2026-11-22")]
    for day in days:
        day.mkdir(parents=True)
    third = len(packets) // 3
    parts = [
        [later(packet, hours * 3600) for packet in packets[number * third : (number + 1) * third]]
        for number, hours in enumerate((0, 12, 13))
    ]
    whole = write(tmp_path / "whole.pcap", [packet for part in parts for packet in part])
    names = [days[0] / "kafka-12.pcap", days[1] / "kafka-00.pcap", days[1] / "kafka-01.pcap"]
    write(names[0], parts[0])
    append(folder)
    names[0].with_suffix(".pcap.gz").write_bytes(gzip.compress(names[0].read_bytes()))
    names[0].unlink()
    write(names[1], parts[1])
    append(folder)
    write(names[2], parts[2])
    append(folder)
    append(folder, forget=0)
    tables = tmp_path / "tables"
    assert [row[1:] for row in tabled(tables)] == [row[1:] for row in decoded([whole])]
    assert ask(tables, "SELECT count(DISTINCT capture) FROM {files}") == [(1,)]
    once, _ = run([whole])
    for table in ("connections", "partitions", "problems"):
        question = unnumbered(table, "capture", "connection_uid", "exchange_uid")
        assert sorted(map(repr, ask(tables, question))) == sorted(map(repr, ask(once, question)))


def later(packet: bytes, seconds: int) -> bytes:
    return struct.pack("<I", int.from_bytes(packet[:4], "little") + seconds) + packet[4:]


def test_of_two_that_add_to_one_capture_point_one_is_refused(append: Append, spark: Any, tmp_path: Path) -> None:
    tables, packets = tmp_path / "tables", concatenated(3)
    one, other = tmp_path / "one", tmp_path / "other"
    next_day = [later(packet, 86_400) for packet in packets]
    for folder, recorded in ((one, packets), (other, next_day)):
        rolled(folder, recorded, 3, Random(1))
    late = one / "roll.pcap2"
    data = late.read_bytes()
    late.unlink()
    append(one)
    late.write_bytes(data)
    begun = [batch(tables, [folder]) for folder in (one, one, other)]
    for output, new in (begun[0], begun[2]):
        Pipeline(spark, output, PipelineOptions(append=True)).grow(new)
    with pytest.raises(SparkError, match=r"another run added packets of roll\.pcap"):
        Pipeline(spark, begun[1][0], PipelineOptions(append=True)).grow(begun[1][1])
    append(one, other, forget=0)
    wholes = [write(tmp_path / "one.pcap", packets), write(tmp_path / "other.pcap", next_day)]
    wanted = [row for whole in wholes for row in decoded([whole], "roll.pcap")]
    assert tabled(tables) == sorted(wanted, key=repr)


@pytest.mark.parametrize("room", [SPLIT, 1 << 13])
@pytest.mark.parametrize("form", ["pcap", "pcapng", "pcap.gz", "pcap.zst", "pcapng.gz"])
def test_a_growing_file_is_read_up_to_its_last_complete_packet(tmp_path: Path, form: str, room: int) -> None:
    """Also where it is cut into splits of `room` bytes."""
    import zstandard

    whole, folder, dice = tmp_path / "whole", tmp_path / "in", Random(form)
    file = folder / f"x1.{form}"
    folder.mkdir()
    write(whole, concatenated(2)[:600])
    data = whole.read_bytes()
    if form.startswith("pcapng"):
        with Frames(whole) as frames:
            data = section() + interface(1) + b"".join(enhanced(frame.data, frame.time // 1000) for frame in frames)
    for ending, compress in ((".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)):
        data = compress(data) if form.endswith(ending) else data
    progress, numbers, entries = Progress(), list[int](), list[Any]()
    sizes = sorted(dice.sample(range(len(data)), 20))
    for size, then in pairwise([*sizes, len(data), len(data), len(data)]):
        file.write_bytes(data[:size])
        more = partial(file.write_bytes, data[: (size + then) // 2])
        entry, found, problems = read_on(folder, progress, 0 if size == len(data) else LONG, more, room)
        entries.append(entry)
        progress = Progress.of(json.loads(json.dumps(entries)))
        numbers += found
        assert not problems, size
    with open_capture(whole) as capture:
        assert numbers == [packet[0] for packet in capture]
    cuts = len(plan([str(folder)], room).splits)
    assert (cuts > 1) == (room < SPLIT and form in ("pcap", "pcapng"))
    entry, found, problems = read_on(folder, progress, 0, lambda: None, room)
    assert (found, problems) == ([], []), "nothing is left"
    progress = Progress.of(json.loads(json.dumps([*entries, entry])))
    assert not plan([str(folder)], known=progress.holds).files, "and the file is not opened again"


def read_on(
    folder: Path, progress: Progress, patience: int, meanwhile: Callable[[], object], size: int
) -> tuple[dict[str, Any], list[int], list[Any]]:
    """Read what is new in a folder: what the run notes, the numbers of packets, and problems."""
    found = plan([str(folder)], size, known=progress.holds, continues=progress.earlier)
    meanwhile()
    new = resume(found, progress, [str(folder)], patience=patience * 10**9)
    walks = {i: counted(new.plan.files[split.file], split) for i, split in enumerate(new.plan.splits)}
    new.counted(numbered(new.plan, walks), walks)
    numbers, reports = list[int](), list[dict[str, Any]]()
    for number, split in enumerate(new.plan.splits):
        reading = SplitReading(new.plan.files[split.file], split)
        numbers += [packet[0] for block in reading.blocks() for packet in block]
        reports.append(reading.report | {"split": number})
    new.after(new.plan, reports, {}, 0)
    return new.entry(), numbers, [problem for report in reports for problem in report["problems"]]

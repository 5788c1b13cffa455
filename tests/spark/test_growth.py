"""The cost of a run grows with its input: a task gets its part alone, and tasks look at the files of an archive."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest

from kdbg.scale.spark import jobs
from kdbg.scale.spark.archive.plan import Plan, bundled, plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.jobs import Jobs
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions
from kdbg.scale.spark.stages.reading import partition
from kdbg.scale.spark.stages.tasks import report
from tests.capture.files import pcap
from tests.cli.calls import CAPTURES, SHIPPED, call

from .archives import concatenated, write
from .decoded import decoded, tabled

HERE = ("--master", "local[2]")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    write(folder / "big.pcap", concatenated(8))
    for number in range(40):
        (folder / f"small-{number}.pcap").write_bytes(pcap([bytes(40)] * (number + 1)))
    (folder / "packed.pcap.gz").write_bytes(gzip.compress(pcap([bytes(40)])))
    (folder / "notes.txt").write_text("not a capture")
    (folder / "empty.pcap").touch()
    return folder


def test_tasks_find_what_the_driver_finds(spark: Any, archive: Path) -> None:
    here = plan([str(archive)], 1 << 16, allow_duplicates=True)
    assert len(here.splits) > len(here.files) == 42
    assert len(here.refused) == 2
    assert plan([str(archive)], 1 << 16, allow_duplicates=True, look=Jobs(spark, "plan").look) == here


@pytest.mark.usefixtures("here")
def test_a_large_archive_is_planned_by_tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []
    real = Jobs.look

    def look(self: Jobs, found: Any, size: int) -> Any:
        asked.append(len(found))
        return real(self, found, size)

    monkeypatch.setattr(Jobs, "look", look)
    for few in (len(SHIPPED), len(SHIPPED) - 1):
        monkeypatch.setattr(jobs, "FEW", few)
        done = call("pipeline", *SHIPPED, "--out", tmp_path / "tables", *HERE)
        assert done.status == 1, done.err
        assert tabled(tmp_path / "tables") == decoded(SHIPPED)
    assert asked == [len(SHIPPED)]
    refused = call("pipeline", *SHIPPED, CAPTURES / "README.md", "--out", tmp_path / "tables", *HERE)
    assert refused.status == 2
    assert "not a pcap or pcapng file" in refused.err


def parts(spark: Any, found: Plan, tmp_path: Path) -> list[list[Any]]:
    pipeline = Pipeline(spark, Output(str(tmp_path / "tables")), PipelineOptions(split=1 << 16))
    return pipeline._parts(found, range(len(found.splits)))


def test_a_task_gets_its_part_alone(spark: Any, archive: Path, tmp_path: Path) -> None:
    """What a task gets is as large as its splits, however many files there are."""
    found = plan([str(archive)], 1 << 16)
    bundles = parts(spark, found, tmp_path)
    assert [part.split for bundle in bundles for part in bundle] == found.splits
    assert all(found.files[part.split.file] == part.file for bundle in bundles for part in bundle)
    work = Jobs(spark, "growth")
    frame = work._tasks(bundles).mapInArrow(lambda batches: _sizes(batches), "report binary")
    got = work._collect("read", frame)
    assert [[*map(len, task)] for task in got] == [[len(pickle.dumps(bundle))] for bundle in bundles]
    one = max(len(bundle) for bundle in bundles)
    assert max(len(pickle.dumps(bundle)) for bundle in bundles) < 700 * one < 700 * len(found.splits)


def _sizes(batches: Any) -> Any:
    """Report the rows of the task."""
    yield report([row for batch in batches for row in batch.column(0).to_pylist()])


def test_small_files_share_tasks_and_cores_have_work() -> None:
    assert bundled([3, 3, 3, 9, 1, 1], lambda size: size, 5) == [[3, 3], [3, 9], [1, 1]]
    assert bundled([], lambda size: size, 5) == []


def test_connections_of_a_small_capture_are_in_one_partition() -> None:
    keys = [bytes([n, n]) for n in range(200)]
    assert {partition(9, key, 1, 8) for key in keys} == {1}
    assert {partition(9, key, 3, 8) for key in keys} == {1, 2, 3}
    assert {partition(9, key, 8, 8) for key in keys} == {*range(8)}

"""`kdbg pipeline --diagnose` finds in an archive what `kdbg diagnose` finds in its captures, however the run is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.spark.commit import Output
from tests.cli.calls import CAPTURES, spawn
from tests.diagnosis.books import STAGED

from ..cases import by_day
from .archives import concatenated, rolled, write
from .decoded import ask
from .test_command import HERE, pipeline

Run = Callable[..., tuple[Path, Any]]
INCIDENTS = [
    STAGED / f"{name}.pcap.gz"
    for name in (
        "consumer-too-slow-java", "rolling-restart", "mistyped-topic-made", "fetch-without-waiting-kafka-python",
    )
] + [CAPTURES / "errors.pcap", CAPTURES / "group-rebalance.pcap"]  # fmt: skip
CUTS = [(1, 1 << 30), (2, 1 << 16), (7, 1 << 17)]
"""Partitions of the shuffle, and bytes of a split."""


@pytest.mark.parametrize(("partitions", "split"), by_day(CUTS, 2))
def test_it_finds_the_same_for_any_partitioning(run: Run, partitions: int, split: int) -> None:
    out, outcome = run(INCIDENTS, partitions=partitions, split=split, diagnose=True)
    wanted = spawn("diagnose", *INCIDENTS, "-f", "json")
    found = spawn("diagnose", out, "-f", "json")
    assert len(wanted.lines) >= len(INCIDENTS)
    by_file = {str(path): [line for line in wanted.lines if line["file"] == str(path)] for path in INCIDENTS}
    assert {name: [line for line in found.lines if line["file"] == name] for name in by_file} == by_file
    assert len(found.lines) == len(wanted.lines) == outcome.causes.total()
    assert found.status == wanted.status == 1


@pytest.mark.parametrize(("partitions", "split"), by_day(CUTS[::-1], 3))
def test_a_large_capture_cut_into_files_is_one(run: Run, tmp_path: Path, partitions: int, split: int) -> None:
    packets = concatenated(60)
    whole = write(tmp_path / "whole.pcap", packets)
    assert whole.stat().st_size > 10 * (1 << 17)
    pieces = rolled(tmp_path / "rolled", packets, 5, Random(partitions))
    wanted = spawn("diagnose", whole, "-f", "json")
    for captures in ([whole], sorted(pieces.iterdir())):
        out, _ = run(captures, partitions=partitions, split=split, diagnose=True)
        found = spawn("diagnose", out, "-f", "json")
        assert found.out == wanted.out
        assert found.status == wanted.status
    assert len(wanted.lines) > 5
    text = spawn("diagnose", out).out
    assert "kdbg decode" not in text, "no command takes several files as one"
    first = next(line["evidence"]["exchanges"][0] for line in wanted.lines if line["evidence"]["exchanges"])
    assert f"#{first}" in text


def test_the_text_is_that_of_the_captures(run: Run, tmp_path: Path) -> None:
    """All but the last line: tables do not say what was checked."""
    files = sorted(INCIDENTS[:3])
    out, _ = run(files, diagnose=True)
    for more in ((), ("--no-notes",)):
        wanted, found = spawn("diagnose", *files, *more), spawn("diagnose", out, *more)
        assert found.out.splitlines() == [line for line in wanted.out.splitlines() if not line.startswith("checked ")]
        assert found.status == wanted.status
        assert found.err == ""


def test_runs_stand_beside_one_another(run: Run, tmp_path: Path) -> None:
    first, second, third = INCIDENTS[4], INCIDENTS[2], INCIDENTS[5]
    out = tmp_path / "tables"
    run([first], out=out, diagnose=True)
    run([second], out=out, diagnose=True, append=True, filters=Filters(api="fetch"))
    wanted = spawn("diagnose", first, second, "-f", "json")
    found = spawn("diagnose", out, "-f", "json")
    assert found.out == wanted.out, "filters choose what is in the tables, not what is judged"
    run([third], out=out, append=True)
    without = spawn("diagnose", out)
    assert without.status == 2
    assert ": no causes, as 1 of 3 runs were made without --diagnose" in without.err
    run([third], out=out)
    assert ask(out, "SELECT count(*) FROM {causes}") == [(0,)]


@pytest.mark.usefixtures("here")
def test_what_cannot_be_told_is_said_in_a_line(tmp_path: Path) -> None:
    out = tmp_path / "tables"
    done = pipeline(INCIDENTS[4], "--out", out, "--diagnose", status=1)
    assert " · 4 causes (error 3, note 1) · tables in " in done.closing
    (path,) = (out / "causes").glob("*.parquet")
    kept = pq.read_table(path)
    whole = kept["object"].to_pylist()
    for damage in ("{", "[]", '{"cause": 1}', whole[0].replace('"error"', '"loud"')):
        damaged = [damage, *whole[1:]]
        pq.write_table(kept.set_column(kept.column_names.index("object"), "object", [damaged]), path)
        done = spawn("diagnose", out)
        assert (done.status, done.out) == (2, "")
        assert len(done.err.splitlines()) == 1
        assert "Traceback" not in done.err
    both = spawn("diagnose", out, INCIDENTS[4])
    assert both.status == 2
    assert "not both" in both.err
    followed = spawn("pipeline", INCIDENTS[4], "--out", out, "--diagnose", "--follow", *HERE)
    assert followed.status == 2
    assert "--diagnose cannot be combined with --follow" in followed.err
    [(_, entry)] = Output(str(out)).entries()
    assert entry["causes"] == {INCIDENTS[4].name: str(INCIDENTS[4])}

"""The tables hold what `kdbg decode` finds, however the captures lie and however Spark divides the work."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.cli.calls import SHARED, SHIPPED

from .archives import concatenated, reordered, rolled, write
from .conftest import Run
from .decoded import ask, decoded, tabled


def test_all_captures_together_hold_every_exchange_that_decode_finds(run: Run) -> None:
    captures = [*SHIPPED, *SHARED]
    out, outcome = run(captures)
    found = tabled(out)
    assert found == decoded(captures)
    assert outcome.rows["exchanges"] == outcome.counts["exchanges"] == len(found) > 1000


def test_the_counts_add_up(run: Run) -> None:
    out, outcome = run(SHIPPED, ports=frozenset([9092]))
    counts = outcome.counts
    in_connections = ask(out, "SELECT sum(packets) FROM {connections}")[0][0]
    assert counts["packets"] == ask(out, "SELECT sum(packets) FROM {files}")[0][0] > 0
    assert counts["packets"] == (
        counts["other_packets"] + counts["passed_over"] + counts["outside_connections"] + in_connections
    )
    assert counts["passed_over"] > 0
    assert counts["frames"] == ask(out, "SELECT count(request_bytes) + count(response_bytes) FROM {exchanges}")[0][0]
    assert counts["frame_bytes"] == ask(out, "SELECT sum(request_bytes) + sum(response_bytes) FROM {exchanges}")[0][0]
    assert outcome.findings.total() == ask(out, "SELECT count(*) FROM {problems}")[0][0]


@pytest.fixture(scope="module")
def packets() -> list[bytes]:
    """Those of forty captures, one after the other."""
    return concatenated(40)


@pytest.mark.parametrize(("partitions", "split"), [(1, 1 << 20), (2, 64 << 20), (8, 1 << 16)])
def test_a_rolled_capture_is_what_it_was_in_one_file(
    run: Run, tmp_path: Path, packets: list[bytes], partitions: int, split: int
) -> None:
    whole = write(tmp_path / "whole.pcap", packets)
    folder = rolled(tmp_path / "rolled", packets, 17, Random(partitions))
    files = sorted(folder.iterdir(), key=lambda path: Random(path.name).random())
    out, _ = run(files, partitions=partitions, split=split)
    assert tabled(out) == decoded([whole], f"{folder}/roll.pcap*")
    out, _ = run([whole], partitions=partitions, split=split)
    assert tabled(out) == decoded([whole])


def test_a_heavily_reordered_capture_is_read_as_decode_reads_it(run: Run, tmp_path: Path, packets: list[bytes]) -> None:
    capture = write(tmp_path / "reordered.pcap", reordered(packets, 40, Random(4)))
    out, _ = run([capture], split=1 << 16, partitions=8)
    assert tabled(out) == decoded([capture])

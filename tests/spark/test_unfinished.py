"""Connections that wait from batch to batch come out as if all their packets had been in one."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow as pa
import pytest

from kdbg.capture import Packet, open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.findings.facts import FactKind
from kdbg.scale.spark.follow import unfinished
from kdbg.scale.spark.follow.unfinished import ConnectionState, Follower, ResumePoint, waited
from kdbg.scale.spark.stages.pairing import Making, exchanges
from kdbg.scale.spark.stages.reading import runs
from kdbg.scale.spark.stages.tasks import RUNS, pair, run_batch
from kdbg.views.tables.message_columns import WantedRows
from tests.cli.calls import SHARED, SHIPPED
from tests.traffic import Talk, pcap

from ..cases import by_day
from .test_runs import said

OVER = (1 << 63) - 1
NOTHING = 0
"""The bytes of exchanges of which rows are made where they are paired: all are handed on, to be looked at."""
Found = tuple[list[str], dict[str, list[str]], int]


def given(names: list[str]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"part": [pickle.dumps(name) for name in names]})


def batches(folder: Path, parts: list[list[Packet]]) -> Found:
    """(exchanges, rows by table, most bytes that waited) of packets that come in so many batches."""
    told: list[str] = []
    tables: dict[str, list[str]] = {"connections": [], "problems": []}
    waiting: list[str] = []
    most = 0
    for number, packets in enumerate(parts):
        here = folder / f".kdbg-{number}"
        here.mkdir(parents=True)
        rows = [(0, 0, "c", run.key, number, run.order, run.packets, run.payload) for run in runs(packets)]
        found = run_batch(rows) if rows else None
        old = list(waited(["c"], ["c"], 1, given(waiting))) if waiting else []
        table = pa.Table.from_batches([*old, *([found] if found else [])], RUNS)
        ordered = table.sort_by([("key", "ascending"), ("split", "ascending"), ("order", "ascending")])
        horizon = OVER if number == len(parts) - 1 else 0
        making = Making(str(here), Filters(), WantedRows(), NOTHING)
        follower = partial(Follower, making, str(here / "waiting"), ["c"], [horizon])
        [batch] = pair(follower, iter(ordered.to_batches()))
        report = pa.Table.from_batches([batch]).to_pylist()[0]["report"]
        result: dict[str, Any] = pickle.loads(report)
        waiting = [*result["waiting"]["files"]]
        most = max([most, *(size for _, size in result["waiting"]["held"])])
        told += [repr(said(each)) for name, _, _ in result["pieces"] for _, each in exchanges(str(here), name, {})]
        for name in tables:
            files = list(folder.glob(f"{name}/*/{number}-*.parquet"))
            tables[name] += [repr(row) for file in files for row in polars.read_parquet(file).drop("run").rows()]
    assert not waiting
    return sorted(told), {name: sorted(rows) for name, rows in tables.items()}, most


def cut(packets: list[Packet], pieces: int, dice: Random) -> list[list[Packet]]:
    cuts = sorted(dice.randrange(len(packets) + 1) for _ in range(pieces - 1))
    return [packets[start:stop] for start, stop in pairwise([0, *cuts, len(packets)])]


@pytest.mark.parametrize("early", [0, 64])
@pytest.mark.parametrize(
    "path", by_day([*SHIPPED, *SHARED], 4), ids=lambda path: f"{path.parent.parent.name}/{path.name}"
)
def test_batches_find_what_one_finds(path: Path, early: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `early` 0 every connection is taken up where it was at rest, however few packets it had."""
    monkeypatch.setattr(unfinished, "LATE_SYN", early)
    with open_capture(path) as capture:
        packets = list(capture)
    wanted = batches(tmp_path / "one", [packets])
    found = batches(tmp_path / "many", cut(packets, 7, Random(path.name)))
    assert [without_senders(one) for one in found[0]] == [without_senders(one) for one in wanted[0]]
    assert found[1] == wanted[1]


def without_senders(exchange: str) -> str:
    """An exchange without who is known for a quirk: a later batch knows the client id for that, not the software."""
    return re.sub(r"KnownQuirk\(code=('[^']*'), senders=\([^)]*\), sure=<[^>]*>\)", r"quirk \1", exchange)


def test_a_long_connection_at_rest_keeps_nothing_waiting(tmp_path: Path) -> None:
    talk = Talk()
    for _ in range(300):
        talk.ask("Metadata", 1, topics=[]).answer(brokers=[])
    (tmp_path / "talk.pcap").write_bytes(pcap(talk))
    with open_capture(tmp_path / "talk.pcap") as capture:
        packets = list(capture)
    found, tables, most = batches(tmp_path / "many", [packets[start : start + 100] for start in range(0, 700, 100)])
    assert len(found) == 300
    assert len(tables["connections"]) == 1
    assert most < 1000, "no more than a request that was on its way"


def test_one_that_never_rests_is_given_up_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "MOST", 2000)
    talk = Talk()
    for _ in range(100):
        talk.ask("Metadata", 1, topics=[{"name": "t" * 100}])
    (tmp_path / "talk.pcap").write_bytes(pcap(talk))
    with open_capture(tmp_path / "talk.pcap") as capture:
        packets = list(capture)
    found, tables, most = batches(tmp_path / "many", [packets[start : start + 20] for start in range(0, 120, 20)])
    assert len(found) == 100
    assert len([row for row in tables["problems"] if "restarted the decoding" in row]) > 0
    assert most <= 2000 + 20 * 300


def test_what_is_known_of_a_connection_comes_back_as_it_was() -> None:
    rest = ResumePoint((1, 2), True, 9, 8, 3, 4, 5, 6, False)
    told = ConnectionState(
        True,
        True,
        7,
        8,
        "caf\udcc3",
        ("x", None),
        None,
        [Finding(Kind.TCP_GAP, "request", "", 1, 2, FactKind.BYTES_MISSING.of(7))],
        rest,
    )
    back = ConnectionState.load(told.dump())
    assert back.dump() == told.dump()
    assert back.findings == told.findings
    assert back.rest is not None
    assert tuple(back.rest.seq) == rest.seq

"""Record sets whose end is not there, as behind a reset: what is whole is shown, and how much of them is there."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from kdbg.ui.cli import run

from ..cases import for_each
from ..traffic import Talk, pcap

VALUES = [b"value-%d" % number * 3 for number in range(4)]
SIZE = 61 + sum(len(value) + 7 for value in VALUES)
"""Bytes of one batch of these values: its header, and of each record its length, four numbers, and two lengths."""


def batch(offset: int, attributes: int = 0) -> dict[str, Any]:
    records = [{"offset": offset + i, "value": value} for i, value in enumerate(VALUES)]
    return {"magic": 2, "base_offset": offset, "attributes": attributes, "records": records}


def talk(cut: int, *, attributes: int = 0) -> Talk:
    """A Fetch of two batches, whose response ends so many bytes too soon."""
    asked = [{"topic": "t", "partitions": [{"partition": 0, "partition_max_bytes": 1 << 20}]}]
    sets = [batch(0, attributes), batch(4, attributes)]
    made = Talk().ask("Fetch", 4, topics=asked)
    made.answer(responses=[{"topic": "t", "partitions": [{"partition_index": 0, "records": sets}]}])
    whole = made.segments[-1].data[: -cut or None]
    made.segments[-1] = made.segments[-1]._replace(data=whole[:2] + struct.pack(">H", len(whole)) + whole[4:])
    made.next[1] -= cut
    return made.end()


def entries(cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], **how: int) -> list[dict[str, Any]]:
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(talk(cut, **how)))
    assert run(["decode", str(path), "-f", "json"]) == 1
    body = json.loads(capsys.readouterr().out)["response"]["body"]
    found: list[dict[str, Any]] = body["responses"][0]["partitions"][0]["records"]
    return found


@for_each("cut", range(1, 2 * SIZE + 1), by=lambda cut: cut // 50)
def test_batches_and_records_that_are_whole_are_shown_and_how_many_bytes_there_are(
    cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = entries(cut, tmp_path, capsys)
    held = 2 * SIZE - cut
    assert (found[-1]["bytes"], found[-1]["of"]) == (held, 2 * SIZE)
    whole = [record["value"].encode() for each in found for record in each.get("records", ())]
    ends = [
        SIZE * number + 61 + sum(len(value) + 7 for value in VALUES[: i + 1]) for number in (0, 1) for i in range(4)
    ]
    assert whole == (VALUES * 2)[: sum(end <= held for end in ends)]


def test_a_set_of_which_nothing_is_there_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(talk(2 * SIZE)))
    run(["decode", str(path)])
    out = capsys.readouterr().out
    assert f"0 of {2 * SIZE} bytes of the record set" in out
    assert "records  empty" not in out


def test_a_compressed_batch_that_is_cut_stays_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = entries(5, tmp_path, capsys, attributes=1)
    assert [len(one.get("records", ())) for one in found] == [4, 0]
    assert found[-1].keys() == {"partial", "bytes", "of"}


def test_the_records_that_are_counted_are_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(talk(5)))
    run(["decode", str(path)])
    assert "2 batches, 1 piece, 7 records" in capsys.readouterr().out
    run(["records", str(path)])
    assert len(capsys.readouterr().out.splitlines()) == 7

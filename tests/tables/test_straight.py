"""Rows straight from the bytes of clean messages are the rows that their values give, over whole captures."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.wire.readings.outline import ALWAYS
from kdbg.views.tables import rows as module
from kdbg.views.tables.cells import plain
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.cli.calls import SHARED, SHIPPED
from tests.traffic import Talk, pcap

from ..cases import by_day

Found = list[tuple[Any, ...]]
EVERYTHING = WantedRows(records=True, values=True)


def rows(source: Any, wanted: WantedRows, *, straight: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[Found, int]:
    """All rows with their tables, times and sizes, and how many halves were proved without their values."""
    found: Found = []
    engine = Engine()
    with monkeypatch.context() as patch, open_capture(source) as capture:
        if not straight:
            patch.setattr(module, "reader_of", lambda *_: None)
        make = Rows(plain(lambda *row: found.append(row)), wanted, engine.topic_names)
        sound = 0
        for exchange in engine.run(capture.blocks()):
            make.exchange("capture", exchange)
            sound += sum(half.sound for half in (exchange.request, exchange.response) if half is not None)
    return found, sound


@pytest.mark.parametrize("wanted", [WantedRows(), EVERYTHING], ids=["amounts", "records"])
@pytest.mark.parametrize(
    "path", by_day([*SHIPPED, *SHARED], 3), ids=lambda path: f"{path.parent.parent.name}/{path.name}"
)
def test_rows_from_bytes_are_those_from_values(path: Path, wanted: WantedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, _ = rows(path, wanted, straight=True, monkeypatch=monkeypatch)
    plain, proved = rows(path, wanted, straight=False, monkeypatch=monkeypatch)
    assert fast == plain
    assert proved == 0


def test_most_messages_need_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    proved = halves = 0
    for path in SHIPPED:
        found, sound = rows(path, WantedRows(), straight=True, monkeypatch=monkeypatch)
        proved += sound
        halves += sum(
            (row[13] is not None) + (row[14] is not None) for table, _, row, _ in found if table == "exchanges"
        )
    assert proved > halves * 0.5, (proved, halves)


def written(topic: dict[str, Any], version: int, *records: dict[str, Any]) -> Talk:
    place = {"partition_index": 1, "high_watermark": 9, "records": [{"magic": 2, "records": list(records)}]}
    talk = Talk().ask("Fetch", version, topics=[{**topic, "partitions": [{"partition": 1, "fetch_offset": 0}]}])
    return talk.answer(responses=[{**topic, "partitions": [place]}])


@pytest.mark.parametrize(
    ("topic", "version"),
    [({"topic": "__consumer_offsets"}, 11), ({"topic_id": UUID(int=1)}, 13)],
    ids=["by name", "by id"],
)
def test_records_of_kafkas_own_topics_are_read_by_their_values(
    topic: dict[str, Any], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert UUID(int=1) in ALWAYS
    odd = {"offset": 0, "key": b"\0\1", "value": b"\xff", "headers": []}
    talk = written(topic, version, odd)
    fast, sound = rows(io.BytesIO(pcap(talk)), EVERYTHING, straight=True, monkeypatch=monkeypatch)
    plain, _ = rows(io.BytesIO(pcap(talk)), EVERYTHING, straight=False, monkeypatch=monkeypatch)
    assert fast == plain
    assert sound == 1, "the request"
    assert "problems" in {table for table, *_ in fast}


def test_offsets_of_produced_records_count_from_the_brokers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{"offset": n, "key": None, "value": b"v", "headers": []} for n in range(2)]
    topic = {"name": "t", "partition_data": [{"index": 0, "records": [{"magic": 2, "records": records}] * 2}]}
    talk = Talk().ask("Produce", 8, acks=1, topic_data=[topic])
    told = [{"index": 0, "base_offset": 40, "log_append_time_ms": -1, "log_start_offset": 0}]
    talk.answer(responses=[{"name": "t", "partition_responses": told}])
    monkeypatch.setattr(module, "AT_ONCE", 3)
    table, _ = rows(io.BytesIO(pcap(talk)), EVERYTHING, straight=True, monkeypatch=monkeypatch)
    place = [*TABLES["records"]].index("offset")
    assert [row[place] for name, _, row, _ in table if name == "records"] == [40, 41, 42, 43]

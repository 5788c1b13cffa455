"""Times that no calendar has, and an address that is null: every view and every table shows them, and none breaks."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg
from kdbg.ui.cli import run
from kdbg.views.render.views import VIEWS
from kdbg.views.tables.columns import TABLES

from ..capture.files import enhanced, interface, option, section
from ..cases import by_day, for_each
from ..traffic import RAW_IP, Talk, pcap

TSRESOL, TSOFFSET = 9, 14
LARGEST = (1 << 63) - 1
TIMES = (LARGEST, -LARGEST - 1, -1, -62_135_596_800_001, 253_402_300_800_000)
"""Of records, in milliseconds: the ends of an INT64, none, before the year 1, in the year 10000."""


def talk() -> Talk:
    """Records of all these times, sent and fetched, and a list of offsets by such a time."""
    records = [{"value": b"x", "timestamp": time} for time in TIMES[2:]]
    sets = [{"magic": 2, "base_timestamp": time, "max_timestamp": time, "records": [{"value": b"x", "timestamp": time}]}
            for time in TIMES[:2]]  # fmt: skip
    sets += [{"magic": 1, "timestamp": time, "value": b"x"} for time in TIMES] + [{"magic": 2, "records": records}]
    made = Talk().ask(
        "Produce", 3, acks=1, topic_data=[{"name": "t", "partition_data": [{"index": 0, "records": sets}]}]
    )
    made.answer(responses=[{"name": "t", "partition_responses": [{"index": 0, "log_append_time_ms": LARGEST}]}])
    asked = [{"partition_index": number, "timestamp": time} for number, time in enumerate(TIMES)]
    made.ask("ListOffsets", 1, topics=[{"name": "t", "partitions": asked}])
    return made.answer(topics=[{"name": "t", "partitions": [dict(one, offset=1) for one in asked]}])


def forwarded() -> Talk:
    """A request that a broker passes on for a client whose address it does not say."""
    inside = kdbg.encode({}, api="Metadata", version=12, direction="request", header={"client_id": "c"})
    body = kdbg.encode(
        {"request_data": inside, "request_principal": b""}, api="Envelope", version=0, direction="request"
    )
    assert body[-2:] == b"\1\0", "an empty address"
    return Talk().ask_bytes("Envelope", 0, body[:-2] + b"\0\0").answer()


def timed(resolution: int | None, offset: int, ticks: int) -> bytes:
    """A pcapng file whose packets have this time, by an interface that says so."""
    options = option(TSRESOL, bytes([resolution])) if resolution is not None else b""
    options += option(TSOFFSET, struct.pack("<q", offset)) + option(0, b"")
    packets = [enhanced(segment.data, ticks) for segment in talk().segments]
    return section() + interface(RAW_IP, options=options) + b"".join(packets)


MADE: dict[str, Callable[[], bytes]] = {
    "records": lambda: pcap(talk()),
    "null address": lambda: pcap(forwarded()),
    "tsresol 0": lambda: timed(0, 0, (1 << 64) - 1),
    "tsresol 2^-0": lambda: timed(0x80, 0, (1 << 64) - 1),
    "tsresol 10^-127": lambda: timed(127, 0, (1 << 64) - 1),
    "tsoffset most": lambda: timed(6, LARGEST, 0),
    "tsoffset least": lambda: timed(6, -LARGEST - 1, 0),
    "before 1970": lambda: timed(6, -1, 1),
}


@pytest.fixture(params=MADE)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "made.pcapng"
    path.write_bytes(MADE[request.param]())
    return path


COMMANDS = {
    **{f"decode {view}": ["decode", "-f", view] for view in VIEWS},
    **{f"decode local {view}": ["decode", "--local", "-f", view] for view in VIEWS},
    "stats": ["stats"],
    "records": ["records"],
    "records --full": ["records", "--full"],
    "records json": ["records", "-f", "json"],
    "records csv": ["records", "-f", "csv"],
    "diff": ["diff"],
}


@for_each("command", COMMANDS)
def test_every_view_shows_it(command: str, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name, *options = COMMANDS[command]
    files = [str(path)] * (2 if name == "diff" else 1)
    assert run([name, *options, *files]) in (0, 1)
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert out or name in ("records", "diff")


def test_the_report_shows_it(path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(path), "-o", str(page)]) in (0, 1)
    assert "Traceback" not in capfd.readouterr().err
    assert page.stat().st_size > 1000


@for_each("table", by_day([*TABLES], 2))
def test_every_table_has_it(table: str, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["query", str(path), f"SELECT * FROM {table}"]) in (0, 1)
    assert "Traceback" not in capfd.readouterr().err

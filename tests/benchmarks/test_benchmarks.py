"""What the benchmarks are made of does what it says; nothing is timed here."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kdbg
from kdbg.protocol.wire.records.compression import CODECS, decompress

from . import archives, disturbed, pages, proxied
from .__main__ import LONG, PARTS, wanted
from .decompression import LIBRARIES, batches
from .measure import cost, first_lines
from .picture import draw
from .proxied import Run
from .results import Column, Results, Table, together
from .robustness import packets
from .stages import STAGES, measure

CAPTURES = Path(__file__).parents[2] / "captures"
FIRST = CAPTURES / "first-contact.pcap"


def table(ratio: float) -> Table:
    made = Table("views", "view", (Column("kdbg", "s"), Column("times faster", "×", 1), Column("cost", "×", -1)))
    made.add("tree", 1.5, ratio, 1.0)
    return made


def test_a_table_is_markdown_with_numbers_to_the_right() -> None:
    assert table(2.0).markdown().splitlines() == [
        "| view | kdbg | times faster | cost |", "| --- | ---: | ---: | ---: |", "| tree | 1.50 s | 2.00 | 1.00 |",
    ]  # fmt: skip


def test_ratios_have_last_times_beside_them_and_worse_ones_are_named() -> None:
    now, before = table(2.0), table(3.0)
    assert "| 1.50 s | 2.00 (was 3.00) | 1.00 (was 1.00) |" in together([now], {"views": before})
    assert list(now.worse(before)) == ["tree, times faster: 2.00, was 3.00"]
    assert list(before.worse(now)) == []
    assert list(table(2.9).worse(before)) == [], "noise"


def test_a_cost_is_worse_where_it_is_more() -> None:
    now, before = table(1.0), table(1.0)
    now.add("hex", 1.0, 1.0, 1.5)
    before.add("hex", 1.0, 1.0, 1.0)
    assert list(now.worse(before)) == ["hex, cost: 1.50, was 1.00"]


def test_results_are_kept(tmp_path: Path) -> None:
    results = Results(tmp_path / "result.json")
    results.put("now", [table(2.0), Table("jobs", "none were measured", ())])
    results.save()
    again = Results(tmp_path / "result.json")
    assert again.tables["views"].markdown() == table(2.0).markdown()
    assert again.settings == {"views": "now"}


def test_the_page_shows_what_is_kept() -> None:
    results = Results(pages.KEPT)
    text = pages.SPEED.read_text(encoding="utf-8")
    assert pages.speed(results, text) == text, "python -m tests.benchmarks.pages"
    assert pages.PICTURE.read_text(encoding="utf-8") == draw(results.tables["stages"])


def test_every_table_has_a_place_on_the_page() -> None:
    shown = {name for names in pages.MARKS.values() for name in names}
    assert set(Results(pages.KEPT).tables) <= shown
    assert all(f"<!-- {mark} -->" in pages.SPEED.read_text(encoding="utf-8") for mark in pages.MARKS)


def test_the_picture_has_a_bar_for_each_stage() -> None:
    stages = Results(pages.KEPT).tables["stages"]
    drawn = ElementTree.fromstring(draw(stages))
    bars = [node for node in drawn.iter("{http://www.w3.org/2000/svg}rect") if node.get("width") == "64"]
    assert len(bars) == len(STAGES) * len(stages.rows)


def test_parts_that_take_long_are_measured_only_when_asked_for() -> None:
    assert wanted([]) == wanted(["decode"]) == [name for name in PARTS if name not in LONG]
    assert wanted(["pipeline", "views"]) == ["views", "pipeline"]


def test_ways_are_held_against_the_direct_run_of_their_own_round() -> None:
    direct = [Run(100, 20, 1.5), Run(1000, 10, 1.5), Run(10, 90, 1.5)]
    through = [Run(90, 60, 1.6, 0.4), Run(800, 70, 1.7, 0.3), Run(7, 190, 1.8, 0.5)]
    made = proxied.table({"direct": direct, "--no-decode": through})
    assert made.column("/ direct") == {"direct": None, "--no-decode": 0.8}
    assert made.column("added") == {"direct": None, "--no-decode": 60}
    assert made.column("relaying, a GB") == {"direct": None, "--no-decode": 0.4}
    assert made.column("showing, a GB") == {"direct": None, "--no-decode": None}


def test_a_process_that_works_takes_time_of_the_processor() -> None:
    before = proxied.cpu_of(os.getpid())
    sum(range(3_000_000))
    assert proxied.cpu_of(os.getpid()) > before


def test_a_command_is_measured() -> None:
    spent = cost([sys.executable, "-c", "bytearray(50_000_000)"], 2)
    assert spent.memory > 50
    assert spent.seconds > 0
    assert first_lines([[sys.executable, "-c", "print(1)"]], 1)[0] > 0


def test_a_command_that_is_refused_has_no_figures() -> None:
    with pytest.raises(SystemExit, match="exit status 2"):
        cost([sys.executable, "-c", "import sys; sys.exit(2)"], 1)


@pytest.mark.parametrize("codec", sorted(set(CODECS) - {0}))
def test_batches_are_found_and_decompressed(codec: int) -> None:
    found = [found for exchange in kdbg.read(CAPTURES / "codecs.pcap") if exchange.request is not None
             for found in batches(exchange.request.data) if found[0] == codec]  # fmt: skip
    assert found
    for _, data in found:
        assert LIBRARIES[codec](data) == decompress(codec, data)


def test_stages_are_cumulative() -> None:
    found = measure(str(FIRST))
    with kdbg.read(FIRST) as reading:
        assert found["exchanges"] == len(list(reading))
    assert found.keys() >= {"packets", "tcp", "engine", "summary", "json", "memory"}


def test_connections_are_as_many_as_wanted_and_none_is_closed(tmp_path: Path) -> None:
    made = archives.many(FIRST, tmp_path / "many.pcap", 300, 2)
    with kdbg.read(made) as reading:
        found = list(reading)
    assert len(found) == 600
    assert {exchange.peers.number for exchange in found} == set(range(1, 301))
    assert packets(made) == 300 * 7


@pytest.mark.parametrize(
    ("disturb", "kinds"),
    [
        (disturbed.sound, set()),
        (disturbed.longer, {"trailing-bytes", "encoding-mistake"}),
        (disturbed.corrupt, {"crc-mismatch"}),
    ],
    ids=lambda what: getattr(what, "__name__", ""),
)
def test_every_message_has_its_finding(disturb: object, kinds: set[str], tmp_path: Path) -> None:
    assert callable(disturb)
    with kdbg.read(disturb(FIRST, tmp_path / "disturbed.pcap")) as reading:
        found = {finding.kind for exchange in reading for finding in exchange.all_findings()}
    assert found - {"known-variant"} == kinds, "beside what the mock cluster's dialect is"


def test_a_disturbed_network_loses_nothing_but_what_the_capture_missed(tmp_path: Path) -> None:
    lossy, clean = disturbed.lossy(FIRST, tmp_path / "lossy.pcap"), disturbed.clean(FIRST, tmp_path / "clean.pcap")
    assert clean.read_bytes() == FIRST.read_bytes()
    seen = [packet[16:] for packet in _packets(clean)]
    assert {packet[16:] for packet in _packets(lossy)} <= set(seen)
    assert [packet[16:] for packet in _packets(lossy)] != seen


def _packets(capture: Path) -> list[bytes]:
    data, found, place = capture.read_bytes(), list[bytes](), 24
    while place < len(data):
        end = place + 16 + struct.unpack_from("<I", data, place + 8)[0]
        found.append(data[place:end])
        place = end
    return found

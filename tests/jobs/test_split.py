"""Parts of a capture that other processes read: the output is that of one process, for damaged captures as well."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest

import kdbg.capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.split import engine as split
from kdbg.exchanges.split.skipping import Skipping
from kdbg.ui.cli import pool_sink
from kdbg.ui.cli.decode import write_files
from kdbg.ui.cli.exchange_output import ExchangeOutput, depth_of
from kdbg.ui.cli.inputs import AUTO, LARGE, processes
from kdbg.ui.cli.output import Writer
from kdbg.ui.cli.pool_sink import PoolSink
from kdbg.ui.cli.runner import Runner
from kdbg.views.render.style import Look

from ..cases import fewer_by_day
from ..traffic import PCAP_HEADER, Talk, pcap, records


def conversation(chance: random.Random, number: int) -> Talk:
    """A connection with several requests in flight: heartbeats, metadata, and fetches by topic id."""
    talk = Talk(("10.0.0.1", 40_000 + number), client_id=f"client-{number}", at=chance.randrange(50))
    talk.ask("ApiVersions", 3, client_software_name="kdbg").answer(api_keys=[])
    most = chance.choice((1, 2, 5))
    for _ in range(150):
        talk.at += chance.randrange(4)
        topic_id = UUID(int=chance.randrange(1, 40))
        match chance.randrange(30):
            case 0:
                talk.ask("Metadata", 12, topics=[])
            case 1 | 2 | 3:
                talk.ask("Fetch", 13, topics=[{"topic_id": topic_id, "partitions": [{"partition": 0}]}])
            case _:
                talk.ask("Heartbeat", 0, group_id="g" * chance.randrange(1, 60))
        while len(talk.asked) >= most or (talk.asked and chance.random() < 0.3):
            named = {"topics": [{"name": f"topic-{topic_id.int}", "topic_id": topic_id}]}
            talk.answer(**(named if talk.asked[0][0] == "Metadata" else {}))
    return talk


def damaged(chance: random.Random, packets: list[bytes]) -> list[bytes]:
    """The packets of a capture, some of them lost, repeated, late, cut or altered."""
    packets = [*packets]
    for _ in range(chance.choice((0, 1, 4, 12))):
        at = chance.randrange(len(packets))
        one = packets[at]
        match chance.randrange(5):
            case 0:
                del packets[at : at + chance.choice((1, 3))]
            case 1:
                packets.insert(at + chance.randrange(30), one)
            case 2:
                packets.insert(at + chance.randrange(1200), packets.pop(at))
            case 3:
                place = chance.randrange(16, len(one))
                packets[at] = one[:place] + bytes([one[place] ^ 1 << chance.randrange(8)]) + one[place + 1 :]
            case 4:
                kept = chance.randrange(16 + 40, len(one) + 1)
                packets[at] = one[:8] + struct.pack("<I", kept - 16) + one[12:kept]
    return packets


class Counted(Skipping):
    """Counts the spans that are skipped, and those whose packets the engine is given."""

    skips = rejections = 0

    def _start(self, place: int) -> None:
        before = len(self.skipped), len(self._spans_of)
        super()._start(place)
        Counted.skips += len(self.skipped) - before[0]
        Counted.rejections += len(self._spans_of) < before[1]


def printed(capture: pytest.CaptureFixture[str], path: Path, jobs: int) -> tuple[str, list[str], int]:
    """What a run prints, without its last line, and its status."""
    runner = Runner(Filters(), Writer(), depth=depth_of("json"), jobs=jobs)
    write_files([str(path)], runner, ExchangeOutput(runner, "json", Look()))
    out, err = capture.readouterr()
    return out, err.splitlines()[:-1], runner.status


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of some hundred packets, of which all are read by other processes."""
    monkeypatch.setattr(split, "Skipping", Counted)
    monkeypatch.setattr(split, "MOST_EDGES", 2)
    monkeypatch.setattr(split, "MOST_PART", 8_000)
    monkeypatch.setattr(kdbg.capture, "CHUNK", 64)
    Counted.skips = Counted.rejections = 0


@pytest.mark.usefixtures("small_parts")
def test_the_output_is_that_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "traffic.pcap"
    for seed in range(fewer_by_day(160, 10)):
        chance = random.Random(seed)
        talks = [conversation(chance, number) for number in range(chance.choice((1, 2, 4)))]
        path.write_bytes(PCAP_HEADER + b"".join(damaged(chance, list(records(*talks)))))
        monkeypatch.setattr(split, "PART", chance.choice((8_000, 20_000, 60_000)))
        monkeypatch.setattr(split, "MOST_PART", chance.choice((8_000, 8_000, 60_000)))
        monkeypatch.setattr(split, "FIRST", chance.choice((64, 2_000)))
        monkeypatch.setattr(split, "MOST_EDGES", chance.choice((2, 2, 2, 0.3)))
        one, several = (printed(capfd, path, jobs) for jobs in (1, chance.choice((2, 3))))
        assert "search-limit" in one[0] + several[0] or several == one, seed
    assert Counted.skips > 50
    assert Counted.rejections > 5


def test_auto_is_all_cores_for_large_captures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 2, 5}, raising=False)
    assert [processes(AUTO, size) for size in (None, 0, LARGE - 1, LARGE)] == [1, 1, 1, 3]
    assert processes(7, None) == 7


@pytest.mark.usefixtures("small_parts")
def test_what_no_part_waits_for_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Short connections have no spans: all their exchanges are paired here."""
    path, held = tmp_path / "short.pcap", [0]
    talks = [Talk(("10.0.0.1", 30_000 + number), at=9 * number) for number in range(400)]
    for talk in talks:
        talk.ask("Heartbeat", 0).answer().ask("Heartbeat", 0).answer().end()
    path.write_bytes(pcap(*talks))

    class Watched(PoolSink):
        def add(self, exchanges: Sequence[Exchange]) -> None:
            super().add(exchanges)
            held[0] = max(held[0], len(self._exchanges))

    monkeypatch.setattr(pool_sink, "PoolSink", Watched)
    monkeypatch.setattr(split, "PART", 8_000)
    monkeypatch.setattr(split, "FIRST", 64)
    one, several = (printed(capfd, path, jobs) for jobs in (1, 2))
    assert several == one
    assert one[0].count("\n") == 800
    assert 0 < held[0] < 200

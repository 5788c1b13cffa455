"""What is a log, and how one is gone through: from files, pipes and streams, however it is cut."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

import kdbg
from kdbg.analysis.logs.lines import MOST, Lines
from kdbg.errors import UnknownCapture

from ..cli.calls import call, spawn

RECORDED = Path(__file__).parent / "recorded"
TEXT = (RECORDED / "librdkafka.log").read_bytes()


def test_a_log_is_read_from_the_standard_input() -> None:
    done = spawn("decode", "-", "-f", "summary", stdin=TEXT)
    assert done.status == 0
    assert len(done.out.splitlines()) == 1 + TEXT.count(b": Sent ")
    assert done.closing.startswith(f"{TEXT.count(bytes([10]))} lines · ")


def test_text_without_protocol_lines_is_no_log() -> None:
    with pytest.raises(UnknownCapture):
        list(kdbg.read(io.BytesIO(b"INFO nothing of the kind\n" * 1000)))
    with pytest.raises(UnknownCapture):
        list(kdbg.read(io.BytesIO(b"\0" + TEXT)))


def test_lines_that_say_nothing_are_passed_over_wherever_they_stand() -> None:
    lines = TEXT.splitlines(keepends=True)
    noisy = b"".join(b"unrelated {[( line\n" * (number % 3) + line for number, line in enumerate(lines))
    plain, found = list(kdbg.read(io.BytesIO(TEXT))), list(kdbg.read(io.BytesIO(noisy)))
    assert [(one.api, one.correlation_id, one.latency) for one in plain] == [
        (one.api, one.correlation_id, one.latency) for one in found
    ]


def test_it_makes_no_difference_how_a_log_is_cut() -> None:
    whole = [(told.number, told.facts) for told in Lines().take(TEXT, end=True)]
    dice, lines, found, at = random.Random(12), Lines(), [], 0
    while at < len(TEXT):
        size = dice.choice((1, 7, 100, 5000))
        found += lines.take(TEXT[at : at + size])
        at += size
    found += lines.take(b"", end=True)
    assert [(told.number, told.facts) for told in found] == whole
    assert lines.understood == len(whole) > 40


def test_a_line_without_end_takes_no_memory_without_end() -> None:
    lines = Lines()
    for _ in range(200):
        lines.take(b"x" * (MOST // 40))
        assert len(lines._rest) <= MOST + MOST // 40
    assert [
        told.number
        for told in lines.take(b"\n" + next(line for line in TEXT.splitlines() if b": Sent " in line) + b"\n")
    ] == [2]


def test_requests_that_are_never_answered_are_shown_at_the_end() -> None:
    sent = [line for line in TEXT.splitlines(keepends=True) if b": Sent " in line]
    exchanges = list(kdbg.read(io.BytesIO(b"".join(sent))))
    assert len(exchanges) == len(sent)
    assert all(one.response is None and one.latency is None for one in exchanges)


def test_filters_and_stats_take_logs(tmp_path: Path) -> None:
    file = tmp_path / "client.log"
    file.write_bytes(TEXT)
    shown = call("decode", file, "-f", "summary", "--api", "produce").out
    assert len(shown.splitlines()) == 1 + TEXT.count(b"Sent ProduceRequest")
    table = call("stats", file, "--by", "api", "-f", "csv").out.splitlines()
    rows = {row.split(",")[0]: row.split(",")[1] for row in table[1:]}
    assert rows["Produce"] == str(TEXT.count(b"Sent ProduceRequest"))


def test_commands_that_need_bytes_refuse_a_log(tmp_path: Path) -> None:
    file = tmp_path / "client.log"
    file.write_bytes(TEXT)
    done = call("export", file, tmp_path / "out.pcapng")
    assert done.status == 2
    assert "a log file, not a capture" in done.err

"""A stream that is shown while it comes: what it says is there at once, though the stream goes on.

Each test reads what it waits for, without a limit of time: what never came would hang, and fail by the suite's own.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kdbg.capture import frames
from kdbg.capture.pcapng import Counted

from ..traffic import PCAP_HEADER, RAW_IP, Talk, framed, records
from .calls import ENVIRONMENT

PROGRAM = """if True:
    import os, sys
    from kdbg.ui.cli import run
    from kdbg.ui.cli.exchange_output import ExchangeOutput, depth_of
    from kdbg.ui.cli.live_stream import LiveStream
    from kdbg.ui.cli.output import Writer, look
    from kdbg.ui.cli.runner import Runner
    from kdbg.exchanges.filters.filter_set import Filters
    stream = os.dup(0)
    def stop():
        print("stopping", file=sys.stderr, flush=True)
    shape = look("never", False, False)
    runner = Runner(Filters(limit=LIMIT), Writer(live=True), depth=depth_of("summary"), at_once=True)
    output = ExchangeOutput(runner, "summary", shape)
    shown = LiveStream(runner, "here", stop)
    sys.exit(shown.watch(os.fdopen(stream, "rb", buffering=0), lambda file: shown.write(file, output)))
"""


class Watched:
    """A program that shows the stream which is written to it."""

    def __init__(self, limit: int | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.replace("LIMIT", str(limit))], env=ENVIRONMENT, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr

    def give(self, *talks: Talk, header: bytes = PCAP_HEADER) -> None:
        self.stdin.write(header + b"".join(records(*talks)))

    def line(self) -> list[str]:
        """The next line that is shown, word by word."""
        return self.stdout.readline().decode().split()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.process.kill()
    watched.process.communicate()


def heartbeats(count: int = 1) -> Talk:
    talk = Talk()
    for _ in range(count):
        talk.ask("Heartbeat", 0, group_id="g", generation_id=1, member_id="m").answer(error_code=0)
    return talk


def test_an_exchange_is_there_while_the_stream_goes_on(watched: Watched) -> None:
    watched.give(heartbeats())
    assert watched.line()[:2] == ["#", "time"]
    assert watched.line()[3:5] == ["Heartbeat", "v0"]
    status, out, err = watched.end()
    assert (status, out) == (0, "")
    assert err == "4 packets · 1 connection · 1 exchange · 0 missing responses · 0 findings\n"


def test_one_that_more_may_belong_to_is_there_after_a_silence(watched: Watched) -> None:
    """Its response claims more than it should: bytes of the next one, as may be. Nothing comes that would say so."""
    talk = Talk().ask("Heartbeat", 0, group_id="g", generation_id=1, member_id="m")
    watched.give(talk.reply(framed(struct.pack(">ih", 1, 0) + b"\0\0\0\0\0")))
    assert watched.line()[:2] == ["#", "time"]
    assert watched.line()[3:5] == ["Heartbeat", "v0"]


def test_what_is_no_kafka_is_told_while_the_stream_goes_on(watched: Watched) -> None:
    talk = Talk(broker=("10.0.0.2", 80))
    watched.give(talk.send(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n").reply(b"HTTP/1.1 200 OK\r\n\r\n"))
    assert watched.stderr.readline().startswith(b"kdbg: here: 10.0.0.1:51514 \xe2\x86\x92 10.0.0.2:80: ")


def test_ctrl_c_has_the_stream_end_and_shows_all_that_is_in_it(watched: Watched) -> None:
    watched.give(heartbeats())
    watched.line(), watched.line()
    watched.process.send_signal(signal.SIGINT)
    assert watched.stderr.readline() == b"stopping\n"
    watched.give(Talk(client=("10.0.0.3", 4000), at=9).ask("Metadata", 1, topics=[]).answer(), header=b"")
    status, out, err = watched.end()
    assert status == 130
    assert out.split()[3] == "Metadata"
    assert err.startswith("8 packets · 2 connections · 2 exchanges")


@pytest.mark.parametrize("ending", list(pairwise([signal.SIGINT, signal.SIGTERM, signal.SIGINT])), ids=str)
def test_the_second_signal_ends_it_at_once(watched: Watched, ending: tuple[signal.Signals, signal.Signals]) -> None:
    """Though the stream goes on; the closing line comes all the same."""
    watched.give(heartbeats())
    watched.line(), watched.line()
    watched.process.send_signal(ending[0])
    assert watched.stderr.readline() == b"stopping\n"
    watched.process.send_signal(ending[1])
    assert watched.stderr.readline().startswith(b"4 packets")
    assert watched.process.wait(60) == 130


def test_a_reader_of_the_output_that_does_not_read_does_not_hold_it(watched: Watched) -> None:
    """The output is full, and nobody reads it: the second Ctrl-C ends it."""
    talk = heartbeats(20_000)
    data = memoryview(PCAP_HEADER + b"".join(records(talk)))
    os.set_blocking(watched.stdin.fileno(), False)
    while data:  # until the program has not taken anything for a while, as it waits for us
        try:
            data = data[os.write(watched.stdin.fileno(), data) :]
        except BlockingIOError:
            if waits_to_write(watched.process.pid):
                break
    watched.process.send_signal(signal.SIGINT)
    assert watched.stderr.readline() == b"stopping\n"
    watched.process.send_signal(signal.SIGINT)
    assert b" packets " in watched.stderr.readline()
    assert watched.process.wait(60) == 130


def waits_to_write(process: int) -> bool:
    """Whether the kernel says that a process sleeps in a pipe's write."""
    return "write" in Path(f"/proc/{process}/wchan").read_text()


def test_a_limit_ends_it_though_the_stream_goes_on() -> None:
    watched = Watched(limit=2)
    watched.give(heartbeats(5))
    out, err = watched.stdout.read().decode(), watched.stderr.read().decode()
    assert [line.split()[0] for line in out.splitlines()] == ["#", "1", "2"]
    assert err == "6 packets · 1 connection · 2 exchanges · 0 missing responses · 0 findings\n"
    assert watched.process.wait(60) == 0
    watched.end()


def test_what_was_left_out_is_said_where_it_is_missing(watched: Watched) -> None:
    head = frames.section() + frames.interface(RAW_IP)
    packets = [frames.enhanced(0, 1, segment.data, len(segment.data)) for segment in heartbeats().segments]
    watched.stdin.write(head + b"".join(packets) + frames.statistics(0, 2, Counted(3, 20, 10)))
    assert watched.stderr.readline().decode() == (
        "kdbg: here: 3 packets dropped by the kernel: they arrived faster than kdbg processed them\n"
    )
    assert watched.stderr.readline().decode() == (
        "kdbg: here: 7 packets not shown: they arrived faster than kdbg processed them\n"
    )
    watched.stdin.write(frames.statistics(0, 2, Counted(4, 30, 12)))
    _, _, err = watched.end()
    assert err.endswith(" · 4 packets dropped by the kernel · 14 packets not shown\n")


def test_a_stream_that_lost_nothing_says_so(watched: Watched) -> None:
    watched.stdin.write(frames.section() + frames.interface(RAW_IP) + frames.statistics(0, 2, Counted(0, 0, 0)))
    assert watched.end()[2].endswith(" · 0 findings · no packets lost\n")


def test_a_stream_without_a_beginning_is_refused(watched: Watched) -> None:
    _, _, err = watched.end()
    assert "is empty" in err

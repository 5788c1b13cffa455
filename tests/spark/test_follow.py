"""`kdbg pipeline --follow`: every exchange once, whenever it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.follow.followed import Followed, Following
from kdbg.scale.spark.pipeline import PipelineOptions
from tests.cli.calls import CAPTURES, COMMAND, ENVIRONMENT

from .archives import HEAD, concatenated, write
from .conftest import Run
from .decoded import ask, decoded, tabled

pytestmark = pytest.mark.usefixtures("spark")  # where Spark cannot start, these skip or fail as all others do
FOLLOW = [*COMMAND, "pipeline", "--follow", "--master", "local[2]", "--interval", "1s"]


LONG = 100 * 365 * 86_400
"""Seconds in which no connection is over."""


class Tcpdump(threading.Thread):
    """Writes packets into files that it rotates, as they come: now and then a few bytes, cut anywhere."""

    def __init__(self, folder: Path, packets: list[bytes], dice: Random, seconds: float) -> None:
        super().__init__(daemon=True)
        folder.mkdir()
        self.name_of = lambda number: folder / f"roll.pcap{number or ''}"
        self.packets, self.dice, self.seconds = packets, dice, seconds
        self.start()

    def run(self) -> None:
        cuts = sorted(self.dice.sample(range(1, len(self.packets)), 3))
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(self.packets)], strict=True)):
            data = HEAD + b"".join(self.packets[start:stop])
            steps = sorted(self.dice.sample(range(1, len(data)), 12))
            with self.name_of(number).open("wb") as file:
                for begin, end in zip([0, *steps], [*steps, len(data)], strict=True):
                    file.write(data[begin:end])
                    file.flush()
                    time.sleep(self.seconds / 52)


@pytest.mark.nightly  # starts three sessions; by day test_commit.py kills a run
def test_every_exchange_is_there_once_though_it_is_killed(run: Run, tmp_path: Path) -> None:
    times = 2
    dice, packets = Random(11), concatenated(12)
    whole = write(tmp_path / "whole.pcap", packets)
    folder, out = tmp_path / "in", tmp_path / "tables"
    tcpdump = Tcpdump(folder, packets, dice, 20 * times)
    for _ in range(times):
        with subprocess.Popen([*FOLLOW, folder, "--out", out], stderr=subprocess.PIPE, env=ENVIRONMENT) as running:
            before = commits(out)
            while running.poll() is None and commits(out) == before:
                time.sleep(0.05)
            time.sleep(dice.uniform(0, 4))
            running.send_signal(signal.SIGKILL)
            assert running.wait(60) == -signal.SIGKILL
    tcpdump.join()
    done = subprocess.run(
        [*FOLLOW, folder, "--out", out, "--until-idle", "2s"], capture_output=True, env=ENVIRONMENT, timeout=300
    )
    assert done.returncode == 1, done.stderr.decode()
    assert commits(out) > times, "each run made a batch"
    assert tabled(out) == decoded([whole], "roll.pcap")
    once, _ = run([folder])
    numbers = {"connections": "connection", "partitions": "connection", "problems": "connection, number"}
    for table, unknown in numbers.items():  # with --follow
        question = f"SELECT * EXCLUDE ({unknown}, run) FROM {{{table}}}"
        assert sorted(map(repr, ask(out, question))) == sorted(map(repr, ask(once, question)))
    [(_, said)], [(_, wanted)] = (Output(str(each)).entries() for each in (out, once))
    assert said["counts"] == wanted["counts"]
    assert said["findings"] == wanted["findings"]


def commits(out: Path) -> int:
    """Batches that are in the tables."""
    return max((int(entry["commit"]) for _, entry in Output(str(out)).entries()), default=0)


@pytest.mark.nightly
def test_ctrl_c_ends_it_and_it_goes_on_later(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "tables"
    folder.mkdir()
    data = (CAPTURES / "first-contact.pcap").read_bytes()
    (folder / "a.pcap").write_bytes(data[: len(data) // 2])
    with subprocess.Popen([*FOLLOW, folder, "--out", out], stderr=subprocess.PIPE, env=ENVIRONMENT) as running:
        while running.poll() is None and not commits(out):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
        assert running.returncode == 130
        assert said.decode() == "kdbg: interrupted; run the same command again to resume\n"
    (folder / "a.pcap").write_bytes(data)
    done = subprocess.run([*FOLLOW, folder, "--out", out, "--until-idle", "1s"], capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr.decode()
    assert tabled(out) == decoded([CAPTURES / "first-contact.pcap"], "a.pcap")
    other = subprocess.run(
        [*FOLLOW, folder, "--out", tmp_path / "nowhere", "--append"], capture_output=True, env=ENVIRONMENT
    )
    assert (other.returncode, other.stderr) == (2, b"kdbg: --follow always appends; omit --append\n")


class Feed:
    """Follows a folder in this process; `turn` adds what is there, and `end` ends all connections."""

    def __init__(self, spark: Any, out: Path, *captures: Path, rolled: bool = False) -> None:
        self.following = Following(spark, Followed(str(out)), PipelineOptions(), LONG)
        self.captures, self.rolled, self.skipped = [*map(str, captures)], rolled, list[tuple[str, str]]()

    def turn(self, patience: int = LONG * 10**9) -> bool:
        return self.following.step(self.captures, self.rolled, patience, self.skipped.extend)

    def end(self) -> None:
        self.turn(0)


def test_a_ring_whose_names_are_reused_is_followed(run: Run, spark: Any, tmp_path: Path) -> None:
    """As `tcpdump -C 1 -W 3` writes it, which is read before it comes round."""
    packets = concatenated(6)
    folder, out = tmp_path / "in", tmp_path / "tables"
    folder.mkdir()
    cuts = [len(packets) * n // 8 for n in range(9)]
    feed = Feed(spark, out, folder)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        write(folder / f"x.pcap{number % 3}", packets[start:stop])
        if number % 2:
            assert feed.turn()
    assert not feed.turn()
    feed.end()
    whole = write(tmp_path / "whole.pcap", packets)
    assert tabled(out) == decoded([whole], "x.pcap")
    once, _ = run([whole])
    question = "SELECT * EXCLUDE (capture, connection, connection_uid, run) FROM {connections}"
    assert sorted(map(repr, ask(out, question))) == sorted(map(repr, ask(once, question)))
    assert ask(out, "SELECT count(*) FROM {problems} WHERE kind = 'damaged-capture'") == [(0,)]


def test_where_a_ring_was_faster_and_a_clock_jumped_findings_say_so(spark: Any, tmp_path: Path) -> None:
    packets, old = concatenated(4), [day_before(packet) for packet in concatenated(1)]
    folder, out = tmp_path / "in", tmp_path / "tables"
    folder.mkdir()
    quarter = len(packets) // 4
    feed = Feed(spark, out, folder)
    write(folder / "x.pcap0", packets[:quarter])
    write(folder / "x.pcap1", packets[quarter : 2 * quarter])
    assert feed.turn()
    write(folder / "x.pcap1", packets[3 * quarter :])
    assert feed.turn()
    write(folder / "x.pcap2", old)
    assert feed.turn()
    feed.end()
    question = "SELECT capture, text FROM {problems} WHERE kind = 'damaged-capture'"
    [(one, jumped), (other, overwritten)] = sorted(ask(out, question), key=str)
    assert one == other == "x.pcap"
    assert "the clock was set back" in jumped
    assert "was overwritten since kdbg read it last" in overwritten
    assert ask(out, "SELECT count(*) FROM {files} WHERE problem IS NOT NULL") == [(2,)]
    assert ask(out, "SELECT sum(packets) FROM {files}") == [(2 * quarter + len(packets) - 3 * quarter + len(old),)]


def day_before(packet: bytes) -> bytes:
    return struct.pack("<I", int.from_bytes(packet[:4], "little") - 86_400) + packet[4:]


RINGS = {
    "tcpdump": ["tcpdump", "-i", "lo", "-U", "-B", "65536", "-C", "1", "-W", "4", "-Z", "root", "-w", "x.pcap"],
    "dumpcap": ["dumpcap", "-i", "lo", "-B", "64", "-b", "filesize:1000", "-b", "files:4", "-w", "x.pcapng"],
}  # fmt: skip
"""The command lines of `kdbg guide capturing`, with small files."""


@pytest.mark.parametrize("program", ["dumpcap", pytest.param("tcpdump", marks=pytest.mark.nightly)])
def test_what_real_programs_record_is_followed(spark: Any, tmp_path: Path, program: str) -> None:
    if shutil.which(program) is None or os.geteuid():
        pytest.skip(f"{program} is missing, or may not capture")
    folder, out = tmp_path / "in", tmp_path / "tables"
    folder.mkdir()
    with echoing() as (client, port):
        command = [*RINGS[program], *(["-f"] if program == "dumpcap" else []), f"tcp port {port}"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as recording:
            assert recording.stderr is not None
            recording.stderr.readline()  # it listens
            time.sleep(1)
            feed, count = Feed(spark, out, folder), 0
            for _ in range(4):
                for _ in range(40):  # a request of 20 KB and its response: 1.6 MB
                    ask_once(client, count)
                    count += 1
                time.sleep(0.3)
                assert feed.turn()
            client.close()
            time.sleep(1)
            recording.send_signal(signal.SIGINT)
            _, said = recording.communicate(timeout=20)
    feed.turn()
    feed.end()
    assert len({*folder.iterdir()}) <= 4, "the ring came round"
    counts = "count(*), count(DISTINCT correlation_id), count(response_bytes), count(DISTINCT client)"
    assert ask(out, f"SELECT {counts} FROM {{exchanges}}") == [(count, count, count, 1)], said
    assert ask(out, "SELECT count(*), sum(exchanges) FROM {connections}") == [(1, count)]
    assert ask(out, "SELECT count(DISTINCT capture) FROM {files}") == [(1,)]
    assert ask(out, "SELECT text FROM {problems}") == []


@contextmanager
def echoing() -> Iterator[tuple[socket.socket, int]]:
    """A connection to a server that responds to each Metadata request with one topic of a long name."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                while head := peer.recv(4, socket.MSG_WAITALL):
                    body = peer.recv(int.from_bytes(head), socket.MSG_WAITALL)
                    name = struct.pack(">hh", 0, 20_000) + b"t" * 20_000 + struct.pack(">i", 0)
                    peer.sendall(frame(body[4:8] + struct.pack(">ii", 0, 1) + name))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with socket.create_connection(("127.0.0.1", port)) as client:
            yield client, port
        thread.join(10)


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def ask_once(client: socket.socket, number: int) -> None:
    """Send a request of Metadata v0 for a topic, and wait for the response."""
    topic = struct.pack(">ih", 1, 20_000) + b"t" * 20_000
    client.sendall(frame(struct.pack(">hhih", 3, 0, number, 4) + b"test" + topic))
    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL))
    assert len(client.recv(size, socket.MSG_WAITALL)) == size

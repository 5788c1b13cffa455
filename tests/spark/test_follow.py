"""`kdbg pipeline --follow`: every exchange once, whenever it is killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from random import Random

import pytest

from kdbg.errors import SparkError
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.follow.followed import Followed
from kdbg.scale.spark.follow.tail import TailPosition, points, strangers, stretches
from tests.cli.calls import CAPTURES, COMMAND, ENVIRONMENT

from .archives import HEAD, concatenated, rolled, write
from .conftest import Run
from .decoded import ask, decoded, tabled

pytestmark = pytest.mark.usefixtures("spark")  # where Spark cannot start, these skip or fail as all others do
FOLLOW = [*COMMAND, "pipeline", "--follow", "--master", "local[2]", "--interval", "1s"]


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
    for table in ("connections", "partitions", "problems"):
        question = f"SELECT * EXCLUDE (run) FROM {{{table}}}"
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


def test_a_file_is_read_up_to_its_last_whole_packet(tmp_path: Path) -> None:
    packets = concatenated(3)
    data = HEAD + b"".join(packets)
    point, file = "x.pcap", tmp_path / "x.pcap"
    ends = [24]
    for packet in packets:
        ends.append(ends[-1] + len(packet))
    for size in Random(2).sample(range(len(data)), 50):
        file.write_bytes(data[:size])
        found = list(stretches(point, points([str(tmp_path)], rolled=False)[point], None, 1 << 40))
        whole = max((end for end in ends if end <= size), default=0)
        assert [(each.stop, place.position, place.packets) for each, place in found] == (
            [(whole, whole, ends.index(whole))] if whole > 24 else []
        )


def test_offsets_lead_to_the_same_stretches_whatever_room_there_was(tmp_path: Path) -> None:
    packets = concatenated(8)
    folder = rolled(tmp_path / "in", packets, 12, Random(3))
    [(point, names)] = points([str(folder)], rolled=False).items()
    assert [name.rpartition("pcap")[2] for name in names] == ["", *map(str, range(1, 12))], "x.pcap10 follows x.pcap9"
    place: TailPosition | None = None
    steps: list[tuple[str, int, int]] = []
    while found := list(stretches(point, names, place, 5000)):
        last = found[-1][1]
        again = list(stretches(point, names, place, 1 << 40, last))
        assert again[-1][1] == last
        steps += [(each.name, each.start, each.stop) for each, _ in found]
        place = last
    assert place is not None
    assert place.packets == len(packets)
    assert sum(stop - start for _, start, stop in steps) == sum(map(len, packets))


def test_what_cannot_be_followed_is_named_and_passed_over(tmp_path: Path) -> None:
    shutil.copy(CAPTURES / "nanosecond.pcapng", tmp_path)
    (tmp_path / "begun.pcap").write_bytes(HEAD[:10])
    write(tmp_path / "whole.pcap", concatenated(1))
    found = points([str(tmp_path)], rolled=False)
    assert strangers(found) == [str(tmp_path / "nanosecond.pcapng")]
    assert [point for point, names in found.items() if list(stretches(point, names, None, 1 << 40))] == ["whole.pcap"]


def test_a_ring_of_files_is_refused(tmp_path: Path) -> None:
    packets = concatenated(4)
    third = len(packets) // 3
    names = [str(write(tmp_path / f"x.pcap{n}", packets[n * third : (n + 1) * third])) for n in range(2)]
    [*_, (_, place)] = stretches("x", names, None, 1 << 40)
    write(tmp_path / "x.pcap0", packets[2 * third :])
    with pytest.raises(SparkError, match="was started after"):
        list(stretches("x", names, place, 1 << 40))
    write(tmp_path / "x.pcap1", packets[2 * third + 9 :])
    with pytest.raises(SparkError, match=r"x\.pcap1 was overwritten while it was being followed"):
        list(stretches("x", names[1:], place, 1 << 40))


def test_tables_of_another_run_are_left_alone(run: Run, tmp_path: Path) -> None:
    out, _ = run([CAPTURES / "first-contact.pcap"])
    with pytest.raises(SparkError, match="contains tables of other runs"):
        Followed(str(out)).recover()

"""A /proc of a test's making: which rows count, whose socket it is, when it is looked at again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.exchanges.messages.peers import Process
from kdbg.live import socket_processes as module
from kdbg.live.socket_processes import Owners

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
HERE, THERE = ("127.0.0.1", 0x9C40), ("127.0.0.1", 9092)
FOUR, FOUR_BACK = "0100007F:9C40", "0100007F:2384"
SIX = "000080FE00000000000000000100000A:9C40"
"""fe80::a00:1, port 40000."""
MAPPED = "0000000000000000FFFF0000"


def row(local: str, remote: str, inode: int) -> str:
    return f"   0: {local} {remote} 01 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 20 4\n"


class Proc:
    """A /proc in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, rows: str, *, of: str = "self", name: str = "tcp") -> None:
        path = self.folder / of / "net" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + rows)

    def process(self, pid: int, *inodes: int, name: str = "java", net: int = 1, cgroup: str = "") -> None:
        folder = self.folder / str(pid)
        for each in (folder / "fd", folder / "ns"):
            each.mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "cgroup").write_text(cgroup)
        (folder / "ns" / "net").symlink_to(f"net:[{net}]")
        (folder / "fd" / "0").symlink_to("/dev/null")
        for number, inode in enumerate(inodes, 3):
            (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")

    def owners(self, *pids: int) -> Owners:
        found = Owners(pids, proc=self.folder)
        assert found.look()
        return found


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_rows_of_the_tables_are_ends_and_inodes(proc: Proc) -> None:
    short = f"   1: {FOUR_BACK} {FOUR} 01 0:0 00:0 0     0        0\n"
    proc.table(row(FOUR, FOUR_BACK, 4711) + short + row("0100007F:0001", "0100007F:0002", 0))
    proc.table(row(SIX, SIX, 4712) + row(MAPPED + FOUR_BACK, MAPPED + FOUR, 4713), name="tcp6")
    proc.process(7, 4711, name="seven")
    proc.process(8, 4711, 4712, 4713, name="eight")
    (proc.folder / "mounts").write_text("")
    owners = proc.owners()
    assert [owners.find(*ends) for ends in ((HERE, THERE), (THERE, HERE), (("fe80::a00:1", 40_000),) * 2)] == [
        Process(7, "seven"), Process(8, "eight"), Process(8, "eight")]  # fmt: skip
    assert owners.find(("fe80::a00:1%eth0", 40_000), ("fe80::a00:1%eth0", 40_000)) == Process(8, "eight")
    assert owners.find(("127.0.0.1", 1), ("127.0.0.1", 2)) is None
    assert owners.find(THERE, THERE) is None
    only = proc.owners(8)
    assert [only.find(HERE, THERE), only.narrowed, owners.narrowed] == [Process(8, "eight"), True, False]


def test_each_network_is_looked_at_once_and_the_own_one_counts(proc: Proc) -> None:
    """A pod's connection may have the ends of one of this machine's."""
    proc.process(5, 100, name="pod", net=2)
    proc.process(6, 200, name="pod", net=2)
    proc.process(7, 300, name="here", net=1)
    proc.table(row(FOUR, FOUR_BACK, 100) + row(FOUR_BACK, FOUR, 200), of="5")
    proc.table(row(FOUR, FOUR_BACK, 999), of="6")
    proc.table(row(FOUR, FOUR_BACK, 300))
    owners = proc.owners()
    assert [owners.find(HERE, THERE), owners.find(THERE, HERE)] == [Process(7, "here"), Process(6, "pod")]


def test_looking_takes_a_tenth_of_the_time(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [100.0, 102.0]
    monkeypatch.setattr(module, "monotonic", lambda: times.pop(0) if len(times) > 1 else times[0])
    proc.table(row(FOUR, FOUR_BACK, 1))
    owners = Owners(proc=proc.folder)
    assert owners.look()
    proc.process(7, 1)
    for now, looks in ((102.5, False), (121.9, False), (122.0, True)):
        times[:] = [now]
        assert owners.look() is looks
        assert (owners.find(HERE, THERE) is not None) is looks


def test_what_cannot_be_read_is_left_out(proc: Proc) -> None:
    assert proc.owners().find(HERE, THERE) is None
    proc.table(row(FOUR, FOUR_BACK, 1))
    (proc.folder / "9").mkdir()
    proc.process(10, 1)
    assert proc.owners().find(HERE, THERE) == Process(10, "java")
    nowhere = Owners(proc=proc.folder / "none")
    assert nowhere.look()
    assert nowhere.find(HERE, THERE) is None

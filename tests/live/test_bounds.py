"""Both sides of each bound: memory of connections, bytes on disk, brokers that are followed, descriptors."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import namedtuple
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kdbg.budget import MEMORY, SMALL
from kdbg.capture import frames
from kdbg.capture.pcapng import Counted
from kdbg.live import bounded_pipe as overflow
from kdbg.live.bounded_pipe import Outflow, Overflow
from kdbg.live.frames import Load
from kdbg.live.listeners import Addresses, Notices
from kdbg.ui.cli.proxy import command

from .proxies import broker, running
from .test_limits import echo, is_served

MIB = 1 << 20
Usage = namedtuple("Usage", "total used free")


class Client:
    """A connection that keeps some bytes until it is asked to let go of them."""

    def __init__(self, load: Load, *, stubborn: bool = False) -> None:
        self.load, self.stubborn, self.kept, self.asked = load, stubborn, 0, 0

    def keep(self, kept: int, queued: int = 0) -> Client:
        self.kept = kept
        self.load.report(self, kept, queued)
        return self

    def let_go(self) -> None:
        self.asked += 1
        if not self.stubborn:
            self.keep(0)


# Memory of connections


def test_memory_is_high_above_the_bound_and_not_at_it() -> None:
    load = Load(1000)
    one, two = Client(load).keep(100, 400), Client(load).keep(0, 500)
    assert (load.total, load.is_high) == (1000, False)
    two.keep(0, 501)
    assert (load.total, load.is_high) == (1001, True)
    one.keep(0, 0)
    assert (load.total, load.is_high) == (501, False)
    assert Load().most == MEMORY.connections


def test_the_connection_that_keeps_most_lets_go_first_and_small_ones_never() -> None:
    load = Load(SMALL * 4)
    small, large = Client(load).keep(SMALL), Client(load).keep(2 * SMALL)
    larger = Client(load).keep(SMALL + 1)
    assert [one.asked for one in (small, large, larger)] == [0, 1, 0]
    assert load.total == 2 * SMALL + 1
    Client(load).keep(0, 3 * SMALL)
    assert [one.asked for one in (small, large, larger)] == [0, 1, 1]
    assert (load.total, load.is_high) == (4 * SMALL, False)
    Client(load).keep(0, SMALL)
    assert (small.asked, load.is_high) == (0, True)


def test_a_connection_that_cannot_let_go_is_asked_once() -> None:
    load = Load(10)
    one = Client(load, stubborn=True).keep(SMALL + 2)
    assert (one.asked, load.total, load.is_high) == (1, SMALL + 2, True)


def test_messages_that_pass_without_their_faults_are_counted_together() -> None:
    said = list[int]()
    load = Load(10, said.append)
    for messages in (0, 2, 0, 1):
        load.lose(messages)
    assert (load.lost, said) == (3, [2, 3])


# Bytes on disk


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The temporary files that were opened."""
    opened, make = list[Any](), tempfile.TemporaryFile
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, 1 << 40))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **given: opened.append(make(**given)) or opened[-1])
    return opened


def test_disk_takes_4_gib_or_a_quarter_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    free = 1 << 40
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, free))
    assert (Overflow().limit, Overflow().full) == (4 << 30, False)
    free = 1003
    assert (Overflow().limit, Overflow(100).limit, Overflow(0).limit) == (250, 100, 0)
    assert Overflow(0).full

    def none(path: str) -> Usage:
        raise FileNotFoundError(path)

    monkeypatch.setattr(shutil, "disk_usage", none)
    assert (Overflow().limit, Overflow().full) == (0, True)


def test_disk_is_full_at_its_limit_and_has_room_at_half_of_it(files: list[Any]) -> None:
    one, roomy = Overflow(4 * MIB), Overflow(4 * MIB + 1)
    for number in range(4):
        assert not one.full
        one.put(bytes([number]) * MIB)
        roomy.put(bytes(MIB))
    assert (one.full, roomy.full, one.size) == (True, False, 4 * MIB)
    assert one.take() == bytes(MIB)
    assert (one.full, one.size) == (True, 3 * MIB)
    assert one.take() == b"\1" * MIB
    assert (one.full, one.size) == (False, 2 * MIB)
    assert [one.take(), one.take(), one.take(), one.size] == [b"\2" * MIB, b"\3" * MIB, b"", 0]
    roomy.clear()


def test_blocks_are_written_a_mebibyte_at_a_time_and_come_out_in_their_order(files: list[Any]) -> None:
    one = Overflow(64 * MIB)
    one.put(b"a" * (MIB - 1))
    assert not files
    one.put(b"b")
    one.put(b"c" * 5)
    assert len(files) == 1
    assert one.size == MIB + 5
    assert [one.take(), files[0].closed, one.take(), one.take()] == [b"a" * (MIB - 1) + b"b", True, b"c" * 5, b""]
    assert one.size == 0
    for block in (b"d" * MIB, b"e" * (MIB - 1)):
        one.put(block)
    assert (one.take(), len(files), files[1].closed) == (b"d" * MIB, 2, True)


def test_a_file_is_deleted_once_all_of_it_was_taken(files: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overflow, "SEGMENT", 2 * MIB)
    one = Overflow(64 * MIB)
    for number in range(5):
        one.put(bytes([number]) * MIB)
    assert len(files) == 3
    for number, closed in enumerate([0, 1, 1, 2, 3]):
        assert one.take() == bytes([number]) * MIB
        assert sum(file.closed for file in files) == closed
    one.put(b"x" * MIB)
    one.clear()
    assert (one.size, [file.closed for file in files]) == (0, [True] * 4)


def test_what_the_disk_takes_in_part_is_written_again(files: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    write, full = os.pwrite, False

    def some(descriptor: int, data: Any, place: int) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:300_000], place)

    monkeypatch.setattr(os, "pwrite", some)
    one, first, second = Overflow(64 * MIB), os.urandom(MIB), os.urandom(MIB)
    one.put(first)
    full = True
    one.put(second)
    assert (one.full, one.size) == (True, 2 * MIB)
    one.put(b"more")
    assert [one.take(), one.full, one.take(), one.size] == [first, False, second + b"more", 0]
    one.put(second)
    assert (one.full, len(files), all(file.closed for file in files)) == (True, 2, True)


# What waits for a pipe


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


FRONT, BLOCK = len(frames.section()), len(frames.enhanced(0, 1, bytes(100), 100))


def test_packets_are_left_out_once_as_much_waits_as_may(pipe: tuple[int, int]) -> None:
    for more, unread in ((0, 2), (1, 1)):
        out = Outflow(pipe[1], most=FRONT + 2 * BLOCK + more)
        for _ in range(4):
            out.block(frames.enhanced(0, 1, bytes(100), 100))
        assert (out.captured, out.unread, out.size) == (4, unread, FRONT + (4 - unread) * BLOCK)
    assert Outflow(pipe[1]).most == 64 * MIB


def test_packets_in_two_parts_are_left_out_at_the_same_bound(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    for more, unread in ((0, 2), (1, 1)):
        out = Outflow(pipe[1], most=FRONT + 2 * BLOCK + more)
        assert not out.borrow(0, 1, [(bytes(40), bytes(60))] * 4)
        assert (out.captured, out.unread, out.size) == (4, unread, 0)
        expected = frames.section() + frames.enhanced(0, 1, bytes(100), 100) * (4 - unread)
        assert os.read(pipe[0], MIB) == expected


def test_there_is_room_again_once_half_has_gone(pipe: tuple[int, int]) -> None:
    out = Outflow(pipe[1], most=8 * MIB)
    while not out.unread:
        out.block(frames.enhanced(0, 1, bytes(1000), 1000))
    out.tell(5)
    waits = out.pump()
    while out.size > 4 * MIB:
        out.block(frames.enhanced(0, 1, b"", 0))
        os.read(pipe[0], 100_000)
        waits = out.pump()
    unread = out.unread
    out.block(frames.enhanced(0, 1, b"", 0))
    assert (waits, out.unread) == (True, unread)
    out.tell(5)
    size = out.size
    out.tell(5)
    assert out.size == size, "what is missing is told once"
    out.dropped = 1
    out.tell(6)
    assert out.size == size + len(frames.statistics(0, 6, Counted(1, 2, 3)))


# Brokers and descriptors


def test_what_means_no_broker_stays() -> None:
    addresses = Addresses(lambda broker: ("proxy", 7))
    stays = [("", 9092), ("kafka", 0), ("kafka", -1), ("proxy", 7)]
    assert addresses.change("kafka", 1) == ("proxy", 7)
    assert [addresses.change(*each) for each in stays] == stays
    assert dict(addresses.stand_ins) == {("kafka", 1): ("proxy", 7)}


def test_a_broker_is_gone_after_a_minute_and_not_before() -> None:
    now, closed = 100.0, list[Any]()
    addresses = Addresses(lambda broker: ("proxy", broker[1]), closed.append, clock=lambda: now)
    addresses.add(("named", 1), ("proxy", 1))
    addresses.change("kafka", 2)
    now = 159.9
    addresses.listed(set())
    assert not closed
    addresses.listed({("kafka", 2)})
    now = 160.0
    addresses.listed({("kafka", 2)})
    assert not closed
    addresses.listed({("kafka", 3)})
    assert (closed, list(addresses.stand_ins)) == ([("kafka", 2)], [("named", 1)])
    assert addresses.change("proxy", 2) == ("proxy", 2), "it may be a broker now"
    assert ("proxy", 2) in addresses.stand_ins


def test_a_thousand_brokers_are_followed_by_default() -> None:
    full = list[Any]()
    addresses = Addresses(lambda broker: ("proxy", broker[1]), full=full.append)
    for port in range(1, 1003):
        addresses.change("kafka", port)
    assert (len(addresses.stand_ins), full) == (1000, [("kafka", 1001), ("kafka", 1002)])
    (option,) = (each for each in command.params if each.name == "max_brokers")
    assert option.default == 1000


def test_listeners_take_a_quarter_of_the_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.live.listeners.open_files", lambda: 5)
    for files, most, followed in ((40, 1000, 10), (43, 1000, 10), (44, 1000, 11), (44, 7, 7), (3, 1000, 1)):
        monkeypatch.setattr("kdbg.live.listeners.allow_many_files", lambda files=files: files)
        with broker(echo) as peer, running(peer, most=most) as stage:
            monkeypatch.setattr(stage.proxy.addresses, "_open", lambda address: address)
            for port in range(1, 21):
                stage.proxy.addresses.change("kafka", port)
            assert len(stage.proxy.addresses.stand_ins) == followed
            (line,) = (line for line in stage.said if "--max-brokers" in line)
            assert line == (
                f"advertised brokers exceed {followed}: clients connect to kafka:{followed} and others "
                "directly; raise --max-brokers, or the limit of open files"
            )


def test_connections_leave_16_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """5 are open, 1 is the listener's, each connection has 2."""
    monkeypatch.setattr("kdbg.live.listeners.open_files", lambda: 5)
    for files, room in ((27, 2), (28, 3), (29, 3), (30, 4)):
        monkeypatch.setattr("kdbg.live.listeners.allow_many_files", lambda files=files: files)
        with broker(echo) as peer, running(peer) as stage, ExitStack() as stack:
            socks = [stack.enter_context(stage.connect()) for _ in range(5)]
            assert [is_served(sock) for sock in socks] == [True] * room + [False] * (5 - room)
            (line,) = (line for line in stage.said if "closed at once" in line)
            assert line == (
                f"new connections are closed at once: {room} are open, and the limit is {files} open files; "
                "raise it with ulimit -n"
            )
            assert stage.proxy.connections == room
            socks[0].close()
            stage.wait(lambda stage=stage, left=room - 1: len(stage.proxy._sessions) == left)
            with stage.connect() as sock:
                assert is_served(sock)


def test_lines_about_trouble_come_once_a_second() -> None:
    now, said = 0.0, list[str]()
    notices = Notices(said.append, lambda: now)
    for now in (5.0, 5.5, 5.999, 6.0, 6.5, 7.0, 9.0):
        notices.say(str(now))
    assert said == ["5.0", "6.0 (2 more lines suppressed)", "7.0 (1 more line suppressed)", "9.0"]

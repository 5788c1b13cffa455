"""Between the relay and a screen, and between tcpdump elsewhere and here: what goes over their pipes."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from scapy.utils import RawPcapNgReader

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.live.bounded_pipe import Rotation
from kdbg.live.capture_process import CaptureOptions, CaptureOutcome
from kdbg.live.faults import Applied
from kdbg.live.frames import Hold
from kdbg.live.holds import ConnectionHolds, Hand, Held, Office, channel
from kdbg.live.relay import Relay
from kdbg.live.remote import hear, relay

from .test_holding import PEERS
from .test_relay import METADATA, produce
from .test_ring import SMALL_FILE


class Desk:
    """A relay whose messages a screen holds: `hand` is the screen's end, `heard` what came there."""

    def __init__(self) -> None:
        self.done: list[Applied] = []
        self.heard: Queue[Any] = Queue()
        self.office = Office(self.done.append)
        self.relay = Relay(singly=True)
        self.relay.holder = self.holder = ConnectionHolds(self.office.desk, lambda: PEERS, self.relay, lambda: None)
        self.holder.opened()
        end, theirs = channel()
        self.hand = Hand(end)
        self.hand.listen(self.heard.put)
        self.theirs = theirs

    async def hears(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, self.heard.get, True, 20)

    async def until(self, done: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not done():
                await asyncio.sleep(0.001)


def run(work: Callable[[Desk], Any]) -> Desk:
    desk = Desk()

    async def begin() -> None:
        await desk.office.open(desk.theirs)
        try:
            await work(desk)
        finally:
            desk.office.close()
            await asyncio.sleep(0)
            await desk.until(lambda: desk.office._transport is None)

    asyncio.run(begin())
    desk.hand.close()
    return desk


def test_what_a_screen_asks_for_is_done() -> None:
    async def work(desk: Desk) -> None:
        desk.hand.ask("want", Filters(api=["produce"]), frozenset({"request"}))
        await desk.until(lambda: desk.office.desk.filters is not None)
        assert desk.office.desk.sides == {"request"}
        for number in (1, 2, 3):
            desk.relay.from_client(produce(number))
            assert await desk.hears() == Held(number, PEERS, "request", produce(number)[4:], None)
        holds = list(desk.relay.to_broker)
        assert all(isinstance(one, Hold) for one in holds)
        desk.hand.ask("resume", 1, b"other bytes")
        desk.hand.ask("resume", 2)
        desk.hand.ask("drop", 3)
        await desk.until(lambda: len(desk.done) == 3)
        sent = [[effect.data for effect in one.then or ()] for one in holds]  # type: ignore[union-attr]
        assert sent == [[struct.pack(">i", 11) + b"other bytes"], [produce(2)], []]
        assert [one.fault.rpartition(" for ")[0] for one in desk.done] == [
            "request changed, held", "request held", "request dropped, held"]  # fmt: skip
        desk.hand.ask("want", None)
        await desk.until(lambda: desk.office.desk.filters is None)
        desk.hand.ask("repeat", PEERS.client, METADATA[4:])
        await desk.until(lambda: len(desk.done) == 4)
        assert (desk.done[3].client, desk.done[3].api, desk.done[3].fault) == (
            PEERS.client,
            "Metadata",
            "sent manually",
        )
        desk.hand.ask("repeat", ("10.9.9.9", 1), METADATA[4:])
        line = "the connection of this exchange is closed; press u to copy a command that sends the request again"
        assert await desk.hears() == line

    run(work)


def test_a_connection_that_ends_and_a_screen_that_ends() -> None:
    async def work(desk: Desk) -> None:
        desk.hand.ask("want", Filters())
        await desk.until(lambda: desk.office.desk.filters is not None)
        desk.relay.from_client(produce(1))
        assert (await desk.hears()).number == 1
        desk.holder.ended()
        assert await desk.hears() == 1
        desk.relay.to_broker.clear()
        desk.relay.from_client(produce(2))
        (hold,) = desk.relay.to_broker
        assert isinstance(hold, Hold)
        assert list(desk.office.desk.held) == [2]
        await asyncio.get_running_loop().run_in_executor(None, desk.hand.close)
        await desk.until(lambda: hold.then is not None)
        assert hold.then is not None
        assert (len(hold.then), dict(desk.office.desk.held), desk.office.desk.filters) == (1, {}, None)
        desk.relay.from_client(produce(3))
        assert not isinstance(desk.relay.to_broker[-1], Hold)

    run(work)


def test_nothing_is_held_for_a_screen_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for the screen is bounded, and nobody waits for it."""
    monkeypatch.setattr("kdbg.live.holds.MOST", 1 << 20)
    done, (mine, theirs) = list[Applied](), channel()

    async def work() -> int:
        office = Office(done.append)
        held = Held(1, PEERS, "request", bytes(1 << 18), None)
        assert not office.held(held), "no screen is there yet"
        office.gone(1)
        await office.open(theirs)
        taken = 0
        while office.held(held):
            taken += 1
        office.close()
        assert not office.held(held)
        office.gone(1)
        mine.close()
        while office._transport is not None:
            await asyncio.sleep(0.001)
        return taken

    assert 4 < asyncio.run(work()) < 8


# tcpdump elsewhere


def relayed(wanted: CaptureOptions, *command: str, end: bool = False, last: bytes = b"") -> tuple[bytes, list[Any]]:
    """What a reader gets of what a command writes, and what is reported.

    `end`: it is stopped once it is there, and the reader has got `last`.
    """
    packets, control, report = os.pipe(), os.pipe(), os.pipe()

    def work() -> None:
        try:
            relay(command, wanted, packets[1], control[0], report[1])
        finally:
            for each in (packets[1], control[0], report[1]):
                os.close(each)

    thread = threading.Thread(target=work)
    thread.start()
    with os.fdopen(packets[0], "rb") as stream, os.fdopen(report[0], "rb") as said:
        lines, data = [json.loads(said.readline())], b""
        while last not in data:
            data += os.read(stream.fileno(), 1 << 16)
        if end:
            os.close(control[1])
        data += stream.read()
        lines += map(json.loads, said)
    if not end:
        os.close(control[1])
    thread.join()
    return data, lines


def wanted(path: Path | None = None, rotation: Rotation | None = None) -> CaptureOptions:
    return CaptureOptions("lo", "", 100, 1, str(path) if path is not None else None, rotation)


def test_what_a_command_writes_is_handed_on_and_written(tmp_path: Path) -> None:
    (tmp_path / "in.pcap").write_bytes(SMALL_FILE)
    path = tmp_path / "out.pcapng"
    data, lines = relayed(wanted(path), "cat", str(tmp_path / "in.pcap"))
    assert lines == [{"problem": ""}, CaptureOutcome(3, None, 0, [str(path)])._asdict()]
    for each in (data, path.read_bytes()):
        with RawPcapNgReader(io.BytesIO(each)) as reader:
            found = [
                (bytes(one), meta.wirelen, (meta.tshigh << 32) + meta.tslow, meta.linktype) for one, meta in reader
            ]
        assert found == [(b"one", 3, 1_000_002_000, 101), (b"two2", 9, 3_000_004_000, 101),
                         (b"three", 5, 5_000_006_000, 101)]  # fmt: skip


def test_a_command_that_is_silent_holds_nothing_back(tmp_path: Path) -> None:
    """All that it wrote after a capture's header: more than the pipe holds, or a packet that came with others."""
    many = struct.pack("<IIII", 7, 8, 60_000, 60_000) + bytes(60_000)
    for more, count in ((b"", 3), (many * 60 + SMALL_FILE[24:], 66)):
        (tmp_path / "in.pcap").write_bytes(SMALL_FILE + more)
        path = tmp_path / "in.pcap"
        script = f"head -c 24 {path}; sleep 0.1; tail -c +25 {path}; cat >/dev/null; exit 7"
        data, lines = relayed(wanted(), "sh", "-c", script, end=True, last=b"three" if not more else b"\0three")
        assert lines == [{"problem": ""}, CaptureOutcome(count, None, 0, [])._asdict()]
        with RawPcapNgReader(io.BytesIO(data)) as reader:
            assert len(list(reader)) == count


def test_what_a_command_does_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.pcap").write_bytes(SMALL_FILE + b"\xff" * 40)
    path = str(tmp_path / "bad.pcap")
    for command, taken, problem in (
        (("sh", "-c", "exit 3"), 0, "sh ended with status 3"),
        (("sh", "-c", "true"), 0, ""),
        (
            ("sh", "-c", f"head -c 62 {path}; exit 4"),
            1,
            "sh ended with status 4; tcpdump: the file ends inside packet 2",
        ),
        (
            ("sh", "-c", f"cat {path}"),
            3,
            "tcpdump: packet 4 declares 4,294,967,295 bytes: the file is damaged from there on",
        ),
    ):
        _, lines = relayed(wanted(), *command)
        assert (lines[1]["captured"], lines[1]["files"]) == (taken, [])
        assert lines[1]["problem"] == problem
    assert relayed(wanted(), "/nowhere/ssh") == (
        b"", [{"problem": "/nowhere/ssh cannot be started: No such file or directory"}])  # fmt: skip
    assert relayed(wanted(Path("/nowhere/x")), "true") == (
        b"", [{"problem": "/nowhere/x: cannot be written: No such file or directory"}])  # fmt: skip


def test_a_command_that_is_stopped_ends_without_a_problem() -> None:
    """One that reads its input ends by that, one that does not by a signal."""
    for command in (("sleep", "1000"), ("sh", "-c", "cat >/dev/null; exit 7")):
        _, lines = relayed(wanted(), *command, end=True)
        assert lines == [{"problem": ""}, CaptureOutcome(0, None, 0, [])._asdict()]


def test_a_command_hears_signals_but_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever captures ignores them; what it starts is to end by them."""
    heard = list[Any]()
    monkeypatch.setattr(signal, "signal", lambda *given: heard.append(given))
    hear()
    assert set(heard) == {(signal.SIGTERM, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)}

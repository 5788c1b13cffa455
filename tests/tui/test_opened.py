"""The fields of an exchange that is looked at: they tile its bytes, make a tree, hide secrets, escape what is bad."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

import kdbg
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.fields import Branches, OpenedExchange, everything, opened
from kdbg.ui.tui.panes import ExchangeDump
from kdbg.views.render.style import Look

from ..cli.calls import call
from ..traffic import Talk, pcap
from .driving import CAPTURES, click, drive, lines, press, shown, whole

LOOK = Look(width=400, full=False)
PASSWORD = b"hunter2"
RED = "[red]\x1b[31mno[/red]"


def all_opened(path: Path, look: Look = LOOK) -> list[OpenedExchange]:
    with kdbg.read(path) as reading:
        return [opened(exchange, exchange._topics, look) for exchange in reading]


@pytest.mark.parametrize("name", ["errors", "codecs", "real-4.4.0-transactions", "midstream", "segmented-lossy"])
def test_fields_tile_every_buffer(name: str) -> None:
    tiled = 0
    for each in all_opened(CAPTURES / f"{name}.pcap"):
        for buffer in each.buffers:
            end = 0
            for one in buffer.fields:
                assert one.place.start == end
                end = one.place.end
            assert end == len(buffer.data)
            tiled += bool(buffer.fields)
    assert tiled


def test_the_bytes_are_those_of_the_messages() -> None:
    path = CAPTURES / "errors.pcap"
    with kdbg.read(path) as reading:
        for exchange in reading:
            halves = [half for half in (exchange.request, exchange.response) if half is not None]
            found = opened(exchange, exchange._topics, LOOK)
            wanted = [len(half.data).to_bytes(4, "big") + half.data for half in halves]
            assert [buffer.data for buffer in found.buffers[: len(wanted)]] == wanted


def test_every_field_is_on_one_branch_and_a_branch_covers_what_is_below_it() -> None:
    for each in all_opened(CAPTURES / "real-4.4.0-transactions.pcap"):
        branches = Branches(each)
        fields = [one for part in each.parts for one in part.fields]
        below = [one.leaf for root in branches.roots for one in everything(root) if one.leaf is not None]
        assert sorted(map(id, below)) == sorted(map(id, fields))
        for root in branches.roots:
            for one in everything(root):
                for place in one.places:
                    inside = [inner for low in one.below for inner in low.places if inner.buffer == place.buffer]
                    assert all(place.start <= inner.start and inner.end <= place.end for inner in inside)


def test_fields_say_and_mean_what_explain_prints() -> None:
    (exchange,) = kdbg.read(CAPTURES / "errors.pcap", exchange=6)
    fields = {one.path: one for one in opened(exchange, {}, LOOK).parts[0].fields}
    printed = call("decode", CAPTURES / "errors.pcap", "--exchange", 6, "-f", "hex", "--explain-fields").out
    for path in ("acks", "timeout_ms", "topic_data[0].name", "topic_data[0].partition_data[0].records[0].crc"):
        line = next(line for line in printed.splitlines() if f" {path} " in line)
        assert fields[path].says in line
        assert fields[path].means[:60] in " ".join(printed.split())


def secret(tmp_path: Path) -> Path:
    talk = Talk()
    talk.ask("SaslHandshake", 1, mechanism="PLAIN").answer(error_code=0, mechanisms=["PLAIN"])
    token = b"\0user\0" + PASSWORD
    talk.ask("SaslAuthenticate", 1, auth_bytes=token).answer(
        error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=0
    )
    path = tmp_path / "secret.pcap"
    path.write_bytes(pcap(talk))
    return path


def dumped(found: OpenedExchange) -> str:
    dump = ExchangeDump(found, 16)
    return "".join(cell.digits + cell.letter for line in range(len(dump)) for cell in dump.line(line).cells)


@pytest.mark.parametrize("shown", [False, True])
def test_secrets_are_hidden_unless_they_are_asked_for(tmp_path: Path, shown: bool) -> None:
    path = secret(tmp_path)
    said = []
    for each in all_opened(path, Look(width=400, full=False, show_secrets=shown)):
        said += [one.says for part in each.parts for one in part.fields]
        said.append("".join(dumped(each)[2::3]))
    assert any(PASSWORD.decode() in text for text in said) is shown

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "end", "x")
        assert (PASSWORD.hex(" ") in app.clipboard) is shown
        await press(app, pilot, "y")
        assert app.clipboard.startswith("{")
        assert any(form in app.clipboard for form in (PASSWORD.decode(), "aHVudGVyMg", "c2Vy", PASSWORD.hex())) is shown

    drive(steps, path, show_secrets=shown)


def test_captured_text_is_no_markup_and_reaches_no_terminal(tmp_path: Path) -> None:
    talk = Talk(client_id=RED).ask("Metadata", 1, topics=[{"name": RED}])
    talk.answer(brokers=[], controller_id=-1, topics=[{"error_code": 3, "name": RED, "is_internal": False,
                                                       "partitions": []}])  # fmt: skip
    path = tmp_path / "[b]hostile.pcap"
    path.write_bytes(pcap(talk))

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        seen = []
        for key in ("enter", *["down"] * 12, "escape", "v"):
            await press(app, pilot, key)
            seen += lines(app)
        assert not any("\x1b" in line for line in seen)
        assert any("[red]\\x1b[31mno[/red]" in line for line in seen)
        assert "[b]hostile.pcap" in seen[0]

    drive(steps, path, size=(160, 50))


def test_moving_in_the_bytes_lights_their_field(tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "tab", "tab", *["right"] * 9)
        assert app.bytes.at.start == 9
        assert app.fields.branch is not None
        assert app.fields.branch.path == "correlation_id"
        assert [(place.start, place.end) for place in app.bytes.lit] == [(8, 12)]
        assert "number chosen by the client" in "".join(lines(app)[-3:])
        await press(app, pilot, "end")
        assert app.fields.branch.part == 1

    drive(steps, CAPTURES / "errors.pcap")


def test_the_mouse_chooses_rows_fields_bytes_and_columns() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await click(pilot, "#exchanges", (10, 5))
        await shown(app, pilot)
        assert app.exchanges.cursor == 5
        await click(pilot, "#fields", (8, 4))
        assert app.fields.branch is not None
        assert app.fields.branch.path == "correlation_id"
        await click(pilot, "#bytes", (6, 1))
        assert (app.pane, app.fields.branch.path) == (app.bytes, "size")
        await click(pilot, "#heading", (9, 0))
        assert app.order.by == "time"

    drive(steps, CAPTURES / "errors.pcap")


def test_a_capture_that_ends_in_nothing_shows_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pcap(Talk()))
    with whole(empty) as feed:
        assert len(feed.index) == 0

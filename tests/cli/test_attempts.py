"""Connections that were asked for in vain, in every view and in the closing line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..traffic import Talk, pcap
from .calls import call


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A client that is answered by one broker, refused by another twice, and not answered by a third."""
    path = tmp_path / "made.pcap"
    talks = [
        Talk().ask("Metadata", 1).answer(),
        Talk.in_vain(100, refused=101, client=("10.0.0.1", 40_001), broker=("10.0.0.3", 9092)),
        Talk.in_vain(200, refused=201, client=("10.0.0.1", 40_002), broker=("10.0.0.3", 9092)),
        Talk.in_vain(300, 1300, 3300, client=("10.0.0.1", 40_003), broker=("10.0.0.4", 9092)),
    ]
    path.write_bytes(pcap(*talks))
    return path


REFUSED = "10.0.0.1 → 10.0.0.3:9092: 2 connections refused (c2, first packet 5)"
UNREACHED = "10.0.0.1 → 10.0.0.4:9092: 1 connection timed out, 3 attempts (c4, first packet 9)"


@pytest.mark.parametrize("view", ["tree", "hex"])
def test_views_for_people_tell_of_them_below_the_exchanges(capture: Path, view: str) -> None:
    made = call("decode", capture, "-f", view)
    assert made.out.splitlines()[-2:] == [
        f"! connection-refused: {REFUSED} · 12:30:00.100 to 12:30:00.201",
        f"! connection-timeout: {UNREACHED} · 12:30:00.300 to 12:30:03.300",
    ]
    assert (
        made.err == "11 packets · 1 connection · 1 exchange · 0 missing responses"
        " · 3 findings (connection-refused 2, connection-timeout 1)\n"
    )
    assert made.status == 0


def test_json_with_what_tcp_tells_has_an_object_that_is_of_no_exchange(capture: Path) -> None:
    exchange, refused, unreached = call("decode", capture, "-f", "json", "--latency").lines
    assert exchange["number"] == 1
    assert "attempts" not in exchange
    assert exchange.keys() - {"split", "tcp"} == refused.keys() - {"attempts"} == unreached.keys() - {"attempts"}
    assert (refused["number"], refused["api"], refused["request"], refused["response"]) == (None, None, None, None)
    assert refused["connection"] == {"client": "10.0.0.1", "broker": "10.0.0.3:9092", "id": 2}
    assert refused["notes"] == ["connection-refused: connection refused: nothing listens on that address and port"]
    assert refused["attempts"] == {
        "outcome": "connection-refused", "old_outcome": "refused",
        "connections": 2, "tries": 2, "since": 1795264200.1, "until": 1795264200.201,
        "first_packet": 5,
    }  # fmt: skip
    assert (unreached["attempts"]["connections"], unreached["attempts"]["tries"]) == (1, 3)


@pytest.mark.parametrize(
    "chosen",
    [("--limit", "10"), (), ("-f", "summary")],
    ids=["limit", "an exchange a line of JSON", "an exchange a line"],
)
def test_beside_exchanges_they_are_said(capture: Path, chosen: tuple[str, ...]) -> None:
    made = call("decode", capture, "-f", "json", *chosen)
    if "summary" in chosen:
        assert len(made.out.splitlines()) == 2
    else:
        assert [line["number"] for line in made.lines] == [1]
    assert f"kdbg: {capture}: {REFUSED}\n" in made.err


@pytest.mark.parametrize("view", ["tree", "summary", "json"])
def test_where_exchanges_are_asked_for_they_are_counted(capture: Path, view: str) -> None:
    made = call("decode", capture, "-f", view, "--api", "metadata")
    assert REFUSED not in made.out + made.err
    assert "3 findings (connection-refused 2, connection-timeout 1)" in made.closing


@pytest.mark.parametrize("command", [("stats",), ("records",), ("lint",)], ids=lambda command: command[0])
def test_other_commands_say_them(capture: Path, command: tuple[str, ...]) -> None:
    assert (f"kdbg: {capture}: {REFUSED}\n" in call(*command, capture).err) == (command != ("lint",))


def test_a_capture_without_any_says_nothing_of_them(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Talk().ask("Metadata", 1).answer()))
    assert "attempts" not in call("decode", path, "-f", "json", "--latency").out
    assert "connection-refused" not in call("decode", path).out

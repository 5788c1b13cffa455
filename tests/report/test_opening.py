"""What the page opens with, worked out by hand of a capture made for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kdbg.views.report.cells import ReportTable
from kdbg.views.report.opening import Point, command, worth_looking
from kdbg.views.report.page import Report, report
from tests.cli.calls import CAPTURES
from tests.traffic import Talk, pcap

from .conftest import Asking

NOT_LEADER, TOO_LARGE, STEP = 6, 10, 27


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    """A client that asks the wrong broker, one whose long polls are late, one that rebalances."""
    path = tmp_path / "an incident.pcap"
    path.write_bytes(pcap(shop(), reader(), quiet()))
    return path


def shop() -> Talk:
    """Three errors for partition 10, one for partition 9; one record refused, one accepted."""
    talk = Talk(("10.0.0.1", 50001), client_id="shop")
    for partition, code in ((10, NOT_LEADER), (10, NOT_LEADER), (9, NOT_LEADER), (10, TOO_LARGE), (10, 0)):
        data = {"index": partition, "records": None}
        talk.ask("Produce", 3, acks=-1, timeout_ms=60_000, topic_data=[{"name": "orders", "partition_data": [data]}])
        answer = {"index": partition, "error_code": code}
        talk.answer(responses=[{"name": "orders", "partition_responses": [answer]}])
    return talk.end()


def reader() -> Talk:
    """A poll that is answered within its wait of 500 ms; one that takes 1,000 ms; a slow answer to Metadata."""
    talk = Talk(("10.0.0.2", 50002), client_id="reader")
    for took in (400, 1000):
        talk.ask("Fetch", 4, max_wait_ms=500, min_bytes=1, max_bytes=1, topics=[])
        talk.at += took - 1
        talk.answer(responses=[])
    talk.ask("Metadata", 1, topics=None)
    talk.at += 299
    return talk.answer(brokers=[], controller_id=1, topics=[]).end()


def quiet() -> Talk:
    """Leaves a group after a rebalance, which another one joins; its errors are steps of the protocol."""
    talk = Talk(("10.0.0.3", 50003), client_id="old")
    talk.ask("Heartbeat", 0, group_id="billing", generation_id=1, member_id="m").answer(error_code=STEP)
    talk.ask("LeaveGroup", 5, group_id="billing", members=[{"member_id": "m", "reason": "closed"}]).answer(error_code=0)
    talk.client_id = "new"
    talk.ask("JoinGroup", 8, group_id="billing", member_id="n", protocol_type="consumer")
    talk.answer(generation_id=2, protocol_type="consumer", protocol_name="range", leader="n", member_id="n")
    return talk.end()


def told(found: Report) -> dict[str, Point]:
    return {point.section: point for point in found.points}


def rows(table: ReportTable) -> list[dict[str, str]]:
    return [dict(zip([column.title for column in table.columns], [cell.text for cell in row], strict=True))
            for row in table.rows]  # fmt: skip


def test_who_gets_errors_and_where(asking: Asking, incident: Path) -> None:
    found = told(report(asking(incident)))["errors"]
    assert (found.level, found.title) == ("error", "4 errors from brokers")
    assert [line.text for line in found.lines] == [
        "shop (10.0.0.1): NOT_LEADER_OR_FOLLOWER × 3 in Produce: orders/9, 10",
        "shop (10.0.0.1): MESSAGE_TOO_LARGE × 1 in Produce: orders/10",
    ]


def test_answers_that_are_late_beyond_what_they_were_asked_to_wait(asking: Asking, incident: Path) -> None:
    found = told(report(asking(incident)))["latency"]
    late, plain = (line.text for line in found.lines)
    assert found.left == 0
    assert late.startswith("Fetch of reader (c")
    assert late.endswith(": 500 ms, latency 1 s")
    assert plain.startswith("Metadata of reader (c")
    assert plain.endswith(": 300 ms")


def test_rebalances_have_names(asking: Asking, incident: Path) -> None:
    [line] = told(report(asking(incident)))["rebalances"].lines
    assert line.text == "billing: 1, up to 1 ms; joined new; old left: closed"


def test_nothing_stands_out_where_all_is_well(asking: Asking, tmp_path: Path) -> None:
    path = tmp_path / "well.pcap"
    talk = Talk(("10.0.0.3", 50003), client_id="old")
    path.write_bytes(pcap(talk.ask("Heartbeat", 0, group_id="g", member_id="m").answer(error_code=STEP).end()))
    found = report(asking(path))
    assert found.points == []
    assert not worth_looking(asking(path)).rows


def test_each_exchange_worth_looking_at_is_shown_by_its_command(asking: Asking, incident: Path) -> None:
    found = rows(worth_looking(asking(incident)))
    assert sorted((row["why"], row["client"], row["API"]) for row in found) == [
        ("300 ms above the allowed wait", "reader", "Metadata"),
        ("500 ms above the allowed wait", "reader", "Fetch"),
        ("MESSAGE_TOO_LARGE", "shop", "Produce"),
        ("NOT_LEADER_OR_FOLLOWER", "shop", "Produce"),
    ]
    for row in found:
        assert row["command"].endswith(f"{row['exchange']}'")  # in quotes: there is a space in the name
        shell = row["command"].replace("kdbg", f"{sys.executable} -m kdbg", 1)
        done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=False)
        assert row["API"] in done.stdout
        if not row["why"].endswith("above the allowed wait"):
            assert row["why"] in done.stdout


def test_records_that_were_accepted_are_counted_apart_from_those_refused(asking: Asking) -> None:
    found = report(asking(CAPTURES / "errors.pcap"))
    [topics] = [section for section in found.sections if section.id == "topics"]
    [orders] = [row for row in rows(topics.tables[0]) if row["topic"] == "orders"]
    counts = [orders[f"records {fate}"] for fate in ("accepted", "rejected", "unacknowledged")]
    assert counts == ["3", "3", "1"]


def test_a_name_cannot_leave_the_command() -> None:
    assert command(7, "a b';rm.pcap") == """kdbg decode 'a b'"'"';rm.pcap#7'"""
    assert command(7, "-") is None
    assert command(7, "") is None
    assert command(None, "a.pcap") is None

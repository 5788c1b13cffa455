"""Every command that takes captures: with several processes it prints the same, or the guide says why it uses one."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.analysis.stats.statistics import StatsTable
from kdbg.exchanges.split import engine as split
from kdbg.ui.cli import GROUPS, commands

from ..cases import fewer_by_day
from ..cli.calls import call
from ..traffic import PCAP_HEADER, Talk, records
from .test_split import Counted, conversation, damaged, small_parts

__all__ = ["small_parts"]

INTERNALS = Path(kdbg.__file__).parent / "ui" / "guide" / "internals.md"
TRIED: dict[str, tuple[tuple[str, ...], ...]] = {
    "decode": (("-f", "json"), ("-f", "tree"), ("-f", "summary"), ("-f", "hex"), ("-f", "json", "--errors")),
    "records": (("-f", "json"), ("-f", "csv"), ("-f", r"%o %k %s %m\n"), ("--count",), ("-f", "json", "--limit", "9"),
                ("-f", "json", "--topic", "payments"), ()),
    "stats": ((), ("--by", "software,topic"), ("--by", "connection,api", "--format", "csv")),
    "export": (("written.pcap", "--api", "Fetch"), ("written.pcap", "--topic", "orders", "--only-exchanges")),
    "report": (("-o", "-"),),
    "query": (("SELECT * FROM exchanges", "--format", "json"), ("SELECT * FROM partitions", "--format", "csv"),
              ("SELECT * FROM records", "--format", "csv", "--value", "string", "--topic", "orders"),
              ("SELECT * FROM problems", "--format", "csv"), ("SELECT * FROM connections", "--format", "csv"),
              ("SELECT number, api, broker_us, reading_us FROM exchanges", "--format", "csv")),
}  # fmt: skip
"""The options that each command with --jobs is tried with."""


def batch(chance: random.Random, **more: Any) -> dict[str, Any]:
    found = [
        {"key": f"k{chance.randrange(9)}", "value": "v" * chance.randrange(90)} for _ in range(chance.choice((1, 3)))
    ]
    return {"magic": 2, "base_offset": chance.randrange(1000), "records": found, **more}


def client(chance: random.Random, number: int) -> Talk:
    """A connection that produces and fetches records, in few places those of transactions."""
    talk = Talk(("10.0.0.1", 41_000 + number), client_id=f"reader-{number}", at=chance.randrange(50))
    talk.ask("ApiVersions", 3, client_software_name="kdbg").answer(api_keys=[])
    for count in range(150):
        talk.at += chance.randrange(4)
        topic = chance.choice(("orders", "payments"))
        if chance.random() < 0.3:
            part: dict[str, Any] = {"index": 0, "records": [batch(chance)]}
            talk.ask("Produce", 9, acks=1, topic_data=[{"name": topic, "partition_data": [part]}])
            part = {"index": 0, "base_offset": count}
            talk.answer(responses=[{"name": topic, "partition_responses": [part]}])
            continue
        more: dict[str, Any] = {}
        if 60 < count < 80:
            more = {"attributes": 0x10, "producer_id": 7, "producer_epoch": 1, "base_sequence": 0}
        if count in (62, 63):  # the marker of an aborted transaction, whose records are fetched later
            more |= {"attributes": 0x30, "base_offset": 1000, "records": [{"key": b"\0\0\0\0", "value": b"\0" * 6}]}
        talk.ask("Fetch", 11, topics=[{"topic": topic, "partitions": [{"partition": 0}]}])
        part = {"partition_index": 0, "last_stable_offset": 500, "aborted_transactions": [],
                "records": [batch(chance, **more)]}  # fmt: skip
        talk.answer(responses=[{"topic": topic, "partitions": [part]}])
    return talk


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", TRIED)
def test_the_output_is_that_of_one_process(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, written = tmp_path / "traffic.pcap", tmp_path / "written.pcap"
    monkeypatch.setattr(split, "PART", 20_000)
    monkeypatch.setattr(split, "FIRST", 64)
    for seed in range(fewer_by_day(10, 10)):
        chance = random.Random(seed)
        talks = [conversation(chance, 0), client(chance, 1), client(chance, 2)]
        path.write_bytes(PCAP_HEADER + b"".join(damaged(chance, list(records(*talks)))))
        for options in TRIED[name]:
            one, data = call(name, path, *options, "--jobs", 1), written.read_bytes() if written.exists() else b""
            several = call(name, path, *options, "--jobs", 3)
            assert one.out or data or "--errors" in options
            assert "search-limit" in one.err + several.err or several == one, (seed, options)
            assert not data or written.read_bytes() == data, (seed, options)
    assert Counted.skips > 3 or name in ("report", "query")


@pytest.mark.usefixtures("small_parts")
def test_the_rows_of_stats_that_are_left_out_are_those_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StatsTable.__init__, "__kwdefaults__", {"most": 12, "erring": False})
    path, talk, chance = tmp_path / "groups.pcap", Talk(), random.Random(1)
    for number in range(800):
        talk.ask("Heartbeat", 0, group_id=f"group-{chance.randrange(number // 40 + 1)}").answer()
    path.write_bytes(PCAP_HEADER + b"".join(records(talk)))
    monkeypatch.setattr(split, "PART", 20_000)
    monkeypatch.setattr(split, "FIRST", 64)
    one, several = (call("stats", path, "--by", "group", "--format", "csv", "--jobs", jobs) for jobs in (1, 3))
    assert several == one
    assert "the table keeps 12 rows" in one.err
    assert Counted.skips > 3


def test_the_traffic_has_transactions_that_workers_leave_to_the_first_process(tmp_path: Path) -> None:
    path = tmp_path / "traffic.pcap"
    path.write_bytes(PCAP_HEADER + b"".join(records(client(random.Random(1), 1))))
    lines = call("records", path, "-f", "json").lines
    outcomes = {line["exchange"]: line["transaction"] for line in lines if line["transaction"]}
    assert 5 < len(outcomes) < 0.3 * len({line["exchange"] for line in lines})
    assert [*outcomes.values()].count("aborted") > 5


def test_commands_that_use_one_process_are_in_the_guide_with_the_reason() -> None:
    section = INTERNALS.read_text().partition("### Commands that use one process\n")[2].partition("\n#")[0]
    first_cells = re.findall(r"^\|([^|]+)\|", section, re.MULTILINE)
    listed = [name for cell in first_cells for name in re.findall(r"`([a-z-]+)`", cell)]
    names = [name for heading in ("Captures", "Causes", "Archives and reports") for name in GROUPS[heading]]
    with_jobs = [name for name in names if any(one.name == "jobs" for one in commands.commands[name].params)]
    assert set(with_jobs) == TRIED.keys()
    assert sorted(with_jobs + listed) == sorted(names)

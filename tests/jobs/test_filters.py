"""Filters in several processes that read parts of a capture: what is printed is what one process prints."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kdbg.exchanges.filters.table import FILTERS
from kdbg.exchanges.split import engine as split

from ..cases import by_day, fewer_by_day
from ..cli.calls import CAPTURES, call
from ..traffic import PCAP_HEADER, Talk, pcap, records
from .test_split import Counted, conversation, damaged, small_parts

__all__ = ["small_parts"]

KEYS = CAPTURES / "tls" / "real-tls-1.2.keys"
ASKED: dict[str, tuple[object, ...]] = {
    "api": ("fetch", "!heartbeat", "produce"),
    "client_id": ("client-0", "clien"),
    "host": ("10.0.0.2:9092", "10.0.0.9"),
    "topic": ("topic-3", "!topic-3", "topik*", "ghost"),
    "partition": (0, 7),
    "group": ("ggg*", "h"),
    "error": ("UNKNOWN_TOPIC_ID",),
    "errors": (True, "all"),
    "slower_than": ("2ms", "1h"),
    "since": ("12:30:00.300",),
    "until": ("12:30:00.300",),
    "correlation_id": (50, 50_000),
    "port": (40_001, 9),
    "connection": (1, 9),
    "exchange": ("30-45", 99_999),
    "packet": (300, 99_999),
    "tls_keys": (KEYS,),
    "pid": (os.getpid(),),
    "limit": (30, 0),
    "where": ("latency_ms > 2 && api == 'Fetch'", "latency_ms > 1e9"),
}
"""Values that some exchanges have, and values that none has."""
READ_BY_ONE = {"exchange", "limit"}
"""Filters that end the reading: what comes after is not even counted."""
COMMANDS = (("decode", "-f", "json"), ("decode", "-f", "summary"), ("stats", "--by", "software,client,api"), ("stats",))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", FILTERS)
def test_filters_select_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "traffic.pcap"
    for seed in range(fewer_by_day(8, 4)):
        chance = random.Random(5 + seed)
        talks = [conversation(chance, number) for number in range(2)]
        path.write_bytes(PCAP_HEADER + b"".join(damaged(chance, list(records(*talks)))))
        monkeypatch.setattr(split, "PART", 20_000)
        monkeypatch.setattr(split, "FIRST", chance.choice((64, 2_000)))
        for number, value in enumerate(ASKED[name]):
            option = f"--{name.replace('_', '-')}"
            given = [option] if value is True else [f"{option}={value}"]
            for command in by_day(COMMANDS[number % 2 :], 2):
                skips = Counted.skips
                one, several = (call(*command, path, *given, "--jobs", jobs) for jobs in (1, chance.choice((2, 3))))
                assert "search-limit" in one.err + several.err or several == one, (seed, command, value)
                is_split = Counted.skips > skips
                assert not (is_split and name in READ_BY_ONE)
    if name not in READ_BY_ONE and name != "port":
        assert Counted.skips > 0


def test_every_filter_is_tried() -> None:
    assert ASKED.keys() == FILTERS.keys()


@pytest.mark.usefixtures("small_parts")
def test_what_was_there_is_offered_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many different values the first ones are remembered, which several parts have."""
    monkeypatch.setattr("kdbg.exchanges.filters.filter_set.MOST", 40)
    path, talk = tmp_path / "groups.pcap", Talk()
    chance = random.Random(1)
    for number in range(1500):
        talk.ask("Heartbeat", 0, group_id=f"group-{chance.randrange(number // 10 + 1)}").answer()
    path.write_bytes(pcap(talk))
    monkeypatch.setattr(split, "PART", 40_000)
    monkeypatch.setattr(split, "FIRST", 64)
    one, several = (call("decode", path, "-f", "json", "--group", "grup", "--jobs", jobs) for jobs in (1, 3))
    assert several == one
    assert "32 more" in one.err
    assert Counted.skips > 3

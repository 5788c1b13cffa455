"""What the feed tells of captures is what `kdbg.read` tells of them."""

from __future__ import annotations

import tempfile
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.protocol.wire.readings.outline import names_by_then
from kdbg.ui.cli.browse_captures import Files
from kdbg.ui.tui.feed import ExchangeFeed
from kdbg.ui.tui.index import HALF, NOTHING, WRONG, Start
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look

from ..cli.calls import call
from .driving import CAPTURES, told, wait, whole

FILES = ["errors", "first-contact", "midstream", "old-versions", "pipelined-acks0", "real-4.4.0-transactions",
         "real-4.4.0-share-group", "real-sasl-tokens", "segmented-lossy", "transactions"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_exchange_is_there_as_it_was_read(name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    with whole(path) as feed, kdbg.read(path) as reading:
        wanted = [exchange.to_dict() for exchange in reading]
        assert len(feed.index) == len(wanted) > 0
        topics = feed.index.topics[0]
        for position in reversed(range(len(wanted))):
            exchange = feed.exchange(position)
            line = json_line(exchange, names_by_then(topics, exchange.names))
            assert kdbg_json(line) == wanted[position]


def kdbg_json(line: bytes) -> Any:
    import json

    return json.loads(line)


def test_the_index_has_what_rows_say() -> None:
    path = CAPTURES / "errors.pcap"
    with whole(path) as feed, kdbg.read(path) as reading:
        index = feed.index
        wrong = {exchange.number for exchange in kdbg.read(path, errors=True)}
        for position, exchange in enumerate(reading):
            who = index.who_of(position)
            assert index.value("number", position) == exchange.number
            assert index.value("time", position) == exchange.time
            assert index.value("request", position) == (exchange.request.size if exchange.request else NOTHING)
            assert index.value("response", position) == (exchange.response.size if exchange.response else NOTHING)
            assert index.value("latency", position) == (NOTHING if exchange.latency is None else exchange.latency)
            assert bool(index.value("flags", position) & WRONG) == (exchange.number in wrong)
            assert bool(index.value("flags", position) & HALF) == (None in (exchange.request, exchange.response))
            assert (who.connection, who.version) == (exchange.peers.number, exchange.version)
            assert exchange.api is not None
            assert (who.api, who.client_id) == (exchange.api.name, exchange.client_id)


@pytest.mark.parametrize(("column", "option"), [("topics", "topic"), ("groups", "group")])
def test_names_are_those_that_filters_find(column: str, option: str) -> None:
    path = CAPTURES / "real-4.4.0-transactions.pcap"
    with whole(path) as feed:
        names = {name for names in feed.index.names for name in names if isinstance(name, str)}
        there = {
            name: [at for at in range(len(feed.index)) if name in feed.index.names_of(column, at)] for name in names
        }
        there = {name: positions for name, positions in there.items() if positions}
        assert there
        for name, positions in there.items():
            with kdbg.read(path, **{option: name}) as reading:  # type: ignore[arg-type]
                assert [exchange.number - 1 for exchange in reading] == positions


def test_producers_are_found_in_transactions_and_in_front_of_batches() -> None:
    path = CAPTURES / "transactions.pcap"
    with whole(path) as feed:
        apis: dict[Any, set[str]] = {}
        for position in range(len(feed.index)):
            for producer in feed.index.names_of("producers", position):
                apis.setdefault(producer, set()).add(feed.index.who_of(position).api)
        by_id = [found for producer, found in apis.items() if isinstance(producer, int)]
        assert any({"InitProducerId", "Produce", "EndTxn"} <= found for found in by_id), apis


@pytest.mark.parametrize(
    "given", [{"errors": True}, {"api": "fetch"}, {"where": "latency_ms > 50"}, {"since": "00:38:37"}]
)
def test_a_filter_lets_through_what_it_lets_through_elsewhere(given: dict[str, Any]) -> None:
    path = CAPTURES / "errors.pcap"
    if "since" in given:
        from datetime import time

        given = {"since": time(0, 38, 37)}
    with whole(path) as feed, kdbg.read(path, **given) as reading:
        found: array[int] = array("I")
        for part in told(feed, "filter", Filters(**given)):
            found.frombytes(part)
        assert [position + 1 for position in found] == [exchange.number for exchange in reading]


def test_the_numbers_are_those_of_stats() -> None:
    path = CAPTURES / "group-rebalance.pcap"
    with whole(path) as feed:
        shown = told(feed, "numbers", Filters(api=["fetch"]), Look(width=400))[-1]
    printed = call("stats", path, "--api", "fetch").out
    lines = [line for line in printed.splitlines() if not line.startswith("findings")]  # of what is not shown too
    parts = [part for line in lines for part in line.split(" · ") if "packet" not in part]
    assert [part for line in shown.splitlines() for part in line.split(" · ")] == parts


def test_several_files_are_told_apart(tmp_path: Path) -> None:
    with whole(CAPTURES / "errors.pcap", CAPTURES / "first-contact.pcap") as feed:
        files = [feed.index.who_of(position).file for position in range(len(feed.index))]
        first = files.index(1)
        assert files == sorted(files)
        assert feed.index.value("number", first) == 1
        assert feed.index.find(3, 1) == first + 2
        target = tmp_path / "marked.pcap"
        (said,) = told(feed, "export", str(target), {0: [6, 9], 1: [2]})
        assert str(target) in said
    with (
        kdbg.read(CAPTURES / "errors.pcap", exchange=[6, 9]) as one,
        kdbg.read(CAPTURES / "first-contact.pcap", exchange=2) as other,
        kdbg.read(target) as written,
    ):
        wanted = [(exchange.time, exchange.size) for reading in (one, other) for exchange in reading]
        assert sorted((exchange.time, exchange.size) for exchange in written) == sorted(wanted)


def test_what_is_wrong_with_a_file_is_noted(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "errors.pcap").read_bytes()[:-10])
    with whole(cut) as feed:
        assert any("cut.pcap" in note for note in feed.notes)
        assert any("connections" in note for note in feed.notes)


def test_a_file_that_grows_is_read_on(tmp_path: Path) -> None:
    data, path = (CAPTURES / "errors.pcap").read_bytes(), tmp_path / "growing.pcap"
    path.write_bytes(data[:2000])
    source = Files([str(path)], Filters(), follow=True)
    feed = ExchangeFeed(source, {})
    try:
        feed.listen()
        wait(lambda: len(feed.index))
        before = len(feed.index)
        with path.open("ab") as file:
            file.write(data[2000:])
        wait(lambda: len(feed.index) >= 57)  # the last may wait for what comes behind it
        assert before < 57
        assert not feed.over
    finally:
        feed.close()


def test_files_of_a_job_are_removed_with_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def job(spool: int, start: Start) -> Iterator[str]:
        yield tempfile.mkdtemp()
        time.sleep(600)

    found, heard = ExchangeFeed(lambda spool, tell: None, {"job": job}), list[str]()
    found.listen()
    found.ask("job", hear=heard.append)
    wait(lambda: heard)
    assert Path(heard[0]).is_relative_to(tmp_path)
    assert Path(heard[0]).is_dir()
    found.close()
    assert [*tmp_path.iterdir()] == []

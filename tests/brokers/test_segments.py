"""Segment files that real brokers wrote: kdbg reads in them what the broker's own dump tool prints, field by field."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ..cases import by_day
from . import dumps
from .cluster import start
from .histories import CODECS, COMPACTED, MONEY, format_topic, live
from .pool import needed
from .releases import RELEASES, Release
from .sending import kdbg

DEEP = ("--deep-iteration", "--print-data-log")
BATCHES_PRINTED = (2, 0)
"""The first release of the table whose tool prints batches, not their records alone."""


class Disk:
    """What a broker left on its disk."""

    def __init__(self, release: Release, folder: Path) -> None:
        self.release, self.folder = release, folder

    def files(self, pattern: str) -> list[Path]:
        """Those that hold something."""
        return [path for path in sorted(self.folder.glob(pattern)) if path.stat().st_size]

    def dump(self, paths: list[Path], *options: str) -> dict[Path, str]:
        return dumps.dump(self.release, self.folder.parent, paths, *options)


@pytest.fixture(scope="session")
def disks() -> dict[str, Disk]:
    """The disks by release, as far as they were asked for."""
    return {}


@pytest.fixture(params=by_day(RELEASES, 2), ids=lambda release: f"kafka-{release.version}")
def disk(request: pytest.FixtureRequest, disks: dict[str, Disk], tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """That of a broker of each release, which was stopped after it had lived.

    No other test has used it: what they leave, such as topics half deleted, the release's own tool cannot always read.
    """
    release: Release = request.param
    if release.version not in disks:
        with needed(), start(release.version) as cluster:
            broker = cluster.brokers[0]
            live(broker)
            broker.stop()
            folder = tmp_path_factory.mktemp("disk") / release.version
            shutil.copytree(broker.data, folder)
        disks[release.version] = Disk(release, folder)
    return disks[release.version]


def decoded(path: Path) -> list[dict[str, Any]]:
    """All of a file; nothing in it may be odd."""
    outcome = kdbg("decode", path, "--format", "json", "--show-secrets")
    assert (outcome.status, outcome.closing.endswith(" 0 findings")) == (0, True), outcome.err
    return outcome.lines


def test_logs_decode_to_the_records_that_the_tool_prints(disk: Disk) -> None:
    logs = disk.files("*/*.log") + disk.files("__cluster_metadata-0/*.checkpoint")
    topics = {path.parent.name.rpartition("-")[0] for path in logs}
    assert CODECS in topics
    for path, text in disk.dump(logs, *DEEP).items():
        expected = dumps.told(decoded(path), batches=disk.release.number >= BATCHES_PRINTED)
        printed = dumps.lines(text)
        assert len(printed) == len(expected) > 0, path
        for theirs, ours in zip(printed, expected, strict=True):
            assert theirs.is_batch == ours.is_batch
            assert list(dumps.fields_known(theirs, ours)) == [], path
            assert len(theirs.fields) >= 6
            assert same_content(theirs, ours, disk.release)


def same_content(theirs: dumps.Line, ours: dumps.Line, release: Release) -> bool:
    """Key and value; Kafka 0.8 prints a null value as such, Kafka 0.10 then leaves the key out as well.

    Of KRaft's control records the tool prints the name, as one of their fields or in front of their own.
    """
    expected = ours.content
    if ours.fields.get("controltype") and "endTxnMarker" not in expected:
        return theirs.content.startswith(expected) or "controltype" in theirs.fields
    if ours.fields.get("valuesize") == "-1" and release.number < (1,):
        expected = f"{expected} payload: null" if release.number < (0, 10) else ""
    return theirs.content == expected


def test_what_brokers_wrote_is_all_there(disk: Disk) -> None:
    """Compacted, transactional, of old formats: the test above compares nothing that nobody wrote."""
    topics = {path.parent.name.rpartition("-")[0] for path in disk.files("*/*.log")}
    release = disk.release.number
    wanted = {CODECS}
    wanted |= {COMPACTED, "__consumer_offsets"} if release >= (0, 10) else set()
    wanted |= {MONEY, "__transaction_state"} if release >= (0, 11) else set()
    wanted |= {format_topic(0), format_topic(1)} if (0, 10) < release < (3,) else set()
    wanted |= {"__cluster_metadata"} if not disk.release.zookeeper else set()
    assert topics >= wanted
    if COMPACTED in wanted:
        first = decoded(disk.folder / f"{COMPACTED}-0" / f"{0:020}.log")
        assert len(dumps.told(first, batches=False)) < int(dumps.batch(first[-1])["lastoffset"])


@pytest.mark.parametrize(
    ("topic", "decoder", "since"),
    [
        ("__consumer_offsets", "--offsets-decoder", (3, 9)),
        ("__transaction_state", "--transaction-log-decoder", (4,)),
        ("__cluster_metadata", "--cluster-metadata-decoder", (3, 9)),
    ],
)
def test_records_of_internal_topics_say_what_the_tool_says(
    disk: Disk, topic: str, decoder: str, since: tuple[int, ...]
) -> None:
    """As far as it prints JSON: all that the tool names stands in what kdbg has opened, under the same name."""
    if disk.release.number < since:
        pytest.skip("the tool has no JSON for these yet")
    paths = disk.files(f"{topic}-*/*.log") + disk.files(f"{topic}-*/*.checkpoint")
    compared = 0
    for path, text in disk.dump(paths, *DEEP, decoder).items():
        ours = [one for line in decoded(path) for one in line["batch"]["records"]]
        theirs = [line.content for line in dumps.lines(text) if not line.is_batch]
        for content, one in zip(theirs, ours, strict=True):
            for name, said in dumps.said(content):
                assert dumps.agree(said["data"], one["key" if name == "key" else "value"]), (path, content, one)
                compared += 1
    assert compared >= 5, compared


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_indexes_hold_the_entries_that_the_tool_prints(disk: Disk, suffix: str) -> None:
    paths = disk.files(f"*/*.{suffix}")
    if not paths:
        assert disk.release.number < {"index": (0,), "timeindex": (0, 10), "txnindex": (0, 11)}[suffix]
        return
    for path, text in disk.dump(paths).items():
        shown = [line for line in decoded(path) if "zeros" not in line]
        ours = [line["entry"] | ({"offset": line["offset"]} if "offset" in line else {}) for line in shown]
        theirs = [{dumps.snake(name): int(value) for name, value in row.items()} for row in dumps.rows(text)]
        assert theirs == [{name: entry[name] for name in row} for row, entry in zip(theirs, ours, strict=True)]


def test_producer_snapshots_hold_what_the_tool_prints(disk: Disk) -> None:
    paths = disk.files("*/*.snapshot")
    assert bool(paths) == (disk.release.number >= (0, 11))
    for path, text in (disk.dump(paths) if paths else {}).items():
        (line,) = decoded(path)
        rows = dumps.rows(text)
        for row, entry in zip(rows, line["entry"]["producer_entries"], strict=True):
            first = re.search(r"\d+", row["currentTxnFirstOffset"])
            assert entry["current_txn_first_offset"] == (int(first[0]) if first else -1)
            same = ("producer_id", "coordinator_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp")
            assert {name: entry[name] for name in same} == {name: int(row[camel(name)]) for name in same}
            assert entry["epoch"] == int(row["producerEpoch"])


def test_every_other_file_of_the_disk_is_read_too(disk: Disk) -> None:
    """Checkpoints and properties: JSON gives the words that stand in them; the quorum's state is JSON itself."""
    files = [path for path in disk.files("**/*") if path.is_file() and path.suffix in ("", ".properties", ".metadata")]
    texts = [path for path in files if not path.name.startswith(".")]
    assert texts
    for path in texts:
        entries, text = [line["entry"] for line in decoded(path)], path.read_text()
        if path.name == "quorum-state":
            assert {entry["name"]: json.loads(entry["value"]) for entry in entries} == json.loads(text)
            continue
        words = " ".join(str(word) for entry in entries for word in entry.values())
        assert sorted(words.split()) == sorted(re.sub("[=#]|: ", " ", text).split())


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)

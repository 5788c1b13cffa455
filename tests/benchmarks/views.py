"""Each view beside what tshark does of the same kind: CPU and memory, and the time until the first line is there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from .measure import costs, first_lines
from .results import Column, Table

PORT = 9092
THREE = ("frame.number", "kafka.api_key", "kafka.correlation_id")
ELEVEN = (
    "frame.number", "frame.time_epoch", "tcp.stream", "kafka.api_key", "kafka.api_version", "kafka.correlation_id",
    "kafka.client_id", "kafka.topic_name", "kafka.partition_id", "kafka.error", "kafka.len",
)  # fmt: skip
"""What a line of kdbg's summary says, as far as tshark has a field for it."""
KAFKA = ("-Y", "kafka")


def fields(names: tuple[str, ...]) -> tuple[str, ...]:
    return ("-T", "fields", *(word for name in names for word in ("-e", name)))


TSHARK: dict[str, dict[str, tuple[str, ...]]] = {
    "summary": {
        "`-T fields`, 3 fields": (*KAFKA, *fields(THREE)),
        "`-T fields`, 11 fields": (*KAFKA, *fields(ELEVEN)),
        "its list of packets": (),
    },
    "json": {"`-T json -J kafka`": (*KAFKA, "-T", "json", "-J", "kafka")},
    "tree": {"`-V -O kafka`": (*KAFKA, "-V", "-O", "kafka")},
    "hex": {"`-V -O kafka -x`": (*KAFKA, "-V", "-O", "kafka", "-x")},
}
"""View by view what tshark is told to do beside it."""
FORMATS = ("pcap", "pcapng")


def kdbg(path: Path, view: str) -> list[str]:
    """What decodes a capture in one process, without an index."""
    return [sys.executable, "-m", "kdbg", "decode", str(path), "--format", view, "--jobs", "1", "--no-index"]


def tshark(path: Path, options: tuple[str, ...], *, port: int = PORT) -> list[str]:
    return ["tshark", "-r", str(path), "-d", f"tcp.port=={port},kafka", *options]


def report(paths: Mapping[str, Path], rounds: int) -> list[Table]:
    """The table of costs, and that of first lines; paths are those of pcap files, with pcapng files beside them."""
    spent = Table("views", "capture, view / tshark", (
        Column("kdbg", "s"), Column("peak", "MB"), Column("tshark", "s"), Column("its peak", "MB"),
        Column("times faster", "×", 1),
    ))  # fmt: skip
    for kind, path in paths.items():
        for view, ways in TSHARK.items():
            ours, *others = costs([kdbg(path, view), *(tshark(path, way) for way in ways.values())], rounds)
            for way, theirs in zip(ways, others, strict=True):
                spent.add(f"{kind}, {view} / {way}", ours.seconds, ours.memory, theirs.seconds, theirs.memory,
                          theirs.seconds / ours.seconds)  # fmt: skip
    return [spent, _formats(paths, rounds), _first_lines(paths, rounds)]


def _formats(paths: Mapping[str, Path], rounds: int) -> Table:
    found = Table("formats", "capture, summary", (
        Column("pcap", "s"), Column("pcapng", "s"), Column("pcapng / pcap", "×", -1),
    ))  # fmt: skip
    for kind, path in paths.items():
        plain, blocks = costs([kdbg(path.with_suffix(f".{ending}"), "summary") for ending in FORMATS], rounds)
        found.add(kind, plain.seconds, blocks.seconds, blocks.seconds / plain.seconds)
    return found


def _first_lines(paths: Mapping[str, Path], rounds: int) -> Table:
    found = Table("first lines", "wall time to the first line", (
        Column("kdbg", "ms"), Column("tshark", "ms"), Column("times sooner", "×", 1),
    ))  # fmt: skip
    for kind, path in paths.items():
        for view, ways in TSHARK.items():
            way = next(iter(ways.values()))
            ours, theirs = first_lines([kdbg(path, view), tshark(path, way)], rounds)
            found.add(f"{kind}, {view}", ours * 1000, theirs * 1000, theirs / ours)
    return found

"""What trouble costs: captures that are disturbed beside those that are not, and very many connections."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from . import archives, disturbed
from .measure import costs
from .results import Column, Table
from .starts import LITTLE
from .views import kdbg, tshark

FEW, MANY, PRODUCED = 10, 100_000, 400_000
"""Connections, and the Produce requests that they share among them."""
VIEWS = ("summary", "json")
PAIRS = {
    "lost, repeated and shuffled packets": (disturbed.lossy, disturbed.clean),
    "every message a byte too long": (disturbed.longer, disturbed.sound),
    "no batch with its checksum": (disturbed.corrupt, disturbed.sound),
}


def report(small: Path, folder: Path, rounds: int) -> list[Table]:
    """The table of ratios, and that of memory."""
    ratios = Table("robustness", "a packet of a capture", tuple(
        column for view in VIEWS
        for column in (Column(view, "µs"), Column(f"{view}, undisturbed", "µs"), Column(f"{view}, ratio", "×", -1))
    ))  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="disturbed-", dir=folder) as room:
        one, other = Path(room) / "one.pcap", Path(room) / "other.pcap"
        for name, (disturb, leave) in PAIRS.items():
            _compare(ratios, name, disturb(small, one), leave(small, other), rounds)
        archives.many(small, one, MANY, PRODUCED // MANY)
        archives.many(small, other, FEW, PRODUCED // FEW)
        _compare(ratios, f"{MANY:,} connections, not {FEW}", one, other, rounds)
        return [ratios, _memory(one, rounds)]


def _compare(ratios: Table, name: str, disturbed: Path, clean: Path, rounds: int) -> None:
    cells: list[float] = []
    for view in VIEWS:
        start, *both = costs([kdbg(LITTLE, view), kdbg(disturbed, view), kdbg(clean, view)], rounds)
        one, other = ((cost.seconds - start.seconds) / packets(path) * 1e6
                      for cost, path in zip(both, (disturbed, clean), strict=True))  # fmt: skip
        cells += [one, other, one / other]
    ratios.add(name, *cells)


def packets(capture: Path) -> int:
    """How many packets a pcap file has."""
    count, place, data = 0, archives.PCAP.size, capture.read_bytes()
    while place < len(data):
        place += archives.RECORD.size + struct.unpack_from("<I", data, place + 8)[0]
        count += 1
    return count


def _memory(many: Path, rounds: int) -> Table:
    found = Table("connections", f"{MANY:,} connections that are never closed", (
        Column("CPU", "s"), Column("peak", "MB"), Column("peak / tshark's", "×", -1),
    ))  # fmt: skip
    commands = {"`kdbg decode -f summary`": kdbg(many, "summary"), "`tshark`": tshark(many, ())}
    spent = costs(list(commands.values()), min(rounds, 1))
    for name, cost in zip(commands, spent, strict=True):
        found.add(name, cost.seconds, cost.memory, cost.memory / spent[-1].memory)
    return found

"""What an exchange of real clients costs, beside the plain one of its kind: codecs, versions, topics, groups."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .decompression import alone
from .measure import costs
from .results import Cell, Column, Table
from .starts import LITTLE
from .views import TSHARK, kdbg, tshark

HERE = Path(__file__).parent
KINDS = {
    "none": "", "gzip": "none", "snappy": "none", "lz4": "none", "zstd": "none", "newest": "small", "java": "small",
    "topics": "", "wide": "", "groups": "",
}  # fmt: skip
"""The captures of recordings.py, and the plain one that each is held against, which is measured before it."""
NAMES = {
    "none": "batches of 8", "newest": "as small, newest librdkafka", "java": "as small, newest Java",
    "topics": "1,000 topics, Metadata", "wide": "500 topics, Fetch", "groups": "six consumers in groups",
}  # fmt: skip
VIEWS = ("summary", "json", "tree")
KNOWN_TO_TSHARK = {"none", "gzip", "snappy", "lz4", "zstd", "wide", "groups", "small"}
"""tshark 4.0 does not read the newest versions."""


class Spent(NamedTuple):
    """CPU microseconds an exchange: of codecs' libraries, and by view what kdbg takes beyond its start and those."""

    exchanges: int
    codecs: float
    views: Mapping[str, float]


def captures(folder: Path) -> dict[str, Path]:
    """The captures, recorded if need be; none that cannot be had on this machine."""
    found = {name: folder / f"{name}.pcap" for name in KINDS}
    for name, path in found.items():
        if not path.exists():
            fresh = path.with_suffix(".new")
            done = subprocess.run([sys.executable, str(HERE / "recordings.py"), name, str(fresh)], check=False)
            if done.returncode:
                print(f"{name} could not be recorded, and is left out", file=sys.stderr)
            else:
                fresh.replace(path)
    return {name: path for name, path in found.items() if path.exists()}


def report(small: Path, folder: Path, rounds: int) -> list[Table]:
    """The table of exchanges, those of `small` first."""
    table = Table("clients", "an exchange of", (
        Column("exchanges", "count"), Column("codec", "µs"),
        *(column for view in VIEWS for column in (Column(view, "µs"), Column(f"{view} / plain", "×", -1))),
        Column("times faster than `-T json`", "×", 1),
    ))  # fmt: skip
    spent: dict[str, Spent] = {}
    for name, path in {"small": small, **captures(folder)}.items():
        spent[name], faster = _spent(path, rounds, beside=name in KNOWN_TO_TSHARK)
        table.add(NAMES.get(name, name), *_cells(spent[name], spent.get(KINDS.get(name, ""))), faster)
    return [table]


def _spent(path: Path, rounds: int, *, beside: bool) -> tuple[Spent, float | None]:
    """What a capture costs, and how many times that of its JSON tshark's is."""
    exchanges, codecs = alone(path)
    commands = [kdbg(where, view) for view in VIEWS for where in (path, LITTLE)]
    others = [tshark(path, next(iter(TSHARK["json"].values())))] if beside else []
    found = costs([*commands, *others], rounds)
    views = {}
    for view, cost, start in zip(VIEWS, found[::2], found[1::2], strict=False):
        own = cost.seconds - start.seconds - (codecs if view != "summary" else 0)
        views[view] = own / exchanges * 1e6
    faster = found[-1].seconds / found[2 * VIEWS.index("json")].seconds if others else None
    return Spent(exchanges, codecs / exchanges * 1e6, views), faster


def _cells(spent: Spent, plain: Spent | None) -> list[Cell]:
    found: list[Cell] = [spent.exchanges, spent.codecs]
    for view in VIEWS:
        found += [spent.views[view], spent.views[view] / plain.views[view] if plain is not None else None]
    return found

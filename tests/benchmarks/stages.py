"""Where the time goes: each stage of `kdbg decode` with those before it, over captures of up to 4 GB.

`python -m tests.benchmarks.stages FILE` prints the CPU seconds of each in one process as JSON, and the most memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from kdbg.capture import Capture, Packet
from kdbg.capture.source import open_source
from kdbg.exchanges.engine.engine import Engine
from kdbg.streams.tcp.stream import NOBODY
from kdbg.streams.tcp.table import ConnectionTable as Connections
from kdbg.views.render.style import Look
from kdbg.views.render.views import view

from . import archives
from .results import Column, Table

GB = 10**9
SIZES = (GB // 5, GB, 4 * GB)
STAGES = ("packets", "tcp", "engine", "view")
"""Headers up to TCP's; streams; framing and pairing; bodies and their text, which most views make in one pass."""
VIEWS = ("summary", "json")
Blocks: TypeAlias = Iterator[list[Packet]]


def packets(blocks: Blocks) -> None:
    for _ in blocks:
        pass


def tcp(blocks: Blocks) -> None:
    table = Connections(lambda connection: (NOBODY, NOBODY))
    for block in blocks:
        table.receive_all(block)


def engine(blocks: Blocks) -> int:
    return sum(1 for _ in Engine().run(blocks))


def decode(blocks: Blocks, name: str) -> None:
    """First the view, which may have proved that there is nothing to find, as in `kdbg decode`."""
    engine, shallow = Engine(), view(name).shallow
    render = view(name).exchange(Look(), engine.topic_names)
    for exchange in engine.run(blocks):
        render(exchange)
        exchange.all_findings(shallow=shallow)


def measure(path: str) -> dict[str, float]:
    """CPU seconds by stage, those of the stages before included; the number of exchanges, and MB at the peak."""
    found: dict[str, float] = {}
    stages: dict[str, Callable[[Blocks], int | None]] = {"packets": packets, "tcp": tcp, "engine": engine}
    for name, stage in (stages | {name: partial(decode, name=name) for name in VIEWS}).items():
        with Capture(open_source(path)) as capture:
            start = time.process_time()
            count = stage(capture.blocks())
            found[name] = time.process_time() - start
        found |= {"exchanges": count} if count is not None else {}
    return found | {"memory": peak()}


def peak() -> float:
    """MB at this process's peak. Linux's ru_maxrss would count what the process had that started this one."""
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(told.partition("VmHWM:")[2].split()[0]) / 1024


def report(paths: Mapping[str, Path], folder: Path) -> list[Table]:
    """The table of stages by capture, size and view: microseconds an exchange."""
    table = Table("stages", "CPU of an exchange, by stage", (
        Column("size", "GB"), Column("exchanges", "count"), *(Column(stage, "µs") for stage in STAGES),
        Column("in all", "µs"), Column("peak", "MB"),
    ))  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="stages-", dir=folder) as room:
        for kind, path in paths.items():
            for size in SIZES:
                archive = archives.repeated(path, Path(room) / "archive.pcap", size)
                _rows(table, kind, archive)
    return [table]


def _rows(table: Table, kind: str, archive: Path) -> None:
    command = [sys.executable, "-m", __spec__.name, str(archive)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    size, exchanges = archive.stat().st_size / GB, found["exchanges"]
    for name in VIEWS:
        until = [found["packets"], found["tcp"], found["engine"], found[name]]
        spent = [max(one - other, 0.0) / exchanges * 1e6 for one, other in zip(until, [0.0, *until], strict=False)]
        in_all = until[-1] / exchanges * 1e6
        table.add(f"{kind}, {name}, {size:.1f} GB", size, exchanges, *spent, in_all, found["memory"])


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))

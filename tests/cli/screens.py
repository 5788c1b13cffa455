"""What commands show that end only when they are told to, or need a terminal: their classes, given a capture."""

from __future__ import annotations

import os
from pathlib import Path

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.ui.cli.exchange_output import ExchangeOutput, depth_of
from kdbg.ui.cli.live_stream import LiveStream
from kdbg.ui.cli.output import Writer
from kdbg.ui.cli.runner import Runner
from kdbg.ui.tui.app import COPIES, hex_of
from kdbg.ui.tui.contents import Looked
from kdbg.ui.tui.fields import ByteRange, opened
from kdbg.ui.tui.panes import ExchangeDump
from kdbg.views.render.style import Look


def watch(path: Path, format: str, look: Look) -> None:
    """Print what `kdbg watch` and `kdbg proxy` print of packets."""
    with path.open("rb", buffering=0) as stream:
        runner = Runner(Filters(), Writer(), depth=depth_of(format), at_once=True)
        with os.fdopen(os.dup(stream.fileno()), "rb", buffering=0) as copy:
            shown, output = LiveStream(runner, path.name), ExchangeOutput(runner, format, look)
            shown.watch(copy, lambda file: shown.write(file, output))


def browsed(path: Path, look: Look) -> str:
    """Return all that `kdbg browse` shows of the exchanges of a capture, and all that can be copied."""
    found = list[str]()
    with kdbg.read(path) as reading:
        for exchange in reading:
            seen = opened(exchange, exchange._topics, look)
            found += [f"{one.path} {one.says} {one.means}" for part in seen.parts for one in part.fields]
            found += [note for part in seen.parts for note in part.notes]
            dump = ExchangeDump(seen, 16)
            for cells in (dump.line(line).cells for line in range(len(dump))):
                found += [" ".join(cell.digits for cell in cells), "".join(cell.letter for cell in cells)]
            places = [ByteRange(number, 0, len(buffer.data)) for number, buffer in enumerate(seen.buffers)]
            places += [one.place for part in seen.parts for one in part.fields]
            looked = Looked(0, exchange, seen, exchange._topics, str(path))
            found += [hex_of(looked, [place], look) or "" for place in places]
            found += [copied(looked, places[:1], look) or "" for _, copied in COPIES.values()]
    return "\n".join(found)

"""The captures of several places as one: packets of all of them come out once each, as those of a capture do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ...capture import Capture, Packet
from ...capture.files import Lost
from ...capture.keylog import KeyLog
from ...capture.source import open_source
from ...protocol.findings import Finding

if TYPE_CHECKING:
    from ...exchanges.engine.engine import Engine
    from ...exchanges.multipoint.common import Together


class Merged(Capture):
    """The captures of several places as one, which has every byte once; its times are by the clock of the first.

    `files` are their names, the one nearest to the clients first. `merger` is what makes one of them.
    """

    files: tuple[str, ...]

    def __init__(self, names: Sequence[str], together: Together) -> None:
        from ...exchanges.multipoint.merge import Merger

        self.files = tuple(names[capture] for capture in together.captures)
        self.keys = KeyLog()
        with ExitStack() as opened:
            self._captures = [opened.enter_context(Capture(open_source(name), keys=self.keys)) for name in self.files]
            opened.pop_all()
        self.name = " + ".join(self.files)
        self.source = self._captures[0].source
        self.first_time = self.last_time = None
        self._blocks_of: list[Iterator[list[Packet]]] = [self._read(capture) for capture in self._captures]
        self.merger: Merger = Merger(together.feeds(self._blocks_of))

    def __str__(self) -> str:
        return self.name

    @property
    def packets(self) -> int:  # type: ignore[override]  # those of all places
        """How many packets were read, of all places."""
        return sum(capture.packets for capture in self._captures)

    @property
    def bytes(self) -> int:  # type: ignore[override]
        """How many bytes these have."""
        return sum(capture.bytes for capture in self._captures)

    @property
    def other(self) -> int:  # type: ignore[override]
        """How many of them are no TCP."""
        return sum(capture.other for capture in self._captures)

    @property
    def lost(self) -> Lost | None:
        """How many packets are missing, where one of the captures says so."""
        found = [lost for capture in self._captures if (lost := capture.lost) is not None]
        return Lost(*map(sum, zip(*found, strict=True))) if found else None

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with any of the captures."""
        return [problem for capture in self._captures for problem in capture.problems]

    def __iter__(self) -> Iterator[Packet]:
        return (packet for block in self.blocks() for packet in block)

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[Packet]]:
        """Return an iterator of the packets, as many at a time as are told; `singly`: one at a time."""
        for block in self.merger.blocks(singly=singly):
            if self.first_time is None:
                self.first_time = block[0][1]
            self.last_time = block[-1][1]
            yield block

    def _read(self, capture: Capture) -> Iterator[list[Packet]]:
        yield from capture.blocks()

    def engine(self, **given: Any) -> Engine:
        """Return what makes exchanges of its packets, given what any `Engine` is given."""
        from ...exchanges.multipoint.annotate import PlacedEngine

        return PlacedEngine(**given).placed(self.merger, self.files)

    def close(self) -> None:
        """End the iteration, and close all captures."""
        for capture in self._captures:
            capture.close()

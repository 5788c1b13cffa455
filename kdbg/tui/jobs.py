"""Questions over all exchanges, answered in a process of their own: which fit a filter, what the numbers are."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

from ..filters.chosen import Filters
from ..render.look import Look
from ..render.stats.screen import screen
from ..stats.overview import Overview
from ..stats.statistics import Statistics
from .index import Start
from .spool import Chunk, SpoolWalk

EVERY = 20_000
"""Exchanges after which the numbers so far are told."""


def fitting(spool: int, start: Start, filters: Filters) -> Iterator[bytes]:
    """Yield the positions that fit, as they are found: the bytes of an array of 32-bit numbers."""
    for _, fits, first in _asked(spool, start, filters):
        found = array("I", [first + at for at, good in enumerate(fits) if good])
        if found:
            yield found.tobytes()


def numbers(spool: int, start: Start, filters: Filters, look: Look) -> Iterator[str]:
    """Yield the first screen of `kdbg stats`, of what fits, as often as it has grown a good deal."""
    overview, findings, seen = Overview(), Counter[str](), 0
    statistics, told, of = Statistics(overview.tables), 0, -1
    for chunk, fits, _ in _asked(spool, start, filters):
        if chunk.file != of:
            of = chunk.file
            statistics.capture(str(of), chunk.names)
        wanted = [one for one, good in zip(chunk.exchanges, fits, strict=True) if good]
        statistics.know(wanted)
        statistics.take(wanted, lambda finding: findings.update([finding.kind.value]))
        seen += len(wanted)
        if seen - told >= EVERY:
            told = seen
            statistics.finish()
            yield screen(overview, findings, None, look, look.width)
    statistics.finish()
    yield screen(overview, findings, None, look, look.width)


def _asked(spool: int, start: Start, filters: Filters) -> Iterator[tuple[Chunk, list[bool], int]]:
    """Yield chunks of exchanges, which of them fit, and the position of the first."""
    first, of = start.position, -1
    for chunk in SpoolWalk(spool, start):
        if chunk.file != of:
            of = chunk.file
            check = filters.dated(chunk.first_time).check(chunk.names)
        fits = []
        for exchange in chunk.exchanges:
            chunk.names.at(exchange.names)
            fits.append(check is None or check(exchange))
        yield chunk, fits, first
        first += len(chunk.exchanges)

"""Questions over all exchanges, answered in a process of their own: which fit a filter, what the numbers are."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

from ...analysis.stats.statistics import Overview, Statistics
from ...exchanges.filters.filter_set import Filters
from ...views.render.stats_screen import screen
from ...views.render.style import Look
from .index import Start
from .spool import Chunk, SpoolWalk

EVERY = 20_000
"""Exchanges after which the numbers so far are yielded, though more are written."""


def fitting(spool: int, start: Start, filters: Filters) -> Iterator[bytes]:
    """Yield the positions that fit, as they are found: the bytes of an array of 32-bit numbers."""
    for _, fits, first in _asked(SpoolWalk(spool, start), start, filters):
        found = array("I", [first + at for at, good in enumerate(fits) if good])
        if found:
            yield found.tobytes()


def numbers(spool: int, start: Start, filters: Filters, look: Look) -> Iterator[str]:
    """Yield the first screen of `kdbg stats`, of what fits: when all that is written was read, and every so often."""
    overview, findings, seen = Overview(), Counter[str](), 0
    statistics, shown, of = Statistics(overview.tables), 0, -1
    walk = SpoolWalk(spool, start)
    for chunk, fits, _ in _asked(walk, start, filters):
        if chunk.file != of:
            of = chunk.file
            statistics.capture(str(of), chunk.names)
        wanted = [one for one, good in zip(chunk.exchanges, fits, strict=True) if good]
        statistics.know(wanted)
        statistics.take(wanted, lambda finding: findings.update([finding.kind.value]))
        seen += len(wanted)
        if seen - shown >= EVERY or (seen > shown and walk.waits):
            shown = seen
            statistics.finish()
            yield screen(overview, findings, None, look, look.width)
    statistics.finish()
    yield screen(overview, findings, None, look, look.width)


def _asked(walk: SpoolWalk, start: Start, filters: Filters) -> Iterator[tuple[Chunk, list[bool], int]]:
    """Yield chunks of exchanges, which of them fit, and the position of the first."""
    first, of = start.position, -1
    for chunk in walk:
        if chunk.file != of:
            of = chunk.file
            check = filters.dated(chunk.first_time).check(chunk.names)
        fits = []
        for exchange in chunk.exchanges:
            chunk.names.at(exchange.names)
            fits.append(check is None or check(exchange))
        yield chunk, fits, first
        first += len(chunk.exchanges)

"""What both engines understand: the SQL that facts are asked for in, and the pieces that it is put together of.

`exchanges`, `partitions`, `connections`, `groups`, `problems` and `files` are those of tables/columns.py, with
points in time as microseconds since the epoch; `connections` also has `host`, the client without its port, and
`errors` has a row for each error that an exchange tells of. Tables of a pipeline number neither connections nor
exchanges: `connection` and `number` are null there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...exchanges.messages.rejection import NORMAL_STEPS
from ...exchanges.messages.requested_wait import WAITS
from ...protocol.grammars import api_names
from ...protocol.grammars.errors import error_name

Ask = Callable[[str], Iterable[tuple[Any, ...]]]
"""Answers SQL with rows, one by one."""

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
WIDTHS = (
    *(step * 10**power for power in range(3, 6) for step in (1, 2, 5)),
    *(step * SECOND for step in (1, 2, 5, 10, 15, 30)), *(step * MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * HOUR for step in (1, 2, 3, 6, 12)), *(step * 10**power * DAY for power in range(7) for step in (1, 2, 5)),
)  # fmt: skip
"""What a bar of a chart over time may stand for, in microseconds: from a millisecond on, and nothing odd."""
MOST_BINS = 120
LONGEST = 19
"""Digits that a number of 64 bits may have."""


def _among(names: Iterable[str]) -> str:
    return f"COALESCE(api, '') IN ({', '.join(repr(name) for name in names)})"


def _step() -> str:
    names = api_names()
    found = []
    for code, keys in NORMAL_STEPS.items():
        where = f" AND {_among(names[key] for key in sorted(keys))}" if keys else ""
        found.append(f"COALESCE(error, '') = '{error_name(code)}'{where}")
    return f"({' OR '.join(found)})"


STEP = _step()
"""SQL: whether an error of an API is a normal step of its protocol."""
POLL = _among(api_names()[key] for key, wait in WAITS.items() if wait.held)
"""SQL: whether the answer is one that brokers hold back, until there is something to say."""


class Bins(NamedTuple):
    """Time cut into `many` pieces of `width` microseconds, from `start` on."""

    start: int
    width: int
    many: int

    @classmethod
    def over(cls, first: int, last: int) -> Bins:
        """Return at most MOST_BINS bins that cover this span; the first begins at a multiple of the width."""
        for width in WIDTHS:
            start = first - first % width
            if (last - start) // width < MOST_BINS:
                break
        return cls(start, width, (last - start) // width + 1)

    def of(self, column: str) -> str:
        """Return the SQL for the number of the bin that a point in time lies in.

        Spark's `/` gives a fraction, SQLite's does not: of whole multiples both are exact.
        """
        since = f"({column} - {self.start})"
        return f"CAST(({since} - {since} % {self.width}) / {self.width} AS BIGINT)"

    @property
    def times(self) -> list[int]:
        """Return when each begins."""
        return [self.start + i * self.width for i in range(self.many)]


def rounded(column: str, digits: int) -> str:
    """Return the SQL for a number cut down to so many digits, so that few enough values are left to count each."""
    cuts = (
        f"WHEN {column} < {10**power} THEN {column} - {column} % {10 ** (power - digits)}"
        for power in range(digits + 1, LONGEST)
    )
    return f"CASE WHEN {column} < {10**digits} THEN {column} {' '.join(cuts)} ELSE {column} END"

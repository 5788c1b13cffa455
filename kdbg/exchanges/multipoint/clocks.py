"""How far the clocks of two places are apart: certain bounds, as a message is never seen before it was sent.

A message on its way from place 0 to place 1 was seen there later by the clock of 1 than it was seen here by that of 0,
unless that clock is behind: the difference bounds how far 1 is ahead of 0 from above. One on its way back bounds it
from below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ..messages.capture_points import Bounds

DRIFT: Final = 5_000
"""Clocks drift apart by no more than a nanosecond in so many (200 ppm): clocks that are set right do by less."""
AGE: Final = 500_000
"""Nanoseconds after which bounds are weaker by what clocks may have drifted: by a tenth of a microsecond."""
DOUBTS: Final = 8
"""Messages that contradict the bounds before these are given up: a clock was set. Fewer were sent twice, and recorded
at one place the first time, at the other the second time."""
Way: TypeAlias = Literal[0, 1]
"""Which of the bounds: a message on its way from the first place to the second bounds from above (1), back (0)."""


@dataclass(slots=True, eq=False)
class ClockOffset:
    """How far the clock of one place is ahead of another's; times are those of the latter, all in nanoseconds.

    `steps` are the times at which one of them was set.
    """

    latest: int
    """The likeliest by now; a guess at first."""
    first: tuple[int, Bounds] | None = None
    steps: list[int] = field(default_factory=list)
    _bounds: list[int | None] = field(default_factory=lambda: [None, None])
    _doubts: list[int] = field(default_factory=lambda: [0, 0])
    _time: int = 0

    def learn(self, way: Way, apart: int, time: int) -> None:
        """Take a message that was seen `apart` nanoseconds later at the second place, clocks included."""
        if time - self._time > AGE:
            self._age(time)
        low, high = self._bounds
        other = low if way else high
        if other is not None and (apart < other if way else apart > other):
            self._doubts[way] += 1
            if self._doubts[way] < DOUBTS:
                return
            self._bounds = [None, None]
            self._doubts = [0, 0]
            self.steps.append(time)
        else:
            self._doubts[way] = 0
        bound = self._bounds[way]
        if bound is None or (apart < bound if way else apart > bound):
            self._bounds[way] = apart
            self._decide(time)

    def _age(self, time: int) -> None:
        """Let the bounds grow by what clocks may have drifted since."""
        aged = -(-(time - self._time) // DRIFT)
        low, high = self._bounds
        self._bounds = [None if low is None else low - aged, None if high is None else high + aged]
        self._time = time

    def _decide(self, time: int) -> None:
        low, high = self._bounds
        if low is not None and high is not None:
            self.latest = (low + high) // 2
            if self.first is None:
                self.first = time, Bounds(low, high)
        else:
            known = high if low is None else low
            self.latest = known if known is not None else self.latest

    def at(self, time: int, low: int | None, high: int | None) -> Bounds | None:
        """Return the bounds at a time; `low` and `high` are others that are known to hold then, if there are any.

        None where no message went one of the ways, or where these contradict what other messages say.
        """
        aged = (abs(time - self._time) + AGE) // DRIFT
        known_low, known_high = self._bounds
        if known_low is not None:
            low = known_low - aged if low is None else max(low, known_low - aged)
        if known_high is not None:
            high = known_high + aged if high is None else min(high, known_high + aged)
        return None if low is None or high is None or low > high else Bounds(low, high)

    @property
    def bounds(self) -> Bounds | None:
        """The bounds by the last message, None where messages went one way only."""
        low, high = self._bounds
        return None if low is None or high is None else Bounds(low, high)

    @property
    def time(self) -> int:
        """When the bounds were as `bounds` has them."""
        return self._time

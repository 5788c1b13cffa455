"""Which bytes of a connection were seen at which places, and when; and how far the clocks of two places are apart.

Runs of bytes are held for as long as packets may pair. Of clocks there are certain bounds, as a message is never seen
before it was sent: one on its way from place 0 to place 1 was seen there later by the clock of 1 than it was seen here
by that of 0, unless that clock is behind. The difference bounds how far 1 is ahead of 0 from above. One on its way back
bounds it from below.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, TypeAlias

from ...capture.packet import Packet
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
    time: int = 0
    """When the bounds were as `bounds` has them."""

    def learn(self, way: Way, offset: int, time: int) -> None:
        """Take a message that was seen `offset` nanoseconds later at the second place, clocks included."""
        low, high = self._bounds
        if time - self.time > AGE:  # bounds grow by what clocks may have drifted since
            aged = -(-(time - self.time) // DRIFT)
            low, high = None if low is None else low - aged, None if high is None else high + aged
            self._bounds, self.time = [low, high], time
        other = low if way else high
        if other is not None and (offset < other if way else offset > other):
            self._doubts[way] += 1
            if self._doubts[way] < DOUBTS:
                return
            self._bounds = [None, None]
            self._doubts = [0, 0]
            self.steps.append(time)
        else:
            self._doubts[way] = 0
        bound = self._bounds[way]
        if bound is None or (offset < bound if way else offset > bound):
            self._bounds[way] = offset
            low, high = self._bounds
            if low is not None and high is not None:
                self.latest = (low + high) // 2
                self.first = self.first or (time, Bounds(low, high))
            else:
                self.latest = offset

    def at(self, time: int, low: int | None, high: int | None) -> Bounds | None:
        """Return the bounds at a time; `low` and `high` are others that are known to hold then, if there are any.

        None where no message went one of the ways, or where these contradict what other messages say.
        """
        aged = (abs(time - self.time) + AGE) // DRIFT
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


MASK: Final = 0xFFFFFFFF
BEHIND: Final = 1 << 30
"""What seems to lie further back than that lies ahead."""
NEAR: Final = 1 << 24
"""A SYN that is further from what was seen than that begins another connection on the same ports."""
OLD: Final = 64
"""Runs of a direction that are kept at least."""
AGREED: Final = 8
"""Votes for an order of two places that no single message overthrows."""
SETTLED: Final = 61
"""Runs that are taken without a vote, once there are so many; then there are two votes again."""
Mark: TypeAlias = tuple[int, int]
"""Time by the clock of a place, and the number of the packet in its capture."""


class FlowRun:
    """Bytes of one direction from position `start` to `end`, which a place saw first at `moment`.

    `first` and `last` have by place when its first and its last byte were seen there; `emitted` is the place whose
    packet told of it, -1 before it is told. All in nanoseconds; `moment` is by the clock that all are told by.
    """

    __slots__ = ("emitted", "end", "first", "flow", "last", "moment", "start")

    def __init__(self, flow: Flow, start: int, end: int, moment: int, place: int, mark: Mark) -> None:
        self.flow, self.start, self.end, self.moment = flow, start, end, moment
        self.first: dict[int, Mark] = {place: mark}
        self.last: dict[int, Mark] = {place: mark}
        self.emitted: int = -1

    def split(self, position: int) -> FlowRun:
        """Cut off the bytes from a position on, and return them."""
        place = next(iter(self.first))
        rest = FlowRun(self.flow, position, self.end, self.moment, place, self.first[place])
        rest.first, rest.last = dict(self.last), dict(self.last)
        self.last = dict(self.first)
        self.end = position
        return rest


class Sight(int):
    """The number of a packet of the merged capture, which knows its bytes, and so where and when they were seen.

    A message has the numbers of its first and last packet: so what is known of a run lives as long as who needs it.
    """

    run: FlowRun | None


@dataclass(slots=True, eq=False)
class Path:
    """Two places on the way of one connection: which of them is nearer to who opened it, by what was seen so far."""

    offsets: list[int | None] = field(default_factory=lambda: [None, None])
    times: list[int] = field(default_factory=lambda: [0, 0])
    votes: int = 0
    _settled: int = 0

    def learn(self, side: int, offset: int, time: int, clock: ClockOffset) -> None:
        """Take a run of one side (0: of who opened it) that was seen `offset` nanoseconds later at the second place."""
        self._settled -= 1
        if self._settled < 0:
            # To there and back takes longer from the nearer one. A run votes once: of a segment that was sent twice, of
            # which a place lacks the first copy, all votes are wrong.
            self.offsets[side], self.times[side] = offset, time
            there, back = self.offsets
            if there is not None and back is not None:
                both, self.offsets = there - back, [None, None]
                if abs(both) > abs(self.times[0] - self.times[1]) // DRIFT:
                    self.votes = max(-AGREED, min(AGREED, self.votes + (1 if both > 0 else -1)))
                    if abs(self.votes) == AGREED:
                        self._settled = SETTLED
            if not self.votes:
                return
        clock.learn(1 if (side == 0) == (self.votes > 0) else 0, offset, time)


class Conversation:
    """A connection as all places have it: its two flows, that of who opened it first.

    `teller` is the place whose packets are told as they are, -1 before the first; `paths` has what lies between two
    places. `aliases` are flows that places have for its first one, where addresses were translated.
    """

    __slots__ = ("aliases", "flows", "paths", "teller")

    def __init__(self, flow: bytes, back: bytes) -> None:
        self.teller = -1
        self.paths: dict[tuple[int, int], Path] = {}
        self.aliases: dict[int, bytes] = {}
        self.flows: tuple[Flow, Flow] = (Flow(self, 0, flow), Flow(self, 1, back))


@dataclass(slots=True, eq=False, repr=False)
class Flow:
    """One direction of a connection: the runs that were seen of late, in the order of their positions.

    `starting` has the same runs by where they start. `side` is 0 for the flow of who opened the connection. `origin` is
    the sequence number of its SYN, None where none was seen; `due` the position after all that was seen, -1 before.
    """

    conversation: Conversation
    side: int
    flow: bytes
    origin: int | None = None
    reset: bool = False
    runs: list[FlowRun] = field(default_factory=list)
    starting: dict[int, FlowRun] = field(default_factory=dict)
    due: int = -1

    def place(self, seq: int) -> int:
        """Return the position of a sequence number: the same number, but it does not wrap."""
        due = self.due
        return seq + MASK + 1 if due < 0 else due + ((seq - due + BEHIND) & MASK) - BEHIND

    def is_new(self, seq: int) -> bool:
        """Return whether a SYN with this number begins another connection than this one."""
        return (self.origin is not None and self.origin != seq) or (
            self.origin is None and self.due >= 0 and abs(self.place(seq) - self.due) > NEAR
        )

    def add(self, start: int, end: int, moment: int, place: int, mark: Mark) -> FlowRun:
        """Add a run after all others."""
        run = self.starting[start] = FlowRun(self, start, end, moment, place, mark)
        self.runs.append(run)
        self.due = end
        return run

    def see(self, place: int, seq: int, length: int, packet: Packet, moment: int) -> list[FlowRun]:
        """Take bytes that a place saw; return the runs of them that another place had seen before.

        Bytes that the same place saw before are not among them.
        """
        start = self.place(seq)
        end, mark = start + length, (packet[1], packet[0])
        if start >= self.due:
            self.add(start, end, moment, place, mark)
            return []
        known = list[FlowRun]()
        runs = self.runs
        at = self._at(start)
        if runs and at < len(runs) and runs[at].end <= start:
            at += 1
        while start < end:
            run = runs[at] if at < len(runs) else None
            if run is None or run.start > start:
                until = end if run is None else min(end, run.start)
                runs.insert(at, FlowRun(self, start, until, moment, place, mark))
                self.starting[start] = runs[at]
            else:
                run = self._cut(at, start)
                at = at if run is runs[at] else at + 1
                if end < run.end:
                    self._cut(at, end)
                until = min(end, run.end)
                if place not in run.last:
                    if run.start >= start:
                        run.first.setdefault(place, mark)
                    if run.end <= end:
                        run.last[place] = mark
                    known.append(run)
            at += 1
            start = until
        self.due = max(self.due, end)
        return known

    def _at(self, position: int) -> int:
        """Return the index of the last run that starts at a position or before it, 0 for none."""
        return max(bisect_right(self.runs, position, key=lambda run: run.start) - 1, 0)

    def _cut(self, at: int, position: int) -> FlowRun:
        """Divide a run at a position, if it is inside and nobody was told of it; return the run that begins there."""
        run = self.runs[at]
        if run.emitted >= 0 or not run.start < position < run.end:
            return run
        rest = self.starting[position] = run.split(position)
        self.runs.insert(at + 1, rest)
        return rest

    def between(self, start: int, end: int) -> list[FlowRun]:
        """Return the runs with bytes from one position to another."""
        found = list[FlowRun]()
        for run in islice(self.runs, self._at(start), None):
            if run.start >= end:
                break
            if run.end > start:
                found.append(run)
        return found

    def forget(self, moment: int) -> None:
        """Let go of the runs that were first seen before a moment."""
        runs = self.runs
        if len(runs) > OLD and runs[OLD - 1].moment < moment:
            old = next((at for at, run in enumerate(runs) if run.moment >= moment), len(runs))
            for run in runs[:old]:
                self.starting.pop(run.start, None)
            del runs[:old]

"""One direction of a TCP connection: segments go in as they were captured, bytes and gaps come out in order.

What is missing from the capture is a gap of so many bytes: never zeros, never silently joined. Where segments overlap,
the bytes seen first win.

Positions are sequence numbers that do not wrap: the first is the 32 bits of the wire, from there they grow on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias

from kdbg.budget import SMALL, Held

MASK = 0xFFFFFFFF
BEHIND = 1 << 30
"""The largest TCP window: nothing sent again lies further back, so what seems to is far ahead, after a great loss."""
NEAR = 1 << 24
PATIENCE, LOOK = 1024, 64
"""Packets of a connection waited for a hole that the other side has acknowledged: capture files can be shuffled. After
so many as the second, time counts as well, where a reader waits for what comes."""
NEVER = 1 << 62
"""More packets than a connection can have."""
SEGMENTS, BYTES = 4096, 8 << 20


class Receiver(Protocol):
    """Who takes the bytes; `time` and `number` are those of the packet that brought them, or showed the gap."""

    def data(self, payload: bytes, time: int, number: int) -> None: ...
    def gap(self, length: int, time: int, number: int) -> None: ...
    def end(self, time: int, number: int) -> None: ...


class _Nobody:
    """Takes the place of a receiver that wants no more, so that it can be freed."""

    def data(self, payload: bytes, time: int, number: int) -> None: ...
    def gap(self, length: int, time: int, number: int) -> None: ...
    def end(self, time: int, number: int) -> None: ...


NOBODY = _Nobody()
"""The one that every stream has which delivers no more."""
Event: TypeAlias = tuple[bytes | int | None, int, int]
"""What a receiver took: bytes, a gap's length, or None for the end; time; packet."""


def replay(events: Iterable[Event], receiver: Receiver) -> None:
    """Give a receiver what was held."""
    for what, time, number in events:
        if isinstance(what, bytes):
            receiver.data(what, time, number)
        elif what is not None:
            receiver.gap(what, time, number)
        else:
            receiver.end(time, number)


class EarlyBytes(NamedTuple):
    """Bytes from `start` to `end` that came before their turn; what `payload` lacks, the snaplen cut away."""

    start: int
    end: int
    payload: bytes
    time: int
    number: int

    def part(self, start: int, end: int) -> EarlyBytes:
        return EarlyBytes(start, end, self.payload[start - self.start : end - self.start], self.time, self.number)


NOTHING: Final = list[EarlyBytes]()
"""What waits in a stream where nothing has waited yet: most never need a list of their own."""


class Stream:
    """Feed it with `start`, `receive`, `finish`, `acknowledged`, `overdue` and `close`.

    `regular` is True while it has begun, has not ended and nothing waits: then `acknowledged` need not be called.
    `deadline` counts packets of the connection: from that one on `overdue` is to be called. `first` is the sequence
    number that it began with, `certain` whether a SYN said so; `due` is the position of the next byte, `receiver` takes
    it.
    """

    __slots__ = (
        "_acknowledged", "_fin", "_given_up_at", "_held", "_ledger", "_runs", "_segments", "_size", "certain",
        "deadline", "due", "ended", "first", "receiver", "regular",
    )  # fmt: skip

    def __init__(
        self, receiver: Receiver = NOBODY, *, segments: int = SEGMENTS, size: int = BYTES, held: Held | None = None
    ) -> None:
        self._ledger = held
        self.receiver: Receiver = receiver
        self._segments, self._size = segments, size
        self.due: int = 0
        self._runs: list[EarlyBytes] = NOTHING
        self._held = 0
        self._fin: EarlyBytes | None = None
        self._acknowledged = 0
        self.deadline: int = NEVER
        self._given_up_at = NEVER, NEVER
        self.first: int | None = None
        self.certain: bool = False
        self.ended: bool = False
        self.regular: bool = False

    @property
    def finished(self) -> bool:
        """Whether its end is known: nothing new can come but what is missing before it."""
        return self.ended or self._fin is not None

    def attach(self, receiver: Receiver) -> None:
        """Say who takes the bytes, before the first comes."""
        if not self.ended:
            self.receiver = receiver

    def start(self, seq: int) -> None:
        """Begin at this sequence number, which a SYN or what acknowledges it has told."""
        if self.first is None and not self.ended:
            self.first = self.due = seq
            self.regular = self._fin is None
            if self._fin is not None:
                early, self._fin = self._fin, None
                self.finish(early.start, early.time, early.number)

    def near(self, seq: int) -> bool:
        """Whether a sequence number is near the current one, not of an earlier connection on the same ports."""
        return self.first is None or abs(self._place(seq) - self.due) <= NEAR

    def older(self, seq: int) -> bool:
        """Whether a sequence number is one before its beginning, which a SYN told: of an earlier connection."""
        return self.certain and self.first is not None and self._place(seq) < self.first - 1

    def receive(self, seq: int, payload: bytes, length: int, time: int, number: int) -> None:
        """Take a segment with data: `length` bytes were sent, `payload` is what was captured of them."""
        if self.regular and seq == self.due & MASK and len(payload) == length:
            self.due += length
            self.receiver.data(payload, time, number)
        elif not self.ended:
            self.start(seq)
            start = self._place(seq)
            self._take(EarlyBytes(start, start + length, payload[:length], time, number))

    def finish(self, seq: int, time: int, number: int) -> None:
        """Take a FIN: nothing is sent from this sequence number on.

        Where the stream has not begun, bytes before it may come late: it ends once these, or `close`, say where it did.
        """
        if self.ended:
            return
        if self.first is None:
            self._fin = EarlyBytes(seq, seq, b"", time, number)
            return
        place = self._place(seq)
        if place >= self.due and self._fin is None:
            self._fin = EarlyBytes(place, place, b"", time, number)
            self._runs = [run.part(run.start, min(run.end, place)) for run in self._runs if run.start < place]
            self._held = sum(len(run.payload) for run in self._runs)
            self._settle()

    def acknowledged(self, ack: int, seen: int, until: int = NEVER) -> None:
        """Note that the other side has everything before `ack`; `seen` counts the connection's packets so far.

        What is missing of that is waited for until a time, or for so many packets.
        """
        if self.deadline == NEVER and (goal := self._goal()) is not None:
            place = self._place(ack)
            if place >= goal.start:
                self._acknowledged, self.deadline = place, seen + min(LOOK, PATIENCE)
                self._given_up_at = seen + PATIENCE, until

    def overdue(self, seen: int, time: int = 0) -> None:
        """Give up the holes that were acknowledged PATIENCE packets ago, or whose time is over; each becomes a gap."""
        if seen < self.deadline:
            return
        last, until = self._given_up_at
        if seen < last and time < until:
            self.deadline = min(seen + LOOK, last)
            return
        self.deadline = NEVER
        self._give_up(self._acknowledged)

    def give_up(self, ack: int) -> None:
        """Give up the holes before `ack`: the other side had what is missing, and it was waited for."""
        self._give_up(self._place(ack))

    def _give_up(self, place: int) -> None:
        while (goal := self._goal()) is not None and goal.start <= place:
            self._skip(goal)
        self._settle()

    def close(self, time: int, number: int) -> None:
        """Deliver what waits with its gaps, then the end; no packets follow."""
        if not self.regular:
            self._give_up(NEVER)
        self._end(time, number)

    def ignore(self) -> None:
        """Deliver nothing any more, not even the end."""
        self._forget()
        self.ended = True
        self.regular = False

    def position(self, seq: int) -> int:
        """Return the position of a sequence number that is near the current one."""
        return self._place(seq & MASK) if self.first is not None else seq & MASK

    def _place(self, seq: int) -> int:
        return self.due + ((seq - self.due + BEHIND) & MASK) - BEHIND

    def _goal(self) -> EarlyBytes | None:
        """Return what waits after the first hole; None if nothing does."""
        if self._runs:
            return self._runs[0]
        if self._fin is None or self.first is None:
            return None
        return self._fin if self._fin.start > self.due else None

    def _take(self, run: EarlyBytes) -> None:
        """Keep what is new of a segment, and deliver what is in order."""
        runs, due = self._runs, self.due
        if self._fin is not None and run.end > self._fin.start:
            run = run.part(run.start, self._fin.start)
        if run.end <= due or run.end <= run.start:
            return
        if run.start < due:
            run = run.part(due, run.end)
        if run.start == due and (not runs or run.end <= runs[0].start):
            self._deliver(run)
            self._settle()
        elif runs and run.start < runs[-1].end:
            self._insert(run)
            self._settle()
        else:  # it lies after all others: nothing becomes due by it
            if runs:
                runs.append(run)
            else:
                self._runs = [run]
            self._held += len(run.payload)
            self.regular = False
            if len(self._runs) > self._segments or self._held > self._size:
                self._settle()
            elif self._held > SMALL and self._ledger is not None:
                self._ledger.hold(self, self._held)

    def let_go(self) -> None:
        """Give up the holes before most of what waits."""
        while self._held > SMALL:
            self._skip(self._runs[0])
        self._settle()

    def _insert(self, run: EarlyBytes) -> None:
        """Insert the parts of a run that no other run has: the runs stay in order and never overlap."""
        runs = self._runs
        place = bisect_left(runs, run.start, key=lambda other: other.end)
        start = run.start
        while start < run.end:
            other = runs[place] if place < len(runs) else None
            end = run.end if other is None else min(run.end, other.start)
            if start < end:
                part = run if (start, end) == run[:2] else run.part(start, end)
                runs.insert(place, part)
                self._held += len(part.payload)
                place += 1
            if other is None:
                break
            start = max(end, other.end)
            place += 1

    def _settle(self) -> None:
        """Deliver what is due, give up holes where too much waits, end after a FIN, and see what state that leaves."""
        self._deliver_due()
        while len(self._runs) > self._segments or self._held > self._size:
            self._skip(self._runs[0])
        if self._fin is not None and self._goal() is None:
            self._end(self._fin.time, self._fin.number)
        if self._ledger is not None:
            self._ledger.hold(self, self._held if self._held > SMALL else 0)
        self.regular = not (self.ended or self._runs or self._fin)
        if self.regular:
            self.deadline = NEVER

    def _skip(self, goal: EarlyBytes) -> None:
        """Give up the hole before `goal`: report a gap, and go on after it."""
        length, self.due = goal.start - self.due, goal.start
        self.receiver.gap(length, goal.time, goal.number)
        self._deliver_due()

    def _deliver_due(self) -> None:
        runs = self._runs
        while runs and runs[0].start <= self.due:
            run = runs.pop(0)
            self._held -= len(run.payload)
            self._deliver(run)

    def _deliver(self, run: EarlyBytes) -> None:
        self.due = run.end
        if run.payload:
            self.receiver.data(run.payload, run.time, run.number)
        missing = run.end - run.start - len(run.payload)
        if missing:
            self.receiver.gap(missing, run.time, run.number)

    def _end(self, time: int, number: int) -> None:
        if not self.ended:
            self.ended = True
            self.regular = False
            receiver = self.receiver
            self._forget()
            receiver.end(time, number)

    def _forget(self) -> None:
        self._runs = NOTHING
        self._held = 0
        if self._ledger is not None:
            self._ledger.hold(self, 0)
        self._fin, self.deadline = None, NEVER
        self.receiver = NOBODY

"""The lines of a log find the exchanges of a capture that they speak of: by API, ids, sizes, ports and time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from .dialect import LineFacts
from .exchanges import line_of
from .lines import ProtocolLine

SECOND = 1_000_000_000
QUARTER = 900 * SECOND
"""Zones differ by whole quarters of an hour."""
FARTHEST_ZONE = 14 * 3600 * SECOND
APART = 60 * SECOND
"""Between a message and the line on it there may be so many nanoseconds: clocks differ, logs are written late."""
SOON = SECOND // 20
"""The same where a line has no correlation id: nothing but broker, time and API tell what it speaks of."""
MOST = 1 << 17
"""Lines that wait for their exchanges; older ones give way."""


class Join:
    """Joins the lines of one log, read from `blocks` as far as they are needed, to exchanges in their order.

    `lines` counts the protocol lines that were read, `joined` those that found their exchange. `log` is the log's name.
    """

    def __init__(self, log: str, blocks: Iterable[Sequence[ProtocolLine]]) -> None:
        self.log = log
        self.lines: int = 0
        self.joined: int = 0
        self._lines: Iterator[ProtocolLine] = (line for block in blocks for line in block)
        self._waiting: dict[tuple[int, int | None], list[ProtocolLine]] = {}
        self._order: OrderedDict[int, ProtocolLine] = OrderedDict()
        """The lines that wait, by their numbers."""
        self._zone: int | None = None
        """The nanoseconds by which times without zone are ahead of UTC, once that is known."""
        self._last = 0
        """The number of the line that was joined last."""

    def join(self, exchange: Exchange) -> None:
        """Add to an exchange the lines that speak of it."""
        if exchange.api is None:
            return
        self._fill(exchange.time)
        for correlation_id in (exchange.correlation_id, None):
            waiting = self._waiting.get((exchange.api.key, correlation_id), [])
            best: dict[str, tuple[tuple[int, int], ProtocolLine]] = {}
            for line in waiting:
                said = line.facts
                far = self._distance(exchange, said)
                if far is None:
                    continue
                if correlation_id is None:  # then it must name the topics that the request names
                    asked = exchange.request.outline() if exchange.request is not None else None
                    named = {topic["name"] for topic in said.fields[0].get("topics", ())}
                    if asked is None or named != {topic for topic, *_ in asked[0]} - {None}:
                        continue
                if said.half not in best or far < best[said.half][0]:
                    best[said.half] = far, line
            for _, line in best.values():
                self._forget(line)
                self.joined += 1
                self._last = line.number
                apart = _delay(exchange, line.facts)
                if self._zone is None and not line.facts.zoned and apart is not None:
                    self._zone = _quarters(apart)
                exchange.lines += (line_of(line, self.log, self._zone or 0),)

    def finish(self) -> None:
        """Read the rest of the log, for its lines to be counted."""
        self.lines += sum(1 for _ in self._lines)

    def _distance(self, exchange: Exchange, said: LineFacts) -> tuple[int, int] | None:
        """Return how far a line is from an exchange, by its broker and its time; None where it speaks of another."""
        peers = exchange.peers
        halves = zip((exchange.request, exchange.response), said.sizes, strict=True)
        fits = all(half is None or size is None or half.size == size for half, size in halves)
        if said.client_id not in (None, exchange.client_id) or said.version not in (None, exchange.version):
            return None
        if said.client[1] not in (0, peers.client[1]) or not fits:
            return None
        elsewhere = int(bool(said.broker[1]) and said.broker[1] != peers.broker[1])  # what forwards ports changes them
        apart = _delay(exchange, said)
        if said.correlation_id is None and (elsewhere or apart is None):
            return None
        if apart is None:
            return elsewhere, 0
        if not said.zoned:
            zone = _quarters(apart) if self._zone is None else self._zone
            apart -= zone if abs(zone) <= FARTHEST_ZONE else 0
        near = abs(apart) <= APART if said.correlation_id is not None else -SOON <= apart <= 0  # written, then sent
        return (elsewhere, abs(apart)) if near else None

    def _fill(self, time: int) -> None:
        """Read ahead; where too many lines wait, let go of those that are older than an exchange of this time."""
        while len(self._order) >= MOST and self._is_old(oldest := next(iter(self._order.values())), time):
            self._forget(oldest)
        while len(self._order) < MOST and (line := next(self._lines, None)) is not None:
            self.lines += 1
            self._order[line.number] = line
            self._waiting.setdefault(_key(line.facts), []).append(line)

    def _is_old(self, line: ProtocolLine, time: int) -> bool:
        """Return whether a line comes after the exchanges at hand."""
        if line.facts.time == UNTIMED:
            return line.number < self._last
        zone = 0 if line.facts.zoned else self._zone
        return zone is not None and line.facts.time - zone < time - 2 * APART

    def _forget(self, line: ProtocolLine) -> None:
        """Let a line wait no more."""
        del self._order[line.number]
        waiting = self._waiting[_key(line.facts)]
        waiting.remove(line)
        if not waiting:
            del self._waiting[_key(line.facts)]


def _key(said: LineFacts) -> tuple[int, int | None]:
    return said.api.key, said.correlation_id


def _delay(exchange: Exchange, said: LineFacts) -> int | None:
    """Return the nanoseconds from a message to the line on it; None where the line, or the capture, has no such."""
    half = exchange.request if said.half == "request" else exchange.response or exchange.request
    return None if half is None or said.time == UNTIMED else said.time - half.last_time


def _quarters(apart: int) -> int:
    return round(apart / QUARTER) * QUARTER

"""What an exchange has beside its bytes: the places where it was recorded, and the lines of logs that speak of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from .message import UNTIMED

if TYPE_CHECKING:
    from ...protocol.wire.language import Direction


class Half(NamedTuple):
    """A message as one place saw it: nanoseconds by the clock of that place, numbers of packets in its capture."""

    first_time: int
    last_time: int
    first_packet: int
    last_packet: int


class PointView(NamedTuple):
    """What one capture has of an exchange: None for a message of which it lacks the first or the last byte.

    `client` and `broker` are the ends as that capture has them, where they are others than those of the exchange.
    """

    file: str
    request: Half | None
    response: Half | None
    client: str = ""
    broker: str = ""

    @property
    def latency(self) -> int | None:
        """Nanoseconds from the last byte of the request to the first of the response, as seen here."""
        if self.request is None or self.response is None:
            return None
        return self.response.first_time - self.request.last_time


class Bounds(NamedTuple):
    """Nanoseconds, at least and at most."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        """The likeliest."""
        return (self.low + self.high) // 2

    @property
    def slack(self) -> int:
        """How far from the middle it may be."""
        return (self.high - self.low + 1) // 2


class CapturePoints(NamedTuple):
    """The places that saw an exchange, from the client's to the broker's; all others of the merged captures did not.

    `ahead` is by how much the clock of the last place is ahead of the first one's: None where nothing bounds it.
    `certain` says that the connection is the same at all of them by its ends and sequence numbers; else addresses were
    translated on the way, and sequence numbers and bytes make it likely.
    """

    seen: tuple[PointView, ...]
    ahead: Bounds | None = None
    certain: bool = True

    @property
    def broker(self) -> int | None:
        """Nanoseconds that the response took behind the last place: in the broker, if that is where it is."""
        return self.seen[-1].latency if len(self.seen) > 1 else None

    @property
    def network(self) -> int | None:
        """Nanoseconds that both messages were under way between the first place and the last; exact."""
        near, far = self.seen[0].latency, self.seen[-1].latency
        return None if len(self.seen) < 2 or near is None or far is None else near - far

    @property
    def there(self) -> Bounds | None:
        """Nanoseconds that the last byte of the request was under way."""
        near, far = self.seen[0].request, self.seen[-1].request
        if self.ahead is None or near is None or far is None or len(self.seen) < 2:
            return None
        apart = far.last_time - near.last_time
        return self._under_way(apart - self.ahead.high, apart - self.ahead.low)

    @property
    def back(self) -> Bounds | None:
        """Nanoseconds that the first byte of the response was under way."""
        near, far = self.seen[0].response, self.seen[-1].response
        if self.ahead is None or near is None or far is None or len(self.seen) < 2:
            return None
        apart = near.first_time - far.first_time
        return self._under_way(apart + self.ahead.low, apart + self.ahead.high)

    def _under_way(self, low: int, high: int) -> Bounds:
        """Return the same bounds where no message is under way for less than no time, nor longer than both are."""
        most = high if self.network is None else max(min(high, self.network), 0)
        return Bounds(min(max(low, 0), most), most)


UNNUMBERED = 1 << 31
"""The correlation id of an exchange whose id is unknown: none on the wire is so large."""


class LogLine(NamedTuple):
    """A line of a log: the dialect that it is written in, its number in the log from 1, the half that it speaks of.

    `time` is when it was written, in nanoseconds since 1970, `UNTIMED` where it does not say. `log` is the name of the
    log, "" for the only one that is read.
    """

    dialect: str
    number: int
    half: Direction | Literal["both"]
    time: int = UNTIMED
    log: str = ""

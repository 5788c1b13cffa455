"""What an exchange has beside its bytes: where it was recorded, where its time went, and the lines of logs about it."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from ...protocol.wire.language import Direction
from .message import UNTIMED


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
        """Nanoseconds that the response took after the last place: in the broker, if that is where it is."""
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
        return None if near is None or far is None else self._under_way(far.last_time - near.last_time, 1)

    @property
    def back(self) -> Bounds | None:
        """Nanoseconds that the first byte of the response was under way."""
        near, far = self.seen[0].response, self.seen[-1].response
        return None if near is None or far is None else self._under_way(near.first_time - far.first_time, -1)

    def _under_way(self, apart: int, way: int) -> Bounds | None:
        """Return the bounds where no message is under way for less than no time, nor longer than both are.

        It was seen so many nanoseconds apart; `way` is -1 for one on its way back.
        """
        if self.ahead is None or len(self.seen) < 2:
            return None
        low, high = sorted(apart - way * ahead for ahead in (self.ahead.low, self.ahead.high))
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


class Split(NamedTuple):
    """Nanoseconds of an exchange, by what they were spent on; None where that is not known.

    The latency, from the last byte of the request to the first of the response as the capture saw them, is the sum of
      waiting   until the answers to earlier requests on its connection were out; `behind` is the last one's number
      throttle  while the broker said nothing, to slow the client down
      network   between the capture's place and the broker, there and back, by the handshake
      held      while the broker waited on purpose: for data to fetch, for the members of a group
      broker    the rest: the broker at work; what is None above is in it, too
    Then come
      sending       from the first byte of the response to the last
      reading       of the time up to its acknowledgement, that in which the client took nothing: its window was 0
      acknowledged  from the last byte to its acknowledgement
    `beyond` is what the capture does not see: the way between its place and the client, there and back.
    """

    waiting: int | None = None
    throttle: int | None = None
    network: int | None = None
    held: int | None = None
    broker: int | None = None
    sending: int | None = None
    reading: int | None = None
    acknowledged: int | None = None
    beyond: int | None = None
    behind: int = 0


class Tcp(NamedTuple):
    """A connection by its TCP headers, as far as an exchange's last packet; the client's side stands first in pairs.

    `round_trip` is the handshake's, in nanoseconds, `syns` how often the connection was asked for, `resent` how many
    segments were sent again, `shut` how often a receive window was 0. `closed` is who closed first, and `reset`
    whether with a RST: said where that was seen by the time that the exchange was complete.
    """

    round_trip: int | None
    syns: int
    resent: tuple[int, int]
    shut: tuple[int, int]
    closed: Literal["client", "broker"] | None
    reset: bool


class Timing(NamedTuple):
    """Both of an exchange; `tcp` is None where nobody saw its packets."""

    split: Split
    tcp: Tcp | None


SPLIT_NAMES: Final = tuple(f"{name}_ms" for name in Split._fields if name != "behind")
"""The durations as JSON and expressions name them."""


def split_object(timing: Timing | None) -> dict[str, Any] | None:
    """Return where the time of an exchange went as JSON has it, in milliseconds; None where nobody asked, or knows."""
    if timing is None or timing.split.broker is None:
        return None
    *durations, behind = timing.split
    said = {name: None if one is None else one / 1e6 for name, one in zip(SPLIT_NAMES, durations, strict=True)}
    return {**said, "behind": behind or None}


def tcp_object(timing: Timing | None) -> dict[str, Any] | None:
    """Return what TCP tells of an exchange's connection by then, as JSON has it; None where nobody asked, or knows."""
    tcp = timing.tcp if timing is not None else None
    if tcp is None:
        return None
    return {
        "round_trip_ms": None if tcp.round_trip is None else tcp.round_trip / 1e6,
        "syns": tcp.syns,
        "resent": {"client": tcp.resent[0], "broker": tcp.resent[1]},
        "zero_windows": {"client": tcp.shut[0], "broker": tcp.shut[1]},
        "closed": tcp.closed,
        "reset": tcp.reset,
    }

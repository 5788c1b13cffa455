"""Where the time of an exchange went, and what TCP tells of its connection by then: as data, worked out elsewhere."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple


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
    segments were sent again, `shut` how often a receive window was 0. `closed` is who hung up first, and `reset`
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

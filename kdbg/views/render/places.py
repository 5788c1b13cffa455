"""Where an exchange was seen, and what became of its time: as the views show it where captures were merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.places import Bounds, Half, PointView
from .exchange_header import iso, latency
from .style import Look
from .values import escape

Json = dict[str, Any]


class Clock(Protocol):
    """What is known of two clocks: how far the second is ahead, and when one of them was set."""

    steps: list[int]

    @property
    def bounds(self) -> Bounds | None:
        """By how much it is ahead, None where nothing bounds it."""


def places_lines(exchange: Exchange, look: Look) -> list[str]:
    """Return the lines on the places: where the time went, then the files with their packets, and their clocks."""
    places = exchange.places
    if places is None:
        return []
    names = names_of([place.file for place in places.seen])
    if len(names) == 1:
        return [look.paint("note", f"only in {names[0]}")]
    lines = [" → ".join(map(_where, names, places.seen))]
    if places.network is not None:
        time = f"network {latency(places.network)}"
        if places.there is not None and places.back is not None:
            there, back = places.there, places.back
            time += (
                f" (to broker {latency(there.middle)}, to client {latency(back.middle)}, each ± {latency(there.slack)})"
            )
        lines = [f"{time} · broker {latency(places.broker)}", *lines]
    if not places.certain:
        lines.append("addresses differ (NAT?); matched by sequence numbers and payload")
    if places.ahead is not None:
        lines.append(f"the clock of {names[-1]} {_ahead(places.ahead)} the clock of {names[0]}")
    return [look.paint("dim", line) for line in lines]


def names_of(files: Sequence[str]) -> list[str]:
    """Return the names of files, without folders where these do not tell them apart."""
    names = [file.rpartition("/")[2] for file in files]
    return [*map(escape, names if len(set(names)) == len(names) else files)]


def clock_lines(clocks: Mapping[tuple[int, int], Clock], files: Sequence[str]) -> list[str]:
    """Return what is said of the clocks once captures were read, by the pairs of places."""
    names = names_of(files)
    lines = []
    for (first, second), clock in clocks.items():
        if (bounds := clock.bounds) is not None:
            set_at = ", and one clock was adjusted during the capture" if clock.steps else ""
            lines.append(f"clock of {names[second]} {_ahead(bounds)} that of {names[first]}{set_at}")
    return lines


def _where(name: str, place: PointView) -> str:
    """Return the name and the packets of a place."""
    packets = [_packets(half) if half is not None else "not captured" for half in (place.request, place.response)]
    ends = f" ({place.client} → {place.broker})" if place.client else ""
    return f"{name}{ends} {', '.join(packets)}"


def _packets(half: Half) -> str:
    first, last = half.first_packet, half.last_packet
    return f"{first}" if first == last else f"{first}–{last}"


def _ahead(ahead: Bounds) -> str:
    """Return how far a clock is ahead of another, or behind it, to what is known."""
    words = "ahead of" if ahead.middle >= 0 else "behind"
    return f"is {exact(abs(ahead.middle), ahead.slack)} ± {latency(ahead.slack)} {words}"


def exact(nanoseconds: int, slack: int) -> str:
    """Return a duration in seconds or milliseconds, to as many places as are known."""
    unit, scale, name = (9, 1e9, "s") if nanoseconds >= 1_000_000_000 else (6, 1e6, "ms")
    places = max(0, min(unit, unit - len(str(max(slack, 1))) + 1))
    return f"{nanoseconds / scale:,.{places}f} {name}"


def places_words(exchange: Exchange) -> str:
    """Return the same for a summary: `net 2.1 ms`; "" where nothing is known of the network."""
    places = exchange.places
    if places is None:
        return ""
    if len(places.seen) == 1:
        return f"only in {names_of([places.seen[0].file])[0]}"
    return "" if places.network is None else f"net {latency(places.network).replace(' ', '')}"


def places_object(exchange: Exchange) -> Json:
    """Return the same as JSON has it; durations are milliseconds."""
    places = exchange.places
    assert places is not None, "not merged"
    there, back, ahead = places.there, places.back, places.ahead
    return {
        "times": [_place_object(place) for place in places.seen],
        "identity": "certain" if places.certain else "likely",
        "network_ms": _ms(places.network),
        "broker_ms": _ms(places.broker),
        "there_ms": _bounds(there),
        "back_ms": _bounds(back),
        "clock_ahead_ms": _bounds(ahead),
    }


def _place_object(place: PointView) -> Json:
    ends = {"client": place.client, "broker": place.broker} if place.client else {}
    return {
        "file": place.file, **ends, "latency_ms": _ms(place.latency),
        "request": _half_object(place.request), "response": _half_object(place.response),
    }  # fmt: skip


def _half_object(half: Half | None) -> Json | None:
    if half is None:
        return None
    return {
        "first_utc": iso(half.first_time), "last_utc": iso(half.last_time),
        "packets": (half.first_packet, half.last_packet),
    }  # fmt: skip


def _bounds(bounds: Bounds | None) -> Json | None:
    """Return what is likely, and what is certain of it."""
    if bounds is None:
        return None
    return {"likely": bounds.middle / 1e6, "at_least": bounds.low / 1e6, "at_most": bounds.high / 1e6}


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6

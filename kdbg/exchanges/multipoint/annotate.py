"""Exchanges of merged packets: an engine whose exchanges say where and when they were seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...capture.packet import Packet, endpoint
from ..engine.engine import Engine
from ..messages.capture_points import Bounds, CapturePoints, Half, PointView
from ..messages.exchange import CapturedMessage, Exchange
from ..messages.peers import endpoint as said
from .flows import DRIFT, Conversation, FlowRun, Sight
from .merge import Merger


class PlacedEngine(Engine):
    """An engine of the packets of a `Merger`; `files` are the names of its places.

    Times and packets of the exchanges are those of the place nearest to the client that saw them, by the clock of
    place 0.
    """

    def __init__(self, merger: Merger, files: Sequence[str], **given: Any) -> None:
        super().__init__(**given)
        self.merger: Merger = merger
        self.files: Sequence[str] = files

    def chunks(self, blocks: Iterable[Sequence[Packet]]) -> Iterator[list[Exchange]]:
        """Yield the exchanges as `Engine.chunks` does, with the places that saw them."""
        for chunk in super().chunks(blocks):
            for exchange in chunk:
                tell(exchange, self.merger, self.files)
            yield chunk


def tell(exchange: Exchange, merger: Merger, files: Sequence[str]) -> None:
    """Add to an exchange the places that saw it, and take its times from the one nearest to the client."""
    ends = _runs(exchange.request), _runs(exchange.response)
    conversation = next((end[0].flow.conversation for end in ends if end is not None), None)
    if conversation is None:
        return
    forth = endpoint(conversation.flows[0].flow)[0] == exchange.peers.client
    seen = sorted({at for end in ends if end is not None for at in (*end[0].first, *end[1].last)})
    found = {at: _place(at, ends, files[at], conversation, forth) for at in seen}
    order, sure = _order(found, conversation, forth, merger)
    near, far = order[0], order[-1]
    ahead = _ahead(found[near], found[far], near, far, merger) if near != far and sure else None
    exchange.capture_points = CapturePoints(tuple(found[at] for at in order), ahead, not conversation.aliases)
    for half, seen_at in (
        (exchange.request, {at: found[at].request for at in order}),
        (exchange.response, {at: found[at].response for at in order}),
    ):
        whole = next(((at, one) for at, one in seen_at.items() if one is not None), None)
        if half is not None and whole is not None:  # the first place that saw all of it
            clock, one = merger.ahead(whole[0]), whole[1]
            half.first_time, half.last_time = one.first_time - clock, one.last_time - clock
            half.first_packet, half.last_packet = one.first_packet, one.last_packet
        elif half is not None:
            for name, marks in (("first_packet", 0), ("last_packet", 1)):
                number = getattr(half, name)
                if isinstance(number, Sight) and number.run is not None:
                    known = (number.run.first, number.run.last)[marks]
                    setattr(half, name, next((known[at][1] for at in order if at in known), int(number)))


Ends = tuple[FlowRun, FlowRun] | None
"""The runs that hold the first and the last byte of a message; None if unknown."""


def _runs(half: CapturedMessage | None) -> Ends:
    """Return the runs of a message's first and last packet."""
    if half is None or not isinstance(half.first_packet, Sight) or not isinstance(half.last_packet, Sight):
        return None
    first, last = half.first_packet.run, half.last_packet.run
    return None if first is None or last is None else (first, last)


def _place(at: int, ends: tuple[Ends, Ends], file: str, conversation: Conversation, forth: bool) -> PointView:
    halves: list[Half | None] = []
    for end in ends:
        first, last = (end[0].first.get(at), end[1].last.get(at)) if end is not None else (None, None)
        halves.append(None if first is None or last is None else Half(first[0], last[0], first[1], last[1]))
    asked, answered = halves
    alias = conversation.aliases.get(at)
    if alias is None:
        return PointView(file, asked, answered)
    opened_by, other = (said(end) for end in endpoint(alias))
    client, broker = (opened_by, other) if forth else (other, opened_by)
    return PointView(file, asked, answered, client, broker)


def _order(
    found: dict[int, PointView], conversation: Conversation, forth: bool, merger: Merger
) -> tuple[list[int], bool]:
    """Return the places from the client to the broker, and whether that is sure; `forth`: the client opened it.

    Where nothing is sure they stand as they saw the exchange, clocks put right.
    """
    order = sorted(found, key=lambda at: _moment(found[at], at, merger))
    sure = True
    for _ in order:
        for at in range(len(order) - 1):
            one, other = order[at : at + 2]
            path = conversation.paths.get((min(one, other), max(one, other)))
            here, there = found[one].latency, found[other].latency
            if path is not None and path.votes:  # by all that was seen on the connection
                nearer = ((path.votes > 0) == (one < other)) == forth
            elif here is not None and there is not None and abs(here - there) > max(here, there) // DRIFT:
                nearer = here > there  # an answer takes longer there, by more than the clocks alone make of it
            else:
                sure = False
                continue
            if not nearer:
                order[at : at + 2] = other, one
    return order, sure


def _moment(place: PointView, at: int, merger: Merger) -> int:
    """Return when a place saw an exchange, so that those nearer to the client come before the others."""
    if place.request is not None:
        return place.request.last_time - merger.ahead(at)
    return -(place.response.first_time - merger.ahead(at)) if place.response is not None else 0


def _ahead(near: PointView, far: PointView, first: int, last: int, merger: Merger) -> Bounds | None:
    """Return by how much the clock of the place near the broker is ahead of the other's."""
    there = back = None
    if near.request is not None and far.request is not None:
        there = far.request.last_time - near.request.last_time
    if near.response is not None and far.response is not None:
        back = far.response.first_time - near.response.first_time
    drifted = max(near.latency or 0, far.latency or 0) // DRIFT  # from the one message to the other
    low, high = None if back is None else back - drifted, None if there is None else there + drifted
    if first > last:
        low, high = None if high is None else -high, None if low is None else -low
    lower = near if first < last else far
    half = lower.request or lower.response
    found = merger.offsets[min(first, last), max(first, last)].at(half.last_time if half is not None else 0, low, high)
    return found if found is None or first < last else Bounds(-found.high, -found.low)

"""Bytes that no message fits to the last byte: weighed as messages that were cut off, and as parts of messages.

What a reading costs is counted in bits (weigh.py), and so is what speaks against it beforehand: how seldom bytes are
met so, and whether they would have to end early though nobody says that they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ...protocol.grammars import apis, plain
from ...protocol.wire import Api
from ...protocol.wire.language.api import DIRECTIONS, Direction
from ...protocol.wire.nodes import Node, WireStruct
from ..messages.message import grammar_of, header_grammar
from ..messages.score import rarity
from ..messages.weigh import Weight, weigh
from .hints import Extent, Guess, Hints
from .reason import Reason
from .single_message import arrays_of, files, items_of, keyless, payload_api, payloads_for, registry_framing

CUT, WHOLE_THOUGH_CUT = 36.0, 10.0
"""Bits for a message that ends early though nothing says so, and for one that does not though something does."""
UNREAD = 60.0
BODY, KEYLESS, PAYLOAD, PIECE, FRAMED, ITEMS = 22.0, 26.0, 14.0, 12.0, 16.0, 44.0
"""Bits for bytes without what should stand in front of them."""
WORDS = {
    "Record": ("record", "records", "compressedrecords"), "Message": ("message",),
    "MessageSet": ("messageset", "message", "decodemessageset"),
}  # fmt: skip
"""Words of programs that speak of a part."""
NAMED, NAMED_API = 12.0, 5.0
"""Bits that a name in the text around is worth; programs name the API that they expect, which may be another."""
RANGE = 48.0
"""Readings that cost so much more than the best are not told."""
LARGEST = 1 << 15
"""More bytes are not weighed: each of some 2,600 layouts would read them."""
SMALLEST = 8
"""Fewer bytes than that fit too much to be weighed as parts."""


class Shape(NamedTuple):
    """What bytes may be, and the bits that speak against it; `api` may be made only when it is wanted."""

    api: Api
    version: int
    direction: Direction
    header: bool
    nodes: tuple[Node, ...]
    bits: float
    alone: str = ""
    free: bool = False
    """Nothing is missing where no size stands in front."""


def wider(data: bytes, places: list[Extent], told: Hints) -> list[Guess]:
    """Return what the bytes may be, messages that were cut off and parts of messages too; the likeliest first."""
    found: list[tuple[float, Shape, Extent, Weight]] = []
    best = 8.5 * len(data) + 40.0
    for place in places:
        for shape in _shapes(data[place.start : place.end], place, told):
            weighed = _cost(data, place, shape, told, best + RANGE)
            if weighed is None:
                continue
            cost, weight = weighed
            found.append((cost, shape, place, weight))
            best = min(best, cost)
    if not any(cost < 5.0 * len(data) + 30.0 for cost, *_ in found) and len(data) >= SMALLEST and told.nothing:
        for place in places[-1:]:
            for shape in _items(told):
                weighed = _cost(data, place, shape, told, best + RANGE)
                if weighed is not None and not weighed[1].cut:
                    found.append((weighed[0], shape, place, weighed[1]))
                    best = min(best, weighed[0])
    return _grouped([one for one in found if one[0] <= best + RANGE])


def _cost(data: bytes, place: Extent, shape: Shape, told: Hints, most: float) -> tuple[float, Weight] | None:
    """Return (cost, weight) of a reading; None where it is impossible or costs more than `most`."""
    frame = data[place.start : place.end]
    before = (0.0 if shape.free else place.score) + shape.bits
    weight = weigh(shape.nodes, frame, 0, most - before, place.size)
    if weight is None:
        return None
    cost, left = before + weight.bits, len(frame) - weight.end
    says_cut = told.cut or (place.size is not None and place.size > len(frame))
    if weight.cut:
        cost += 0.0 if says_cut else CUT
    elif left:
        cost += UNREAD + 8.0 * left
    else:
        cost += WHOLE_THOUGH_CUT * says_cut
    return (cost, weight) if cost <= most else None


def _shapes(frame: bytes, place: Extent, told: Hints) -> Iterator[Shape]:
    """Yield what bytes in this place may be."""
    for api in sorted(apis(), key=rarity) if told.api is None else (told.api,):
        bits = rarity(api) - NAMED_API * (plain(api.name) in told.named)
        for version in api.versions if told.version is None else (told.version,):
            yield from _of_api(api, version, bits, place, told)
    if place.size is None and told.nothing and len(frame) >= SMALLEST:
        for payload, version in payloads_for(frame):
            alone = payload_api(payload, version)
            bits = PAYLOAD - NAMED * (plain(payload.name) in told.named)
            yield Shape(alone, version, "response", False, (alone.at("response", version),), bits, alone.title, True)
        for alone in files():
            bits = PIECE - NAMED * any(word in told.named for word in WORDS.get(alone.name, ()))
            yield Shape(alone, 0, "response", False, (alone.at("response", 0),), bits, alone.title, True)
        if frame[0] == 0 and frame[1] < 16:
            alone = registry_framing()
            yield Shape(alone, 0, "response", False, (alone.at("response", 0),), FRAMED, alone.title, True)


def _of_api(api: Api, version: int, bits: float, place: Extent, told: Hints) -> Iterator[Shape]:
    """Yield the messages of one API in one version: with their header, without it, with half of it."""
    for direction in DIRECTIONS:
        if told.direction not in (None, direction) or not api.reads(direction, version):
            continue
        grammar = grammar_of(api, version, direction)
        if direction == "response" and told.header:
            yield Shape(api, version, direction, True, (header_grammar(api, version, direction), grammar), bits)
        if place.size is None and (told.nothing or not told.header):
            yield Shape(api, version, direction, False, (grammar,), bits + (BODY if told.header else 0.0))
        if place.size is None and direction == "request" and told.nothing and api.header_version(direction, version):
            alone = keyless(api, version)
            yield Shape(alone, version, direction, False, (alone.at(direction, version),), bits + KEYLESS, alone.title)


def _items(told: Hints) -> Iterator[Shape]:
    """Yield the arrays of structures in all messages, their items alone."""
    for api in sorted(apis(), key=rarity):
        bits = ITEMS + rarity(api) - NAMED_API * (plain(api.name) in told.named)
        for direction in DIRECTIONS:
            for version in api.versions:
                if not api.reads(direction, version):
                    continue
                for path, item in arrays_of(grammar_of(api, version, direction)):
                    assert isinstance(item, WireStruct)
                    alone = items_of(api, version, direction, path, item)
                    nodes = (alone.at(direction, version),)
                    yield Shape(alone, version, direction, False, nodes, bits + 2.0 * path.count("."), alone.title)


def _grouped(found: list[tuple[float, Shape, Extent, Weight]]) -> list[Guess]:
    """Return guesses, those that differ in nothing but their version joined: the newest stands for all."""
    groups: dict[tuple[object, ...], Guess] = {}
    for cost, shape, place, weight in found:
        reason = (
            Reason.CUT if weight.cut else Reason.WHOLE if weight.end == place.end - place.start else Reason.LEFT_OVER
        )
        key = shape.alone or shape.api, shape.direction, shape.header, place.start, weight.end, round(cost, 3)
        guess = Guess(
            shape.api, shape.version, shape.direction, place.start, place.end, cost, reason, place.size, shape.header,
            reason is Reason.WHOLE and place.size in (None, place.end - place.start), (shape.version,),
            faults=weight.faults, cut=weight.cut,
        )  # fmt: skip
        if (same := groups.get(key)) is not None:
            guess = replace(guess, versions=(*same.versions, shape.version))
        groups[key] = guess
    return sorted(groups.values(), key=lambda guess: guess.score)

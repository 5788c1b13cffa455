"""What bytes may be: every message, part of a message, payload and file that there is, each with its score.

What the user said of them goes in; guesses come out, each with its reason and how sure it is.

What a reading costs is counted in bits (messages/weigh.py), and so is what speaks against it beforehand: how seldom
bytes are met so, and whether they would have to end early though nothing says that they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from ...protocol.grammars import apis, plain
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.nodes import Node, WireStruct
from ..messages.message import grammar_of, header_grammar
from ..messages.score import rarity
from ..messages.weigh import weigh
from . import structures
from .structures import Alone, Mended, Reason

WORD = re.compile(r"[A-Za-z][A-Za-z_]{3,40}")
MOST_WORDS = 1 << 16
"""Characters of a text that are looked at."""
AHEAD, AHEAD_CUT = 12.0, 16.0
"""Bits by which the best reading must be ahead of all others to be likely; one that is cut by more."""
ENOUGH = 20
"""Bytes that a reading of a message that was cut off needs to be likely."""
SHORT = 12
"""Bytes: fewer fit so much that no part or body of them is likely."""


def words_of(text: str | None) -> frozenset[str]:
    """Return the words of a text, as names of APIs and payloads are compared."""
    return frozenset(plain(word) for word in WORD.findall((text or "")[:MOST_WORDS]))


class Hints(NamedTuple):
    """What the user said of the bytes. `header` False: messages begin at their body, without size and header.

    `cut`: more bytes followed, which are not there. `named` are words of the text around, as `grammars.plain`
    gives them.
    """

    api: Api | None = None
    version: int | None = None
    direction: Direction | None = None
    header: bool = True
    cut: bool = False
    named: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        """Whether the user gave no hint at what the bytes are."""
        return self.api is None and self.direction is None and self.header


@dataclass(frozen=True)
class Guess:
    """What bytes may be: a message that begins at `start` and ends at `end`, as far as it is there.

    `size` is what stands in front (then `start` is 4), None where nothing does. `versions` are all that read the same
    out of the bytes; `version` is the newest of them. `exact`: it reads to the last byte, and not further.
    """

    api: Api
    version: int
    direction: Direction
    start: int
    end: int
    score: float
    reason: Reason
    size: int | None = None
    header: bool = True
    exact: bool = True
    versions: tuple[int, ...] = ()
    faults: int = 0
    """Values that no peer would write."""
    cut: bool = False
    """The bytes end before the message does."""
    mended: Mended | None = None
    """A field that is wrong, where all the rest says so."""
    doubts: tuple[str, ...] = ()
    """Fields of a record batch whose values no peer would write."""
    client: bool = True
    """Whether a request's header names a client, or its API key is not 0: half of a correlation id often is."""
    plain: bool = False
    """Whether it is a request whose header has a known key and version, and names a client.

    Never one of Produce: its key is the first half of many correlation ids.
    """
    likelihood: float = 0.0
    """Among the guesses made together: they add up to one."""


class Extent(NamedTuple):
    """Where a message may stand in the bytes, and how odd that would be."""

    start: int
    end: int
    size: int | None
    score: float


class Sure(StrEnum):
    """How sure a reading is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "a guess"


def sureness(guesses: Sequence[Guess]) -> Sure:
    """Return how sure the first of the guesses is, beside the others."""
    first = guesses[0]
    if first.reason in (Reason.GIVEN, Reason.GIVEN_API):
        return Sure.CERTAIN
    if first.reason in (Reason.CHECKSUM, Reason.CORRELATION_ID):
        return Sure.LIKELY if first.mended or first.faults else Sure.CERTAIN
    if first.reason in (Reason.STRUCTURE, Reason.TOKEN):
        return Sure.LIKELY
    others = (guess for guess in guesses[1:] if subject(guess) != subject(first))
    ahead = next((guess.score - first.score for guess in others), 1000.0)
    if first.reason is Reason.HEADER:
        fits = first.size == first.end - first.start
        if fits and (first.plain or (first.client and ahead >= AHEAD)):
            return Sure.CERTAIN
        if first.faults or ahead < AHEAD or not first.client:
            believed = first.client or (not first.faults and ahead >= AHEAD)
            return Sure.LIKELY if ahead > 0 and believed else Sure.GUESS
        whole = first.exact or (first.cut and first.size is not None)
        return Sure.CERTAIN if whole else Sure.LIKELY
    if first.end - first.start < SHORT and first.size is None:
        return Sure.GUESS
    sound = not first.faults and (first.exact or (first.cut and first.end - first.start >= ENOUGH))
    return Sure.LIKELY if sound and ahead >= (AHEAD if first.exact else AHEAD_CUT) else Sure.GUESS


def subject(guess: Guess) -> tuple[object, Direction]:
    """Return what bytes are guessed to be, whatever its version."""
    return getattr(guess.api, "title", guess.api), guess.direction


CUT, WHOLE_THOUGH_CUT = 36.0, 10.0
"""Bits for a message that ends early though nothing says so, and for one that does not though something does."""
UNREAD = 60.0
"""Bits for a message that does not end where it should."""
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


class Candidate(NamedTuple):
    """What bytes may be, and the bits that speak against it."""

    api: Api
    version: int
    direction: Direction
    header: bool
    nodes: tuple[Node, ...]
    bits: float
    free: bool = False
    """Nothing is missing where no size stands in front."""


def messages(told: Hints, directions: Iterable[Direction] = DIRECTIONS) -> Iterator[tuple[Api, int, Direction]]:
    """Yield every API, version and direction that the user's words leave open."""
    for direction in directions:
        for api in apis() if told.api is None else (told.api,):
            for version in api.versions if told.version is None else (told.version,):
                if told.direction in (None, direction) and (told.api or api.reads(direction, version)):
                    yield api, version, direction


def weigh_candidate(data: bytes, place: Extent, candidate: Candidate, told: Hints, most: float) -> Guess | None:
    """Return the guess that bytes are a candidate, with its score; None where they cannot be, or it is above `most`."""
    frame = data[place.start : place.end]
    before = (0.0 if candidate.free else place.score) + candidate.bits
    weight = weigh(candidate.nodes, frame, 0, most - before, place.size)
    if weight is None:
        return None
    score, left, reason = before + weight.bits, len(frame) - weight.end, Reason.WHOLE
    if weight.cut:
        score, reason = score + CUT * (not says_cut(frame, place, told)), Reason.CUT
    elif left:
        score, reason = score + UNREAD + 8.0 * left, Reason.LEFT_OVER
    if score > most:
        return None
    exact = reason is Reason.WHOLE and place.size in (None, len(frame))
    return Guess(
        candidate.api, candidate.version, candidate.direction, place.start, place.end, score, reason, place.size,
        candidate.header, exact, (candidate.version,), faults=weight.faults, cut=weight.cut,
    )  # fmt: skip


def says_cut(frame: bytes, place: Extent, told: Hints) -> bool:
    """Return whether something says that a message ends before its end: the user, or its size."""
    return told.cut or (place.size is not None and place.size > len(frame))


def weigh_all(data: bytes, places: list[Extent], told: Hints) -> list[Guess]:
    """Return what the bytes may be, messages that were cut off and parts of messages too; the likeliest first."""
    found: list[Guess] = []
    best = 8.5 * len(data) + 40.0
    wholes = ((place, one) for place in places for one in _candidates(data[place.start : place.end], place, told))
    items = ((places[-1], one) for one in _items(told))
    for parts, tried in ((False, wholes), (True, items)):
        if parts and (len(data) < SMALLEST or not told.nothing or best < 5.0 * len(data) + 30.0):
            break
        for place, candidate in tried:
            guess = weigh_candidate(data, place, candidate, told, best + RANGE)
            if guess is None or (parts and guess.cut):
                continue
            if guess.reason is Reason.WHOLE and says_cut(data[place.start : place.end], place, told):
                guess = replace(guess, score=guess.score + WHOLE_THOUGH_CUT)
            found.append(guess)
            best = min(best, guess.score)
    groups: dict[tuple[object, ...], Guess] = {}  # those that differ in nothing but their version: the newest for all
    for guess in found:
        if guess.score <= best + RANGE:
            key = *subject(guess), guess.header, guess.start, guess.reason, round(guess.score, 3)
            if (same := groups.get(key)) is not None:
                guess = replace(guess, versions=(*same.versions, *guess.versions))
            groups[key] = guess
    return sorted(groups.values(), key=lambda guess: guess.score)


def _candidates(frame: bytes, place: Extent, told: Hints) -> Iterator[Candidate]:
    """Yield what bytes in this place may be."""
    for api, version, direction in sorted(messages(told), key=lambda one: (rarity(one[0]), one[0].key, one[1])):
        if not api.reads(direction, version):
            continue
        bits = rarity(api) - NAMED_API * (plain(api.name) in told.named)
        grammar = grammar_of(api, version, direction)
        if direction == "response" and told.header:
            yield Candidate(api, version, direction, True, (header_grammar(api, version, direction), grammar), bits)
        if place.size is None and (told.nothing or not told.header):
            yield Candidate(api, version, direction, False, (grammar,), bits + (BODY if told.header else 0.0))
        if place.size is None and direction == "request" and told.nothing and api.header_version(direction, version):
            alone = structures.keyless(api, version)
            yield Candidate(alone, version, direction, False, (alone.at(direction, version),), bits + KEYLESS)
    if place.size is None and told.nothing and len(frame) >= SMALLEST:
        for payload, version in structures.payloads_for(frame):
            yield _alone(
                structures.payload_api(payload, version), PAYLOAD - NAMED * (plain(payload.name) in told.named)
            )
        for api in structures.files():
            yield _alone(api, PIECE - NAMED * any(word in told.named for word in WORDS.get(api.name, ())))
        if frame[0] == 0 and frame[1] < 16:
            yield _alone(structures.registry_framing(), FRAMED)


def _alone(api: Alone, bits: float) -> Candidate:
    (version,) = api.versions
    return Candidate(api, version, "response", False, (api.at("response", version),), bits, True)


def _items(told: Hints) -> Iterator[Candidate]:
    """Yield the arrays of structures in all messages, their items alone."""
    for api, version, direction in sorted(messages(told), key=lambda one: (rarity(one[0]), one[0].key)):
        bits = ITEMS + rarity(api) - NAMED_API * (plain(api.name) in told.named)
        for path, item in structures.arrays_of(grammar_of(api, version, direction)):
            assert isinstance(item, WireStruct)
            alone = structures.items_of(api, version, direction, path, item)
            nodes = (alone.at(direction, version),)
            yield Candidate(alone, version, direction, False, nodes, bits + 2.0 * path.count("."))

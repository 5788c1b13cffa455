"""Which response is this? For bytes whose request was not captured: candidates, the likeliest first.

Nothing in a response says what it answers. Every layout that reads it to its last byte is a candidate, ranked by how
much sense its values make (messages/score.py), by what the connection said before, and by what is seldom sent at all.
From outside, a response is little more than a correlation id, which clients count up: by that one is found.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from ...protocol.grammars import apis
from ...protocol.wire import Api
from ...protocol.wire.readings.compiled import UNREADABLE
from ..messages.message import MessageForm, forms, readings
from .search import MAX_FRAME, Buffer, size_at

API_VERSIONS, UNSUPPORTED_VERSION, FEATURES = 18, 35, 3
"""ApiVersions, the error by which it refuses a version, and its first version with features (KAFKA-17011)."""
SMALL, OFTEN, ALWAYS = 1 << 18, 200, 2_000
"""Bytes of a response up to which every layout is tried, and not those alone that the connection has had; responses of
a connection after which those are tried first, and after which they alone are: to try all takes 10 ms."""
EVERYDAY: Final[Mapping[int, float]] = {1: -6.0, 0: -5.0, 12: -5.0, 3: -3.0, 8: -3.0, 10: -2.0, 18: -2.0, 2: -1.0}
"""Bits in favour of what is sent most."""
NEEDS: Final[Mapping[int, int]] = {12: 11, 13: 11, 14: 11, 24: 22, 25: 22, 26: 22, 28: 22, 36: 17, 72: 71}
"""APIs that come after another one on the same connection: a heartbeat after JoinGroup, EndTxn after InitProducerId."""
AT_ONCE: Final = frozenset(
    {(4, 6), (6, 4), (17, 36), (36, 36), (11, 14), (71, 72), (22, 24), (26, 24), (24, 26), (25, 28), (28, 26)}
)
"""APIs that often come right after another one."""
AGAIN, FIRST, UNSUPPORTED, ALONE, NEXT = -6.0, -24.0, 24.0, 12.0, -12.0
"""Bits for an API that the connection has answered before; for ApiVersions as its first response; for an API that the
broker does not have; for one that needs another, not seen; for one that often comes next."""
SPARE, MOST_SPARE = 40.0, 3
"""Bits for bytes left over, and the most of them: some peers write such."""
CLIENTS: Final[tuple[Mapping[int, int], ...]] = (
    # librdkafka 2 (rdkafka_request.c)
    {0: 10, 1: 16, 2: 7, 3: 13, 8: 9, 9: 9, 10: 2, 11: 5, 12: 3, 13: 1, 14: 3, 17: 1, 18: 3, 19: 4, 20: 4, 21: 2,
     22: 4, 24: 0, 25: 0, 26: 1, 28: 3, 32: 1, 36: 1, 37: 2, 44: 1, 68: 1, 71: 0, 72: 0},
    {},  # Java, franz-go: the newest that both know
    # kafka-python 3
    {0: 9, 1: 12, 2: 7, 3: 13, 8: 8, 9: 6, 10: 3, 11: 5, 12: 4, 13: 4, 14: 3, 18: 4, 22: 4, 24: 1, 26: 1},
    # aiokafka
    {0: 7, 1: 11, 2: 3, 3: 5, 8: 3, 9: 3, 10: 1, 11: 5, 12: 1, 13: 1, 14: 3, 18: 0, 22: 0, 24: 0, 25: 0, 26: 0, 28: 0},
    # kafka-python 2
    {0: 7, 1: 4, 2: 1, 3: 5, 8: 2, 9: 1, 10: 0, 11: 2, 12: 1, 13: 1, 14: 1, 18: 0},
)  # fmt: skip
"""The newest versions that client libraries send, by API: which of them it is, the layouts of all responses tell."""
FETCH, HEARTBEAT, TINY = 1, 12, 14
"""Fetch; what is sent most of what has no more bytes than this: errors without anything else."""
MOST, LIKELY = 8, 8.0
"""Candidates that are named, and by how many bits the first must be ahead of the next to be likely."""


class Candidate(NamedTuple):
    """What a response may be. `versions` read the same out of it; `version` is the likeliest of them."""

    api: Api
    version: int
    versions: tuple[int, ...]
    bits: float


Tried: TypeAlias = tuple[Api, int, MessageForm]
Read: TypeAlias = tuple[Api, tuple[int, ...], float]
"""API, versions that read the same, bits."""


class Before:
    """What is known of a connection whose requests are not seen.

    `versions` by API, what its broker supports, the API of the response before, and how often each of CLIENTS would
    have asked in another version.
    """

    count: int

    __slots__ = ("against", "count", "known", "last", "supported", "versions")

    def __init__(self) -> None:
        self.last, self.count = -1, 0
        self.known: list[Tried] | None = None
        """Those forms alone that the connection has had, until it has another one."""
        self.versions: dict[int, int] = {}
        self.supported: Mapping[int, range] = {}
        self.against = [0.5, 0.25, *(0.6,) * (len(CLIENTS) - 2)]

    def asks(self, client: int, key: int) -> int:
        """Return the version in which one of CLIENTS asks this broker, if it knows the API; 99 for the newest."""
        offered = self.supported.get(key)
        return min(CLIENTS[client].get(key, 99), offered[-1] if offered else 99)

    def take(self, candidate: Candidate, data: bytes) -> None:
        """Remember what a response was."""
        key = candidate.api.key
        if not self.versions and int.from_bytes(data[:4]) == 1 and min(candidate.versions) <= FEATURES:
            self.against[0] = 0.0  # librdkafka begins each connection with id 1, Java's clients count on
        if key == API_VERSIONS:
            for _, _, body, end in readings(forms(candidate.api, candidate.version, "response", True, True), data):
                if end == len(data):
                    offered = ((one["api_key"], one["min_version"], one["max_version"]) for one in body["api_keys"])
                    self.supported = {api: range(low, high + 1) for api, low, high in offered} or self.supported
                    break
            if not self.versions:
                for client, known in enumerate(CLIENTS):
                    self.against[client] += (known.get(key, 5) == 0) != (candidate.versions == (0,))
        elif key not in self.versions:
            for client, _ in enumerate(CLIENTS):
                asked = self.asks(client, key)
                self.against[client] += asked not in candidate.versions and not (asked == 99 and not self.supported)
        if self.versions.get(key) != candidate.version:
            self.known = None
        self.versions[key], self.last = candidate.version, key

    def version(self, key: int, versions: tuple[int, ...], first: int) -> int:
        """Return the likeliest of these versions of an API; `first` is the correlation id of a first response."""
        if key == API_VERSIONS and not self.versions:
            return 3 if first == 1 and 3 in versions else versions[-1]
        for client in sorted(range(len(CLIENTS)), key=self.against.__getitem__):
            asked = min(self.asks(client, key), versions[-1] if client == 1 else 99)
            if asked in versions:
                return asked
        return versions[-1]


def identify(data: bytes, before: Before) -> list[Candidate]:
    """Return what a response may be, the likeliest first; the first is remembered in `before`.

    What says more than its bytes could, such as errors that there are not, is none: those bytes are something else.
    """
    before.count += 1
    known, every = before.count >= OFTEN or len(data) > SMALL, before.count < ALWAYS and len(data) <= SMALL
    read = (_sound(data, _known(before)) if known else []) or (_sound(data, _tried()) if every else [])
    found = sorted(
        (_scored(*one, int.from_bytes(data[:4]), len(data), before) for one in read), key=lambda one: one.bits
    )[:MOST]
    if found:
        before.take(found[0], data)
    return found


def _sound(data: bytes, tried: list[Tried]) -> list[Read]:
    """Return the readings that make sense; those that leave bytes over only where there is no other."""
    read = list(_readings(data, tried)) or list(_readings(data, tried, MOST_SPARE))
    return [one for one in read if one[2] <= 8.0 * max(len(data) - 4, 2)]


def fits_any(data: bytes) -> bool:
    """Return whether some response reads these bytes to the last one, and makes sense."""
    return any(bits < 16.0 + 8.0 * len(data) for _, _, bits in _readings(data, _tried()))


@cache
def _tried() -> list[Tried]:
    """Return every form of every response; of the dialects those of ApiVersions alone, which refuse a version."""
    return [
        (api, version, form)
        for api in apis()
        for version in api.versions
        if api.reads("response", version)
        for form in forms(api, version, "response", True, True)
        if not form.name or api.key == API_VERSIONS
    ]


def _known(before: Before) -> list[Tried]:
    """Return those forms alone that the connection has had, and Fetch, which carries much."""
    if before.known is None:
        last = before.versions
        before.known = [
            one for one in _tried() if last.get(one[0].key, one[1] if one[0].key == FETCH else -1) == one[1]
        ]
    return before.known


def _readings(data: bytes, tried: list[Tried], spare: int = 0) -> Iterator[Read]:
    """Yield what is read by all layouts that end where the bytes do, or `spare` before."""
    from ..messages.weigh import weigh  # which responses with requests do without

    last: tuple[Api, Any, list[int], float] | None = None
    for api, version, form in tried:
        if not 0 <= len(data) - form.end(data) <= spare:
            continue
        try:
            (_, body), end = form.read(data, 0)
        except UNREADABLE:
            continue
        if not 0 <= len(data) - end <= spare or not _admitted(form, version, body):
            continue
        weight = weigh((form.header, form.grammar), data, 0, math.inf)
        if weight is None:
            continue
        bits = weight.bits + (SPARE + 8.0 * (len(data) - end)) * (end < len(data))
        bits += 40.0 * (body.get("api_keys") == [] and not body["error_code"])  # a broker offers something
        if last is not None and last[0] is api and last[1] == body:
            last[2].append(version)
            continue
        if last is not None:
            yield last[0], tuple(last[2]), last[3]
        last = api, body, [version], bits
    if last is not None:
        yield last[0], tuple(last[2]), last[3]


def _admitted(form: MessageForm, version: int, body: Mapping[str, Any]) -> bool:
    """Return whether a body can be of this version: another form of ApiVersions only refuses, version 0 never."""
    refused = body.get("error_code") == UNSUPPORTED_VERSION and "api_keys" in body
    if version >= FEATURES and "api_keys" in body and not refused:
        offered = next((one["max_version"] for one in body["api_keys"] if one["api_key"] == API_VERSIONS), version)
        features = body.get("supported_features", ())  # before version 4 those from level 0 on are left out
        from_zero = any(not one["min_version"] for one in features)
        if version > offered or (features and offered > FEATURES and from_zero != (version > FEATURES)):
            return False
    return form.admits(body) and (refused if form.name else not (refused and not version))


def _scored(
    api: Api, versions: tuple[int, ...], bits: float, correlation_id: int, size: int, before: Before
) -> Candidate:
    """Return the candidate with what speaks for and against it on this connection, and its likeliest version."""
    from ..messages.score import rarity

    key, known = api.key, before.versions.get(api.key)
    bits += rarity(api) + (EVERYDAY.get(key, 0.0) if size > TINY or key == HEARTBEAT else 0.0)
    if known is not None:
        bits += AGAIN if known in versions else -AGAIN
    bits += FIRST * (key == API_VERSIONS and not before.versions)
    bits += ALONE * (key in NEEDS and NEEDS[key] not in before.versions)
    bits += NEXT * ((before.last, key) in AT_ONCE)
    offered = before.supported.get(key)
    if before.supported and key != API_VERSIONS:
        possible = tuple(version for version in versions if offered is not None and version in offered)
        bits += UNSUPPORTED * (not possible)
        versions = possible or versions
    version = known if known in versions and key != API_VERSIONS else before.version(key, versions, correlation_id)
    return Candidate(api, version, versions, bits)


AHEAD, FAR = 100, 10_000
"""How much higher the next correlation id may be, and how far from the newest request's: clients count."""
FEW, LOOK_ALIKES = 64, 256
"""Correlation ids that are searched for one after the other, and places without a length in front of them."""
GROUPS = 64
"""Sorts of correlation ids that are searched for at once; those of one sort differ in their last byte only."""


def steps(one: int, other: int) -> int:
    """Return how far it is from one correlation id to another, negative for backwards; ids wrap at 32 bits."""
    return ((other - one + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def beyond(one: int, ahead: int) -> int:
    """Return the correlation id that follows another one after so many steps."""
    return ((one + ahead + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def begin(data: bytes, count: int) -> bool:
    """Return whether bytes begin with so many whole responses, all that make sense, to requests with near numbers."""
    start, last, frames = 0, None, list[bytes]()
    for _ in range(count):
        if len(data) - start < 8:
            return False
        size, correlation_id = size_at(data, start)[0], size_at(data, start + 4)[0]
        if not 4 <= size <= len(data) - start - 4 or (last is not None and abs(steps(last, correlation_id)) > AHEAD):
            return False
        frames.append(data[start + 4 : start + 4 + size])
        start, last = start + 4 + size, correlation_id
    return all(map(fits_any, frames))


def find(ids: Iterable[int], data: Buffer, start: int) -> int | None:
    """Return the first place from `start` on that `pattern` would find, -1 for none; for a few ids, without compiling.

    None: too many places look like one of the ids, and a pattern is faster.
    """
    first, tries = len(data), LOOK_ALIKES
    for number in ids:
        word, place = struct.pack(">i", number), start + 3
        while (place := data.find(word, place + 1, first + 8)) >= 0:
            if 4 <= size_at(data, place - 4)[0] <= MAX_FRAME:
                first = place - 4
                break
            tries -= 1
            if not tries:
                return None
    return first if first < len(data) else -1


def pattern(ids: Iterable[int]) -> re.Pattern[bytes]:
    """Return the pattern of a length of 4 bytes to 128 MiB, followed by one of these correlation ids."""
    words = [struct.pack(">i", number) for number in ids]
    sorts = [(head, [word[3] for word in same]) for head, same in groupby(words, lambda word: word[:3])]
    if len(sorts) > GROUPS:
        sorts = sorts[: GROUPS // 2] + sorts[-GROUPS // 2 :]
    choices = [re.escape(head) + b"[%b]" % b"".join(b"\\x%02x" % last for last in lasts) for head, lasts in sorts]
    size = rb"(?:\x00(?:\x00(?:\x00[\x04-\xff]|[\x01-\xff].)|[\x01-\xff]..)|[\x01-\x07]...)"
    return re.compile(size + b"(?:" + b"|".join(choices) + b")", re.DOTALL)

"""Which captures were recorded at different places of the same connections: found by some packets of each.

What is looked for is the beginning of a segment: its sequence number and its first bytes. In captures of two places
the same stand in both. Of many a part is looked at, and the same part in all captures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from zlib import crc32

from ...capture.packet import Packet, reverse
from .merge import PointStream, opener

LEAST: Final = 12
"""Bytes of a segment that can be told from others; those of short ones are like one another."""
BYTES: Final = 16
MOST: Final = 1 << 16
"""Segments that are known at once: where there are more, half of them is forgotten, and half of those to come."""
ENOUGH: Final = 64
"""Segments of one connection, each way, by which two captures are known."""
TRANSLATED: Final = 3
"""Segments that two connections of different addresses must have in common, to be one whose addresses were translated.
"""
SAME: Final = 2_000
"""Nanoseconds: where messages took no longer there and back, both captures are of one place."""


class Match:
    """What two captures have in common of two flows: by how much later the second saw its segments."""

    __slots__ = ("count", "first", "offset", "opener")

    def __init__(self, offset: int, opener: bool) -> None:
        self.offset = self.first = offset
        self.count, self.opener = 0, opener


class Together(NamedTuple):
    """Captures that belong together, by their numbers: the first is that nearest to the clients of most connections.

    `ahead` and `aliases` are as `PointStream` has them. `same` says that they are copies of one recording.
    """

    captures: tuple[int, ...]
    ahead: tuple[int, ...]
    aliases: tuple[dict[bytes, bytes], ...]
    same: bool

    def feeds(self, blocks: Sequence[Iterator[list[Packet]]]) -> list[PointStream]:
        """Return what a `Merger` takes, of the packets of these captures in their order."""
        return [PointStream(*one) for one in zip(blocks, self.ahead, self.aliases, strict=True)]


class PacketMatcher:
    """Takes packets of several captures, by their numbers, and finds out which belong together."""

    def __init__(self, captures: int) -> None:
        self.captures = captures
        self._known: dict[bytes, dict[int, tuple[bytes, int]]] = {}
        self._mask = 0
        self._matches: dict[tuple[int, int], dict[tuple[bytes, bytes], Match]] = {}

    def take(self, capture: int, packets: Sequence[Packet]) -> None:
        """Take some packets of a capture."""
        known, mask = self._known, self._mask
        for _, time, flow, seq, _, flags, payload, _ in packets:
            if len(payload) < LEAST:
                continue
            key = seq.to_bytes(4, "big") + payload[:BYTES]
            if mask and crc32(key) & mask:
                continue
            seen = known.get(key)
            if seen is None:
                known[key] = {capture: (flow, time)}
                if len(known) > MOST:
                    self._thin()
                    mask = self._mask
            elif capture not in seen:
                for other, (its_flow, its_time) in seen.items():
                    if other < capture:
                        self._match(other, capture, its_flow, flow, its_time, time, flags)
                    else:
                        self._match(capture, other, flow, its_flow, time, its_time, flags)
                seen[capture] = flow, time

    def _thin(self) -> None:
        """Forget half of what is known; what is left is the same in all captures."""
        self._mask = self._mask * 2 + 1
        for key in [key for key in self._known if crc32(key) & self._mask]:
            del self._known[key]

    def _match(self, first: int, second: int, flow: bytes, its: bytes, time: int, its_time: int, flags: int) -> None:
        matches = self._matches.setdefault((first, second), {})
        match = matches.get((flow, its))
        if match is None:
            match = matches[flow, its] = Match(its_time - time, opener(flow, flags))
        match.count += 1
        match.offset = min(match.offset, its_time - time)

    def enough(self) -> bool:
        """Return whether no more packets are needed."""
        sound = [pair for pair, matches in self._matches.items() if self._is_plenty(matches)]
        return len(_joined(self.captures, sound)) == 1

    def _is_plenty(self, matches: dict[tuple[bytes, bytes], Match]) -> bool:
        return any(
            match.count >= ENOUGH and (back := matches.get((reverse(flow), reverse(its)))) is not None
            and back.count >= ENOUGH
            for (flow, its), match in matches.items()
        )  # fmt: skip

    def together(self) -> list[Together]:
        """Return which captures belong together, each in one group at most."""
        pairs = {pair: sound for pair, matches in self._matches.items() if (sound := _sound(matches))}
        return [self._group(group, pairs) for group in _joined(self.captures, list(pairs)) if len(group) > 1]

    def _group(self, group: list[int], pairs: dict[tuple[int, int], dict[tuple[bytes, bytes], Match]]) -> Together:
        ways = {pair: [*_both_ways(matches)] for pair, matches in pairs.items() if pair[0] in group}
        nearer = Counter(pair[both <= 0] for pair, found in ways.items() for both in found)
        root = max(group, key=lambda capture: (nearer[capture], -capture))
        ahead, aliases = {root: 0}, {root: dict[bytes, bytes]()}
        queue = [root]
        for at in queue:
            for (first, second), matches in pairs.items():
                if at in (first, second) and (other := second if at == first else first) not in ahead:
                    offset = _clock_offset(matches)
                    ahead[other] = ahead[at] + (offset if at == first else -offset)
                    aliases[other] = _aliases(matches, at == first, aliases[at])
                    queue.append(other)
        order = [root, *(capture for capture in group if capture != root)]
        took = [abs(both) for found in ways.values() for both in found]
        same = bool(took) and max(took) <= SAME
        return Together(
            tuple(order), tuple(map(ahead.__getitem__, order)), tuple(map(aliases.__getitem__, order)), same
        )


def _sound(matches: dict[tuple[bytes, bytes], Match]) -> dict[tuple[bytes, bytes], Match]:
    """Return the matches that prove that two flows are one: their ends are the same, or they agree both ways."""
    found = {}
    for (flow, its), match in matches.items():
        back = matches.get((reverse(flow), reverse(its)))
        several = back is not None and match.count + back.count >= TRANSLATED
        if flow == its or (several and (flow, flow) not in matches):
            found[flow, its] = match
    return found


def _both_ways(matches: dict[tuple[bytes, bytes], Match]) -> Iterator[int]:
    """Yield how long messages of each connection took from the first capture to the second and back.

    It is negative where the first capture is the one nearer to who did not open the connection.
    """
    for (flow, its), match in matches.items():
        back = matches.get((reverse(flow), reverse(its)))
        if match.opener and back is not None:
            yield match.offset - back.offset


def _clock_offset(matches: dict[tuple[bytes, bytes], Match]) -> int:
    """Return by how much the clock of the second capture is ahead, about."""
    for (flow, its), match in matches.items():
        back = matches.get((reverse(flow), reverse(its)))
        if back is not None:
            return (match.first + back.first) // 2
    return next(iter(matches.values())).first


def _aliases(matches: dict[tuple[bytes, bytes], Match], forth: bool, before: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the flows of a capture that stand under others at the root, by those of the capture between."""
    pairs = ((its, flow) if forth else (flow, its) for flow, its in matches)
    return {here: before.get(there, there) for here, there in pairs if here != before.get(there, there)}


def _joined(captures: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the captures in groups, of which each is joined by pairs."""
    group = list(range(captures))
    for first, second in pairs:
        old, new = max(group[first], group[second]), min(group[first], group[second])
        group = [new if one == old else one for one in group]
    return [[at for at in range(captures) if group[at] == one] for one in sorted(set(group))]

"""Which captures were recorded at different places of the same connections: found by some packets of each.

What is looked for is the beginning of a segment: its sequence number and its first bytes. In captures of two places
the same stand in both. Of many a part is looked at, and the same part in all captures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class Match:
    """What two captures have in common of two flows: by how much later the second saw its segments."""

    first: int
    offset: int
    opener: bool
    count: int = 0


class Matches(dict[tuple[bytes, bytes], Match]):
    """What two captures have in common, by the flows of the first and of the second."""

    def both_ways(self) -> Iterator[tuple[tuple[bytes, bytes], Match, Match | None]]:
        """Yield each match with that of the other direction, if there is one."""
        for (flow, its), match in self.items():
            yield (flow, its), match, self.get((reverse(flow), reverse(its)))

    def sound(self) -> Matches:
        """Return the matches that prove that two flows are one: their ends are the same, or they agree both ways."""
        found = Matches()
        for (flow, its), match, back in self.both_ways():
            several = back is not None and match.count + back.count >= TRANSLATED
            if flow == its or (several and (flow, flow) not in self):
                found[flow, its] = match
        return found

    def took(self) -> list[int]:
        """Return how long messages of each connection took from the first capture to the second and back.

        It is negative where the first capture is the one nearer to who did not open the connection.
        """
        found = ((match, back) for _, match, back in self.both_ways() if match.opener and back is not None)
        return [match.offset - back.offset for match, back in found]


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
        self._matches: dict[tuple[int, int], Matches] = {}

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
                if len(known) > MOST:  # half of it is forgotten: what is left is the same in all captures
                    self._mask = mask = mask * 2 + 1
                    for old in [old for old in known if crc32(old) & mask]:
                        del known[old]
            elif capture not in seen:
                for other, (its_flow, its_time) in seen.items():
                    pair, flows, later = (other, capture), (its_flow, flow), time - its_time
                    if other > capture:
                        pair, flows, later = pair[::-1], flows[::-1], -later
                    matches = self._matches.setdefault(pair, Matches())
                    if flows not in matches:
                        matches[flows] = Match(later, later, opener(flows[0], flags))
                    match = matches[flows]
                    match.count += 1
                    match.offset = min(match.offset, later)
                seen[capture] = flow, time

    def enough(self) -> bool:
        """Return whether no more packets are needed."""
        sound = [
            pair
            for pair, matches in self._matches.items()
            for _, match, back in matches.both_ways()
            if match.count >= ENOUGH and back is not None and back.count >= ENOUGH
        ]
        return len(_joined(self.captures, sound)) == 1

    def together(self) -> list[Together]:
        """Return which captures belong together, each in one group at most."""
        pairs = {pair: sound for pair, matches in self._matches.items() if (sound := matches.sound())}
        return [self._group(group, pairs) for group in _joined(self.captures, list(pairs)) if len(group) > 1]

    def _group(self, group: list[int], pairs: dict[tuple[int, int], Matches]) -> Together:
        ways = {pair: matches.took() for pair, matches in pairs.items() if pair[0] in group}
        nearer = Counter(pair[both <= 0] for pair, found in ways.items() for both in found)
        root = max(group, key=lambda capture: (nearer[capture], -capture))
        ahead, aliases = {root: 0}, {root: dict[bytes, bytes]()}
        queue = [root]
        for at in queue:
            for (first, second), matches in pairs.items():
                if at in (first, second) and (other := second if at == first else first) not in ahead:
                    both = (
                        (there.first + back.first) // 2 for _, there, back in matches.both_ways() if back is not None
                    )
                    offset = next(both, next(iter(matches.values())).first)  # the clock's of the second, about
                    ahead[other] = ahead[at] + (offset if at == first else -offset)
                    aliases[other] = _aliases(matches, at == first, aliases[at])
                    queue.append(other)
        order = [root, *(capture for capture in group if capture != root)]
        took = [abs(both) for found in ways.values() for both in found]
        same = bool(took) and max(took) <= SAME
        return Together(
            tuple(order), tuple(map(ahead.__getitem__, order)), tuple(map(aliases.__getitem__, order)), same
        )


def _aliases(matches: Matches, forth: bool, before: dict[bytes, bytes]) -> dict[bytes, bytes]:
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

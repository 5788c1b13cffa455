"""What became of the exchanges of a damaged capture: those that the damage did not touch, and those that it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import End, Peers
from kdbg.protocol.findings import Finding, Kind

from .truth import Frame, Way, Whole, numbered
from .variants import Kept

COVERING = {Kind.TCP_GAP, Kind.UNDECODED_BYTES, Kind.MIDSTREAM, Kind.TRUNCATED}
GIVEN_UP = {Kind.NOT_KAFKA, Kind.NOT_DECRYPTED}


@dataclass
class Verdict:
    """Counts of exchanges (`responses` and what follows: of responses whose requests are missing)."""

    exchanges: int = 0
    untouched: int = 0
    lost: int = 0
    """Untouched, and not shown as they are."""
    uncovered: int = 0
    """Lost, and no finding accounts for their bytes."""
    flagged: int = 0
    """Untouched and shown as they are, with a finding that they do not have in the whole capture."""
    touched: int = 0
    """Damage fell on a part of them, and a whole half or a header is left."""
    hidden: int = 0
    """Touched, and not shown at all."""
    silent: int = 0
    """Touched, and shown without a finding though bytes are missing."""
    invented: int = 0
    """Shown, and not there: no frame begins there, its halves are not one exchange's, or its API is another."""
    responses: int = 0
    identified: int = 0
    wrong: int = 0
    notes: list[str] = field(default_factory=list)

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


class Damaged:
    """The streams as damaged: what is there of them, and what is as it was."""

    def __init__(self, whole: Whole, kept: Kept) -> None:
        self.whole = whole
        self.there = {way: bytearray(len(stream)) for way, stream in whole.streams.items()}
        self.bytes = {way: bytearray(len(stream)) for way, stream in whole.streams.items()}
        for n, packet in kept:
            way, start = whole.places[n]
            payload = packet[6]
            there, stream = self.there[way], self.bytes[way]
            for i in range(max(start, 0), max(start, 0) + len(payload) if start >= 0 else 0):
                if not there[i]:
                    there[i], stream[i] = 1, payload[i - start]

    def has(self, way: Way, start: int, end: int) -> bool:
        """Whether all these bytes are captured."""
        return self.there[way].count(1, start, end) == end - start

    def untouched(self, frame: Frame | None) -> bool:
        """Whether a frame is there as it was sent."""
        if frame is None:
            return True
        same = self.bytes[frame.way][frame.start : frame.end] == self.whole.streams[frame.way][frame.start : frame.end]
        return same and self.has(frame.way, frame.start, frame.end)

    def frame_of(self, way: Way, half: CapturedMessage) -> list[Frame]:
        """The frames that begin where a message that is shown does."""
        stream, data = self.bytes[way], half.data
        return [
            frame
            for frame in self.whole.frames[way]
            if stream.startswith(data[:8], frame.start + 4)
            and stream[frame.start + 4 : frame.start + 4 + len(data)] == data
        ]


class Covers:
    """How many bytes of each direction findings account for, by the ends of its connection."""

    def __init__(self, shown: Iterable[Exchange], left_over: Iterable[tuple[Peers, Finding]]) -> None:
        self._left: Counter[tuple[frozenset[End], str]] = Counter()
        self._given_up: set[frozenset[End]] = set()
        told = [(one.peers, finding) for one in shown for finding in one.findings]
        for peers, finding in [*told, *left_over]:
            ends = frozenset((peers.client, peers.broker))
            if finding.kind in COVERING:
                self._left[ends, finding.side] += finding.length
            if finding.kind in GIVEN_UP:
                self._given_up.add(ends)

    def all_of(self, peers: Peers, frames: list[Frame]) -> bool:
        """Return whether findings account for these frames; each byte of a finding accounts for one."""
        ends = frozenset((peers.client, peers.broker))
        if ends in self._given_up:
            return True
        for frame in frames:
            side = "request" if frame.asks else "response"
            self._left[ends, side] -= len(frame.data) + 4
            if self._left[ends, side] < 0:
                return False
        return True


def judge(whole: Whole, kept: Kept) -> Verdict:
    """Decode a damaged capture, and compare."""
    damaged, verdict = Damaged(whole, kept), Verdict()
    engine = Engine()
    shown = list(engine.run([numbered([packet for _, packet in kept])]))
    ways = [whole.places[n].way for n, _ in kept]
    same: set[int] = set()
    seen: set[int] = set()
    told: set[int] = set()
    kinds: dict[int, set[Kind]] = {}
    covers = Covers(shown, engine.findings)
    taken: set[tuple[Way, int]] = set()
    for exchange in shown:
        halves = [(half, ways[half.first_packet - 1]) for half in (exchange.request, exchange.response) if half]
        if not all(whole.frames.get(way) for _, way in halves):
            continue  # of a connection that the whole capture has no exchanges of
        found = []
        for half, way in halves:
            frames = damaged.frame_of(way, half)
            free = [frame for frame in frames if (way, frame.start) not in taken]
            found.append(free or frames)
        numbers = set.intersection(*({frame.exchange for frame in frames} for frames in found))
        if not numbers:
            if not all(found) or not any(_header_hurt(damaged, frame) for frames in found for frame in frames):
                verdict.invented += 1
                verdict.notes.append(
                    f"invented {exchange!r} {[f.kind for f in exchange.findings]} in {halves[0][0].first_packet}"
                )
            continue
        number = min(numbers)
        for (_, way), frames in zip(halves, found, strict=True):
            taken |= {(way, frame.start) for frame in frames if frame.exchange == number}
        true = whole.exchanges[number]
        seen.add(number)
        if exchange.all_findings():
            told.add(number)
        kinds[number] = {finding.kind for finding in exchange.all_findings()}
        if _same(exchange, true):
            same.add(number)
        elif exchange.request is None and exchange.api is not None:
            right = exchange.api is true.api and exchange.version == true.version
            verdict.identified += right
            if not right and not _among(exchange, true):
                verdict.wrong += 1
                verdict.notes.append(f"wrong {exchange!r}, is {true!r}")
    for number, (asked, answered) in enumerate(whole.halves):
        true = whole.exchanges[number]
        if asked is None and answered is None:
            continue
        if true.api is not None and true.api.key < 0 and not _handshake_whole(damaged, number):
            continue  # raw tokens are told by the handshake before them alone
        verdict.exchanges += 1
        if damaged.untouched(asked) and damaged.untouched(answered):
            verdict.untouched += 1
            if number not in same:
                verdict.lost += 1
                verdict.notes.append(f"lost {number + 1} {true!r} {'split' if number in seen else ''}")
                if not covers.all_of(
                    true.peers, [one for one in (asked, answered) if one and (one.way, one.start) not in taken]
                ):
                    verdict.uncovered += 1
                    verdict.notes.append(f"uncovered {number + 1} {true!r}")
            elif extra := kinds[number] - {finding.kind for finding in true.all_findings()}:
                verdict.flagged += 1
                verdict.notes.append(f"flagged {number + 1} {true!r} {sorted(extra)}")
            continue
        halves_left = [damaged.untouched(frame) for frame in (asked, answered) if frame is not None]
        if any(halves_left):
            verdict.touched += 1
            if number not in seen:
                verdict.hidden += 1
                verdict.notes.append(f"hidden {number + 1} {true!r}")
            elif number not in told and _missing(damaged, (asked, answered)):
                verdict.silent += 1
                verdict.notes.append(f"silent {number + 1} {true!r}")
        if (
            answered is not None
            and damaged.untouched(answered)
            and asked is not None
            and not damaged.has(asked.way, asked.start, min(asked.start + 12, asked.end))
        ):
            verdict.responses += 1
    return verdict


def _handshake_whole(damaged: Damaged, token: int) -> bool:
    """Whether the SaslHandshake that makes a frame a token is as it was."""
    whole = damaged.whole
    peers = whole.exchanges[token].peers
    return all(
        damaged.untouched(frame)
        for number, one in enumerate(whole.exchanges[:token])
        if one.peers == peers and one.api is not None and one.api.key in (17, -1)
        for frame in whole.halves[number]
    )


def _missing(damaged: Damaged, halves: Iterable[Frame | None]) -> bool:
    return any(frame is not None and not damaged.has(frame.way, frame.start, frame.end) for frame in halves)


def _header_hurt(damaged: Damaged, frame: Frame) -> bool:
    part = slice(frame.start, frame.start + 12)
    return damaged.bytes[frame.way][part] != damaged.whole.streams[frame.way][part]


def _same(one: Exchange, other: Exchange) -> bool:
    def data(half: CapturedMessage | None) -> tuple[bytes, int] | None:
        return (half.data, half.missing) if half is not None else None

    return (
        one.api is other.api
        and one.version == other.version
        and one.correlation_id == other.correlation_id
        and data(one.request) == data(other.request)
        and data(one.response) == data(other.response)
    )


def _among(exchange: Exchange, true: Exchange) -> bool:
    """Whether what it really is stands among the candidates that are named."""
    assert true.api is not None
    return any(
        key == true.api.key and true.version in versions
        for finding in exchange.findings
        for key, _, versions in getattr(finding.facts, "candidates", ())
    )

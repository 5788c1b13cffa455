"""Messages that a program writes wrong: by what is wrong with them, with the exchanges that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import INDEX
from ...exchanges.messages.peers import End, Peers
from ...protocol.findings import Finding, Kind, Severity
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure
from ...streams.tcp.paths import Path, Side
from .evidence import Bounded, Mark, Occurrences

MOST, MOST_EXCHANGES = 256, 4096
OF_RECORDS = (Kind.CRC_MISMATCH, Kind.DECOMPRESSION_FAILED, Kind.MALFORMED_RECORD_SET)
ORDER = tuple(Severity)
"""The most serious first."""
Key = tuple[str, str, int, str, str]
"""Side, API, version, kind of the mistake, path without indexes."""


@dataclass(slots=True, eq=False)
class Malformed:
    """One mistake of a connection: `finding` is the first one.

    `severity` says whether the peer rejects such a message, misreads it, or ignores what is wrong.
    """

    finding: Finding
    facts: MessageMistake
    seen: Occurrences = field(default_factory=Occurrences)
    severity: Severity = Severity.NOTE


class Mistakes:
    """The mistakes in the messages of one connection."""

    __slots__ = ("by_kind", "exchanges")

    def __init__(self) -> None:
        self.by_kind: Bounded[Key, Malformed] = Bounded(MOST)
        self.exchanges: dict[int, str] = {}
        """The numbers of exchanges that a mistake matters in, and the side of the message that has it."""

    def add(self, finding: Finding, mark: Mark, exchange: Exchange, findings: Sequence[Finding]) -> None:
        """Take an encoding mistake of an exchange; `findings` are all that the exchange has."""
        facts = finding.facts
        if not isinstance(facts, MessageMistake):
            return
        key = finding.side, facts.api, facts.version, facts.kind, INDEX.sub("[]", finding.path)
        found = self.by_kind.entry(key, lambda: Malformed(finding, facts))
        if found is not None:
            found.seen.add(mark)
            severity = _severity(finding, exchange, findings)
            found.severity = min(found.severity, severity, key=ORDER.index)
            if severity is not Severity.NOTE and len(self.exchanges) < MOST_EXCHANGES:
                self.exchanges.setdefault(mark.number, finding.side)


def _severity(finding: Finding, exchange: Exchange, findings: Sequence[Finding]) -> Severity:
    """Return how much a mistake matters: the peer rejects the message, reads fields wrong, or ignores what is wrong.

    A guess matters only where the message is not valid, whichever its mistake is. Records of a response are as they
    were written, and not the broker's.
    """
    facts, request = finding.facts, exchange.request
    guess = isinstance(facts, MessageMistake) and facts.sure == Sure.GUESS
    odd = [
        one
        for one in findings
        if one.side == finding.side and one.kind is not Kind.ENCODING_MISTAKE and one.kind.is_error
    ]
    if finding.side == "request" and (exchange.response is None or (request is not None and request.rejected)):
        return Severity.NOTE if guess and not odd else Severity.ERROR
    ignored = {Kind.TRAILING_BYTES} if finding.side == "request" else {Kind.TRAILING_BYTES, *OF_RECORDS}
    return Severity.NOTE if guess or (odd and all(one.kind in ignored for one in odd)) else Severity.WARNING


MOST_SLOW = 256
MOST_UNANSWERED = 32
SLOW = 100_000_000
"""Nanoseconds from which on an answer is remembered by itself."""


class Slow(NamedTuple):
    """An answer that took long: `held` is for how long its request asked to be held back, in nanoseconds.

    `start` is the last byte of the request, `first` and `end` the first and last of the response. `acks` is of Produce.
    """

    mark: Mark
    api_key: int
    start: int
    first: int
    end: int
    held: int
    acks: int | None

    @property
    def late(self) -> int:
        """Nanoseconds that it took beyond what it was asked to wait."""
        return max(self.first - self.start - self.held, 0)


class Unanswered(NamedTuple):
    """A request without a response; `missing` bytes of it never came, it may be held back for `held` nanoseconds."""

    mark: Mark
    api_key: int
    version: int
    size: int
    missing: int
    held: int


class BrokenOff(NamedTuple):
    """A response of so many bytes that the capture has only a part of: first byte in nanoseconds since the epoch."""

    mark: Mark
    api_key: int
    size: int
    begun: int


@dataclass(slots=True, eq=False)
class Use:
    """How an API was used on a connection."""

    seen: Occurrences = field(default_factory=Occurrences)
    versions: dict[int, Mark] = field(default_factory=dict)
    """The versions that were used, each with the first exchange."""
    size: int = 0
    transactional: bool = False
    """Whether some of it was part of transactions."""


class KafkaConnection:
    """One connection that speaks Kafka."""

    __slots__ = (
        "apis",
        "authenticated",
        "broken_off",
        "client_ids",
        "exchanges",
        "findings",
        "first",
        "largest",
        "last",
        "last_asked",
        "lifetime",
        "mechanism",
        "offered",
        "offered_mechanisms",
        "path",
        "peers",
        "refused",
        "sampled",
        "slow",
        "software",
        "throttle_ms",
        "throttled",
        "unanswered",
        "unanswered_count",
        "unasked",
        "user",
    )  # fmt: skip

    def __init__(self, peers: Peers, path: Path | None) -> None:
        self.peers: Peers = peers
        self.path: Path | None = path
        self.client_ids: Counter[str] = Counter()
        self.software: str | None = None
        self.mechanism: str | None = None
        self.offered_mechanisms: tuple[str, ...] = ()
        self.user: str | None = None
        self.lifetime: int = 0
        """Milliseconds for which the broker lets a SASL session live; 0 where it does not say."""
        self.authenticated: list[Mark] = []
        self.refused: tuple[Mark, int, str | None] | None = None
        """The exchange in which SASL failed, its error code and message."""
        self.offered: dict[int, tuple[int, int]] = {}
        """API keys and the versions of them that the broker offers, by its response on this connection."""
        self.apis: dict[int, Use] = {}
        self.exchanges: int = 0
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.last_asked: int = 0
        self.unanswered: list[Unanswered] = []
        self.unanswered_count: int = 0
        self.unasked: Occurrences = Occurrences()
        self.broken_off: BrokenOff | None = None
        """The last response that the capture does not have to its end."""
        self.largest: int = 0
        """Bytes of the largest response that it has to its end."""
        self.slow: list[Slow] = []
        self.throttled: Occurrences = Occurrences()
        self.sampled: bool = False
        """Whether not all of its exchanges were read closely: of very many that are well, some are."""
        self.throttle_ms: int = 0
        """The longest time for which the broker asked the client to be silent."""
        self.findings: dict[str, Occurrences] = {}
        """What was odd in its messages, by kind of finding."""

    @property
    def client_id(self) -> str:
        """The name that the client gives itself most often; "" where it gives none."""
        ids = self.client_ids
        return max(ids, key=ids.__getitem__) if len(ids) > 1 else next(iter(ids), "")

    @property
    def client_side(self) -> Side:
        """Which side of its path is the client."""
        return 0 if self.path is None or self.path.initiator == self.peers.client else 1

    @property
    def closed_first(self) -> str:
        """Which side closed first: client or broker; "" while both are open."""
        if self.path is None or not self.path.closes:
            return ""
        return "client" if self.path.closes[0].side == self.client_side else "broker"

    @property
    def is_served(self) -> bool:
        """Whether some request got a response."""
        return self.exchanges > self.unanswered_count

    @property
    def opened(self) -> bool:
        """Whether the capture has its beginning."""
        return self.path is not None and self.path.opened

    @property
    def broker(self) -> End:
        """The broker's address and port."""
        return self.peers.broker

    def used(self, api_key: int) -> Use:
        """Return how an API was used; of one that never was, nothing."""
        found = self.apis.get(api_key)
        return found if found is not None else Use()

    def odd(self, kind: str, mark: Mark) -> None:
        """Count a finding."""
        self.findings.setdefault(kind, Occurrences()).add(mark)

    def heard(self, mark: Mark, api_key: int, version: int, client_id: str | None, size: int) -> Use:
        """Count an exchange."""
        self.exchanges += 1
        if self.first is None:
            self.first = mark
        self.last = mark
        self.last_asked = max(self.last_asked, mark.time)
        if client_id:
            self.client_ids[client_id] += 1
        use = self.apis.get(api_key)
        if use is None:
            use = self.apis[api_key] = Use()
        use.seen.add(mark)
        if version not in use.versions:
            use.versions[version] = mark
        use.size = max(use.size, size)
        return use


def offered_by(body: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Return what a response of ApiVersions offers; the last entry of a broken one may lack fields."""
    return {
        entry["api_key"]: (entry["min_version"], entry["max_version"])
        for entry in body.get("api_keys") or ()
        if "max_version" in entry
    }

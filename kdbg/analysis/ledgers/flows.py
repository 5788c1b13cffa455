"""What is written to partitions and fetched from them: offsets over time, empty fetches, sizes of batches, waits.

Of producers with an id: epochs, sequences, and the transactions of a transactional id.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from .evidence import Bounded, Mark, Occurrences

MOST_SAMPLES = 128


class Sample(NamedTuple):
    """What a fetch told of a partition at a time: where it was read, its end, and the last stable offset."""

    time: int
    offset: int
    high_watermark: int
    stable: int


@dataclass(slots=True, eq=False)
class Samples:
    """Samples over a time of any length: beyond MOST_SAMPLES every other one is forgotten."""

    found: list[Sample] = field(default_factory=list)
    first: Sample | None = None
    last: Sample | None = None
    _stride: int = 1
    _left: int = 1

    def add(self, sample: Sample) -> None:
        """Take the next one."""
        self.last = sample
        if self.first is None:
            self.first = sample
        self._left -= 1
        if not self._left:
            self.found.append(sample)
            if len(self.found) >= MOST_SAMPLES:
                del self.found[1::2]
                self._stride *= 2
            self._left = self._stride


@dataclass(slots=True, eq=False)
class Fetched:
    """One partition as one connection fetches it."""

    requests: Occurrences = field(default_factory=Occurrences)
    with_data: Occurrences = field(default_factory=Occurrences)
    records: int = 0
    bytes: int = 0
    samples: Samples = field(default_factory=Samples)
    errors: dict[int, Occurrences] = field(default_factory=dict)
    log_start: int = -1
    out_of_range: int = -1
    """The offset that was asked for and out of range."""
    limit: int = 0
    """Bytes that the consumer takes of this partition at a time."""
    oversized: Occurrences = field(default_factory=Occurrences)
    """Answers with more bytes than the limit: one batch is always sent whole."""
    stuck: Occurrences = field(default_factory=Occurrences)
    """Fetches that begin where an earlier one did which had been answered with data."""
    served: dict[int, int] = field(default_factory=dict)
    """Offsets from which data was sent, and how often, of the last ones."""
    stuck_at: int = -1
    """The offset at which they begin."""
    first_offset: int = -1
    """The offset that was asked for first."""
    isolation: int = 0


@dataclass(slots=True, eq=False)
class Polls:
    """All fetches of a connection."""

    requests: Occurrences = field(default_factory=Occurrences)
    empty: Occurrences = field(default_factory=Occurrences)
    max_wait_ms: int = 0
    min_bytes: int = 0
    replica: int = -1
    """The node id of a follower that fetches, -1 for a consumer."""
    held: Occurrences = field(default_factory=Occurrences)
    """Responses with records that waited for max_wait_ms, as these are fewer bytes than min_bytes."""
    full_sessions: Occurrences = field(default_factory=Occurrences)
    """Requests that ask for a new session, which lists all partitions, and get none."""
    partitions: int = 0
    """The most partitions that one request listed."""
    session_errors: dict[int, Occurrences] = field(default_factory=dict)
    idle: int = 0
    """Nanoseconds between answers and the fetches after them."""
    last_end: int = 0
    times: list[int] = field(default_factory=list)
    """When it fetched; beyond 4,096 only the last ones."""


@dataclass(slots=True, eq=False)
class PartitionWrites:
    """One partition as one connection writes it."""

    requests: Occurrences = field(default_factory=Occurrences)
    batches: int = 0
    records: int = 0
    bytes: int = 0
    singles: int = 0
    keyless: int = 0
    """Batches whose first record has no key, among the first ones of its connection."""
    uncompressed: int = 0
    waited: int = 0
    longest: int = 0
    """Nanoseconds from requests to their responses, in sum and at most."""
    oldest: int = -(1 << 62)
    newest: int = 1 << 62
    """Milliseconds from the newest timestamp of a batch to its request: the most and the least."""
    acks: Counter[int] = field(default_factory=Counter)
    errors: dict[int, Occurrences] = field(default_factory=dict)


MOST = 8192
MOST_EVENTS = 256


class Began(NamedTuple):
    """InitProducerId: who asked, and what it got."""

    mark: Mark
    client_id: str
    host: str
    producer_id: int
    epoch: int
    timeout_ms: int
    code: int


class Gap(NamedTuple):
    """A batch whose first sequence number does not follow the one before it."""

    mark: Mark
    topic: str
    partition: int
    expected: int
    found: int


class Transaction(NamedTuple):
    """One transaction: `began` with its first partition, `ended` None while it is open.

    `committed` says how; `by_coordinator` that markers were seen without a request of the producer to end it.
    """

    began: Mark
    ended: Mark | None = None
    committed: bool | None = None
    by_coordinator: bool = False


class Producer:
    """One producer id."""

    def __init__(self, producer_id: int) -> None:
        self.producer_id: int = producer_id
        self.client_id: str = ""
        self.begun: list[Began] = []
        """InitProducerId that gave it, the last MOST_EVENTS."""
        self.transactional_id: str | None = None
        self.epochs: dict[int, Occurrences] = {}
        self.next: dict[tuple[str, int, int], int] = {}
        """Topic, partition and epoch: the sequence number that is due."""
        self.gaps: list[Gap] = []
        self.errors: dict[int, Occurrences] = {}
        self.produced: Occurrences = Occurrences()

    def wrote(self, topic: str, partition: int, epoch: int, sequence: int, records: int, mark: Mark) -> None:
        """Take a batch."""
        self.epochs.setdefault(epoch, Occurrences()).add(mark)
        key = topic, partition, epoch
        due = self.next.get(key)
        if due is not None and sequence > due and len(self.gaps) < MOST_EVENTS:
            self.gaps.append(Gap(mark, topic, partition, due, sequence))
        if (due is None or sequence >= due) and len(self.next) < MOST:
            self.next[key] = sequence + records & 0x7FFF_FFFF


class Transactional:
    """One transactional id."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.begun: list[Began] = []
        self.transactions: list[Transaction] = []
        self.markers: list[tuple[Mark, bool]] = []
        """WriteTxnMarkers for its producer id, and whether they commit."""
        self.errors: dict[tuple[int, int], Occurrences] = {}
        """By API key and error code."""
        self.now: Began | None = None
        """The InitProducerId that succeeded last."""
        self.producer_id: int = -1
        self.epoch: int = -1
        """The producer id and its epoch, as was said last."""

    def who(self, producer_id: int, epoch: int) -> None:
        """Note the producer id and the epoch; older ones are passed over."""
        if producer_id >= 0 and (producer_id != self.producer_id or epoch > self.epoch):
            self.producer_id, self.epoch = producer_id, epoch

    def opened(self, mark: Mark) -> None:
        """Note that something was written in a transaction; of one that ended later it is a part."""
        if self.transactions and (ended := self.transactions[-1].ended) is not None and mark.time < ended.time:
            return
        if (not self.transactions or self.transactions[-1].ended is not None) and len(self.transactions) < MOST_EVENTS:
            self.transactions.append(Transaction(mark))

    def closed(self, mark: Mark, committed: bool, code: int, *, by_coordinator: bool = False) -> None:
        """Note that the transaction was ended, or that an attempt to failed.

        What the producer and the coordinator say is on two connections, and comes in any order: the earlier one holds.
        """
        if not self.transactions:
            return
        last = self.transactions[-1]
        if mark.time < last.began.time or (last.ended is not None and last.ended.time <= mark.time):
            return
        if code == 0 or by_coordinator:
            self.transactions[-1] = last._replace(ended=mark, committed=committed, by_coordinator=by_coordinator)

    def failed(self, api_key: int, code: int, mark: Mark) -> None:
        """Count an error."""
        if code:
            self.errors.setdefault((api_key, code), Occurrences()).add(mark)


class Producers:
    """All producer ids and transactional ids."""

    def __init__(self) -> None:
        self.by_id: Bounded[int, Producer] = Bounded(MOST)
        self.transactional: Bounded[str, Transactional] = Bounded(MOST)

    def producer(self, producer_id: int) -> Producer | None:
        """Return the entry of a producer id."""
        return self.by_id.entry(producer_id, lambda: Producer(producer_id))

    def transactions_of(self, name: str) -> Transactional | None:
        """Return the entry of a transactional id."""
        return self.transactional.entry(name, lambda: Transactional(name))

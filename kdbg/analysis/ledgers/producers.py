"""Producers with an id: epochs, sequences, and the transactions of a transactional id."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import NamedTuple

from .evidence import Bounded, Mark, Occurrences
from .groups import Group

MOST = 8192
MOST_EVENTS = 256
MOST_PARTITIONS = 4096


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
    code: int = 0
    by_coordinator: bool = False


class Kept(NamedTuple):
    """What a partition remembers of a producer id.

    `sequence` is that of its last record, -1 for none since its epoch began, None for not known: a request without an
    answer, or one that was not read closely. `start` is the offset where its open transaction begins, -1 for none; it
    was written at `since`.
    """

    epoch: int
    sequence: int | None
    start: int | None
    since: int
    time: int
    connection: int


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
        self.kept: Bounded[tuple[str, int], Kept] = Bounded(MOST_PARTITIONS)
        """By topic and partition."""

    def keeps(self, topic: str, partition: int, kept: Kept) -> None:
        """Take what a partition remembers now; what it did before what is known already is passed over."""
        before = self.kept.entry((topic, partition), lambda: kept)
        if before is not None and (before.time, before.epoch) <= (kept.time, kept.epoch):
            self.kept[topic, partition] = kept

    def wrote(self, topic: str, partition: int, epoch: int, sequence: int, records: int, mark: Mark) -> None:
        """Take a batch."""
        self.epochs.setdefault(epoch, Occurrences()).add(mark)
        key = topic, partition, epoch
        due = self.next.get(key)
        if due is not None and sequence > due and len(self.gaps) < MOST_EVENTS:
            self.gaps.append(Gap(mark, topic, partition, due, sequence))
        if (due is None or sequence >= due) and len(self.next) < MOST:
            self.next[key] = sequence + records & 0x7FFF_FFFF


class TxnOffset(NamedTuple):
    """An offset that was told at `asked`, in nanoseconds: a group holds it when the transaction is committed."""

    asked: int
    group: Group
    topic: str
    partition: int
    offset: int

    def commit(self, time: int) -> None:
        """Have the group hold it, from this time on."""
        self.group.holds(self.topic, self.partition, self.offset, time)


_asked = attrgetter("asked")


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
        self.last: Mark | None = None
        self.now: Began | None = None
        """The InitProducerId that succeeded last."""
        self.producer_id: int = -1
        self.epoch: int = -1
        """The producer id and its epoch, as was said last."""
        self.ended: tuple[int, bool] | None = None
        """When the last transaction that ended did, and whether it was committed."""
        self.partitions: set[tuple[str, int]] = set()
        """Those of the transaction that is open, or was last."""
        self.marked: set[tuple[str, int]] = set()
        """Those of them that have the marker of its end."""
        self.groups_added: bool = False
        """Whether offsets are a part of it, which are a partition of __consumer_offsets."""
        self._ends: list[tuple[int, bool]] = []
        """When transactions ended, and whether they were committed, in order: the last MOST_EVENTS."""
        self._told: list[TxnOffset] = []
        """The last MOST_PARTITIONS, in the order of their times."""

    def who(self, producer_id: int, epoch: int) -> None:
        """Note the producer id and the epoch; older ones are passed over."""
        if producer_id >= 0 and (producer_id != self.producer_id or epoch > self.epoch):
            self.producer_id, self.epoch = producer_id, epoch

    def holds(self, topic: str, partition: int, mark: Mark) -> None:
        """Note a partition of the transaction, unless that is over."""
        if len(self.partitions) < MOST_PARTITIONS and (self.ended is None or mark.time >= self.ended[0]):
            self.partitions.add((topic, partition))

    def offset(self, group: Group, topic: str, partition: int, offset: int, mark: Mark) -> None:
        """Take an offset that is committed when the transaction is."""
        told = TxnOffset(mark.time, group, topic, partition, offset)
        insort(self._told, told, key=_asked)
        del self._told[:-MOST_PARTITIONS]
        place = bisect_left(self._ends, (told.asked, False))
        if place < len(self._ends) and self._ends[place][1]:
            told.commit(self._ends[place][0])

    def over(self, time: int, committed: bool) -> None:
        """Note the end of the transaction; its offsets are committed, or forgotten.

        Ends may be told in any order: what was taken for a part of a later transaction is one of this.
        """
        place = bisect_left(self._ends, (time, committed))
        before = self._ends[place - 1][0] if place else -1
        later = self._ends[place] if place < len(self._ends) else (0, False)
        mine = self._told[bisect_right(self._told, before, key=_asked) : bisect_right(self._told, time, key=_asked)]
        for told in mine:
            if later[1]:
                told.group.forgets(told.topic, told.partition, later[0])
            if committed:
                told.commit(time)
        self._ends.insert(place, (time, committed))
        del self._ends[:-MOST_EVENTS]
        self.ended = self._ends[-1]

    def opened(self, mark: Mark) -> None:
        """Note that something was written in a transaction; of one that ended later it is a part."""
        if self.transactions and (ended := self.transactions[-1].ended) is not None and mark.time < ended.time:
            return
        if (not self.transactions or self.transactions[-1].ended is not None) and len(self.transactions) < MOST_EVENTS:
            self.transactions.append(Transaction(mark))
            self.partitions, self.marked, self.groups_added = set(), set(), False

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
            self.transactions[-1] = self.transactions[-1]._replace(
                ended=mark, committed=committed, code=code, by_coordinator=by_coordinator
            )

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

"""What is written to partitions and fetched from them: offsets over time, empty fetches, sizes of batches, waits."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .evidence import Occurrences

MOST_SAMPLES = 128


class Sample(NamedTuple):
    """What a fetch told of a partition at a time: where it was read, its end, and the last stable offset."""

    time: int
    offset: int
    high_watermark: int
    stable: int


class Samples:
    """Samples over a time of any length: beyond MOST_SAMPLES every other one is forgotten."""

    __slots__ = ("_left", "_stride", "first", "found", "last")

    def __init__(self) -> None:
        self.found: list[Sample] = []
        self.first: Sample | None = None
        self.last: Sample | None = None
        self._stride: int = 1
        self._left: int = 1

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


class Fetched:
    """One partition as one connection fetches it."""

    __slots__ = (
        "bytes", "errors", "first_offset", "isolation", "limit", "log_start",
        "out_of_range", "oversized", "records", "requests", "samples", "served", "stuck", "stuck_at", "with_data",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests: Occurrences = Occurrences()
        self.with_data: Occurrences = Occurrences()
        self.records: int = 0
        self.bytes: int = 0
        self.samples: Samples = Samples()
        self.errors: dict[int, Occurrences] = {}
        self.log_start: int = -1
        self.out_of_range: int = -1
        """The offset that was asked for and out of range."""
        self.limit: int = 0
        """Bytes that the consumer takes of this partition at a time."""
        self.oversized: Occurrences = Occurrences()
        """Answers with more bytes than the limit: one batch is always sent whole."""
        self.stuck: Occurrences = Occurrences()
        """Fetches that begin where an earlier one did which had been answered with data."""
        self.served: dict[int, int] = {}
        """Offsets from which data was sent, and how often, of the last ones."""
        self.stuck_at: int = -1
        """The offset at which they begin."""
        self.first_offset: int = -1
        """The offset that was asked for first."""
        self.isolation: int = 0


class Polls:
    """All fetches of a connection."""

    __slots__ = (
        "empty", "full_sessions", "idle", "last_end", "max_wait_ms", "min_bytes", "partitions", "replica", "requests",
        "session_errors", "times",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests: Occurrences = Occurrences()
        self.empty: Occurrences = Occurrences()
        self.max_wait_ms: int = 0
        self.min_bytes: int = 0
        self.replica: int = -1
        """The node id of a follower that fetches, -1 for a consumer."""
        self.full_sessions: Occurrences = Occurrences()
        """Requests that ask for a new session, which lists all partitions, and get none."""
        self.partitions: int = 0
        """The most partitions that one request listed."""
        self.session_errors: dict[int, Occurrences] = {}
        self.idle: int = 0
        """Nanoseconds between answers and the fetches after them."""
        self.last_end: int = 0
        self.times: list[int] = []
        """When it fetched; beyond 4,096 only the last ones."""


class PartitionWrites:
    """One partition as one connection writes it."""

    __slots__ = (
        "acks", "batches", "bytes", "errors", "records", "requests", "singles", "uncompressed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests: Occurrences = Occurrences()
        self.batches: int = 0
        self.records: int = 0
        self.bytes: int = 0
        self.singles: int = 0
        self.uncompressed: int = 0
        self.acks: Counter[int] = Counter()
        self.errors: dict[int, Occurrences] = {}

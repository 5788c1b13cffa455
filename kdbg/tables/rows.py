"""Exchanges as rows of the tables: plain tuples in the order of columns.py.

Messages are proved as `kdbg decode` proves them, to the last record, so that the same findings come out: clean ones in
one generated reading (straight.py), all others by their values. What is secret in a message appears in no column unless
it is asked for; a broken message that may hold secrets gives no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from ..findings import Finding
from ..grammars.errors import error_name
from ..grammars.payloads import TOPICS
from ..messages.exchange import CapturedMessage, Exchange, Known, Peers
from ..messages.message import Message
from ..render.heading import endpoint
from ..render.values import escape
from ..wire import Api
from ..wire.language.api import DIRECTIONS
from ..wire.readings.topic_names import Topics
from ..wire.readings.walk import UNREADABLE
from .groups import EVENTS, event_rows
from .partitions import KEPT, Amount
from .record_rows import RecordColumns
from .straight import ToldReader, reader_of
from .told import PartitionTold, Told, Wanted, told
from .values import micros, moment, text, topic_name

TableRow = tuple[Any, ...]
Add = Callable[[str, int | None, TableRow, int], None]
"""Takes (table, microseconds since the epoch, row, bytes of its large values)."""
MOST = 1 << 16
"""Connections, or versions of APIs, whose columns are remembered."""
NOTHING = Amount()


class Spoken(NamedTuple):
    """A version of an API: its columns, what reads its clean messages, whether `partitions` and `groups` tell of it."""

    columns: TableRow
    request: ToldReader | None
    response: ToldReader | None
    partitions: bool
    events: bool


class Rows:
    """Makes the rows of exchanges, one by one, and gives each to `add`.

    `topics` are the names of topic ids; `problems` counts findings by kind.
    """

    add: Add
    wanted: Wanted
    topics: Topics

    def __init__(self, add: Add, wanted: Wanted, topics: Topics) -> None:
        self.add, self.wanted, self.topics = add, wanted, topics
        self.problems: Counter[str] = Counter()
        self._spoken: dict[tuple[Api | None, int], Spoken] = {}
        self._who: dict[int, tuple[Peers, str, TableRow]] = {}

    def exchange(self, capture: str, exchange: Exchange) -> None:
        """Add all rows of one exchange."""
        spoken = self._spoken.get((exchange.api, exchange.version)) or self._learnt(exchange.api, exchange.version)
        if spoken.events:
            self._events(capture, exchange)
        asked = self._told(exchange.request, spoken.request)
        answer = self._told(exchange.response, spoken.response)
        who, time = self._connection(capture, exchange.peers), moment(exchange.time)
        known = exchange.api is None or spoken.columns[1] is not None
        what = (*who, *spoken.columns, exchange.correlation_id if known else None, text(exchange.client_id), time)
        findings = exchange.all_findings()
        self.add("exchanges", time, (*what, *self._exchange(exchange, asked, answer, findings)), 0)
        for finding in findings:
            self.problems[finding.kind.value] += 1  # a plain word: orjson refuses others as keys
            self.add("problems", time, (*what, *problem_columns(finding)), 0)
        if spoken.partitions:
            self._partitions(spoken, asked, answer, what, time)

    def _learnt(self, api: Api | None, version: int) -> Spoken:
        """Return what there is to know of a version, and remember it."""
        if api is None:
            found = Spoken((None,) * 3, None, None, partitions=False, events=False)
        else:
            events = api.name in EVENTS  # these need the values of both messages
            asks, answers = (None if events else reader_of(api, version, side, self.wanted) for side in DIRECTIONS)
            numbers = (api.key, version) if api.key >= 0 else (None, None)
            found = Spoken((api.name, *numbers), asks, answers, partitions=api.name in KEPT, events=events)
        if len(self._spoken) >= MOST:
            self._spoken.clear()
        self._spoken[api, version] = found
        return found

    def _connection(self, capture: str, peers: Peers) -> TableRow:
        """Return the columns that say which connection; those of the last ones are remembered."""
        found = self._who.get(peers.number)
        if found is None or found[0] != peers or found[1] != capture:
            if len(self._who) >= MOST:
                self._who.clear()
            found = self._who[peers.number] = peers, capture, who_columns(capture, peers)
        return found[2]

    def _told(self, half: CapturedMessage | None, read: ToldReader | None) -> Told | None:
        """Return what a half tells, straight from its bytes if it is clean; None where nobody may say."""
        if half is None:
            return None
        if read is not None and not half.missing:
            try:
                found = read(half.data)
            except UNREADABLE:
                pass
            else:
                if not _opens(half, found):
                    half.sound = True
                    return found
        message = self._readable(half)
        return None if message is None else told(message, self.wanted)

    def _readable(self, half: CapturedMessage | None) -> Message | None:
        """Return the message, unless a secret may stand anywhere in it."""
        message = half.message() if half is not None else None
        return None if message is not None and message.misaligned and not self.wanted.show_secrets else message

    def _exchange(
        self, exchange: Exchange, asked: Told | None, answer: Told | None, findings: list[Finding]
    ) -> TableRow:
        """Return the columns of `exchanges` from `response_time` on."""
        topics: dict[Any, None] = {}
        groups: dict[str | None, None] = {}
        codes: list[int] = []
        throttle = None
        for said in (asked, answer):
            if said is not None:
                rows, named, errors, _, throttle, _ = said
                for row in rows:
                    topics[row[0]] = None
                for group in named:
                    groups[group] = None
                codes += errors
        request, response = exchange.request, exchange.response
        latency = None if request is None or response is None else micros(response.first_time - request.last_time)
        return (
            moment(response.first_time) if response is not None else None,
            latency,
            request.size if request is not None else None,
            response.size if response is not None else None,
            request.first_packet if request is not None else None,
            response.first_packet if response is not None else None,
            True if response is not None else None if exchange.answered else False,
            [topic if type(topic) is str else topic_name(topic, self.topics) for topic in topics if topic is not None],
            [group for group in groups if group is not None],
            codes,
            [error_name(code) for code in codes],
            throttle if answer is not None else None,
            [escape(str(finding)) for finding in findings],
        )

    def _partitions(
        self, spoken: Spoken, asked: Told | None, answer: Told | None, what: TableRow, time: int | None
    ) -> None:
        """Add the rows of `partitions`, request and response merged, and those of their records."""
        found: dict[tuple[Any, int, str | None], list[PartitionTold | None]] = {}
        around = None
        for side, said in enumerate((asked, answer)):
            if said is None:
                continue
            *_, group, _, parts = said
            if not side:
                around = group
            for part in parts:
                around = part[0] or around  # a response does not repeat the group
                found.setdefault((part[1], part[2], around), [None, None])[side] = part
        produced = spoken.columns[0] == "Produce"
        for (topic, partition, group), (one, other) in found.items():
            name, topic_id = (topic, None) if type(topic) is str else self._by_id(topic)
            code, offsets, (size, count, last, codec), records = _merged(one, other)
            base = (-1 if offsets[0] is None else offsets[0]) if produced else None
            if base is not None and last is not None:  # it counts from the offset that the broker answers
                last = base + last if base >= 0 else None
            self.add("partitions", time, (
                *what, name, topic_id, partition, group, code, None if code is None else error_name(code),
                *offsets, size, count, last, codec,
            ), 0)  # fmt: skip
            if count and records:
                self._records(records, base, (*what, name or topic_id, partition), time)

    def _by_id(self, topic: Any) -> tuple[str | None, str | None]:
        """Return the name of a topic that is named by its id, if it is known, and the id as text."""
        return (text(self.topics.get(topic)), _text_of(topic)) if isinstance(topic, UUID) else (None, None)

    def _records(self, records: Sequence[RecordColumns], base: int | None, what: TableRow, time: int | None) -> None:
        """Add the rows of records; `base` is the offset that the broker gave to the first, -1 where it did not."""
        values = self.wanted.values
        for count, (offset, *rest) in enumerate(records):
            if base is not None:
                offset = None if base < 0 else base + count
            self.add("records", time, (*what, offset, *rest), (rest[1] or 0) + (rest[2] or 0) if values else 0)

    def _events(self, capture: str, exchange: Exchange) -> None:
        """Add the rows of `groups`."""
        request, response = self._readable(exchange.request), self._readable(exchange.response)
        if request is None:
            return
        who, time = self._connection(capture, exchange.peers), moment(exchange.time)
        latency = None if exchange.latency is None else micros(exchange.latency)
        for event in event_rows(request.api.name, request.body, response, exchange.client_id):
            self.add("groups", time, (*who, time, *event, latency), 0)


def _opens(half: CapturedMessage, found: Told) -> bool:
    """Return whether records in a half are opened, because its topics, named by id, are Kafka's own."""
    *_, parts = found
    for _, topic, _, _, _, held, _ in parts:
        if held is not None and type(topic) is UUID and (half.known or Known.nothing()).topics.get(topic) in TOPICS:
            return True
    return False


def _merged(
    asked: PartitionTold | None, answer: PartitionTold | None
) -> tuple[int | None, Sequence[int | None], Amount, Sequence[RecordColumns] | None]:
    """Return (error, offsets, amount, records) of a partition, as both messages tell of it."""
    if asked is None or answer is None:
        part = asked or answer
        assert part is not None
        _, _, _, code, offsets, held, records = part
        return None if answer is None else code, offsets, held or NOTHING, records
    *_, offsets, held, records = asked
    _, _, _, code, answered, other, others = answer
    if other and other[0] and not (held and held[0]):
        held, records = other, others
    offsets = tuple([one if later is None else later for one, later in zip(offsets, answered, strict=True)])
    return code, offsets, held or NOTHING, records


def who_columns(capture: str, peers: Peers) -> TableRow:
    """Return the columns that say which connection: the first ones of nearly every table."""
    return capture, peers.number, _ends(peers.client), _ends(peers.broker)


def problem_columns(finding: Finding, file: str | None = None) -> TableRow:
    """Return the columns of `problems` from `file` on."""
    return (
        file, finding.kind.value, finding.severity.value, finding.side or None, finding.path or None, finding.start,
        finding.length, escape(finding.text),
    )  # fmt: skip


_ends = lru_cache(1 << 16)(endpoint)
_text_of: Callable[[UUID], str] = lru_cache(1 << 12)(str)
NO_EXCHANGE: TableRow = (None,) * 6
"""Stands for the exchange's columns where a problem belongs to none."""

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
from .straight import ToldReader, names_by_id, reader_of
from .told import PartitionTold, Told, Wanted, told
from .values import micros, moment, text, topic_name

TableRow = tuple[Any, ...]
Add = Callable[[str, int | None, TableRow, int], None]
"""Takes (table, microseconds since the epoch, row, bytes of its large values)."""
MOST = 1 << 16
"""Connections, or versions of APIs, whose columns are remembered."""
NOTHING, UNTOLD = Amount(), Told((), (), (), None, None, ())


class Spoken(NamedTuple):
    """A version of an API: its columns, what reads its clean messages, and which tables tell of it.

    `by_id`: topics may be named by ids.
    """

    columns: TableRow
    request: ToldReader | None
    response: ToldReader | None
    by_id: bool
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
        api, request, response = exchange.api, exchange.request, exchange.response
        spoken = self._spoken.get((api, exchange.version)) or self._learnt(api, exchange.version)
        if spoken.events:
            self._events(capture, exchange)
        asked = None if request is None else self._told(request, spoken.request, spoken.by_id)
        answer = None if response is None else self._told(response, spoken.response, spoken.by_id)
        time = moment(exchange.time)
        number = exchange.correlation_id if api is None or spoken.columns[1] is not None else None
        what = (*self._connection(capture, exchange.peers), *spoken.columns, number, text(exchange.client_id), time)
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
            found = Spoken((None,) * 3, None, None, by_id=False, partitions=False, events=False)
        else:
            events, by_id = api.name in EVENTS, names_by_id(api, version)  # events need the values of both messages
            asks, answers = (None if events else reader_of(api, version, side, self.wanted) for side in DIRECTIONS)
            columns = (api.name, *((api.key, version) if api.key >= 0 else (None, None)))
            found = Spoken(columns, asks, answers, by_id=by_id, partitions=api.name in KEPT, events=events)
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

    def _told(self, half: CapturedMessage, read: ToldReader | None, by_id: bool) -> Told | None:
        """Return what a half tells, straight from its bytes if it is clean; None where nobody may say."""
        if read is not None and not half.missing:
            try:
                found = read(half.data)
            except UNREADABLE:
                pass
            else:
                if not (by_id and _opens(half, found)):
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
        topics, groups, codes, _, throttle, _ = answer or UNTOLD
        if asked is not None:
            others, named, errors, *_ = asked
            topics, groups, codes = [*others, *topics], [*named, *groups], [*errors, *codes]
        by_id = self.topics
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
            [
                topic if type(topic) is str else topic_name(topic, by_id)
                for topic in dict.fromkeys(topics)
                if topic is not None
            ],
            [group for group in dict.fromkeys(groups) if group is not None],
            codes,
            [error_name(code) for code in codes],
            throttle,
            [escape(str(finding)) for finding in findings],
        )

    def _partitions(
        self, spoken: Spoken, asked: Told | None, answer: Told | None, what: TableRow, time: int | None
    ) -> None:
        """Add the rows of `partitions`, request and response merged, and those of their records."""
        found: dict[tuple[Any, int, str | None], tuple[PartitionTold | None, PartitionTold | None]] = {}
        *_, around, _, parts = asked or UNTOLD
        for part in parts:
            around = part[0] or around
            found[part[1], part[2], around] = part, None
        *_, parts = answer or UNTOLD
        for part in parts:
            around = part[0] or around  # a response does not repeat the group
            place = part[1], part[2], around
            found[place] = found[place][0] if place in found else None, part
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
    if answer is None:
        assert asked is not None
        *_, offsets, held, records = asked
        return None, offsets, held or NOTHING, records
    _, _, _, code, offsets, held, records = answer
    if asked is None:
        return code, offsets, held or NOTHING, records
    *_, (one, two, three, four, five), of_request, in_request = asked
    if not (held and held[0]) or (of_request and of_request[0]):
        held, records = of_request, in_request
    first, second, third, fourth, fifth = offsets
    offsets = (
        one if first is None else first, two if second is None else second, three if third is None else third,
        four if fourth is None else fourth, five if fifth is None else fifth,
    )  # fmt: skip
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

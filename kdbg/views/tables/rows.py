"""Exchanges as rows of the tables, in cells (cells.py).

Messages are proved as `kdbg decode` proves them, to the last record, so that the same findings come out: clean ones in
one generated reading (straight.py), all others by their values. What is secret in a message appears in no column unless
it is asked for; a broken message that may hold secrets gives no rows.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from ...capture.names import capture_name
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.known import Known
from ...exchanges.messages.message import Message, errors_in
from ...exchanges.messages.peers import Peers, endpoint
from ...exchanges.messages.requested_wait import WAITS, beyond_wait
from ...payloads.values.value import ValueContext
from ...protocol.findings import Finding
from ...protocol.grammars.errors import error_name
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS
from ...protocol.wire.readings.codegen import UNREADABLE
from ...protocol.wire.readings.outline import Topics
from ..render.values import escape
from .cells import Add, Cells, Shared, TableRow, micros, moment, storable, text, topic_name
from .columns import TIMES, WHAT, WHO
from .message_columns import (
    EVENTS,
    KEPT,
    UNTOLD,
    MessageColumns,
    RecordColumns,
    WantedRows,
    event_rows,
    merged,
    message_columns,
    partitions_of,
)
from .straight import ToldReader, names_by_id, reader_of

if TYPE_CHECKING:
    from ...payloads.values.chosen import ReadBytes

MOST = 1 << 16
"""Kinds of exchanges that are remembered."""
MOST_TOLD, FEW, SHORT = 1 << 10, 8, 1 << 10
"""What is told of exchanges is remembered, so much of it, where it names a few topics and groups in a short text."""
NO_TIMES = Shared((None,) * len(TIMES))
"""Stands where nobody asked where the time went."""
NANOSECONDS, IDS = (1 << 64) - 1, (1 << 32) - 1
"""The bits of a time and of a correlation id."""
NOT_READ: TableRow = (None,) * 4
"""The columns of a record's deserialized key and value where no format and no schema was given."""
AT_ONCE = 1024
"""Records that are handed on together: a few bytes can hold millions."""


class Spoken(NamedTuple):
    """A version of an API: its columns, what reads its clean messages, and which tables tell of it.

    `by_id`: topics may be named by ids. `held`: its answers are held back for as long as the request says.
    """

    columns: TableRow
    request: ToldReader | None
    response: ToldReader | None
    by_id: bool
    partitions: bool
    events: bool
    held: bool


class RowKind(NamedTuple):
    """Exchanges of a connection, of one version of an API and by one client id: what they share in every table.

    `numbered`: they have correlation ids.
    """

    capture: str
    peers: Peers
    shared: Shared
    spoken: Spoken
    numbered: bool


class Rows:
    """Makes the rows of exchanges, one by one, and gives them to `add`.

    `topics` are the names of topic ids; `problems` counts findings by kind.
    """

    def __init__(self, add: Add, wanted: WantedRows, topics: Topics) -> None:
        self.add, self.wanted, self.topics = add, wanted, topics
        self.problems: Counter[str] = Counter()
        self._spoken: dict[tuple[Api | None, int], Spoken] = {}
        self._kinds: dict[tuple[int, Api | None, int, str | None], RowKind] = {}
        self._said: dict[tuple[Any, ...], Shared] = {}

    def exchange(self, capture: str, exchange: Exchange) -> None:
        """Add all rows of one exchange."""
        request, response = exchange.request, exchange.response
        kind = self._kinds.get((exchange.peers.first_packet, exchange.api, exchange.version, exchange.client_id))
        if kind is None or kind.peers != exchange.peers or kind.capture != capture:
            kind = self._met(capture, exchange)
        _, _, shared, spoken, numbered = kind
        _, read_request, read_response, by_id, partitions, events, held = spoken
        if events:
            self._events(exchange, shared.columns[: len(WHO)])
        asked = None if request is None else self._message_columns(request, read_request, by_id)
        answer = None if response is None else self._message_columns(response, read_response, by_id)
        time, uid = moment(exchange.time), exchange_uid(shared.columns[len(WHO) - 1], exchange)
        number = exchange.correlation_id if numbered else None
        findings = [] if exchange.is_sound() else exchange.all_findings()
        cells = self._exchange(exchange, shared, (number, time, uid), asked, answer, findings, held)
        self.add("exchanges", time, cells, 0)
        for finding in findings:
            self.problems[finding.kind.value] += 1  # a plain word: orjson refuses others as keys
            *same, client_id = shared.columns
            what = problem_columns(finding, number=_number_of(exchange))
            self.add("problems", time, (*same, number, client_id, time, uid, *what), 0)
        if partitions and self.wanted.partitions:
            self._partitions(asked, answer, (shared, number, time, uid))

    def _met(self, capture: str, exchange: Exchange) -> RowKind:
        """Return the kind of an exchange, and remember it."""
        api, version, peers = exchange.api, exchange.version, exchange.peers
        spoken = self._spoken.get((api, version))
        if spoken is None:
            spoken = Spoken((None,) * 3, None, None, by_id=False, partitions=False, events=False, held=False)
            if api is not None:
                events, by_id = api.name in EVENTS, names_by_id(api, version)  # events need the values of both messages
                asks, answers = (None if events else reader_of(api, version, side, self.wanted) for side in DIRECTIONS)
                columns = (api.name, *((api.key, version) if api.key >= 0 else (None, None)))
                held = api.key in WAITS and WAITS[api.key].held
                spoken = Spoken(columns, asks, answers, by_id, partitions=api.name in KEPT, events=events, held=held)
            if len(self._spoken) >= MOST:
                self._spoken.clear()
            self._spoken[api, version] = spoken
        shared = Shared((*who_columns(capture, peers), *spoken.columns, text(exchange.client_id)))
        found = RowKind(capture, peers, shared, spoken, api is None or spoken.columns[1] is not None)
        if len(self._kinds) >= MOST:
            self._kinds.clear()
        self._kinds[peers.first_packet, api, version, exchange.client_id] = found
        return found

    def _message_columns(self, half: CapturedMessage, read: ToldReader | None, by_id: bool) -> MessageColumns | None:
        """Return what a half tells, straight from its bytes if it is clean; None where nobody may say."""
        if read is not None and not half.missing:
            try:
                found = read(half.data)
            except UNREADABLE:
                pass
            else:
                names = (half.known or Known.nothing()).topics  # records of Kafka's own topics, named by id, are opened
                if not by_id or not any(
                    held is not None and type(topic) is UUID and names.get(topic, topic) in SPECIAL
                    for _, topic, _, _, _, held, _ in found[-1]
                ):
                    half.prove(())
                    return found
        message = self._readable(half)
        return None if message is None else message_columns(message, self.wanted)

    def _readable(self, half: CapturedMessage | None) -> Message | None:
        """Return the message, unless a secret may stand anywhere in it."""
        message = half.message() if half is not None else None
        return None if message is not None and message.misaligned and not self.wanted.show_secrets else message

    def _exchange(
        self, exchange: Exchange, shared: Shared, which: TableRow,
        asked: MessageColumns | None, answer: MessageColumns | None, findings: list[Finding], held: bool,
    ) -> Cells:  # fmt: skip
        """Return the row of `exchanges`; `which` are correlation id, time and uid."""
        request, response, nth = exchange.request, exchange.response, _number_of(exchange)
        said = self._columns_of(exchange, asked, answer, findings)
        if response is None:
            assert request is not None
            packet = request.first_packet
            return (shared, *which, None, None, request.size, None, packet, None, said, nth, None, NO_TIMES, None)
        begun, size, packet = moment(response.first_time), response.size, response.first_packet
        if request is None:
            return (shared, *which, begun, None, None, size, None, packet, said, nth, None, NO_TIMES, None)
        latency = late = micros(response.first_time - request.last_time)
        if held:
            late = micros(beyond_wait(exchange) or 0)
        sent = request.first_packet
        spent = NO_TIMES
        if exchange.timing is not None:
            split = exchange.timing.split
            parts = split.waiting, split.throttle, split.network, split.held, split.broker, split.reading
            spent = Shared(tuple([None if part is None else micros(part) for part in parts]))
        return (shared, *which, begun, latency, request.size, size, sent, packet, said, nth, late, spent, late)

    def _columns_of(
        self, exchange: Exchange, asked: MessageColumns | None, answer: MessageColumns | None, findings: list[Finding]
    ) -> Shared:
        """Return the columns `TOLD` of an exchange: mostly those of an earlier one."""
        answered = True if exchange.response is not None else None if exchange.answered else False
        topics, groups, codes, _, throttle, _ = answer or UNTOLD
        if asked is not None:
            others, named, errors, *_ = asked
            topics, groups, codes = [*others, *topics], [*named, *groups], [*errors, *codes]
        if codes or findings or len(topics) + len(groups) > FEW:
            places = self._places(exchange, asked, answer) if codes else ()
            return self._says(answered, topics, groups, codes, throttle, findings, places)
        key = (answered, throttle, len(topics), *topics, *groups)
        found = self._said.get(key)
        if found is None:
            found = self._says(answered, topics, groups, codes, throttle, findings, ())
            names = [name for name in key[3:] if name is not None]
            if all(type(name) is str for name in names) and sum(map(len, names)) <= SHORT:  # an id's name is learnt
                if len(self._said) >= MOST_TOLD:
                    self._said.clear()
                self._said[key] = found
        return found

    def _says(
        self, answered: bool | None, topics: Sequence[Any], groups: Sequence[str], codes: Sequence[int],
        throttle: int | None, findings: list[Finding], places: Sequence[tuple[Any, int | None]],
    ) -> Shared:  # fmt: skip
        """Return the columns `TOLD`; `places` are the topic and the partition of each error."""
        return Shared((
            answered,
            [
                topic if type(topic) is str else topic_name(topic, self.topics)
                for topic in dict.fromkeys(topics)
                if topic is not None
            ],
            [group for group in dict.fromkeys(groups) if group is not None],
            codes,
            [error_name(code) for code in codes],
            throttle,
            [escape(str(finding)) for finding in findings],
            [topic_name(topic, self.topics) for topic, _ in places],
            [partition for _, partition in places],
        ))  # fmt: skip

    def _places(
        self, exchange: Exchange, asked: MessageColumns | None, answer: MessageColumns | None
    ) -> list[tuple[Any, int | None]]:
        """Return topic and partition of each error that both halves tell, None where it is of none."""
        found: list[tuple[Any, int | None]] = []
        for half, said in ((exchange.request, asked), (exchange.response, answer)):
            outline = half.outline() if half is not None and said is not None and said[2] else None
            if outline is None or said is None:
                continue
            of_code: dict[int, deque[tuple[Any, int | None]]] = {}
            for error in errors_in(outline):  # those of partitions come first
                of_code.setdefault(error.code, deque()).append((error.topic, error.partition))
            found += [of_code[code].popleft() if of_code.get(code) else (None, None) for code in said[2]]
        return found

    def _partitions(
        self,
        asked: MessageColumns | None,
        answer: MessageColumns | None,
        which: TableRow,
    ) -> None:
        """Add the rows of `partitions`, request and response merged, and those of their records."""
        shared, _, time, _ = which
        produced = shared.columns[len(WHO)] == "Produce"
        cells: list[Any] = []
        for (topic, partition, group), one, other in partitions_of(asked, answer):
            name: str | None = topic if type(topic) is str else None
            topic_id: str | None = None
            if isinstance(topic, UUID):
                name, topic_id = text(self.topics.get(topic)), _text_of(topic)
            code, offsets, (size, count, last, codec), records = merged(one, other)
            base = (-1 if offsets[0] is None else offsets[0]) if produced else None
            if base is not None and last is not None:  # it counts from the offset that the broker answers
                last = base + last if base >= 0 else None
            cells += (
                *which, name, topic_id, partition, group, code,
                None if code is None else error_name(code), *offsets, size, count, last, codec, offsets[-1],
            )  # fmt: skip
            if count and records:
                self._records(records, base, (*which, name or topic_id, partition), time)
        if cells:
            self.add("partitions", time, cells, 0)

    def _records(self, records: Sequence[RecordColumns], base: int | None, what: TableRow, time: int | None) -> None:
        """Add the rows of records; `base` is the offset that the broker gave to the first, -1 where it did not."""
        for start in range(0, len(records), AT_ONCE):
            cells: list[Any] = []
            some = records[start : start + AT_ONCE]
            for count, record in enumerate(some, start):
                cells += what
                cells += record
                if base is not None:
                    cells[-len(record)] = None if base < 0 else base + count
                cells += NOT_READ if self.wanted.read is None else read_columns(self.wanted.read, record, what[-2])
            size = sum((record[2] or 0) + (record[3] or 0) for record in some) if self.wanted.values else 0
            self.add("records", time, cells, size if self.wanted.read is None else 2 * size)

    def _events(self, exchange: Exchange, who: TableRow) -> None:
        """Add the rows of `groups`."""
        request, response = self._readable(exchange.request), self._readable(exchange.response)
        if request is None:
            return
        time, uid = moment(exchange.time), exchange_uid(who[-1], exchange)
        latency = None if exchange.latency is None else micros(exchange.latency)
        for event, joined in event_rows(request.api.name, request.body, response, exchange.client_id):
            self.add("groups", time, (*who, time, *event, latency, _number_of(exchange), *joined, uid), 0)


def read_columns(read: ReadBytes, record: RecordColumns, topic: str | None) -> TableRow:
    """Return the columns of `records` from `key_text` on, for what stands before them."""
    from ..render.record_values import plain_text  # which needs orjson

    _, _, _, _, key, value, headers, *_ = record
    found = [read(key, ValueContext("key", topic, headers)), read(value, ValueContext("value", topic, headers))]
    are_read = [one.kind == "data" or (one.kind == "text" and not one.problem) for one in found]
    texts = (text(plain_text(one)) if is_read else None for one, is_read in zip(found, are_read, strict=True))
    return *texts, *(escape(one.problem) or None for one in found)


def who_columns(capture: str, peers: Peers) -> TableRow:
    """Return the columns that say which connection: the first ones of nearly every table."""
    number = f"c{peers.number}" if peers.number else None
    ends = _ends(peers.client), _ends(peers.broker)
    return capture, peers.first_packet, *ends, number, connection_uid(capture, *sorted(ends), storable(peers.start))


@lru_cache(1 << 16)
def connection_uid(capture: str, one: str, other: str, start: int) -> str:
    """Return the identity of a connection at a capture point, with these ends and this time of its first packet."""
    return blake2b(f"{capture_name(capture)} {one} {other} {start}".encode(), digest_size=8).hexdigest()


def exchange_uid(connection: str, exchange: Exchange) -> str:
    """Return the identity of an exchange of this connection: when it began, and its correlation id.

    A response without its request has `r` after that; messages that are alike in all of it are counted.
    """
    which = f"{connection}-{storable(exchange.time) & NANOSECONDS:x}-{exchange.correlation_id & IDS:x}"
    if exchange.request is None:
        which += "r"
    return f"{which}.{exchange.repeats}" if exchange.repeats else which


def _number_of(exchange: Exchange) -> int | None:
    """Return the number that views have for an exchange; None where nobody counts."""
    return exchange.number if exchange.peers.number else None


def problem_columns(finding: Finding, file: str | None = None, number: int | None = None) -> TableRow:
    """Return the columns of `problems` from `file` on; `number` is the exchange's."""
    return (
        file, finding.kind.value, finding.severity.value, finding.side or None, finding.path or None, finding.byte,
        finding.length, escape(finding.text), number, finding.kind.old_name,
    )  # fmt: skip


_ends = lru_cache(1 << 16)(endpoint)
_text_of: Callable[[UUID], str] = lru_cache(1 << 12)(str)
NO_ENDS: TableRow = (None,) * (len(WHO) - 1)
"""Stands for the columns of a connection, but for its capture, where a problem is a file's."""
NO_EXCHANGE: TableRow = (None,) * len(WHAT)
"""Stands for the exchange's columns where a problem belongs to none."""

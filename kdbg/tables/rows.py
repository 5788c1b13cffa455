"""Exchanges as rows of the tables: plain tuples in the order of columns.py.

Messages are read as `kdbg decode` reads them, to the last record, so that the same findings come out. What is secret
in a message appears in no column unless it is asked for; a broken message that may hold secrets gives no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from ..findings import Finding, Kind
from ..grammars.errors import error_name
from ..messages.exchange import CapturedMessage, Exchange, Peers
from ..messages.message import Message
from ..render.heading import endpoint
from ..render.values import escape
from ..wire.readings.outline import Part, outline, parts
from ..wire.readings.topic_names import Topics
from .groups import EVENTS, event_rows
from .partitions import KEPT, REQUEST, RESPONSE, Amount, amount
from .record_rows import path_to, record_rows
from .values import integer, micros, moment, text, topic_name

TableRow = tuple[Any, ...]
Add = Callable[[str, int | None, TableRow, int], None]
"""Takes (table, microseconds since the epoch, row, bytes of its large values)."""


@dataclass(frozen=True)
class Wanted:
    """What rows there shall be: `records` a row for each record, `values` their keys and values too."""

    records: bool = False
    values: bool = False
    show_secrets: bool = False


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

    def exchange(self, capture: str, exchange: Exchange) -> None:
        """Add all rows of one exchange."""
        who, time = who_columns(capture, exchange.peers), moment(exchange.time)
        what = (*who, *what_columns(exchange, time))
        findings = exchange.all_findings()
        request, response = self._readable(exchange.request), self._readable(exchange.response)
        self.add("exchanges", time, (*what, *self._exchange(exchange, request, response, findings)), 0)
        for finding in findings:
            self.problems[finding.kind.value] += 1  # a plain word: orjson refuses others as keys
            self.add("problems", time, (*what, *problem_columns(finding)), 0)
        name = exchange.api.name if exchange.api is not None else ""
        if name in KEPT:
            self._partitions(name, {REQUEST: request, RESPONSE: response}, what, time)
        if name in EVENTS and request is not None:
            for event in event_rows(name, request.body, response, exchange.client_id):
                self.add("groups", time, (*who, time, *event, _latency(exchange)), 0)

    def _readable(self, half: CapturedMessage | None) -> Message | None:
        """Return the message, unless a secret may stand anywhere in it."""
        message = half.message() if half is not None else None
        return None if message is not None and message.misaligned and not self.wanted.show_secrets else message

    def _exchange(
        self, exchange: Exchange, asked: Message | None, answer: Message | None, findings: list[Finding]
    ) -> TableRow:
        """Return the columns of `exchanges` from `response_time` on."""
        topics: dict[Any, None] = {}
        groups: dict[str | None, None] = {}
        codes: list[int] = []
        for message in (asked, answer):
            if message is not None:
                rows, named, errors = outline(message.grammar)(message.body)
                topics.update(dict.fromkeys(topic for topic, *_ in rows))
                groups.update(dict.fromkeys(named))
                codes += errors
        request, response = exchange.request, exchange.response
        return (
            moment(response.first_time) if response is not None else None,
            _latency(exchange),
            request.size if request is not None else None,
            response.size if response is not None else None,
            request.first_packet if request is not None else None,
            response.first_packet if response is not None else None,
            True if response is not None else None if exchange.answered else False,
            [topic_name(topic, self.topics) for topic in topics if topic is not None],
            [text(group) for group in groups if group is not None],
            codes,
            [error_name(code) for code in codes],
            integer(answer.body.get("throttle_time_ms")) if answer is not None else None,
            [escape(str(finding)) for finding in findings],
        )

    def _partitions(self, api: str, messages: dict[str, Message | None], what: TableRow, time: int | None) -> None:
        """Add the rows of `partitions`, request and response merged, and those of their records."""
        found: dict[tuple[Any, int, str | None], dict[str, Part]] = {}
        request = messages[REQUEST]
        asked: str | None = request.body.get("group_id") if request is not None else None
        for side, message in messages.items():
            for part in parts(message.grammar)(message.body) if message is not None else ():
                asked = part.group or asked  # a response does not repeat the group
                found.setdefault((part.topic, part.partition, asked), {})[side] = part
        for (topic, partition, group), sides in found.items():
            kept = _kept(api, sides)
            side = next((side for side, part in sides.items() if part.value.get("records")), REQUEST)
            held = amount(sides[side].value.get("records")) if side in sides else NOTHING
            base = kept.get("offset", -1) if api == "Produce" else None
            topic_id = str(topic) if isinstance(topic, UUID) else None
            name = text(self.topics.get(topic) if topic_id else topic)
            self.add("partitions", time, (
                *what, name, topic_id, partition, text(group), *_error(sides.get(RESPONSE)),
                *map(kept.get, OFFSETS), held.bytes, held.records, _last(held, base), held.codec,
            ), 0)  # fmt: skip
            holder = messages[side]
            if held.records and holder is not None and self.wanted.records:
                self._records(holder, sides[side], base, (*what, name or topic_id, partition), time)

    def _records(self, message: Message, part: Part, base: int | None, what: TableRow, time: int | None) -> None:
        wrong = {finding.path for finding in message.findings if finding.kind is Kind.CRC}
        path = f"{path_to(part.value, message.body)}.records" if wrong else ""
        wanted, entries = self.wanted, part.value["records"]
        rows = record_rows(entries, base, wrong, path, values=wanted.values, secrets=wanted.show_secrets)
        for row in rows:
            self.add("records", time, (*what, *row), (row[2] or 0) + (row[3] or 0) if wanted.values else 0)


NOTHING = Amount()
OFFSETS = ("offset", "high_watermark", "last_stable_offset", "log_start_offset", "asked_timestamp")


def who_columns(capture: str, peers: Peers) -> TableRow:
    """Return the columns that say which connection: the first ones of nearly every table."""
    return capture, peers.number, _ends(peers.client), _ends(peers.broker)


def what_columns(exchange: Exchange, time: int | None) -> TableRow:
    """Return the columns that say which exchange."""
    api = exchange.api
    known = api is not None and api.key >= 0
    return (
        None if api is None else api.name,
        api.key if known and api is not None else None,
        exchange.version if known else None,
        exchange.correlation_id if known or api is None else None,
        text(exchange.client_id),
        time,
    )


def problem_columns(finding: Finding, file: str | None = None) -> TableRow:
    """Return the columns of `problems` from `file` on."""
    return (
        file, finding.kind.value, finding.severity.value, finding.side or None, finding.path or None, finding.start,
        finding.length, escape(finding.text),
    )  # fmt: skip


_ends = lru_cache(1 << 16)(endpoint)
NO_EXCHANGE: TableRow = (None,) * 6
"""Stands for `what_columns` where a problem belongs to none."""


def _kept(api: str, sides: dict[str, Part]) -> dict[str, int]:
    """Return the values of the fields that the tables keep, by column."""
    kept: dict[str, int] = {}
    for side, fields in KEPT[api].items():
        value = sides[side].value if side in sides else {}
        for name, column in fields.items():
            said = value.get(name)
            number = integer(said[0] if isinstance(said, list) and said else said)
            if number is not None:
                kept[column] = number
    return kept


def _last(held: Amount, base: int | None) -> int | None:
    """Return the offset of the last record; in a produce request it counts from the one that the broker answers."""
    if held.last_offset is None or base is None:
        return held.last_offset
    return base + held.last_offset if base >= 0 else None


def _error(part: Part | None) -> tuple[int | None, str | None]:
    code = integer(part.value.get("error_code")) if part is not None else None
    return code, None if code is None else error_name(code)


def _latency(exchange: Exchange) -> int | None:
    """Return the latency in microseconds, None without a response."""
    return None if exchange.latency is None else micros(exchange.latency)

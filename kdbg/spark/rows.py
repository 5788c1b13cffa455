"""Exchanges as rows of the tables: plain tuples in the order of columns.py. No Spark, no Arrow, no files.

Messages are read as `kdbg decode` reads them, to the last record, so that the same findings come out. What is secret
in a message appears in no column unless it is asked for; a broken message that may hold secrets gives no rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ..findings import NOTICES, Finding
from ..render.heading import endpoint
from ..render.values import escape
from ..session.exchange import Exchange, Peers
from ..session.message import Message
from ..wire.outline import outline
from .groups import EVENTS, error_name, event_rows
from .partitions import KEPT, REQUEST, RESPONSE, Amount, Part, amount, parts
from .records import record_rows
from .values import integer, moment, text, topic_text

Row = tuple[Any, ...]
Add = Callable[[str, int | None, Row, int], None]
"""Takes (table, microseconds since the epoch, row, bytes of its large values)."""


@dataclass(frozen=True)
class Wanted:
    """What rows there shall be: `records` a row for each record, `values` their keys and values too."""

    records: bool = False
    values: bool = False
    show_secrets: bool = False


@dataclass
class Rows:
    """Makes the rows of exchanges, one by one. `topics` are the names of topic ids; `problems` counts findings by kind."""

    add: Add
    wanted: Wanted
    topics: dict[UUID, str]
    problems: dict[str, int] = field(default_factory=dict)

    def exchange(self, capture: str, exchange: Exchange) -> None:
        """All rows of one exchange."""
        who, what = who_columns(capture, exchange.peers), what_columns(exchange)
        time = moment(exchange.time)
        messages = {
            half.direction: half.message() for half in (exchange.request, exchange.response) if half is not None
        }
        readable = {
            side: message
            for side, message in messages.items()
            if message is not None and (self.wanted.show_secrets or not message.shifted)
        }
        findings = exchange.all_findings()
        self.add("exchanges", time, (*who, *what, *self._exchange(exchange, readable, findings)), 0)
        for finding in findings:
            self.problems[finding.kind] = self.problems.get(finding.kind, 0) + 1
            self.add("problems", time, (*who, *what, *problem_columns(finding)), 0)
        name = exchange.api.name if exchange.api is not None else ""
        if name in KEPT:
            self._partitions(name, readable, (*who, *what), time)
        if name in EVENTS and REQUEST in readable:
            answer, duration = readable.get(RESPONSE), _micros(exchange.latency)
            for event in event_rows(name, readable[REQUEST].body, answer, exchange.client_id):
                self.add("groups", time, (*who, time, *event, duration), 0)

    def _exchange(self, exchange: Exchange, messages: dict[str, Message], findings: list[Finding]) -> Row:
        """The columns of `exchanges` from `response_time` on."""
        outlines = [outline(message.grammar)(message.body) for message in messages.values()]
        topics = dict.fromkeys(
            self._topic(row.topic) for each in outlines for row in each.rows if row.topic is not None
        )
        groups = dict.fromkeys(text(group) for each in outlines for group in each.groups if group is not None)
        codes = [code for each in outlines for code in each.errors]
        request, response = exchange.request, exchange.response
        answer = messages.get(RESPONSE)
        return (
            moment(response.first_time) if response is not None else None,
            _micros(exchange.latency),
            request.size if request is not None else None,
            response.size if response is not None else None,
            request.first_packet if request is not None else None,
            response.first_packet if response is not None else None,
            True if response is not None else None if exchange.answered else False,
            list(topics),
            list(groups),
            codes,
            [error_name(code) for code in codes],
            integer(answer.body.get("throttle_time_ms")) if answer is not None else None,
            [escape(str(finding)) for finding in findings],
        )

    def _topic(self, topic: Any) -> str | None:
        name, topic_id = topic_text(topic, self.topics)
        return name if name is not None else topic_id

    def _partitions(self, api: str, messages: dict[str, Message], what: Row, time: int | None) -> None:
        """The rows of `partitions`, request and response merged, and those of their records."""
        found: dict[tuple[Any, Any, int], dict[str, Part]] = {}
        for side in KEPT[api]:
            for part in parts(messages[side].grammar, messages[side].body) if side in messages else ():
                found.setdefault((part.group, part.topic, part.partition), {})[side] = part
        for (group, topic, partition), sides in found.items():
            name, topic_id = topic_text(topic, self.topics)
            kept = _kept(api, sides)
            side = next((side for side, part in sides.items() if isinstance(part.value.get("records"), list)), None)
            held = amount(sides[side].value["records"]) if side is not None else Amount()
            base = kept.get("offset", -1) if api == "Produce" else None
            self.add("partitions", time, (
                *what, name, topic_id, partition, text(group), *_error(sides.get(RESPONSE)),
                *(kept.get(column) for column in OFFSETS), held.bytes, held.records, _last(held, base), held.codec,
            ), 0)  # fmt: skip
            if side is not None and self.wanted.records:
                place = name if name is not None else topic_id
                self._records(messages[side], sides[side], base, (*what, place, partition), time)

    def _records(self, message: Message, part: Part, base: int | None, what: Row, time: int | None) -> None:
        wrong = {finding.path for finding in message.findings if finding.kind == "crc"}
        wanted = self.wanted
        rows = record_rows(part.value["records"], base, wrong, f"{part.path}.records",
                           values=wanted.values, secrets=wanted.show_secrets)  # fmt: skip
        for row in rows:
            self.add("records", time, (*what, *row), (row[2] or 0) + (row[3] or 0) if wanted.values else 0)


OFFSETS = ("offset", "high_watermark", "last_stable_offset", "log_start_offset", "asked_timestamp")


def who_columns(capture: str, peers: Peers) -> Row:
    """Which connection: the first columns of nearly every table."""
    return capture, peers.number, endpoint(peers.client), endpoint(peers.broker)


def what_columns(exchange: Exchange) -> Row:
    """Which exchange."""
    api = exchange.api
    known = api is not None and api.key >= 0
    return (
        None if api is None else api.name,
        api.key if known and api is not None else None,
        exchange.version if known else None,
        exchange.correlation_id if known or api is None else None,
        text(exchange.client_id),
        moment(exchange.time),
    )


def problem_columns(finding: Finding, file: str | None = None) -> Row:
    """The columns of `problems` from `file` on."""
    field = finding.path or None
    return file, finding.kind, escape(finding.text), field, finding.start, finding.length, finding.kind in NOTICES


NO_EXCHANGE: Row = (None,) * 6
"""Stands for `what_columns` where a problem belongs to none."""


def _kept(api: str, sides: dict[str, Part]) -> dict[str, int]:
    """The values of the fields that the tables keep, by column."""
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
    """The offset of the last record: in a produce request it is counted from the one that the broker answers."""
    if held.last_offset is None or base is None:
        return held.last_offset
    return base + held.last_offset if base >= 0 else None


def _error(part: Part | None) -> tuple[int | None, str | None]:
    code = integer(part.value.get("error_code")) if part is not None else None
    return code, None if code is None else error_name(code)


def _micros(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 1000

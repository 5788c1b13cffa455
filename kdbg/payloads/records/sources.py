"""Where records come from: exchanges and log segments; the outcome of their transactions; values read in place."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import Message, grammar_of
from ...protocol.findings import Kind
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.nodes import WireStruct, join
from ...protocol.wire.readings.layout import path_to
from ...protocol.wire.readings.outline import PartitionContext, Topics, parts
from ..segments import File
from ..values.chosen import unasked
from ..values.value import Part, ReadValue, ValueContext
from .record import (
    CapturedRecord,
    Event,
    Origin,
    Outcome,
    Shown,
    TransactionEnd,
    as_id,
    record_sets,
    records_in,
    topic_of,
)
from .source import FoundSet, PartitionResponse, records_reader, responses_reader

if TYPE_CHECKING:
    from ..values.chosen import ReadBytes

Responses: TypeAlias = dict[tuple[Any, Any], tuple[int, int | None]]
"""Topic (its name or id) and partition → base offset and error of a Produce response."""
MOST, MOST_MARKERS = 10_000, 1000
"""Producers in partitions that are remembered, and markers of one."""
OUTCOMES: Mapping[str, Outcome] = {"COMMIT": "committed", "ABORT": "aborted"}


class Markers:
    """The markers seen so far, by partition and producer."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], list[tuple[int, Outcome]]] = {}
        self.used: bool = False
        """Whether there were records of transactions."""

    def learn(self, record: CapturedRecord) -> None:
        """Remember a marker; other records say nothing."""
        self.used = True
        outcome = OUTCOMES.get(record.control or "")
        if outcome is None or record.producer is None or record.offset is None:
            return
        key = (*_place(record), record.producer.id)
        if key not in self._seen and len(self._seen) >= MOST:
            del self._seen[next(iter(self._seen))]
        seen = self._seen.setdefault(key, [])
        if (record.offset, outcome) not in seen:
            insort(seen, (record.offset, outcome))
            del seen[: len(seen) - MOST_MARKERS]

    def outcome(self, record: CapturedRecord, aborted: list[tuple[int, int]] | None, stable: int) -> Outcome | None:
        """Return what became of the transaction of a record with an offset; None where it is in none, or undecided.

        The fetch says which transactions were `aborted`, as (producer, first offset), and the last `stable` offset.
        """
        producer, offset = record.producer, record.offset
        if producer is None or not producer.transactional or record.control is not None or offset is None:
            return None
        seen = self._seen.get((*_place(record), producer.id), [])
        at = bisect_right(seen, offset, key=lambda marker: marker[0])
        if at < len(seen):
            return seen[at][1]
        if aborted is None:
            return None
        before = seen[at - 1][0] if at else -1
        if any(who == producer.id and before < first <= offset for who, first in aborted):
            return "aborted"
        return "committed" if offset < stable else None


def _place(record: CapturedRecord) -> tuple[Any, ...]:
    return record.topic_id or record.topic, record.partition


ENDS = "EndTxn"


class Records:
    """Takes exchanges in their order and yields their records; remembers the markers of transactions.

    `topics` tells the names of topic ids; `secrets` shows the contents of records that may be secret.
    """

    def __init__(self, topics: Topics, *, secrets: bool = False) -> None:
        self.shown = Shown(topics, secrets)
        self.markers: Markers = Markers()

    def of(self, exchange: Exchange) -> Iterator[Event]:
        """Yield the records of an exchange, and the end of a transaction that it asked for."""
        api = exchange.api
        if api is None:
            return
        if api.name == ENDS:
            yield from self._end(exchange)
        for direction in carriers(api, exchange.version):
            half, produced = (exchange.response, False) if direction == "response" else (exchange.request, True)
            if half is None:
                continue
            origin = Origin("produced" if produced else "fetched", exchange.client_id, exchange.number,
                            exchange.peers.number, half.first_time)  # fmt: skip
            found: list[FoundSet] = []
            if half.read_with(records_reader(api, exchange.version, direction), found):
                yield from self.made(found, self._responses(exchange) if produced else None, origin)
            elif (message := self._readable(half)) is not None:
                yield from self._produced(message, exchange, origin) if produced else self._fetched(message, origin)

    def _readable(self, half: CapturedMessage | None) -> Message | None:
        """Return the message, unless a secret may stand anywhere in it."""
        message = half.message() if half is not None else None
        return None if message is not None and message.misaligned and not self.shown.secrets else message

    def _produced(self, message: Message, exchange: Exchange, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield what a producer sent; offsets count from the one that the broker answered for the first record."""
        responses = self._responses(exchange)
        for part in parts(message.grammar)(message.body):
            base, error = responses.get((part.topic, part.partition), (-1, None))
            for count, record in enumerate(self.read(message, part, origin)):
                yield record._replace(offset=base + count if base >= 0 else None, error=error)

    def _responses(self, exchange: Exchange) -> Responses:
        """Return the base offset and the error that the broker responds for each partition."""
        response, found = exchange.response, list[PartitionResponse]()
        reader = responses_reader(exchange.api, exchange.version) if exchange.api is not None else None
        if response is not None and response.read_with(reader, found):
            return {(topic, partition): (base, error) for topic, partition, base, error in found}
        answer = self._readable(response)
        told = parts(answer.grammar)(answer.body) if answer is not None else []
        return {
            (part.topic, part.partition): (part.value.get("base_offset", -1), part.value.get("error_code"))
            for part in told
        }

    def made(self, found: list[FoundSet], responses: Responses | None, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield records that were found without values; with `responses`, offsets count from theirs."""
        for topic, partition, records in found:
            topic_id, name = topic_of(topic, self.shown.topics)
            base, error = (-1, None) if responses is None else responses.get((topic, partition), (-1, None))
            for count, ((codec, producer), offset, time, key, value, headers, sequence) in enumerate(records):
                at = offset if responses is None else base + count if base >= 0 else None
                yield CapturedRecord(
                    origin, name, topic_id, partition, at, time, key, value, headers, codec, producer, sequence,
                    error=error,
                )  # fmt: skip

    def _fetched(self, message: Message, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield what was fetched; markers after a record in the same answer tell of its transaction."""
        for part in parts(message.grammar)(message.body):
            found = list(self.read(message, part, origin))
            if not any(record.producer is not None and record.producer.transactional for record in found):
                yield from found
                continue
            for record in found:
                self.markers.learn(record)
            aborted, stable = part.value.get("aborted_transactions"), part.value.get("last_stable_offset", -1)
            if aborted is not None:
                aborted = [(each["producer_id"], each["first_offset"]) for each in aborted if "first_offset" in each]
            for record in found:
                yield record._replace(outcome=self.markers.outcome(record, aborted, stable))

    def read(self, message: Message, part: PartitionContext, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield the records of one partition in a message, with the offsets that stand in them."""
        wrong = frozenset(finding.path for finding in message.findings if finding.kind is Kind.CRC_MISMATCH)
        for name in record_sets(message.grammar) & part.value.keys():
            path = join(path_to(part.value, message.body) or "", name) if wrong else ""
            entries = part.value[name] or ()
            yield from records_in(entries, part.topic, part.partition, origin, self.shown, wrong, path)

    def _end(self, exchange: Exchange) -> Iterator[TransactionEnd]:
        """Yield the end of a transaction, if the broker has accepted it."""
        asked, answer = self._readable(exchange.request), self._readable(exchange.response)
        if asked is None or answer is None or answer.body.get("error_code") != 0:
            return
        body: dict[str, Any] = asked.body
        if "committed" not in body:
            return
        assert exchange.request is not None
        origin = Origin("produced", exchange.client_id, exchange.number, exchange.peers.number,
                        exchange.request.first_time)  # fmt: skip
        outcome: Outcome = "committed" if body["committed"] else "aborted"
        who = body["transactional_id"], body["producer_id"], body["producer_epoch"]
        yield TransactionEnd(origin, *who, outcome)


@lru_cache(maxsize=4096)
def carriers(api: Api, version: int) -> tuple[Direction, ...]:
    """Return the directions whose messages carry records."""
    return tuple(each for each in DIRECTIONS if record_sets(grammar_of(api, version, each)))


def tells(exchange: Exchange) -> bool:
    """Return whether an exchange can have records, or end a transaction."""
    api = exchange.api
    return api is not None and (api.name == ENDS or bool(carriers(api, exchange.version)))


def records_of_piece(file: File, message: Message, *, secrets: bool = False) -> Iterator[CapturedRecord]:
    """Yield the records of a piece of a log segment; topic and partition are those in the file's path."""
    wrong = frozenset(f"[0].{finding.path}" for finding in message.findings if finding.kind is Kind.CRC_MISMATCH)
    entries, place = message.body.get("records") or (), file.place
    yield from records_in(entries, place.topic, place.partition, Origin("stored"), Shown({}, secrets), wrong)


PARTS: tuple[Part, Part] = ("key", "value")


class Placed(NamedTuple):
    """A record in a message: its value, the path of that in the message, and the topic it is of."""

    record: dict[str, Any]
    path: str
    topic: str | None


def read_in_place(grammar: WireStruct, body: Any, topics: Topics, read: ReadBytes) -> None:
    """Put what keys and values say in the place of their bytes; what was opened, or is hidden, stays."""
    for placed in placed_records(grammar, body, topics, paths=False):
        for part in PARTS:
            placed.record[part] = read_value(placed, part, read)


def read_values(grammar: WireStruct, body: Any, topics: Topics, read: ReadBytes) -> dict[str, ReadValue]:
    """Return what keys and values say, by their paths; nothing is changed."""
    return {
        join(placed.path, part): data
        for placed in placed_records(grammar, body, topics)
        for part in PARTS
        if isinstance(data := read_value(placed, part, read), ReadValue)
    }


def read_value(placed: Placed, part: Part, read: ReadBytes) -> bytes | None:
    """Return a key or value with what it says beside; as it is where that is no more than the bytes say themselves."""
    data = placed.record.get(part)
    if type(data) is not bytes:
        return data
    headers = placed.record.get("headers") or ()
    asked = ValueContext(part, placed.topic, [(each.get("key"), each.get("value")) for each in headers])
    found = read(data, asked)
    return data if found == unasked(data, asked) else ReadValue.of(data, found)


def placed_records(grammar: WireStruct, body: Any, topics: Topics, *, paths: bool = True) -> Iterator[Placed]:
    """Yield the records in a message's value, or in that of a piece of a log segment; without paths they are ""."""
    names = record_sets(grammar)
    if not names or not isinstance(body, dict):
        return
    found = [(part.topic, part.value) for part in parts(grammar)(body)] or [(body.get("topic"), body)]
    for topic, value in found:
        topic_id = as_id(topic)
        said = topic if isinstance(topic, str) else None
        named = said if topic_id is None else topics.get(topic_id) or str(topic_id)
        for name in names & value.keys():
            path = join(path_to(value, body) or "", name) if paths else ""
            yield from _of(value[name] or (), path, named or None)


def _of(entries: Any, path: str, topic: str | None) -> Iterator[Placed]:
    for i, entry in enumerate(entries):
        here = f"{path}[{i}]"
        if "magic" not in entry:
            continue
        if entry["magic"] == 2:
            for j, record in enumerate(entry.get("records") or ()):
                yield Placed(record, f"{here}.records[{j}]", topic)
        elif "records" in entry:
            yield from _of(entry["records"], f"{here}.records", topic)
        else:
            yield Placed(entry, here, topic)

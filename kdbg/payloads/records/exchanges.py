"""An exchange -> its records: what a producer sent, with the offsets that the broker answered, and what was fetched."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import Message, grammar_of
from ...protocol.findings import Kind
from ...protocol.wire import Api
from ...protocol.wire.language.api import DIRECTIONS, Direction
from ...protocol.wire.nodes import join
from ...protocol.wire.readings.fields import path_to
from ...protocol.wire.readings.outline import PartitionContext, parts
from ...protocol.wire.readings.topic_names import Topics
from .outcomes import Answered, Markers
from .record import CapturedRecord, Event, Origin, Outcome, TransactionEnd
from .sets import RecordSetSource, Shown, record_sets, records_in

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
            half = exchange.request if direction == "request" else exchange.response
            message = self._readable(half)
            if half is not None and message is not None:
                produced = direction == "request"
                origin = Origin("produced" if produced else "fetched", exchange.client_id, exchange.number,
                                exchange.peers.number, half.first_time)  # fmt: skip
                yield from self._produced(message, exchange, origin) if produced else self._fetched(message, origin)

    def _readable(self, half: CapturedMessage | None) -> Message | None:
        """Return the message, unless a secret may stand anywhere in it."""
        message = half.message() if half is not None else None
        return None if message is not None and message.misaligned and not self.shown.secrets else message

    def _produced(self, message: Message, exchange: Exchange, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield what a producer sent; offsets count from the one that the broker answered for the first record."""
        answer = self._readable(exchange.response)
        answers = {(part.topic, part.partition): part.value for part in parts(answer.grammar)(answer.body)} \
            if answer is not None else {}  # fmt: skip
        for part in parts(message.grammar)(message.body):
            said = answers.get((part.topic, part.partition), {})
            base = said.get("base_offset", -1)
            for count, record in enumerate(self._records(message, part, origin)):
                yield record._replace(offset=base + count if base >= 0 else None, error=said.get("error_code"))

    def _fetched(self, message: Message, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield what was fetched; markers behind a record in the same answer tell of its transaction."""
        for part in parts(message.grammar)(message.body):
            answered, found = Answered.of(part.value), list(self._records(message, part, origin))
            if not any(record.producer is not None and record.producer.transactional for record in found):
                yield from found
                continue
            for record in found:
                self.markers.learn(record)
            for record in found:
                yield record._replace(outcome=self.markers.outcome(record, answered))

    def _records(self, message: Message, part: PartitionContext, origin: Origin) -> Iterator[CapturedRecord]:
        """Yield the records of one partition in a message, with the offsets that stand in them."""
        wrong = frozenset(finding.path for finding in message.findings if finding.kind is Kind.CRC_MISMATCH)
        place = RecordSetSource(part.topic, part.partition)
        for name in record_sets(message.grammar) & part.value.keys():
            path = join(path_to(part.value, message.body) or "", name) if wrong else ""
            yield from records_in(part.value[name] or (), place, origin, self.shown, wrong, path)

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

"""Exchanges in, batches of the index out: what the process that reads a capture does with each of them."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import endpoint
from ...exchanges.messages.rejection import went_wrong
from ...protocol.wire.readings.outline import Outline, parts
from ...protocol.wire.readings.topics import NamesThen
from .index import COLUMNS, HALF, NOTHING, WRONG, Batch, Names, Who
from .spool import SpoolWriter

MOST, LONGEST = 16, 256
"""How many topics, groups or producers of one exchange are remembered, and how many characters of a name."""
PRODUCE = 0
OF_PRODUCERS = ("producer_id", "transactional_id")


class Rows:
    """Makes a batch of every chunk of exchanges, and writes these into the spool."""

    def __init__(self, spool: SpoolWriter) -> None:
        self._spool = spool
        self._file = -1
        self._who: dict[tuple[Any, ...], int] = {}
        self._names: dict[Names, int] = {(): 0}
        self._told_who = self._told_names = 0

    def begin(self) -> int:
        """Begin the next file; return its number."""
        self._file += 1
        self._who.clear()
        self._spool.begin()
        return self._file

    def batch(self, exchanges: Sequence[Exchange], first_time: int | None, names: NamesThen) -> Batch:
        """Return the batch of exchanges of the file that was begun last; `names` are those of topic ids."""
        columns = {name: array(code) for name, code in COLUMNS.items()}
        parcel, topics = self._spool.add(exchanges, self._file, first_time, names.topics)
        new_who: list[Who] = []
        for exchange in exchanges:
            names.at(exchange.names)
            row = self._row(exchange, names, new_who)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        new_names = [*islice(self._names, self._told_names, None)]
        self._told_who += len(new_who)
        self._told_names += len(new_names)
        told = {name: column.tobytes() for name, column in columns.items()}
        return Batch(told, parcel, len(exchanges), new_who, new_names, topics)

    def _row(self, exchange: Exchange, names: NamesThen, new: list[Who]) -> tuple[int, ...]:
        request, response, latency = exchange.request, exchange.response, exchange.latency
        outlines: Sequence[Outline] = exchange.facts() or exchange.outlines()
        flags = WRONG if went_wrong(exchange, shallow=True) else 0
        if request is None or (response is None and exchange.answered):
            flags |= HALF
        return (
            exchange.number,
            exchange.time,
            self._who_of(exchange, new),
            NOTHING if request is None else request.size,
            NOTHING if response is None else response.size,
            NOTHING if latency is None else latency,
            flags,
            self._name(topics_of(outlines, names)),
            self._name(groups_of(outlines)),
            self._name(producers_of(exchange)),
        )

    def _who_of(self, exchange: Exchange, new: list[Who]) -> int:
        peers, api = exchange.peers, exchange.api
        key = peers.number, api, exchange.version, exchange.client_id
        found = self._who.get(key)
        if found is None:
            found = self._who[key] = self._told_who + len(new)
            client_id = exchange.client_id
            new.append(
                Who(
                    self._file, peers.number, endpoint(peers.client), endpoint(peers.broker),
                    "?" if api is None else api.name, exchange.version,
                    None if client_id is None else client_id[:LONGEST],
                )
            )  # fmt: skip
        return found

    def _name(self, names: Iterator[Hashable]) -> int:
        found: Names = tuple(dict.fromkeys(names))[:MOST]
        return self._names.setdefault(found, len(self._names))


def topics_of(outlines: Sequence[Outline], names: NamesThen) -> Iterator[str]:
    """Yield the topics that messages name; ids of which nobody told the name stand for themselves."""
    for rows, _, _ in outlines:
        for topic, *_ in rows:
            if isinstance(topic, UUID):
                yield names.get(topic) or str(topic)
            elif topic is not None:
                yield topic[:LONGEST]


def groups_of(outlines: Sequence[Outline]) -> Iterator[str]:
    """Yield the groups that messages name."""
    for _, groups, _ in outlines:
        yield from (group[:LONGEST] for group in groups if group)


def producers_of(exchange: Exchange) -> Iterator[Hashable]:
    """Yield the producer ids and transactional ids that stand in messages, and in front of batches of a produce."""
    for half in (exchange.request, exchange.response):
        if half is None or half.api is None:
            continue
        fields = half.fields(OF_PRODUCERS)
        yield from (fields[name] for name in OF_PRODUCERS if fields.get(name) not in (None, NOTHING, ""))
    request = exchange.request
    if exchange.api is not None and exchange.api.key == PRODUCE and request is not None:
        message = request.message(shallow=True)
        for part in parts(message.grammar)(message.body) if message is not None else ():
            for batch in part.value.get("records") or ():
                if batch.get("producer_id", NOTHING) != NOTHING:
                    yield batch["producer_id"]
        request.forget()

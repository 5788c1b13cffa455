"""What processes behind the screen do: one makes batches of the index from exchanges, others answer questions."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from uuid import UUID

from ...analysis.stats.statistics import Overview, Statistics
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import endpoint
from ...exchanges.messages.rejection import went_wrong
from ...protocol.wire.readings.outline import NamesThen, Outline, parts
from ...views.render.stats_table import screen
from ...views.render.style import Look
from .index import HALF, LONGEST, NOTHING, WRONG, Batch, BatchBuilder, Start, Who
from .spool import Chunk, SpoolWalk, SpoolWriter

PRODUCE = 0
OF_PRODUCERS = ("producer_id", "transactional_id")


class Rows(BatchBuilder):
    """Makes a batch of every chunk of exchanges, and writes these into the spool."""

    def __init__(self, spool: SpoolWriter) -> None:
        super().__init__()
        self._spool = spool
        self._file = -1

    def begin(self) -> int:
        """Begin the next file; return its number."""
        self._file += 1
        self._who.clear()
        self._spool.begin()
        return self._file

    def batch(self, exchanges: Sequence[Exchange], first_time: int | None, names: NamesThen) -> Batch:
        """Return the batch of exchanges of the file that was begun last; `names` are those of topic ids."""
        parcel, topics = self._spool.add(exchanges, self._file, first_time, names.topics)
        return self.build((self._row(exchange, names) for exchange in exchanges), parcel, topics)

    def _row(self, exchange: Exchange, names: NamesThen) -> tuple[int, ...]:
        names.at(exchange.names)
        request, response, latency = exchange.request, exchange.response, exchange.latency
        outlines: Sequence[Outline] = exchange.facts() or exchange.outlines()
        flags = WRONG if went_wrong(exchange, shallow=True) else 0
        if request is None or (response is None and exchange.answered):
            flags |= HALF
        return (
            exchange.number,
            exchange.time,
            self._who_of(exchange),
            NOTHING if request is None else request.size,
            NOTHING if response is None else response.size,
            NOTHING if latency is None else latency,
            flags,
            self.number_names(topics_of(outlines, names)),
            self.number_names(groups_of(outlines)),
            self.number_names(producers_of(exchange)),
        )

    def _who_of(self, exchange: Exchange) -> int:
        peers, api, client_id = exchange.peers, exchange.api, exchange.client_id
        key = peers.number, api, exchange.version, client_id
        if key in self._who:
            return self._who[key]
        who = Who(
            self._file, peers.number, endpoint(peers.client), endpoint(peers.broker),
            "?" if api is None else api.name, exchange.version, None if client_id is None else client_id[:LONGEST],
        )  # fmt: skip
        return self.number_who(key, who)


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


EVERY = 20_000
"""Exchanges after which the numbers so far are yielded, though more are written."""


def fitting(spool: int, start: Start, filters: Filters) -> Iterator[bytes]:
    """Yield the positions that fit, as they are found: the bytes of an array of 32-bit numbers."""
    for _, fits, first in _asked(SpoolWalk(spool, start), start, filters):
        found = array("I", [first + at for at, good in enumerate(fits) if good])
        if found:
            yield found.tobytes()


def numbers(spool: int, start: Start, filters: Filters, look: Look) -> Iterator[str]:
    """Yield the first screen of `kdbg stats`, of what fits: when all that is written was read, and every so often."""
    overview, findings, seen = Overview(), Counter[str](), 0
    statistics, shown, of = Statistics(overview.tables), 0, -1
    walk = SpoolWalk(spool, start)
    for chunk, fits, _ in _asked(walk, start, filters):
        if chunk.file != of:
            of = chunk.file
            statistics.capture(str(of), chunk.names)
        wanted = [one for one, good in zip(chunk.exchanges, fits, strict=True) if good]
        statistics.take(wanted, lambda finding: findings.update([finding.kind.value]))
        seen += len(wanted)
        if seen - shown >= EVERY or (seen > shown and walk.waits):
            shown = seen
            statistics.finish()
            yield screen(overview, findings, None, look, look.width)
    statistics.finish()
    yield screen(overview, findings, None, look, look.width)


def _asked(walk: SpoolWalk, start: Start, filters: Filters) -> Iterator[tuple[Chunk, list[bool], int]]:
    """Yield chunks of exchanges, which of them fit, and the position of the first."""
    first, of = start.position, -1
    for chunk in walk:
        if chunk.file != of:
            of = chunk.file
            check = filters.dated(chunk.first_time).check(chunk.names)
        fits = []
        for exchange in chunk.exchanges:
            chunk.names.at(exchange.names)
            fits.append(check is None or check(exchange))
        yield chunk, fits, first
        first += len(chunk.exchanges)

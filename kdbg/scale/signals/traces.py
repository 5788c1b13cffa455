"""Exchanges → spans: one for each, below one for its connection.

A connection is a trace. A long one is several, for tools show a trace whole: after `MOST` exchanges, or `LONGEST` after
its beginning, the next trace of it begins, linked to the one before. Ids are made of what the capture holds, so that
the same exchanges have the same ids whenever they are exported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.message import UNTIMED
from ...payloads.records.sources import Records, carriers
from ...protocol.wire.readings.outline import NamesThen
from .attributes import (
    OPERATIONS,
    Attributes,
    Event,
    Link,
    Span,
    SpanSide,
    SpanSubject,
    clean,
    known_attributes,
    moment,
    of_connection,
    of_exchange,
)

HEADER: Final = "traceparent"
CONTEXT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.DOTALL)
FORBIDDEN: Final = b"ff"
PLAIN: Final = b"00"
"""The version of the form that ends after its flags; later ones may go on."""
MOST_LINKS: Final = 128
"""Links of a span, as many as OpenTelemetry's SDK keeps if nobody says otherwise."""


def parent_of(value: Any) -> tuple[bytes, bytes] | None:
    """Return the ids of trace and span that a header's value says; None where it says none."""
    found = CONTEXT.fullmatch(value) if isinstance(value, bytes) else None
    if found is None or found[1] == FORBIDDEN or (found[1] == PLAIN and found[4] is not None):
        return None
    trace, span = bytes.fromhex(found[2].decode()), bytes.fromhex(found[3].decode())
    return (trace, span) if any(trace) and any(span) else None


def links_of(exchange: Exchange, records: Records) -> tuple[tuple[Link, ...], int]:
    """Return the links of an exchange, each once in the order of its records, and how many more there are."""
    if exchange.api is None or not carriers(exchange.api, exchange.version):
        return (), 0
    found = dict[tuple[bytes, bytes], None]()
    for event in records.of(exchange):
        for name, value in getattr(event, "headers", ()):
            if name == HEADER and (context := parent_of(value)) is not None:
                found.setdefault(context)
    return tuple(Link(*context) for context in list(found)[:MOST_LINKS]), max(len(found) - MOST_LINKS, 0)


MOST: Final = 1000
"""Exchanges of a trace."""
LONGEST: Final = 300_000_000_000
"""Nanoseconds from the first exchange of a trace to the beginning of its last."""
CONNECTIONS: Final = 1 << 14
"""Connections whose traces go on; where more are open, the one that was silent for longest is taken for ended."""
EVENTS: Final = 128
"""Events of a span, as many as OpenTelemetry's SDK keeps if nobody says otherwise."""


class Traces:
    """Makes spans of exchanges: `take` of each, `finish` at the end; `untimed` counts those without a time.

    `links`: whether the traces that records carry are looked for. Memory is bounded.
    """

    def __init__(self, *, links: bool = True) -> None:
        self._links = links
        self._open: dict[int, Trace] = {}
        self._seed: tuple[Any, ...] = ()
        self._names: NamesThen = NamesThen({})
        self._records = Records(self._names)
        self._file: str = ""
        self.untimed: int = 0

    def begin(self, file: str, first_time: int | None, names: NamesThen) -> None:
        """Begin a capture, called `file`, of which the first packet came at `first_time`."""
        self._file, self._names, self._records = clean(file), names, Records(names)
        self._seed = ("kdbg", first_time)

    def take(self, exchange: Exchange) -> Iterator[Span]:
        """Yield the span of an exchange, after those of connections whose trace it ends."""
        half = exchange.request or exchange.response
        if half is None or exchange.time == UNTIMED:
            self.untimed += 1
            return
        trace = self._open.pop(exchange.peers.number, None)
        if trace is not None and (trace.count >= MOST or moment(exchange.time) - trace.start > LONGEST):
            yield trace.span()
            trace = trace.next(exchange)
        if trace is None:
            if len(self._open) >= CONNECTIONS:
                yield self._open.pop(next(iter(self._open))).span()
            trace = Trace((*self._seed, *exchange.peers[:4]), exchange, self._file)
        self._open[exchange.peers.number] = trace
        self._names.at(exchange.names)
        links, more = links_of(exchange, self._records) if self._links else ((), 0)
        yield trace.add(exchange, SpanSubject(exchange, self._names), links, more)

    def ended(self, is_open: Callable[[int], bool], *, settled: bool) -> Iterator[Span]:
        """Yield the spans of connections that are not open any more, as `is_open` says of their first packets.

        `settled`: nothing more can come of them; else those wait of which something came since this was last asked.
        """
        for number, trace in list(self._open.items()):
            if not is_open(trace.first_packet) and (settled or not trace.touched):
                yield self._open.pop(number).span()
            trace.touched = False

    def finish(self) -> Iterator[Span]:
        """Yield the spans of all connections of the capture."""
        while self._open:
            yield self._open.pop(next(iter(self._open))).span()


class Trace:
    """A connection, or one part of a long one, as far as it was seen."""

    def __init__(self, seed: tuple[Any, ...], exchange: Exchange, file: str, part: int = 1, before: Link | None = None):
        self._seed, self._part, self._before, self._file = seed, part, before, file
        self.id: bytes = digest(*seed, part)[:16]
        self.root: bytes = digest(*seed, part, "connection")[:8]
        self.start: int = moment(exchange.time)
        self._end: int = self.start
        self.count = self._errors = self._request_bytes = self._response_bytes = 0
        self._client_id: str | None = None
        self._software: str = ""
        self._said: Attributes = {}
        self.first_packet: int = exchange.peers.first_packet
        self.touched: bool = True
        """Whether something came since it was last asked for."""

    def next(self, exchange: Exchange) -> Trace:
        """Return the next trace of the connection, which an exchange begins."""
        found = Trace(self._seed, exchange, self._file, self._part + 1, Link(self.id, self.root, remote=False))
        found._client_id, found._software = self._client_id, self._software
        return found

    def add(self, exchange: Exchange, about: SpanSubject, links: tuple[Link, ...], more: int) -> Span:
        """Return the span of an exchange, which is below that of the connection from now on.

        `more` links than these were found.
        """
        halves = [half for half in (exchange.request, exchange.response) if half is not None]
        times = [time for half in halves for time in (half.first_time, half.last_time) if time != UNTIMED]
        start = moment(exchange.time)
        end = max(start, moment(start + (exchange.logged_latency or 0)), *map(moment, times))
        self.start, self._end = min(self.start, start), max(self._end, end)
        self.count += 1
        self.touched = True
        self._errors += bool(about.failed)
        request, response = exchange.request, exchange.response
        self._request_bytes += 0 if request is None else request.size
        self._response_bytes += 0 if response is None else response.size
        if exchange.client_id and self._client_id is None:
            self._client_id = clean(exchange.client_id)
        if not self._software and request is not None and request.known is not None:
            self._software = request.known.facts.get("software", "").partition(" ")[0]
        self._said = of_connection(exchange)
        events = list(_events(exchange))
        said_more = known_attributes({"kafka.events.left_out": max(len(events) - EVENTS, 0) or None,
                          "kafka.links.left_out": more or None})  # fmt: skip
        return Span(
            self.id, digest(*self._seed, "exchange", exchange.number, exchange.time)[:8], self.root,
            _name(exchange, about), SpanSide.CLIENT, start, end, of_exchange(exchange, about) | said_more,
            tuple(events[:EVENTS]), links, ", ".join(about.failed),
        )  # fmt: skip

    def span(self) -> Span:
        """Return the span of the connection, around those of its exchanges."""
        about = dict(self._said) | known_attributes({
            "messaging.client.id": self._client_id,
            "kafka.client.software": self._software,
            "kafka.capture": self._file,
            "kafka.connection.part": self._part,
            "kafka.exchanges": self.count,
            "kafka.exchanges.failed": self._errors,
            "kafka.request.size": self._request_bytes,
            "kafka.response.size": self._response_bytes,
        })  # fmt: skip
        links = () if self._before is None else (self._before,)
        return Span(self.id, self.root, b"", "connection", SpanSide.INTERNAL, self.start, self._end, about, links=links)


def digest(*seed: Any) -> bytes:
    """Return 32 bytes that are always the same for these values."""
    return sha256(repr(seed).encode()).digest()


def _name(exchange: Exchange, about: SpanSubject) -> str:
    """Return the name of a span: of an operation on messages as the conventions have it, else API and version."""
    api = exchange.api
    if api is None:
        return "response of unknown API"
    if api.key in OPERATIONS:
        return " ".join(filter(None, (OPERATIONS[api.key][0], about.topic)))
    return f"{clean(api.name)} v{exchange.version}" if api.key >= 0 else clean(api.name)


def _events(exchange: Exchange) -> Iterable[Event]:
    """Yield when the request was out and the response began, and what is odd about the exchange."""
    request, response = exchange.request, exchange.response
    if request is not None and request.last_time != UNTIMED:
        yield Event("request sent", moment(request.last_time))
    if response is not None and response.first_time != UNTIMED:
        yield Event("response begun", moment(response.first_time))
    for finding in exchange.all_findings():
        half = (response if finding.side == "response" else request) or request or response
        time = half.first_time if half is not None and half.first_time != UNTIMED else exchange.time
        yield Event(f"finding {finding.kind.value}", moment(time), known_attributes({
            "kafka.finding": finding.kind.value, "kafka.finding.severity": finding.severity.value,
            "kafka.finding.side": finding.side, "kafka.finding.path": clean(finding.path),
            "kafka.finding.text": clean(finding.text),
        }))  # fmt: skip

"""Spans of exchanges, and where they go: to a collector, or into lines of OTLP's JSON, as its file exporter has them.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

from orjson import OPT_APPEND_NEWLINE, dumps

from ... import __version__
from ...errors import ClientError
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...protocol.wire.readings.outline import NamesThen
from .attributes import SCHEMA_URL, Attributes, Span, Value
from .traces import Traces

if TYPE_CHECKING:
    from ...atomic import AtomicFile
    from .collector import Collector


SCOPE = {"name": "kdbg", "version": __version__}
ERROR = 2
HAS_REMOTE, REMOTE = 0x100, 0x200
"""Flags of OTLP: that a context says whether it was made elsewhere, and that it was."""


def line(spans: Iterable[Span], resource: Attributes) -> bytes:
    """Return spans as one line, newline included; `resource` is what is said of who made them."""
    found = {"resource": {"attributes": attributes(resource)},
             "scopeSpans": [{"scope": SCOPE, "spans": [span_object(span) for span in spans],
                             "schemaUrl": SCHEMA_URL}]}  # fmt: skip
    return dumps({"resourceSpans": [found]}, option=OPT_APPEND_NEWLINE)


def span_object(span: Span) -> dict[str, Any]:
    """Return a span as JSON has it: what is empty is left out."""
    events = (
        {"timeUnixNano": str(event.time), "name": event.name, "attributes": attributes(event.attributes)}
        for event in span.events
    )
    links = (
        {"traceId": link.trace.hex(), "spanId": link.span.hex(), "attributes": attributes(link.attributes),
         "flags": HAS_REMOTE | (REMOTE if link.remote else 0)}
        for link in span.links
    )  # fmt: skip
    return _filled({
        "traceId": span.trace.hex(), "spanId": span.id.hex(), "parentSpanId": span.parent.hex(),
        "flags": HAS_REMOTE, "name": span.name, "kind": int(span.kind),
        "startTimeUnixNano": str(span.start), "endTimeUnixNano": str(span.end),
        "attributes": attributes(span.attributes),
        "events": [*map(_filled, events)], "links": [*map(_filled, links)],
        "status": {"code": ERROR, "message": span.error} if span.error else {},
    })  # fmt: skip


def attributes(given: Attributes) -> list[dict[str, Any]]:
    """Return attributes as JSON has them: a list of keys and values, each with its type."""
    return [{"key": name, "value": _typed(value)} for name, value in given.items()]


def _typed(value: Value) -> Mapping[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [_typed(one) for one in value]}}


def _filled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of OTLP without what is empty, which is left out."""
    return {name: value for name, value in given.items() if value or name == "status"}


BATCH: Final = 512
"""Spans that are sent, or written as a line, together."""
WAITING: Final = 64
"""Batches that wait for a collector; more are lost."""
PATIENCE: Final = 5.0
"""Seconds that a collector has to take what is left at the end."""


class FileSink:
    """Writes spans into a file that is open: a line for those that come together."""

    def __init__(self, target: str, file: BinaryIO | AtomicFile, resource: Attributes) -> None:
        self.target, self._file, self._resource = target, file, resource
        self.sent = self.lost = 0

    def take(self, spans: list[Span]) -> None:
        self._file.write(line(spans, self._resource))
        self._file.flush()
        self.sent += len(spans)

    def close(self) -> None:
        self._file.flush()


class Behind:
    """Sends spans to a collector from a thread of its own: whoever gives them never waits.

    `tell` is called, by that thread, with a line on the first spans that are lost, and when a collector is back.
    """

    def __init__(self, collector: Collector, tell: Callable[[str], object]) -> None:
        self._collector, self._tell = collector, tell
        self.target: str = collector.target
        self.sent = self.lost = 0
        self._queue: deque[list[Span]] = deque()
        self._change = threading.Condition()
        self._over = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def take(self, spans: list[Span]) -> None:
        with self._change:
            if len(self._queue) >= WAITING:
                self.lost += len(spans)
            else:
                self._queue.append(spans)
                self._change.notify_all()

    def close(self) -> None:
        with self._change:
            self._over = True
            self._change.notify_all()
        self._thread.join(PATIENCE)
        self._collector.close()  # which ends a try that goes on
        self._thread.join(PATIENCE)
        with self._change:
            self.lost += sum(map(len, self._queue))
            self._queue.clear()

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._queue and not self._over:
                    self._change.wait()
                if not self._queue:
                    return
                spans = self._queue.popleft()
            trouble = ""
            try:
                self._collector.take(spans)
            except ClientError as error:
                trouble = str(error)
            with self._change:
                if trouble:
                    self.lost += len(spans)
                else:
                    self.sent += len(spans)
                changed, self._failing = bool(trouble) is not self._failing, bool(trouble)
            if changed:
                self._tell(f"spans are dropped: {trouble}" if trouble else f"{self.target} accepts spans again")


if TYPE_CHECKING:
    Sink: TypeAlias = FileSink | Collector | Behind
    """Takes spans, some together; `sent` and `lost` count them so far. `target` is how it is called.

    `take` raises one of kdbg's errors, or `OSError`, where that cannot be; `close` has all taken where it goes.
    """

HELD: Final = 1.0
"""Seconds for which spans wait for others to go with."""
SELDOM: Final = 5.0
"""Seconds between two looks at which connections have ended, while packets come."""


class Spans:
    """Sends the spans of exchanges to a sink; `links`: with those to the traces that records carry."""

    def __init__(self, sink: Sink, *, links: bool = True) -> None:
        self.sink = sink
        self._traces = Traces(links=links)
        self._held: list[Span] = []
        self._since: float = 0.0
        self._looked: float = monotonic()
        self._is_open: Callable[[int], bool] = lambda first_packet: True

    def begin(self, file: str, first_time: int | None, names: NamesThen, is_open: Callable[[int], bool]) -> None:
        """Begin a capture; `names` are those of topic ids, `is_open` tells it of a connection by its first packet."""
        self._traces.begin(file, first_time, names)
        self._is_open = is_open

    def take(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""
        for exchange in exchanges:
            self._hold(self._traces.take(exchange))

    def finish(self) -> None:
        """End a capture."""
        self._hold(self._traces.finish())
        self._let_go()

    def tick(self, *, idle: bool) -> None:
        """Send what has waited for long enough; `idle`: all, for nothing comes."""
        if idle or monotonic() - self._looked > SELDOM:
            self._hold(self._traces.ended(self._is_open, settled=idle))
            self._looked = monotonic()
        if self._held and (idle or monotonic() - self._since > HELD):
            self._let_go()

    def close(self) -> list[str]:
        """Have all sent; return what is to be said of it."""
        self.sink.close()
        said = [f"{count(self.sink.sent, 'span')} sent to {self.sink.target}"]
        if self.sink.lost:
            said.append(f"{count(self.sink.lost, 'span')} not accepted by {self.sink.target}")
        if self._traces.untimed:
            said.append(f"{count(self._traces.untimed, 'exchange')} skipped: without a time")
        return said

    def _hold(self, spans: Iterable[Span]) -> None:
        for span in spans:
            if not self._held:
                self._since = monotonic()
            self._held.append(span)
            if len(self._held) >= BATCH:
                self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        if held:
            self.sink.take(held)

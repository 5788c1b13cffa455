"""Spans → lines of OTLP's JSON, as the collector's file exporter writes them and its receivers read them.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from orjson import OPT_APPEND_NEWLINE, dumps

from ... import __version__
from ...errors import ClientError
from .attributes import Attributes, Event, Link, Span, Value

if TYPE_CHECKING:
    from .collector import Collector


SCOPE = {"name": "kdbg", "version": __version__}
ERROR = 2
HAS_REMOTE, REMOTE = 0x100, 0x200
"""Flags of OTLP: that a context says whether it was made elsewhere, and that it was."""


def line(spans: Iterable[Span], resource: Attributes) -> bytes:
    """Return spans as one line, newline included; `resource` is what is said of who made them."""
    found = {"resource": {"attributes": attributes(resource)},
             "scopeSpans": [{"scope": SCOPE, "spans": [span_object(span) for span in spans]}]}  # fmt: skip
    return dumps({"resourceSpans": [found]}, option=OPT_APPEND_NEWLINE)


def span_object(span: Span) -> dict[str, Any]:
    """Return a span as JSON has it: what is empty is left out."""
    found = {
        "traceId": span.trace.hex(), "spanId": span.id.hex(), "parentSpanId": span.parent.hex(),
        "flags": HAS_REMOTE, "name": span.name, "kind": int(span.kind),
        "startTimeUnixNano": str(span.start), "endTimeUnixNano": str(span.end),
        "attributes": attributes(span.attributes),
        "events": [_event(event) for event in span.events],
        "links": [_link(link) for link in span.links],
        "status": {"code": ERROR, "message": span.error} if span.error else {},
    }  # fmt: skip
    return {name: value for name, value in found.items() if value or name == "status"}


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
    return {"arrayValue": {"values": _all(value)}}


def _all(values: Sequence[Value]) -> list[Mapping[str, Any]]:
    return [_typed(value) for value in values]


def _event(event: Event) -> dict[str, Any]:
    found = {"timeUnixNano": str(event.time), "name": event.name, "attributes": attributes(event.attributes)}
    return {name: value for name, value in found.items() if value}


def _link(link: Link) -> dict[str, Any]:
    flags = HAS_REMOTE | (REMOTE if link.remote else 0)
    found = {"traceId": link.trace.hex(), "spanId": link.span.hex(), "attributes": attributes(link.attributes),
             "flags": flags}  # fmt: skip
    return {name: value for name, value in found.items() if value}


BATCH: Final = 512
"""Spans that are sent, or written as a line, together."""
WAITING: Final = 64
"""Batches that wait for a collector; more are lost."""
PATIENCE: Final = 5.0
"""Seconds that a collector has to take what is left at the end."""


class Writable(Protocol):
    """A file that is open for writing bytes."""

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> None: ...


class FileSink:
    """Writes spans into a file that is open: a line for those that come together."""

    def __init__(self, target: str, file: Writable, resource: Attributes) -> None:
        self.target, self._file, self._resource = target, file, resource
        self.sent = self.lost = 0

    def take(self, spans: list[Span]) -> None:
        self._file.write(line(spans, self._resource))
        self._file.flush()
        self.sent += len(spans)

    def close(self) -> None:
        self._file.flush()


class CollectorSink:
    """Sends spans to a collector, and waits for its answer; raises `CannotConnect` or `WrongAnswer`."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.target: str = collector.url
        self.sent = self.lost = 0

    def take(self, spans: list[Span]) -> None:
        self._collector.send(spans)
        self.sent += len(spans)

    def close(self) -> None:
        self._collector.close()


class Behind:
    """Sends spans to a collector from a thread of its own: whoever gives them never waits.

    `tell` is called, by that thread, with a line on the first spans that are lost, and when a collector is back.
    """

    def __init__(self, collector: Collector, tell: Callable[[str], object]) -> None:
        self._collector, self._tell = collector, tell
        self.target: str = collector.url
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
            try:
                self._collector.send(spans)
            except ClientError as error:
                self._came_to(len(spans), str(error))
            else:
                self._came_to(len(spans), "")

    def _came_to(self, count: int, trouble: str) -> None:
        with self._change:
            if trouble:
                self.lost += count
            else:
                self.sent += count
            changed, self._failing = bool(trouble) is not self._failing, bool(trouble)
        if changed:
            self._tell(f"spans are dropped: {trouble}" if trouble else f"{self.target} accepts spans again")


Sink: TypeAlias = FileSink | CollectorSink | Behind
"""Takes spans, some together; `sent` and `lost` count them so far. `target` is how it is called.

`take` raises one of kdbg's errors, or `OSError`, where that cannot be; `close` has all taken where it goes.
"""

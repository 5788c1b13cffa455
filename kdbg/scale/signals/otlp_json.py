"""Spans → lines of OTLP's JSON, as the collector's file exporter writes them and its receivers read them.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orjson import OPT_APPEND_NEWLINE, dumps

from ... import __version__
from .span import Attributes, Event, Link, Span, Value

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

"""Payloads in an inspection: in place of the span of a field stand its length and the payload's own fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from ..language.payload import OpenedPayload
from ..nodes import RemainingBytes, Sized, join
from .annotate import Buffer, Inspection, Span, inspect
from .secrets import has_secrets

Places = dict[str, int | None]
"""Where the bytes of payloads begin in the message, by their paths; None for those in decompressed bytes."""


def lay_open(inspection: Inspection, payloads: Mapping[str, bytes], sealed: Set[str]) -> Places:
    """Split the spans of the opened ones of `payloads`, given by their paths, and say where each payload begins.

    Whatever bytes and texts stand at the `sealed` paths, or below them, become secret.
    """
    places: Places = {}
    spans = [inner for span in inspection.spans for inner in _inside(inspection, span, payloads, places)]
    inspection.spans = [_hidden(span) if sealed and _is_below(span.path, sealed) else span for span in spans]
    return places


def _hidden(span: Span) -> Span:
    return span._replace(secret=span.secret or span.role == "raw" or isinstance(span.node, Sized))


def _is_below(path: str, sealed: Set[str]) -> bool:
    while path and path not in sealed:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return bool(path)


def _inside(inspection: Inspection, span: Span, payloads: Mapping[str, bytes], places: Places) -> Iterator[Span]:
    """Yield the spans that replace this one, down to the payloads inside its payload; note its start in `places`."""
    payload = (
        payloads.get(span.path) if span.role == "value" and isinstance(span.node, (Sized, RemainingBytes)) else None
    )
    if payload is None:
        yield span
        return
    start = span.end - len(payload)
    places[span.path] = start if span.buffer == 0 else None
    if not isinstance(payload, OpenedPayload):
        yield span
        return
    if span.start < start:
        yield span._replace(end=start, value=payload, role="size", secret=False)
    inner = inspect(payload.grammar, payload, opaque=payload.secret or has_secrets(payload.grammar), inner=True)
    more = len(inspection.buffers) - 1
    inspection.buffers += [Buffer(join(span.path, buffer.name), buffer.data) for buffer in inner.buffers[1:]]
    for part in inner.spans:
        part = part._replace(path=join(span.path, part.path) if part.path else span.path)
        if part.buffer:
            part = part._replace(buffer=part.buffer + more)
        else:
            part = part._replace(start=part.start + start, end=part.end + start, buffer=span.buffer)
        yield from _inside(inspection, part, payloads, places)

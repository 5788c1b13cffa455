"""Payloads in an inspection: in place of the span of a field stand its length and the payload's own fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache

from ..language.payload import OpenedPayload
from ..nodes import Field, Node, RemainingBytes, Sized, WireArray, WireStruct, contains, join
from ..records import RecordsNode
from .annotate import Buffer, Inspection, Span, inspect
from .codegen import CodeGenerator
from .secrets import has_secrets

Places = dict[str, int | None]
"""Where the bytes of payloads begin in the message, by their paths; None for those in decompressed bytes."""


def lay_open(inspection: Inspection, payloads: Mapping[str, bytes], sealed: Set[str]) -> Places:
    """Split the spans of the opened ones of `payloads`, given by their paths, and say where each payload begins.

    Whatever bytes and texts stand at the `sealed` paths, or below them, become secret.
    """
    places: Places = {}
    spans = [inner for span in inspection.spans for inner in _inside(inspection, span, payloads, places)]
    for i, span in enumerate(spans if sealed else ()):
        path = span.path
        while path and path not in sealed:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        if path and (span.role == "raw" or isinstance(span.node, Sized)):
            spans[i] = span._replace(secret=True)
    inspection.spans = spans
    return places


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


@cache
def record_places(header: Node, body: WireStruct) -> Callable[[bytes], list[tuple[int, str]]]:
    """Return a function that tells the first byte and the path of every record set in a message, in their order.

    The message must be one that the other readings read: not every byte is proved.
    """
    walk = RecordPlaces()
    walk.line(1, "found = []")
    walk.prove(header, 1)
    walk.read(body, 1)
    walk.flush(1)
    return walk.define("places(data, pos=0)", "found")  # type: ignore[no-any-return]


class RecordPlaces(CodeGenerator):
    """Writes a function that gathers record sets; `path` is the path of the node at hand, with variables in braces."""

    path = ""

    def field(self, field: Field, depth: int) -> None:
        outside, self.path = self.path, join(self.path, field.name)
        super().field(field, depth)
        self.path = outside

    def array(self, node: WireArray, depth: int) -> str:
        if not contains(node.item, lambda inner: isinstance(inner, RecordsNode)):
            return super().array(node, depth)
        count = self.counted(node.length, node.nullable, depth)
        index, outside = self.fresh("i"), self.path
        self.path = f"{outside}[{{{index}}}]"
        self.line(depth + 1, f"for {index} in range({count}):")
        self.item(node.item, depth + 2)
        self.path = outside
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.counted(node.length, node.nullable, depth)
        self.line(depth + 1, f"found.append((pos, f{self.path!r}))")
        self.line(depth + 1, f"pos += {size}")
        return ""

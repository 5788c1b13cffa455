"""What stands beside the bytes of one span in a hexdump: its name, what it says, its type."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

from ....errors import WireError
from ....payloads.values.value import ReadValue
from ....protocol.findings.amounts import count
from ....protocol.wire.language.payload import OpenedPayload
from ....protocol.wire.nodes import Node, RemainingBytes, Sized, UuidNode, WireArray, WireStruct
from ....protocol.wire.nodes.otlp import ResourceMetrics
from ....protocol.wire.nodes.sasl_tokens import Marked
from ....protocol.wire.readings.annotate import Span
from ....protocol.wire.records import RecordsNode
from .. import values
from ..style import Look

LEFT_OVER = "trailing bytes"
"""The name of bytes after a message, which belong to no field."""


class ByteLine(NamedTuple):
    """One field: its bytes, and what stands beside the first line of them."""

    start: int
    data: bytes
    name: str
    meaning: str
    type: str
    hidden: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    @property
    def essence(self) -> str:
        """The meaning without the number in front of it, which can be read from the bytes beside it."""
        number, _, meaning = self.meaning.partition(" = ")
        return meaning if meaning and number.removeprefix("-").isdecimal() else self.meaning


class Describer:
    """Turns spans into rows; `room` is how many columns there are beside the bytes.

    `broken` is where the message at hand could not be read on.
    """

    def __init__(self, look: Look, topics: Mapping[uuid.UUID, str], room: int) -> None:
        self.look: Look = look
        self.topics: Mapping[uuid.UUID, str] = topics
        self.most: int = 1 << 62 if look.full else max(room, 20)
        self.broken: WireError | None = None
        self.said: Mapping[str, ReadValue] = {}
        """What keys and values of records were read as, by their paths."""

    def row(self, span: Span, data: bytes) -> ByteLine:
        """Return the bytes of a span with the name, meaning and type that stand beside them; secrets are hidden.

        Where that helps, a colon and how the value is written follow the type.
        """
        raw = data[span.start : span.end]
        hidden = bool(raw) and span.secret and not self.look.show_secrets
        meaning = f"<{count(len(raw), 'byte')} redacted>" if hidden else self._meaning(span)
        name = values.escape(span.path) or (LEFT_OVER if span.role == "raw" else "")
        node, value, type = span.node, span.value, span.type
        if self._breaks(span) and self.broken is not None:
            type = self.broken.type or type
        elif span.role == "value" and isinstance(node, Sized) and not isinstance(node, Marked):
            content = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
            type += note_on_length(node, None if content is None else len(content))
        return ByteLine(span.start, raw, name, meaning, type, hidden)

    def _breaks(self, span: Span) -> bool:
        """Return whether this span is the field that could not be read, with all bytes after it."""
        return span.role == "raw" and span.buffer == 0 and self.broken is not None and span.path == self.broken.path

    def _meaning(self, span: Span) -> str:
        node, value = span.node, span.value
        if span.role == "size":
            return size_text(node, value)
        if span.role == "tag":
            return f"tag {value[0]}, {count(value[1], 'byte')}"
        if span.role == "value" and span.path in self.said:
            from ..record_values import quoted

            read = self.said[span.path].said  # how it was read, or why not otherwise, follows it
            told = values.escape(read.problem or read.about)
            return f"{quoted(read, self.most)}  {told}" if told else quoted(read, self.most)
        if span.role == "raw" or isinstance(node, RemainingBytes):
            return count(span.end - span.start, "byte") + ", unread" * self._breaks(span)
        return self.value(node, value)

    def value(self, node: Node | None, value: Any) -> str:
        """Return what the value of a field says."""
        if isinstance(node, ResourceMetrics):
            return count(len(value), "resource")
        if isinstance(node, UuidNode):
            return values.topic_id(value, self.topics.get(value))
        if isinstance(node, Sized):
            if node.kind == "address" and len(value or b"") in values.ADDRESSES:
                return str(ip_address(value))
            if node.text or value is None:
                return self.text(value)
            shown = values.content(value, self.most)  # in quotes if it is text: the hexdump has the bytes already
            return shown if value and shown.startswith('"') else count(len(value), "byte")
        write = self.number(node) if node is not None else None
        return write(value) if write is not None and value is not None else str(value)

    def number(self, node: Node) -> Callable[[Any], str] | None:
        """Return what says the values of a number and what they mean; None for those that are shown as digits."""
        write = values.number(node)
        return (lambda value: write(value).replace("  ", " = ", 1)) if write is not None else None

    def text(self, value: str | None) -> str:
        """Return a string in quotes."""
        return values.quote(value, self.most)


def note_on_length(node: Sized, length: int | None) -> str:
    """Return what is said after the type of a string or bytes: how long it is in bytes, and how that is written."""
    if length is None:
        return f": length {node.length.bias - 1} means null"
    written = f" written as {length + node.length.bias}" if node.length.bias else ""
    return f": length {length}{written}, then the bytes"


def size_text(node: Node | None, value: Any) -> str:
    """Return what the value of a length, count or presence field says."""
    if isinstance(value, OpenedPayload):
        return f"{value.name}, {count(len(value), 'byte')}"
    if value is None or value is False:
        return "null"
    if value is True:
        return "present"
    if isinstance(node, WireStruct):
        if node.front:
            return "no more optional fields"
        return count(value, "tagged field") if value else "no tagged fields"
    if isinstance(node, WireArray):
        return count(value, "element") if value else "empty"
    if isinstance(node, RecordsNode):
        return f"{count(value, 'byte')} of records" if value else "empty"
    return count(value, "byte")

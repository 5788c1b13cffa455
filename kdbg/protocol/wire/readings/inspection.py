"""What is told of the bytes of a message: spans, each with its place and value, and what is odd."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....errors import WireError
from ...findings import Finding, Side
from ..nodes import Node


class Span(NamedTuple):
    """Bytes `start` to `end` (not included) of a buffer, and what they say.

    `role` is "value" for a field, "size" for a length or count, "tag" for a tagged field's number and size, "raw"
    for bytes that no field claims. `node` knows the type's name and what its values mean; `secret` that no view may
    show them.
    """

    path: str
    start: int
    end: int
    type: str
    value: Any
    node: Node | None = None
    role: str = "value"
    buffer: int = 0
    secret: bool = False


class Buffer(NamedTuple):
    """Bytes that spans count in: number 0 is the message itself, the others were decompressed out of it."""

    name: str
    data: bytes


@dataclass
class Inspection:
    """Everything there is to say about the bytes of one message."""

    buffers: list[Buffer]
    side: Side = ""
    header: Any = None
    value: Any = None
    spans: list[Span] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: WireError | None = None
    end: int = 0
    """Where reading ended in buffer 0."""
    unexplained: int = 0
    """Bytes of buffer 0 that no field claims; each has a finding."""

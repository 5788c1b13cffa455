"""What is told of the bytes of a message: spans, each with its place and value, and what is odd.

Parts of messages that keep coming are read at once where they are sound, which spares the slow reading most of its
work. A generated reading proves a part and makes its value in one go, but to generate it costs more than to read a few
parts without. A part is familiar once it came `OFTEN` times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....budget import MEMORY
from ....errors import WireError
from ...findings import Finding, Side
from ..nodes import Node
from ..records.sets import RecordFormat, records_of
from .compiled import COMPILED, UNREADABLE, reader


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


OFTEN = 30
TIMES: Counter[Node] = Counter()
"""How often a node was asked for, as far as that matters."""


def sound_part(node: Node, data: bytes, start: int, limit: int) -> tuple[Any, int] | None:
    """Return the value of a familiar part and where it ends; None if it is odd or goes further than `limit`."""
    if not _familiar(node):
        return None
    try:
        value, end = reader(node)(data, start)
    except UNREADABLE:
        return None
    return (value, end) if end <= limit else None


def sound_records(
    format: RecordFormat, batch: Mapping[str, Any], data: bytes, start: int, end: int, weight: int
) -> list[dict[str, Any]] | None:
    """Return the records of a batch, which take the bytes from `start` to `end`; None if anything in them is odd.

    `weight` is the memory that they take.
    """
    if not _familiar(format.records) or weight > MEMORY.left:
        return None
    try:
        records, stop = records_of(batch, data, start, format, COMPILED)
    except UNREADABLE:
        return None
    if stop != end:
        return None
    MEMORY.take(weight)
    return records


def _familiar(node: Node) -> bool:
    if TIMES[node] < OFTEN:
        TIMES[node] += 1
        return False
    return True

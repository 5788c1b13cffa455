"""A span as data: what it is called, when it was, what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Value: TypeAlias = str | bool | int | float | tuple[str, ...] | tuple[int, ...]
Attributes: TypeAlias = Mapping[str, Value]
NOTHING: Attributes = MappingProxyType({})
LATEST = (1 << 64) - 1
"""The last nanosecond since 1970 that OTLP can say."""


class SpanSide(IntEnum):
    """Whose side a span tells, by the numbers of OTLP."""

    INTERNAL = 1
    CLIENT = 3


class Event(NamedTuple):
    """What happened at a moment, in nanoseconds since 1970, while a span lasted."""

    name: str
    time: int
    attributes: Attributes = NOTHING


class Link(NamedTuple):
    """Another trace's span, or an earlier one, that this one has to do with; `remote`: somebody else made that."""

    trace: bytes
    span: bytes
    remote: bool = True
    attributes: Attributes = NOTHING


class Span(NamedTuple):
    """A span: ids are of 16 bytes for its trace, of 8 for itself and its parent, b"" where it has none.

    Times are nanoseconds since 1970. `error` says what went wrong, "" for nothing.
    """

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    kind: SpanSide
    start: int
    end: int
    attributes: Attributes
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    error: str = ""


def moment(time: int) -> int:
    """Return the nearest time that OTLP can say."""
    return min(max(time, 0), LATEST)

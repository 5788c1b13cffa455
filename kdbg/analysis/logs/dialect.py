"""When a line of a log was written: the last time that stands in front of what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.peers import End
from ...protocol.wire import Api
from ...protocol.wire.language import Direction

FARTHEST = 400
"""Letters in front of what a line says in which a time is looked for."""
MOMENT = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d))?"
)
SECONDS = re.compile(r"%\d\|(\d{9,11})\.(\d{3})\|")
"""As librdkafka writes to stderr."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def stamp(text: str) -> tuple[int, bool]:
    """Return when a line was written by the text in front of what it says, and whether that names its zone.

    The time is in nanoseconds since 1970, as if UTC where no zone is named; `UNTIMED` where there is none.
    """
    near = text[-FARTHEST:]
    last = None
    for last in MOMENT.finditer(near):  # noqa: B007 - the last is wanted
        pass
    if last is not None:
        second = _second(*(int(part) for part in last.groups()[:6]))
        if second is not None:
            fraction = int((last[7] or "0").ljust(9, "0"))
            return (second - _offset(last[8])) * SECOND + fraction, last[8] is not None
    found = SECONDS.search(near)
    if found is not None:
        return int(found[1]) * SECOND + int(found[2]) * 1_000_000, True
    return UNTIMED, False


@lru_cache(maxsize=4096)
def _second(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Return seconds since 1970; None for what is no time, or earlier."""
    try:
        found = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int((found - EPOCH) / timedelta(seconds=1)) if found >= EPOCH + timedelta(days=1) else None


def _offset(zone: str | None) -> int:
    """Return the seconds by which a zone is ahead of UTC."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


NOBODY: End = ("", 0)
"""An end of a connection that no line names."""
Fields: TypeAlias = Mapping[str, Any]


class LineFacts(NamedTuple):
    """What a line says. None, `UNTIMED` and `NOBODY` stand for what it leaves open.

    `connection` is whatever the dialect has to tell connections apart by. `sizes` are the bytes of request and response
    on the wire, the 4-byte size included; `fields` what stands in their bodies, as far as the line shows it. `latency`
    is in nanoseconds; `time` in nanoseconds since 1970, `zoned` whether the line says of which zone it is: else it is
    taken as UTC.
    """

    half: Direction | Literal["both"]
    api: Api
    version: int | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    connection: str = ""
    client: End = NOBODY
    broker: End = NOBODY
    sizes: tuple[int | None, int | None] = (None, None)
    fields: tuple[Fields, Fields] = ({}, {})
    latency: int | None = None
    time: int = UNTIMED
    zoned: bool = False


class Dialect(NamedTuple):
    """How one program writes: `marks` are texts of which each of its lines has one; `read` returns what a line says.

    `read` returns None for a line that says nothing of an exchange. `how` says how to have such lines written.
    """

    name: str
    about: str
    how: str
    marks: tuple[str, ...]
    read: Callable[[str], LineFacts | None]


def end_of(text: str) -> End:
    """Return the end of a connection that `HOST:PORT` names, with or without a protocol in front; else `NOBODY`."""
    host, colon, port = text.rpartition("://")[2].rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 1 << 16:
        return NOBODY
    return host.strip("[]"), int(port)

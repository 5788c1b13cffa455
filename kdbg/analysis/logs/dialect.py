"""What one line of a log says of an exchange, and what a dialect is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from ...exchanges.messages.lines import UNTIMED
from ...exchanges.messages.peers import End
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction

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

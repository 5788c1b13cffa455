"""What exchanges can be told apart by, declared once: options, help, tables and their columns are made of it.

Some of it holds for a whole exchange (`of`): client, API, minute. The rest is named in its messages, often several
times: an exchange has a cell for each (cells.py), and counts in each of them. To add one, add a line to `DIMENSIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ...errors import InputError
from ...exchanges.messages.lines import UNTIMED
from ...protocol.wire import Api

SECOND, MINUTE, HOUR = (unit * 1_000_000_000 for unit in (1, 60, 3600))
Key: TypeAlias = tuple[Any, ...]


class Around(NamedTuple):
    """What an exchange is part of: `connection` is its number in `file`, `time` its beginning in nanoseconds.

    Of the time no more is kept than tables ask for. `software` is what the client called itself on the connection.
    """

    file: str
    connection: int
    client: tuple[str, int]
    broker: tuple[str, int]
    api: Api | None
    version: int
    client_id: str | None
    software: str | None
    time: int


@dataclass(frozen=True)
class Dimension:
    """One of them. `of` gives its value for all of an exchange, None where it is named in its messages.

    `below`: it means nothing without these, which stand in front of it. `grain`: it is a time, of so many nanoseconds.
    """

    name: str
    help: str
    of: Callable[[Around], Any] | None = None
    below: tuple[str, ...] = ()
    grain: int = 0


def _times(grain: int) -> Callable[[Around], int | None]:
    return lambda around: around.time // grain * grain if around.time != UNTIMED else None


DIMENSIONS: dict[str, Dimension] = {
    one.name: one
    for one in (
        Dimension("client", "client id", lambda around: around.client_id),
        Dimension("host", "IP address of the client", lambda around: around.client[0]),
        Dimension("software", "client software name and version (from ApiVersions)", lambda around: around.software),
        Dimension("broker", "address and port of the broker", lambda around: around.broker),
        Dimension("connection", "connection (c1 in summaries)", lambda around: around.connection),
        Dimension("file", "capture", lambda around: around.file),
        Dimension("api", "API", lambda around: around.api.name if around.api is not None else None),
        Dimension("version", "version of the API", lambda around: around.version, below=("api",)),
        Dimension("error", "error code by name"),
        Dimension("topic", "topic name, or id if the name is unknown"),
        Dimension("partition", "partition of the topic", below=("topic",)),
        Dimension("group", "consumer group"),
        Dimension("second", "second of the request, UTC", _times(SECOND), grain=SECOND),
        Dimension("minute", "minute of the request, UTC", _times(MINUTE), grain=MINUTE),
        Dimension("hour", "hour of the request, UTC", _times(HOUR), grain=HOUR),
    )
}


def dimensions(names: Iterable[str]) -> tuple[Dimension, ...]:
    """Return dimensions by their names, each behind those that it means nothing without.

    Raise `InputError` for a name that none has.
    """
    found: dict[str, Dimension] = {}
    for name in names:
        if name not in DIMENSIONS:
            raise InputError(unknown("unknown dimension", name, DIMENSIONS))
        for each in (*DIMENSIONS[name].below, name):
            found.setdefault(each, DIMENSIONS[each])
    return tuple(found.values())


def unknown(problem: str, name: str, names: Iterable[str]) -> str:
    """Return the message for an unknown name: the nearest known one, or all."""
    import difflib

    names = list(names)
    near = difflib.get_close_matches(name, names, n=1)
    return f"{problem} {name!r}; " + (f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}")

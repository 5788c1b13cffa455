"""The cells of an exchange: the topics, partitions, errors and groups that its messages name, as far as asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from ...errors import InputError
from ...exchanges.messages.message import UNTIMED, errors_in
from ...exchanges.messages.rejection import is_normal_step
from ...protocol.grammars.errors import error_name
from ...protocol.wire import Api
from ...protocol.wire.readings.outline import Outline, Topics

INNER = ("topic", "partition", "error", "group")
"""The dimensions that cells have, in this order."""
Codes: TypeAlias = "tuple[tuple[int, int], ...]"
"""Error codes, each with how often."""
Place: TypeAlias = "tuple[str | None, int | None]"
"""A topic and a partition, as far as they are asked for."""
NOWHERE: Place = (None, None)


class StatsCell(NamedTuple):
    """`key` holds the values of `INNER` that were asked for; errors and records are those of the cell alone."""

    key: tuple[Any, ...]
    errors: Codes
    steps: Codes
    records: int


class Cells:
    """Finds the cells of exchanges, by those of `INNER` that are `asked` for.

    Each error and record belongs to one cell. An error of no topic has a cell without one; so has an error in a message
    that names several groups, for it does not say whose it is.
    """

    def __init__(self, asked: Sequence[str]) -> None:
        self.asked: tuple[str, ...] = tuple(name for name in INNER if name in asked)
        self._topic, self._partition, self._error, self._group = (name in asked for name in INNER)

    def of(self, outlines: Sequence[Outline], api: Api | None, topics: Topics) -> list[StatsCell]:
        """Return the cells of an exchange, given what its messages are about; one at least."""
        places = self._places(outlines, topics)
        if any(codes for _, _, codes in outlines):
            for error in (error for outline in outlines for error in errors_in(outline)):
                self._at(places, error.topic, error.partition, topics).codes[error.code] += 1
        groups = list(dict.fromkeys(group for _, named, _ in outlines for group in named if group))
        if self._group and len(groups) > 1:  # of a place that several groups share, the errors belong to none
            cells = list[StatsCell]()
            for place, said in places.items():
                for number, owner in enumerate(groups):
                    cells += self._cells(place, _PlaceFacts(0 if number else said.records), owner, api)
                if said.codes:
                    cells += self._cells(place, _PlaceFacts(0, said.codes), None, api)
            return cells
        only = groups[0] if groups else None
        return [cell for place, said in places.items() for cell in self._cells(place, said, only, api)]

    def _places(self, outlines: Sequence[Outline], topics: Topics) -> dict[Place, _PlaceFacts]:
        """Return the topics and partitions; a topic of which partitions are named is no place of its own."""
        places = dict[Place, _PlaceFacts]()
        for rows, _, _ in outlines:
            for topic, partition, _, records in rows:
                said = self._at(places, topic, partition, topics)
                if records:
                    said.records += records
        whole = {topic for topic, partition in places if partition is not None}
        for place in [place for place in places if place[1] is None and place[0] in whole]:
            del places[place]
        return places or {NOWHERE: _PlaceFacts()}

    def _at(self, places: dict[Place, _PlaceFacts], topic: Any, partition: int | None, topics: Topics) -> _PlaceFacts:
        if not self._topic:
            return places.setdefault(NOWHERE, _PlaceFacts())
        if isinstance(topic, UUID):
            topic = topics.get(topic) or str(topic)
        return places.setdefault((topic, partition if self._partition else None), _PlaceFacts())

    def _cells(self, place: Place, said: _PlaceFacts, group: str | None, api: Api | None) -> Iterator[StatsCell]:
        """Yield the cells of a place: one, or where errors are asked for, one for each."""
        parts = [{code: count} for code, count in said.codes.items()] if self._error and said.codes else [said.codes]
        for number, codes in enumerate(parts):
            error = error_name(next(iter(codes))) if self._error and codes else None
            values = dict(zip(INNER, (*place, error, group), strict=True))
            normal = [is_normal_step(api, code) for code in codes]
            errors = tuple(item for item, step in zip(codes.items(), normal, strict=True) if not step)
            steps = tuple(item for item, step in zip(codes.items(), normal, strict=True) if step)
            yield StatsCell(tuple(values[name] for name in self.asked), errors, steps, 0 if number else said.records)


@dataclass(slots=True)
class _PlaceFacts:
    """What is said of a place: records, and error codes with how often."""

    records: int = 0
    codes: Counter[int] = field(default_factory=Counter)


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
    """Return dimensions by their names, each after those that it means nothing without.

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

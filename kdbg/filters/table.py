"""Every filter, declared once: command line, library, Spark and refusals are derived from this table.

To add one, add a line to `Options` (its type is what a program may give) with its `Filter`, and the function that makes
its check. What reads messages is imported when a check is made, so that `kdbg decode --help` stays instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypedDict, get_type_hints
from uuid import UUID

from .filter import Check, Filter, Form, Reads, Topics

if TYPE_CHECKING:
    pass

Texts: TypeAlias = str | Iterable[str]
Numbers: TypeAlias = int | Iterable[int]
Moment: TypeAlias = float | datetime | time
MOMENTS = "12:30:01.5 of the capture's first day, 2026-11-21T12:30:01.5, or seconds since 1970"


def by_api(names: frozenset[str], topics: Topics) -> Check:
    """Raise `UnknownApi` for a name that no API has."""
    from .. import grammars

    keys = {grammars.api(name).key for name in names}
    return lambda exchange: exchange.api is not None and exchange.api.key in keys


def by_client_id(names: frozenset[str], topics: Topics) -> Check:
    return lambda exchange: exchange.client_id in names


def by_topic(names: frozenset[str], topics: Topics) -> Check:
    """Match topics by name or by id."""

    def named(topic: Any) -> bool:
        return (str(topic) in names or topics.get(topic) in names) if isinstance(topic, UUID) else topic in names

    return lambda exchange: any(named(topic) for rows, _, _ in exchange.outlines() for topic, *_ in rows)


def by_group(names: frozenset[str], topics: Topics) -> Check:
    return lambda exchange: any(not names.isdisjoint(groups) for _, groups, _ in exchange.outlines())


def by_errors(wanted: bool, topics: Topics) -> Check:
    return lambda exchange: (
        any(errors for _, _, errors in exchange.outlines()) or bool(exchange.all_findings(shallow=True))
    )


def slower_than(milliseconds: float, topics: Topics) -> Check:
    nanoseconds = round(milliseconds * 1e6)
    return lambda exchange: exchange.latency is not None and exchange.latency > nanoseconds


def since(seconds: float, topics: Topics) -> Check:
    first = nanoseconds_of(seconds)
    return lambda exchange: exchange.time >= first


def until(seconds: float, topics: Topics) -> Check:
    last = nanoseconds_of(seconds)
    return lambda exchange: exchange.time <= last


def by_connection(numbers: frozenset[int], topics: Topics) -> Check:
    return lambda exchange: exchange.peers.number in numbers


def nanoseconds_of(seconds: float) -> int:
    """Return nanoseconds since the epoch, to the microsecond: more a float of our days does not hold."""
    return round(seconds * 1e6) * 1000


class Options(TypedDict, total=False):
    """The filters by their names, each with the type of its value."""

    api: Annotated[
        Texts,
        Filter(Form.TEXTS, "Only this API, by name, alias or key. May be given several times.", Reads.HEADERS, by_api),
    ]
    client_id: Annotated[Texts, Filter(Form.TEXTS, "Only requests of this client id.", Reads.HEADERS, by_client_id)]
    topic: Annotated[
        Texts,
        Filter(Form.TEXTS, "Only exchanges that name this topic, or its id.", Reads.BODIES, by_topic, pieces=True),
    ]
    group: Annotated[Texts, Filter(Form.TEXTS, "Only exchanges that name this consumer group.", Reads.BODIES, by_group)]
    errors: Annotated[
        bool,
        Filter(Form.FLAG, "Only exchanges with an error code or a finding.", Reads.BODIES, by_errors, pieces=True),
    ]
    slower_than: Annotated[
        float,
        Filter(Form.MILLISECONDS, "Only those answered later than that.", Reads.HEADERS, slower_than, metavar="MS"),
    ]
    since: Annotated[
        Moment,
        Filter(
            Form.MOMENT, f"Only from this time (UTC) on: {MOMENTS}.", Reads.HEADERS, since, pieces=True, metavar="TIME"
        ),
    ]
    until: Annotated[
        Moment,
        Filter(Form.MOMENT, "Only up to this time.", Reads.HEADERS, until, pieces=True, metavar="TIME"),
    ]
    port: Annotated[
        Numbers,
        Filter(Form.NUMBERS, "Only connections with this port.", Reads.NOTHING, metavar="PORT", within=range(1, 65536)),
    ]
    connection: Annotated[
        Numbers,
        Filter(
            Form.NUMBERS, "Only connection number N (c1 in summaries).", Reads.HEADERS, by_connection, archives=False,
            metavar="N",
        ),
    ]  # fmt: skip
    limit: Annotated[
        int,
        Filter(Form.COUNT, "Stop after N exchanges.", Reads.NOTHING, archives=False, pieces=True, metavar="N"),
    ]


FILTERS: dict[str, Filter] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Options, include_extras=True).items()
}
"""The filters by their names; whoever adds one at run time adds it here."""
